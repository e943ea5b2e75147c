//! The contexts of the prompts of a goal's turns.

use model::{
    goal::{
        FailReason, Graph, PLANNER, Prompt, ReportKind, TaskKind, TaskNo, TaskRole, TaskState,
        report_schema,
    },
    prompt::{
        self,
        goal::{
            AnswerContext, AnswerSource, ArtifactEntry, CheckContext, FindingEntry, InputEntry,
            PlanContext, PlanLimits, PlanRules, ReminderContext, ReplanContext, ReportContext,
            ReviewContext, ReworkContext, RoleEntry, TaskEntry, WorkContext,
        },
    },
};

use super::{
    GoalTexts, TaskTexts,
    facts::{StoredArtifact, StoredQuestion},
    lists::{Listed, TaskList},
    proposals::StoredProposal,
    turn::{StoredFinding, Turn, TurnMemory, WaitingMessage, put_messages_before},
};
use crate::{
    Error,
    goals::Goal,
    runs::goals::usage::{describe_budget_left, describe_usage},
};

/// The notice at the beginning of a memory that replaces a lost one.
const LOST_MEMORY: &str = "The server with the memory and the files of the earlier turns of this task was removed. This \
    memory is new: nothing of that work is here unless it is an artifact.";

/// The notice at the beginning of a memory of a task on which another seat has worked.
const TAKEN_OVER: &str = "Another seat has begun this task, and you take it over. This memory is new: nothing of the earlier \
    conversation about the task is here.";

/// Renders the text of a turn's input.
pub(in crate::runs::goals) fn goal_input(
    goal: &Goal,
    turn: Turn,
    texts: &GoalTexts,
) -> Result<String, Error> {
    let no = turn.task;
    let rendered = render(goal, no, turn.prompt, texts);
    let rendered = rendered.and_then(|text| match turn.memory {
        TurnMemory::Kept => Ok(text),
        TurnMemory::New | TurnMemory::Lost => in_new_memory(goal, turn, texts, text),
    });
    let messages = texts.messages.get(&no).map_or(&[][..], Vec::as_slice);
    let rendered = rendered.and_then(|text| put_messages_before(text, turn, &goal.graph, messages));
    rendered.map_err(|source| Error::GoalPrompt {
        task: goal.graph.tasks()[no.0].key.clone(),
        source,
    })
}

/// Renders one prompt about a task.
fn render(
    goal: &Goal,
    no: TaskNo,
    prompt: Prompt,
    texts: &GoalTexts,
) -> Result<String, prompt::Error> {
    match prompt {
        Prompt::Plan => render_plan(goal, texts),
        Prompt::Replan => render_replan(goal, texts),
        Prompt::Work => render_work(goal, no, texts),
        Prompt::Rework => render_rework(goal, no, texts),
        Prompt::Review => render_review(goal, no, texts),
        Prompt::Answer => render_answers(goal, no, texts),
        Prompt::Check => render_check(goal, no, texts),
        Prompt::Report => render_report(goal, texts),
        Prompt::Reminder => render_reminder(goal, no, texts),
    }
}

/// Returns the prompt of a turn with a new memory: the reason for which it is new, the task if the prompt does not have it,
/// and the prompt itself.
fn in_new_memory(
    goal: &Goal,
    turn: Turn,
    texts: &GoalTexts,
    text: String,
) -> Result<String, prompt::Error> {
    let task = turn.task_prompt(&goal.graph);
    let task = task.map(|prompt| render(goal, turn.task, prompt, texts));
    let task = task.transpose()?;
    let notice = match turn.memory {
        TurnMemory::Lost => Some(LOST_MEMORY),
        // The prompt of a first turn has everything.
        _ => task.is_some().then_some(TAKEN_OVER),
    };
    let parts = notice.map(str::to_owned).into_iter().chain(task);
    let parts: Vec<String> = parts.chain([text]).collect();
    Ok(parts.join("\n\n"))
}

fn render_plan(goal: &Goal, texts: &GoalTexts) -> Result<String, prompt::Error> {
    let (roles, checks) = (role_entries(&goal.graph), check_names(&goal.graph));
    let budget_left = describe_budget_left(goal, &texts.facts.usage);
    let context = PlanContext {
        goal: &goal.text,
        rules: plan_rules(&goal.graph, &roles, &checks),
        budget_left: budget_left.as_deref(),
        staged: &strs(&texts.staged),
        memory_keys: &strs(&texts.facts.memory_keys),
    };
    Ok(context.render()?.text)
}

/// Returns the roles that the planner can give tasks.
fn role_entries(graph: &Graph) -> Vec<RoleEntry<'_>> {
    let team = graph.team();
    let roles = team.roles.iter().filter(|role| role.name != PLANNER);
    let entries = roles.map(|role| RoleEntry {
        name: &role.name,
        seats: team.seats.iter().filter(|it| it.role == role.name).count(),
    });
    entries.collect()
}

fn check_names(graph: &Graph) -> Vec<&str> {
    graph.team().checks.iter().map(String::as_str).collect()
}

fn plan_rules<'a>(
    graph: &Graph,
    roles: &'a [RoleEntry<'a>],
    checks: &'a [&'a str],
) -> PlanRules<'a> {
    let limits = graph.limits();
    let limits = PlanLimits {
        plan: limits.plan,
        tasks: limits.tasks,
        parallel: limits.parallel,
        replans: limits.replans,
    };
    PlanRules {
        roles,
        limits,
        checks,
    }
}

fn render_replan(goal: &Goal, texts: &GoalTexts) -> Result<String, prompt::Error> {
    let graph = &goal.graph;
    let (ended, ended_more) = task_entries(goal, texts, TaskList::Ended);
    let (open, open_more) = task_entries(goal, texts, TaskList::Open);
    let proposals = texts.facts.follow_ups.iter();
    let proposals: Vec<_> = proposals.map(StoredProposal::entry).collect();
    let (roles, checks) = (role_entries(graph), check_names(graph));
    let context = ReplanContext {
        goal: &goal.text,
        reason: &replan_reason(goal, texts),
        rules: (!graph.has_planned()).then(|| plan_rules(graph, &roles, &checks)),
        ended: &ended,
        ended_more,
        open: &open,
        open_more,
        findings: &findings(&texts.facts.rejected),
        follow_ups: &proposals,
        replans_left: replans_left(&goal.graph),
        staged: &strs(&texts.staged),
        cancelled: &strs(&texts.cancelled),
    };
    Ok(context.render()?.text)
}

/// Returns the entries of a list of tasks, and the number of the tasks that the list lacks.
fn task_entries<'a>(
    goal: &'a Goal,
    texts: &'a GoalTexts,
    list: TaskList,
) -> (Vec<TaskEntry<'a>>, usize) {
    let Listed { tasks, more } = list.of(&goal.graph);
    let entries = tasks.into_iter().map(|no| task_entry(goal, texts, no));
    (entries.collect(), more)
}

/// Returns the entry of a task. An open task may have a result without a verdict, and stands in no fence, so that its entry
/// has none.
fn task_entry<'a>(goal: &'a Goal, texts: &'a GoalTexts, no: TaskNo) -> TaskEntry<'a> {
    let task = &goal.graph.tasks()[no.0];
    let own = texts.tasks.get(&goal.tasks[no.0]);
    TaskEntry {
        key: &task.key,
        title: own.map_or("", |own| own.title.as_str()),
        status: task.status(),
        result: match &task.state {
            TaskState::Failed { .. } => own.and_then(|own| own.fail_text.as_deref()),
            TaskState::Cancelled(reason) => Some(reason.as_str()),
            TaskState::Done(_) => own.and_then(|own| own.result.as_deref()),
            TaskState::Pending { .. } | TaskState::Ready | TaskState::Running(_) => None,
        },
    }
}

/// Returns the reasons for a later plan, without those that an earlier complete plan has had in its prompt.
fn replan_reason(goal: &Goal, texts: &GoalTexts) -> String {
    let tasks = goal.graph.tasks();
    let planned = &texts.facts.planned;
    let mut reasons = Vec::new();
    if planned.lack_goal {
        reasons.push("the goal has changed");
    }
    let mut rejected = texts.facts.rejected.iter();
    if rejected.any(|it| it.is_of_goal(tasks) && !planned.has_line(&it.entry().line())) {
        reasons.push("the judge has sent the whole goal back");
    }
    let mut ended = TaskList::Ended.of(&goal.graph).tasks.into_iter();
    let is_new_failure = |no: TaskNo| {
        let task = &tasks[no.0];
        // Neither an optional task nor one whose turn a person cancelled requests a plan.
        matches!(task.state, TaskState::Failed { reason, .. } if reason != FailReason::TurnCancelled)
            && !task.optional
            && !planned.has_line(&task_entry(goal, texts, no).line())
    };
    if ended.any(is_new_failure) {
        reasons.push("a task has failed");
    }
    if !texts.facts.follow_ups.is_empty() {
        reasons.push("a worker has proposed further work");
    }
    if reasons.is_empty() {
        reasons.push("a person has requested it, or tasks have changed");
    }
    reasons.join("; ")
}

fn replans_left(graph: &Graph) -> u32 {
    let limit = graph.limits().replans;
    limit.saturating_sub(graph.progress().replans)
}

fn render_work(goal: &Goal, no: TaskNo, texts: &GoalTexts) -> Result<String, prompt::Error> {
    let tasks = goal.graph.tasks();
    let task = &tasks[no.0];
    let empty = TaskTexts::default();
    let own = texts.tasks.get(&goal.tasks[no.0]).unwrap_or(&empty);
    let inputs = task.depends_on.iter().map(|no| {
        let texts = texts.tasks.get(&goal.tasks[no.0]);
        InputEntry {
            key: &tasks[no.0].key,
            status: tasks[no.0].status(),
            result: texts.and_then(|texts| texts.result.as_deref()),
        }
    });
    let inputs: Vec<_> = inputs.collect();
    let last_error = texts.last_errors.get(&no).map(String::as_str);
    // A task that a person retries counts its attempts anew.
    let failed_before = task.progress.attempts > 0;
    let last_error = last_error.or(failed_before.then_some("The attempt failed."));
    let messages = texts.messages.get(&no).into_iter().flatten();
    let messages: Vec<_> = messages.map(WaitingMessage::entry).collect();
    let context = WorkContext {
        key: &task.key,
        title: &own.title,
        description: &own.description,
        acceptance: &strs(&own.acceptance),
        writes: &strs(&task.writes),
        inputs: &inputs,
        artifacts: &artifacts(texts, |_| true),
        messages: &messages,
        findings: &findings(texts.open_findings.get(&no).map_or(&[], Vec::as_slice)),
        attempt: task.progress.attempts + 1,
        last_error,
    };
    Ok(context.render()?.text)
}

fn render_rework(goal: &Goal, no: TaskNo, texts: &GoalTexts) -> Result<String, prompt::Error> {
    let task = &goal.graph.tasks()[no.0];
    let context = ReworkContext {
        key: &task.key,
        round: task.progress.rounds,
        rounds: goal.graph.limits().rounds,
        findings: &findings(findings_of(no, texts)),
    };
    Ok(context.render()?.text)
}

fn render_review(goal: &Goal, no: TaskNo, texts: &GoalTexts) -> Result<String, prompt::Error> {
    let task = &goal.graph.tasks()[no.0];
    let id = goal.tasks[no.0];
    let empty = TaskTexts::default();
    let own = texts.tasks.get(&id).unwrap_or(&empty);
    let context = ReviewContext {
        key: &task.key,
        title: &own.title,
        acceptance: &strs(&own.acceptance),
        result: own.result.as_deref().unwrap_or_default(),
        artifacts: &artifacts(texts, |artifact| artifact.task == Some(id)),
        tool_calls: texts.tool_calls.get(&no).copied().unwrap_or(0),
        round: task.round(),
        earlier_findings: &findings(findings_of(no, texts)),
    };
    Ok(context.render()?.text)
}

/// Returns the findings of the last round of a task. Those of a check of the goal are from earlier checks.
fn findings_of(no: TaskNo, texts: &GoalTexts) -> &[StoredFinding] {
    texts.findings.get(&no).map_or(&[], Vec::as_slice)
}

fn findings(findings: &[StoredFinding]) -> Vec<FindingEntry<'_>> {
    findings.iter().map(StoredFinding::entry).collect()
}

/// Returns the artifacts that a prompt lists.
fn artifacts(
    texts: &GoalTexts,
    is_listed: impl Fn(&StoredArtifact) -> bool,
) -> Vec<ArtifactEntry<'_>> {
    let artifacts = texts.facts.artifacts.iter();
    let listed = artifacts.filter(|artifact| is_listed(artifact));
    listed.map(StoredArtifact::entry).collect()
}

/// Renders the answers to the questions of a turn. Only the planner has staged changes, which the first answer names.
fn render_answers(goal: &Goal, no: TaskNo, texts: &GoalTexts) -> Result<String, prompt::Error> {
    let answers = texts.answers.get(&no).map_or(&[][..], Vec::as_slice);
    let is_plan = goal.graph.tasks()[no.0].kind == TaskKind::Plan;
    let (staged, cancelled) = (strs(&texts.staged), strs(&texts.cancelled));
    let render = |(index, it): (usize, &super::StoredAnswer)| {
        let person = it.person.as_deref();
        let names_staged = is_plan && index == 0;
        let context = AnswerContext {
            question: &it.question,
            answer: &it.answer,
            source: person.map_or(AnswerSource::Default, AnswerSource::Person),
            staged: if names_staged { &staged } else { &[] },
            cancelled: if names_staged { &cancelled } else { &[] },
        };
        Ok(context.render()?.text)
    };
    let prompts = answers.iter().enumerate().map(render);
    let prompts: Vec<String> = prompts.collect::<Result<_, _>>()?;
    Ok(prompts.join("\n\n"))
}

fn render_check(goal: &Goal, no: TaskNo, texts: &GoalTexts) -> Result<String, prompt::Error> {
    let (tasks, tasks_more) = task_entries(goal, texts, TaskList::All);
    let context = CheckContext {
        goal: &goal.text,
        tasks: &tasks,
        tasks_more,
        artifacts: &artifacts(texts, |_| true),
        round: goal.graph.tasks()[no.0].round(),
        earlier_findings: &findings(findings_of(no, texts)),
    };
    Ok(context.render()?.text)
}

fn render_report(goal: &Goal, texts: &GoalTexts) -> Result<String, prompt::Error> {
    let (tasks, tasks_more) = task_entries(goal, texts, TaskList::All);
    let questions: Vec<_> = texts
        .facts
        .questions
        .iter()
        .map(StoredQuestion::entry)
        .collect();
    let context = ReportContext {
        goal: &goal.text,
        tasks: &tasks,
        tasks_more,
        rejected: &findings(&texts.facts.rejected),
        questions: &questions,
        usage: &describe_usage(&texts.facts.usage, goal.graph.turns()),
    };
    Ok(context.render()?.text)
}

fn render_reminder(goal: &Goal, no: TaskNo, texts: &GoalTexts) -> Result<String, prompt::Error> {
    let kind = TaskRole::of_task(&goal.graph.tasks()[no.0]).report_kind();
    // The turn of the report is never reminded.
    let kind = kind.unwrap_or(ReportKind::Result);
    let refusals = goal.refusals.get(&no).map_or(&[][..], Vec::as_slice);
    let context = ReminderContext {
        missing: kind.tool(),
        schema: &report_schema(kind),
        refusals: &strs(refusals),
        is_staged: kind == ReportKind::Plan
            && !(texts.staged.is_empty() && texts.cancelled.is_empty()),
    };
    Ok(context.render()?.text)
}

fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
