//! The contexts of the prompts of a goal's turns.

use model::{
    escape::escape_line,
    goal::{Activity, Graph, PLANNER, Prompt, Task, TaskKind, TaskNo, TaskStatus},
    prompt::{
        self,
        goal::{
            AnswerContext, AnswerSource, CheckContext, FindingEntry, InputEntry, MAX_LISTED,
            PlanContext, PlanLimits, ReminderContext, ReplanContext, ReportContext, ReviewContext,
            ReworkContext, RoleEntry, TaskEntry, WorkContext,
        },
    },
};
use serde_json::json;

use super::{GoalTexts, StoredFinding, TaskSummary, TaskTexts};
use crate::{Error, goals::Goal};

/// Renders the text of a turn's input.
pub(in crate::runs::goals) fn goal_input(
    goal: &Goal,
    no: TaskNo,
    prompt: Prompt,
    texts: &GoalTexts<'_>,
) -> Result<String, Error> {
    let rendered = match prompt {
        Prompt::Plan => render_plan(goal, texts),
        Prompt::Replan => render_replan(goal, texts),
        Prompt::Work => render_work(goal, no, texts),
        Prompt::Rework | Prompt::Review => render_judged(goal, no, prompt, texts),
        Prompt::Answer => render_answers(no, texts),
        Prompt::Check | Prompt::Report => render_whole_goal(goal, prompt, texts),
        Prompt::Reminder => render_reminder(&goal.graph.tasks()[no.0], texts),
    };
    rendered.map_err(|source| Error::GoalPrompt {
        task: goal.graph.tasks()[no.0].key.clone(),
        source,
    })
}

fn render_plan(goal: &Goal, texts: &GoalTexts<'_>) -> Result<String, prompt::Error> {
    let graph = &goal.graph;
    let team = graph.team();
    let limits = graph.limits();
    let roles = team.roles.iter().filter(|role| role.name != PLANNER);
    let roles: Vec<_> = roles
        .map(|role| RoleEntry {
            name: &role.name,
            seats: team.seats.iter().filter(|it| it.role == role.name).count(),
        })
        .collect();
    let checks: Vec<_> = team.checks.iter().map(String::as_str).collect();
    let context = PlanContext {
        goal: &goal.text,
        roles: &roles,
        limits: PlanLimits {
            plan: limits.plan,
            tasks: limits.tasks,
            parallel: limits.parallel,
            replans: limits.replans,
        },
        budget_left: None,
        checks: &checks,
        staged: &strs(&texts.staged),
        memory_keys: &[],
    };
    Ok(context.render()?.text)
}

fn render_replan(goal: &Goal, texts: &GoalTexts<'_>) -> Result<String, prompt::Error> {
    let (ended, open): (Vec<_>, Vec<_>) = texts
        .summaries
        .iter()
        .map(TaskSummary::entry)
        .partition(|task| has_ended(task.status));
    let context = ReplanContext {
        goal: &goal.text,
        reason: replan_reason(&goal.graph, texts),
        ended: &ended,
        open: &open,
        findings: &[],
        follow_ups: &[],
        replans_left: replans_left(&goal.graph),
    };
    Ok(context.render()?.text)
}

const fn has_ended(status: TaskStatus) -> bool {
    matches!(
        status,
        TaskStatus::Done | TaskStatus::Failed | TaskStatus::Cancelled
    )
}

fn replan_reason<'a>(graph: &Graph, texts: &GoalTexts<'a>) -> &'a str {
    let has_failed = |task: &Task| task.status() == TaskStatus::Failed;
    if !texts.refusal.is_empty() {
        texts.refusal
    } else if graph.tasks().iter().any(has_failed) {
        "a task has failed"
    } else {
        "the goal or its tasks have changed"
    }
}

fn replans_left(graph: &Graph) -> u32 {
    let limit = graph.limits().replans;
    limit.saturating_sub(graph.progress().replans)
}

fn render_work(goal: &Goal, no: TaskNo, texts: &GoalTexts<'_>) -> Result<String, prompt::Error> {
    let tasks = goal.graph.tasks();
    let task = &tasks[no.0];
    let empty = TaskTexts::default();
    let own = texts.tasks.get(&goal.tasks[no.0]).unwrap_or(&empty);
    let inputs = task.depends_on.iter().filter_map(|no| {
        Some(InputEntry {
            key: &tasks[no.0].key,
            result: texts.tasks.get(&goal.tasks[no.0])?.result.as_deref()?,
        })
    });
    let inputs: Vec<_> = inputs.take(MAX_LISTED).collect();
    let failed_before = task.progress.attempts > 0;
    let context = WorkContext {
        key: &task.key,
        title: &own.title,
        description: &own.description,
        acceptance: &strs(&own.acceptance),
        writes: &strs(&task.writes),
        inputs: &inputs,
        artifacts: &[],
        messages: &[],
        attempt: task.progress.attempts + 1,
        last_error: failed_before.then_some("The attempt failed."),
    };
    Ok(context.render()?.text)
}

/// Renders the prompt of a judge, or of a task that was sent back.
fn render_judged(
    goal: &Goal,
    no: TaskNo,
    prompt: Prompt,
    texts: &GoalTexts<'_>,
) -> Result<String, prompt::Error> {
    let task = &goal.graph.tasks()[no.0];
    let findings = texts.findings.get(&no).map_or(&[][..], Vec::as_slice);
    let findings: Vec<FindingEntry<'_>> = findings.iter().map(StoredFinding::entry).collect();
    if prompt == Prompt::Rework {
        let context = ReworkContext {
            key: &task.key,
            round: task.progress.rounds,
            rounds: goal.graph.limits().rounds,
            findings: &findings,
        };
        return Ok(context.render()?.text);
    }
    let empty = TaskTexts::default();
    let own = texts.tasks.get(&goal.tasks[no.0]).unwrap_or(&empty);
    let context = ReviewContext {
        key: &task.key,
        title: &own.title,
        acceptance: &strs(&own.acceptance),
        result: own.result.as_deref().unwrap_or_default(),
        artifacts: &[],
        tool_calls: 0,
        round: task.progress.rounds + 1,
        earlier_findings: &findings,
    };
    Ok(context.render()?.text)
}

fn render_answers(no: TaskNo, texts: &GoalTexts<'_>) -> Result<String, prompt::Error> {
    let answers = texts.answers.get(&no).map_or(&[][..], Vec::as_slice);
    let render = |it: &super::StoredAnswer| {
        let person = it.person.as_deref();
        let context = AnswerContext {
            question: &it.question,
            answer: &it.answer,
            source: person.map_or(AnswerSource::Default, AnswerSource::Person),
        };
        Ok(context.render()?.text)
    };
    let prompts: Vec<String> = answers.iter().map(render).collect::<Result<_, _>>()?;
    Ok(prompts.join("\n\n"))
}

/// Renders the prompt of the judge of the whole goal, or of the report.
fn render_whole_goal(
    goal: &Goal,
    prompt: Prompt,
    texts: &GoalTexts<'_>,
) -> Result<String, prompt::Error> {
    let tasks: Vec<TaskEntry<'_>> = texts.summaries.iter().map(TaskSummary::entry).collect();
    if prompt == Prompt::Check {
        let context = CheckContext {
            goal: &goal.text,
            tasks: &tasks,
            artifacts: &[],
        };
        return Ok(context.render()?.text);
    }
    let context = ReportContext {
        goal: &goal.text,
        tasks: &tasks,
        rejected: &[],
        questions: &[],
        usage: &format!("{} turns", goal.graph.turns()),
    };
    Ok(context.render()?.text)
}

fn render_reminder(task: &Task, texts: &GoalTexts<'_>) -> Result<String, prompt::Error> {
    let context = ReminderContext {
        missing: missing_tool(task),
        schema: &json!({ "type": "object" }),
    };
    let text = context.render()?.text;
    if texts.refusal.is_empty() {
        return Ok(text);
    }
    // The planner cannot mend a refused plan without the reason, for which the template has no variable.
    let refusal = escape_line(texts.refusal);
    Ok(format!("The plan was refused: {refusal}\n\n{text}"))
}

fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Returns the tool with which a turn of a task has to end.
const fn missing_tool(task: &Task) -> &'static str {
    match (task.kind, task.activity()) {
        (_, Some(Activity::Review { .. })) | (TaskKind::Check, _) => "judge_task",
        (TaskKind::Plan, _) => "create_task",
        _ => "update_task",
    }
}
