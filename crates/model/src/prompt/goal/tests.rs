//! Tests of the prompts of a goal: their texts, and the versions of their templates.

use serde_json::{Value, json};

use super::*;
use crate::{
    goal::{ReportBody, ReportStatus, Severity, TaskStatus},
    prompt::{MESSAGE, PromptRef, RenderedPrompt},
};

const GOAL_TEMPLATES: [Template; 11] = [
    SEAT_INSTRUCTIONS,
    GOAL_PLAN,
    GOAL_REPLAN,
    GOAL_WORK,
    GOAL_REWORK,
    GOAL_REVIEW,
    GOAL_ANSWER,
    GOAL_CHECK,
    GOAL_REPORT,
    GOAL_REMINDER,
    GOAL_INTERRUPTED,
];

const GOAL: &str = "Draft the spring campaign.\nPublish nothing.";

pub(super) const DONE: TaskEntry<'_> = TaskEntry {
    key: "tone",
    title: "Describe the tone",
    status: TaskStatus::Done,
    result: Some("Warm.\nShort sentences."),
};

pub(super) const FAILED: TaskEntry<'_> = TaskEntry {
    key: "mail-2",
    title: "Write the second mail",
    status: TaskStatus::Failed,
    result: Some("not accepted"),
};

pub(super) const OPEN: TaskEntry<'_> = TaskEntry {
    key: "landing",
    title: "Write the landing page",
    status: TaskStatus::Pending,
    result: None,
};

pub(super) const ARTIFACTS: [ArtifactEntry<'_>; 2] = [
    ArtifactEntry {
        name: "tone.md",
        version: 2,
        task: Some("tone"),
    },
    ArtifactEntry {
        name: "brand.md",
        version: 1,
        task: None,
    },
];

const FINDINGS: [FindingEntry<'_>; 2] = [
    FindingEntry {
        source: FindingSource::Judge,
        id: "no-source",
        severity: Severity::Blocker,
        criterion: None,
        text: "The figure has no source.",
    },
    FindingEntry {
        source: FindingSource::Check("spelling"),
        id: "spelling",
        severity: Severity::Blocker,
        criterion: None,
        text: "line 3: teh\nline 9: adn",
    },
];

const INSTRUCTIONS: SeatInstructions<'_> = SeatInstructions {
    seat: "worker-1",
    role: "worker",
    tools: &["update_task", "list_tasks"],
    instructions: Some("Answer one question.\nSource every claim."),
};

pub(super) const WORK: WorkContext<'_> = WorkContext {
    key: "mail-2",
    title: "Write the second mail",
    description: "For readers who opened the first one.\nUse brand.md.",
    acceptance: &["It has at most 120 words.", "It names one source."],
    writes: &["campaign/mail-2.md"],
    inputs: &[
        InputEntry {
            key: "tone",
            status: TaskStatus::Done,
            result: Some("Warm.\nShort sentences."),
        },
        InputEntry {
            key: "facts",
            status: TaskStatus::Done,
            result: Some("41 percent."),
        },
    ],
    artifacts: &ARTIFACTS,
    messages: &[
        MessageEntry {
            id: "msg_1",
            sender: MessageSender::Seat {
                name: "worker-2",
                role: "worker",
            },
            text: "The offer ends on Friday.",
        },
        MessageEntry {
            id: "msg_2",
            sender: MessageSender::Person("Anna"),
            text: "Name no price.",
        },
    ],
    findings: &[],
    attempt: 2,
    last_error: Some("the agent exited with status 1"),
};

fn schema() -> Value {
    json!({ "required": ["status"], "type": "object" })
}

pub(super) const PLAN: PlanContext<'_> = PlanContext {
    goal: GOAL,
    rules: PlanRules {
        roles: &[
            RoleEntry {
                name: "worker",
                seats: 2,
            },
            RoleEntry {
                name: "judge",
                seats: 1,
            },
        ],
        limits: PlanLimits {
            plan: 50,
            tasks: 100,
            parallel: 3,
            replans: 5,
        },
        checks: &["spelling"],
    },
    budget_left: Some("6 USD, 200 turns"),
    staged: &["tone", "facts"],
    memory_keys: &["audience"],
};

pub(super) const REPLAN: ReplanContext<'_> = ReplanContext {
    goal: GOAL,
    reason: "the task `mail-2` failed",
    rules: None,
    ended: &[DONE, FAILED],
    ended_more: 0,
    open: &[OPEN],
    open_more: 0,
    findings: &FINDINGS,
    follow_ups: &[ProposalEntry {
        task: "tone",
        result: 1,
        text: "Check the figures of\nlast year.",
    }],
    replans_left: 1,
    staged: &[],
    cancelled: &[],
};

pub(super) const REWORK: ReworkContext<'_> = ReworkContext {
    key: "mail-2",
    round: 2,
    rounds: 3,
    findings: &FINDINGS,
};

const REVIEW: ReviewContext<'_> = ReviewContext {
    key: "mail-2",
    title: "Write the second mail",
    acceptance: WORK.acceptance,
    result: "The mail is in campaign/mail-2.md.",
    artifacts: &ARTIFACTS,
    tool_calls: 0,
    round: 2,
    earlier_findings: &FINDINGS,
};

pub(super) const ANSWER: AnswerContext<'_> = AnswerContext {
    question: "Use the old logo?",
    answer: "yes",
    source: AnswerSource::Person("Anna"),
    staged: &[],
    cancelled: &[],
};

pub(super) const CHECK: CheckContext<'_> = CheckContext {
    goal: GOAL,
    tasks: &[DONE, FAILED],
    tasks_more: 0,
    artifacts: &ARTIFACTS,
    round: 1,
    earlier_findings: &[],
};

pub(super) const REPORT: ReportContext<'_> = ReportContext {
    goal: GOAL,
    tasks: &[DONE, FAILED],
    tasks_more: 0,
    rejected: &FINDINGS,
    questions: &[
        QuestionEntry {
            seat: "worker-1",
            question: "Use the old logo?",
            answer: Some("no, by default"),
        },
        QuestionEntry {
            seat: "worker-2",
            question: "Which day?",
            answer: None,
        },
    ],
    usage: "4.10 USD, 71 turns, 6 h 12 min",
};

const STAGED: InterruptedState<'_> = InterruptedState::Plan {
    staged: &[
        StagedEntry {
            key: "tone",
            title: "Describe the tone",
        },
        StagedEntry {
            key: "facts",
            title: "Collect\nthe facts",
        },
    ],
    cancelled: &["mail-2"],
};

macro_rules! rendered {
    ($name:literal, $context:expr) => {
        (
            $name,
            $context.render().unwrap(),
            include_str!(concat!("snapshots/", $name, ".txt")),
        )
    };
}

/// A prompt with the name and the text of its snapshot.
type Snapshot = (&'static str, RenderedPrompt, &'static str);

fn reminders() -> [Snapshot; 4] {
    let reminder = ReminderContext {
        missing: "update_task",
        schema: &schema(),
        refusals: &[],
        is_staged: false,
    };
    let refused = ReminderContext {
        missing: "create_task",
        schema: &schema(),
        refusals: &["`depends_on` of `a` has a cycle: a, b, a"],
        is_staged: true,
    };
    let refused_answer = ReminderContext {
        refusals: &["`result` is `xxx…`, which has 4097 bytes; at most 4096 are accepted"],
        ..reminder
    };
    // Nothing of a block is staged if it is refused, also if it is one of a planner.
    let refused_task = ReminderContext {
        refusals: &["`priority` of `a` is 77; 0 to 9 are accepted"],
        is_staged: false,
        ..refused
    };
    [
        rendered!("goal.reminder", reminder),
        rendered!("goal.reminder.refused", refused),
        rendered!("goal.reminder.answer", refused_answer),
        rendered!("goal.reminder.task", refused_task),
    ]
}

fn prompts() -> Vec<Snapshot> {
    let bare_plan = PlanContext {
        rules: PlanRules {
            checks: &[],
            ..PLAN.rules
        },
        budget_left: None,
        staged: &[],
        memory_keys: &[],
        ..PLAN
    };
    let bare_work = WorkContext {
        acceptance: &[],
        writes: &[],
        inputs: &[],
        artifacts: &[],
        messages: &[],
        attempt: 1,
        last_error: None,
        ..WORK
    };
    let first_replan = ReplanContext {
        reason: "a person has requested it, or tasks have changed",
        rules: Some(PLAN.rules),
        ended: &[],
        findings: &[],
        follow_ups: &[],
        replans_left: 5,
        ..REPLAN
    };
    let retried_work = WorkContext {
        findings: &FINDINGS,
        last_error: Some("The mail is in campaign/mail-2.md."),
        ..bare_work
    };
    let by_default = AnswerContext {
        source: AnswerSource::Default,
        ..ANSWER
    };
    let later_check = CheckContext {
        round: 2,
        earlier_findings: &FINDINGS[..1],
        ..CHECK
    };
    let report = ReportBody {
        result: Some("The mail is ready.\n120 words.".to_owned()),
        artifacts: vec!["mail.md".to_owned()],
        follow_up: Some("Translate it.\nInto French.".to_owned()),
        ..ReportBody::default()
    };
    let reported = InterruptedState::Report {
        status: ReportStatus::Done,
        body: &report,
    };
    let mut prompts = vec![
        rendered!("seat.instructions", INSTRUCTIONS),
        rendered!("goal.plan", PLAN),
        rendered!("goal.plan.bare", bare_plan),
        rendered!("goal.replan", REPLAN),
        rendered!("goal.replan.first", first_replan),
        rendered!("goal.work", WORK),
        rendered!("goal.work.bare", bare_work),
        rendered!("goal.work.retried", retried_work),
        rendered!("goal.rework", REWORK),
        rendered!("goal.review", REVIEW),
        rendered!("goal.answer", ANSWER),
        rendered!("goal.answer.default", by_default),
        rendered!("goal.check", CHECK),
        rendered!("goal.check.later", later_check),
        rendered!("goal.report", REPORT),
        rendered!("goal.interrupted.plan", STAGED),
        rendered!("goal.interrupted.report", reported),
    ];
    prompts.extend(reminders());
    prompts
}

#[test]
fn prompt_has_text_of_its_snapshot() {
    for (name, prompt, snapshot) in prompts() {
        assert_eq!(prompt.text, snapshot.trim_end_matches('\n'), "{name}");
    }
}

#[test]
fn caller_over_socket_is_person_at_server() {
    let answer = AnswerContext {
        source: AnswerSource::Person("socket"),
        ..ANSWER
    };
    let text = answer.render().unwrap().text;
    assert!(
        text.contains("The answer of a person at the server:"),
        "{text}"
    );
    let work = WorkContext {
        messages: &[MessageEntry {
            id: "msg_1",
            sender: MessageSender::Person("socket"),
            text: "Name no price.",
        }],
        ..WORK
    };
    let text = work.render().unwrap().text;
    let heading = "Message msg_1 from a person at the server follows.";
    assert!(text.contains(heading), "{text}");
}

#[test]
fn each_template_has_snapshot() {
    let used: Vec<String> = prompts()
        .into_iter()
        .map(|(_, prompt, _)| prompt.prompt_ref.id)
        .collect();
    for template in GOAL_TEMPLATES {
        assert!(used.iter().any(|id| id == template.id), "{}", template.id);
    }
}

/// If this test fails, the text of a template has changed: raise its version and pin the new hash here, because prompts that
/// were already sent refer to the old text.
#[test]
fn template_text_changes_only_with_its_version() {
    let pinned = [
        (
            "seat.instructions",
            1,
            "64087a2ac81cbeb8c553a8d1168ff28dacbaf9d792013ee100c6efa845299b0d",
        ),
        (
            "goal.plan",
            2,
            "6588e32c39d34b8f52b4771d576c0d4c2ac3099f206b3d8307b86206c252d565",
        ),
        (
            "goal.replan",
            4,
            "7577407bd3e5f6f68e5ce1d98851d1779800b0350d4007ac7e8f891e727c2bda",
        ),
        (
            "goal.work",
            4,
            "0ccc98811b3e7a6c71ed81a6d2a643ea34bdcf33fb5f3d35c6af94210e6e7267",
        ),
        (
            "goal.rework",
            1,
            "7a3cc0b196490a592e89c43709618feecb462d0b1cc8374da21bee0148f9e159",
        ),
        (
            "goal.review",
            1,
            "8b5f16a0a532021e82f4a966063ab5578e75b9c6f55f39649cddee427b9f6377",
        ),
        (
            "goal.answer",
            2,
            "fd2f0a64528fb6f8e3931ab9bbc2238bad2112caf349931dea4d7fcb8a72b446",
        ),
        (
            "goal.check",
            3,
            "56fbb5e30e07e8e955ac4920f065f4d980873179f3c35163934d1020104f8f80",
        ),
        (
            "goal.report",
            4,
            "d54c7fcd3907fa386fff2c9abb0945396ee8e96fc1e4ed136e7d992b2f7374ca",
        ),
        (
            "goal.reminder",
            4,
            "7a79c55d7bbc80374d811b63be8e790814864816c14ae8b677c4915c7c4c4a91",
        ),
        (
            "goal.interrupted",
            1,
            "48d696a43d39eed669bc6f78480b610a1cb7b715fb5288cb0e38492f5e06911d",
        ),
    ];
    let pinned = pinned.map(|(id, version, sha256)| PromptRef {
        id: id.into(),
        version,
        sha256: sha256.into(),
    });
    assert_eq!(GOAL_TEMPLATES.map(|template| template.prompt_ref()), pinned);
}

#[test]
fn missing_variable_is_error_naming_the_prompt() {
    for template in GOAL_TEMPLATES {
        let error = template.render(json!({})).unwrap_err();
        let expected = format!("cannot render the prompt `{}`", template.id);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn instructions_precede_first_prompt_but_no_command() {
    let opened = |message: &str| {
        let mut prompt = MESSAGE.render(json!({ "message": message })).unwrap();
        open_goal_memory(&mut prompt, &INSTRUCTIONS).unwrap();
        prompt
    };
    let prompt = opened("Hello {{ x }}");
    assert!(prompt.text.starts_with("You are the seat `worker-1`"));
    let end = "Source every claim.\n\nHello {{ x }}";
    assert!(prompt.text.ends_with(end), "{}", prompt.text);
    assert_eq!(prompt.prompt_ref, MESSAGE.prompt_ref());
    assert_eq!(prompt.variables["opening"]["id"], SEAT_INSTRUCTIONS.id);
    assert_eq!(opened("/compact").text, "/compact");
}
