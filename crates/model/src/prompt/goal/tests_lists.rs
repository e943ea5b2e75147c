//! Tests of the lists in the prompts of a goal, and of their length.

use super::{
    tests::{ANSWER, ARTIFACTS, CHECK, DONE, FAILED, OPEN, PLAN, REPLAN, REPORT, REWORK, WORK},
    *,
};
use crate::{
    goal::{
        TaskStatus,
        text_limits::{DESCRIPTION_BYTES, FOLLOW_UP_BYTES, RESULT_BYTES},
    },
    seat_message::TEXT_BYTES,
};

#[test]
fn staged_changes_are_in_answer_and_later_plan() {
    let answer = AnswerContext {
        staged: &["tone", "facts"],
        cancelled: &["mail-2"],
        ..ANSWER
    };
    let text = answer.render().unwrap().text;
    let named = "\n\nYour plan is not published yet. It makes these tasks: `tone`, `facts`. It cancels these tasks: \
        `mail-2`. All of this is published when this turn ends with success, whatever the answer is. ";
    assert!(text.contains(named), "{text}");
    assert!(
        text.contains("for a task that it cancels.\n\nYour question:\n\n"),
        "{text}"
    );
    let only_new = AnswerContext {
        cancelled: &[],
        ..answer
    };
    let text = only_new.render().unwrap().text;
    assert!(text.contains("`tone`, `facts`. All of this"), "{text}");
    let replan = ReplanContext {
        staged: &["tone"],
        cancelled: &["mail-2"],
        ..REPLAN
    };
    let text = replan.render().unwrap().text;
    let named = "with success. It has made these tasks: `tone`. It has cancelled these tasks: `mail-2`. To withdraw";
    assert!(text.contains(named), "{text}");
    let end = "end your turn without a call.\n\nAn earlier turn of this plan has staged changes, ";
    assert!(text.contains(end), "{text}");
}

#[test]
fn long_list_is_cut_and_counted() {
    let tasks = [DONE; 23];
    let prompt = CheckContext {
        tasks: &tasks,
        tasks_more: 100,
        artifacts: &[ARTIFACTS[0]; 21],
        ..CHECK
    };
    let text = prompt.render().unwrap().text;
    assert_eq!(text.matches("DONE tone: ").count(), MAX_LISTED);
    assert!(text.contains("\n103 more exist: call `list_tasks`."));
    assert_eq!(text.matches("tone.md version 2").count(), MAX_LISTED);
    assert!(text.contains("\n1 more exist: call `list_artifacts`."));
    let message = WORK.messages[0];
    let work = WorkContext {
        messages: &[message; 22],
        ..WORK
    };
    let text = work.render().unwrap().text;
    assert_eq!(text.matches("ends on Friday").count(), MAX_LISTED);
    assert!(text.contains("\n2 more messages wait: call `read_messages`."));
    let report = ReportContext {
        tasks: &tasks[..20],
        tasks_more: 4,
        ..REPORT
    };
    let text = report.render().unwrap().text;
    assert!(text.contains("\n4 more exist: call `list_tasks`."));
    let staged = [StagedEntry {
        key: "tone",
        title: "Describe the tone",
    }; MAX_STAGED_LISTED + 2];
    let interrupted = InterruptedState::Plan {
        staged: &staged,
        cancelled: &[],
    };
    let text = interrupted.render().unwrap().text;
    assert_eq!(text.matches("\n- tone: ").count(), MAX_STAGED_LISTED);
    assert!(text.contains("\n2 more are staged: call `list_tasks`."));
    let replan = ReplanContext {
        ended: &tasks,
        ended_more: 10,
        open: &[OPEN; 24],
        open_more: 100,
        replans_left: 0,
        ..REPLAN
    };
    let text = replan.render().unwrap().text;
    assert!(text.contains("\n13 more have ended: call `list_tasks`."));
    assert!(text.contains("\n104 more are open: call `list_tasks`."));
    assert!(text.contains("0 further plans are possible"));
}

#[test]
fn findings_proposals_and_questions_beyond_list_are_counted() {
    let findings = [REPLAN.findings[0]; 23];
    let text = "x".repeat(FOLLOW_UP_BYTES);
    let proposals = [ProposalEntry {
        text: &text,
        ..REPLAN.follow_ups[0]
    }; 40];
    let more_findings = "\n3 more exist: `list_tasks` with the status `FAILED` names their tasks";
    let replan = ReplanContext {
        findings: &findings,
        follow_ups: &proposals,
        ..REPLAN
    };
    let text = replan.render().unwrap().text;
    assert_eq!(text.matches("no-source of the judge").count(), MAX_LISTED);
    assert!(text.contains(more_findings), "{text}");
    let listed = text.matches("\nresult 1 of tone: x").count();
    assert!(listed > MAX_LISTED, "{listed}");
    let more = format!(
        "\n{} more wait for the next plan.\n",
        proposals.len() - listed
    );
    assert!(text.contains(&more), "{text}");
    assert!(text.len() < 70 << 10, "{}", text.len());
    let last = ReplanContext {
        replans_left: 0,
        ..replan
    };
    let text = last.render().unwrap().text;
    let none = " more wait for the next plan, and the limit allows none.\n";
    assert!(text.contains(none), "{text}");
    let report = ReportContext {
        rejected: &findings,
        questions: &[REPORT.questions[0]; 22],
        ..REPORT
    };
    let text = report.render().unwrap().text;
    assert!(text.contains(more_findings), "{text}");
    assert!(text.contains("\n2 earlier ones are in the table of Matins."));
    let keys = ["audience"; 24];
    let plan = PlanContext {
        memory_keys: &keys,
        ..PLAN
    };
    let text = plan.render().unwrap().text;
    assert_eq!(text.matches("`audience`").count(), MAX_LISTED);
    assert!(text.contains("\n4 more exist: call `recall`."), "{text}");
    let reminder = ReminderContext {
        missing: "create_task",
        schema: &serde_json::json!({ "type": "object" }),
        refusals: &["`title` of `a` is empty"; 21],
        is_staged: true,
    };
    let text = reminder.render().unwrap().text;
    assert!(text.contains("\n1 more are not listed.\n"), "{text}");
}

#[test]
fn all_findings_of_check_and_judge_are_in_rework() {
    let rework = ReworkContext {
        findings: &[REPLAN.findings[0]; MAX_LISTED + 1],
        ..REWORK
    };
    let text = rework.render().unwrap().text;
    let headings = text.matches("A finding of the judge (blocker) follows.");
    assert_eq!(headings.count(), MAX_LISTED + 1);
}

#[test]
fn prompt_of_longest_texts_is_not_cut_and_bounded() {
    let longest = |bytes: usize| "x".repeat(bytes);
    let (description, result) = (longest(DESCRIPTION_BYTES), longest(RESULT_BYTES));
    let message = longest(TEXT_BYTES);
    let input = InputEntry {
        key: "tone",
        status: TaskStatus::Done,
        result: Some(&result),
    };
    let message = MessageEntry {
        text: &message,
        ..WORK.messages[0]
    };
    let work = WorkContext {
        description: &description,
        inputs: &[input; 20],
        messages: &[message; 20],
        ..WORK
    };
    let text = work.render().unwrap().text;
    assert!(text.contains(&description));
    let heading = "\nThe result of the task `tone` follows. Another agent wrote it.";
    assert_eq!(text.matches(heading).count(), 16);
    let left_out = "\nTasks before this one that are left out here: 4. ";
    assert!(text.contains(left_out), "{text}");
    assert!(text.len() < 260 << 10, "{}", text.len());
    let task = TaskEntry {
        result: Some(&result),
        ..DONE
    };
    let check = CheckContext {
        tasks: &[task; 16],
        ..CHECK
    };
    let text = check.render().unwrap().text;
    assert_eq!(text.matches(result.as_str()).count(), 16);
    assert!(!text.contains("left out"), "{text}");
    assert!(text.len() < 80 << 10, "{}", text.len());
}

#[test]
fn dependencies_without_result_are_named_and_those_beyond_list_counted() {
    let mut inputs = vec![WORK.inputs[0]; 24];
    inputs[0] = InputEntry {
        key: "brand",
        status: TaskStatus::Failed,
        result: None,
    };
    inputs[1] = InputEntry {
        key: "legal",
        status: TaskStatus::Done,
        result: None,
    };
    inputs[2] = InputEntry {
        key: "figures",
        status: TaskStatus::Failed,
        result: Some("There is no source."),
    };
    let work = WorkContext {
        inputs: &inputs,
        ..WORK
    };
    let text = work.render().unwrap().text;
    assert!(text.contains("\n\nThe task `figures` has failed. Its report follows. Another agent"));
    assert_eq!(
        text.matches("The result of the task `tone` follows.")
            .count(),
        19
    );
    let named = "\n\nTasks before this one that have no result: `brand` (FAILED), `legal` (DONE)\n\n\
        Tasks before this one that are left out here: 2. `list_tasks` with `mail-2` in `task` returns their keys, and with \
        such a key the result.\n\nArtifacts follow";
    assert!(text.contains(named), "{text}");
}

#[test]
fn results_beyond_their_bound_are_left_out_and_counted() {
    let result = "\n".repeat(RESULT_BYTES);
    let task = TaskEntry {
        result: Some(&result),
        ..DONE
    };
    // Each line break takes two bytes in a list.
    let mut tasks = [task; 20];
    tasks[0] = FAILED;
    let check = CheckContext {
        tasks: &tasks,
        ..CHECK
    };
    let report = ReportContext {
        tasks: &tasks,
        ..REPORT
    };
    let replan = ReplanContext {
        ended: &tasks,
        ..REPLAN
    };
    for prompt in [check.render(), report.render(), replan.render()] {
        let text = prompt.unwrap().text;
        let left_out = "\nResults left out here: 11. `list_tasks` with the key in `task` returns each whole.\n";
        assert!(text.contains(left_out), "{text}");
        let without = "FAILED mail-2: Write the second mail: not accepted\nDONE tone: Describe the tone\nDONE tone";
        assert!(text.contains(without), "{text}");
        assert_eq!(text.matches("tone: Describe the tone: \\n").count(), 8);
        assert!(text.len() < 70 << 10, "{}", text.len());
    }
}
