//! `matins task`: lists and shows the tasks of goals, and edits, retries, cancels and accepts them.

mod edit;
mod named;

use api_types::{TaskDetails, TaskFinding, TaskKind, TaskMove, TaskRun};
use clap::Subcommand;
use model::goal::CountedVerdict;

use self::named::{TaskArgs, find};
use super::goal::{GoalArg, Widths, round_text};
use crate::{
    app::App,
    error::{CliError, Exit},
    output::{LocalTime, continued, field_row, one_line, table_with_notes},
};

/// Manage the tasks of goals
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List all tasks of a goal
    #[command(visible_alias = "ls")]
    List(GoalArg),
    /// Show a task with its texts, its findings, and its runs with their verdicts
    Show(TaskArgs),
    Edit(edit::Args),
    /// Retry a failed task, or a check or a review that could not run
    Retry(MoveArgs),
    /// Cancel an open task or drop a failed one, with the tasks that wait for it
    Cancel(MoveArgs),
    /// Accept a failed task, or one under review, so that the tasks behind it can start
    Accept(MoveArgs),
}

#[derive(Debug, clap::Args)]
struct MoveArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// The reason, which the planner gets as a message
    #[arg(long)]
    comment: Option<String>,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::List(args) => list(app, &args.goal).await?,
        Command::Show(args) => show(app, &args).await?,
        Command::Edit(args) => edit::run(args, app).await?,
        Command::Retry(args) => move_task(app, &args, TaskMove::Retry).await?,
        Command::Cancel(args) => move_task(app, &args, TaskMove::Cancel).await?,
        Command::Accept(args) => move_task(app, &args, TaskMove::Accept).await?,
    }
    Ok(Exit::Done)
}

async fn list(app: &App, goal: &str) -> Result<(), CliError> {
    let tasks = app.client.tasks(goal).await?;
    if app.output.json {
        return Ok(app.output.document(&tasks)?);
    }
    if tasks.tasks.is_empty() {
        return Ok(app.output.line("The goal has no tasks yet.")?);
    }
    let widths = Widths::of(&tasks.tasks);
    for task in &tasks.tasks {
        app.output.line(&widths.line(task))?;
    }
    Ok(())
}

async fn show(app: &App, args: &TaskArgs) -> Result<(), CliError> {
    let id = find(app, args).await?.id.to_string();
    let details = app.client.task(&id).await?;
    if app.output.json {
        return Ok(app.output.document(&details)?);
    }
    Ok(app.output.line(&details_text(&details, &app.time))?)
}

/// Formats a task. All lines of texts of agents but the first of an item are indented, so that none looks like a heading.
fn details_text(details: &TaskDetails, time: &LocalTime) -> String {
    let task = &details.task;
    let key = one_line(&task.key);
    // Plans, checks and reports have no title.
    let title = match one_line(&task.title) {
        title if title.is_empty() => key,
        title => format!("{key}: {title}"),
    };
    let mut lines = vec![title];
    for (name, value) in fields(details, time) {
        lines.extend(value.map(|value| field_row(name, &value)));
    }
    if !details.description.is_empty() {
        lines.push(paragraph("Description", &details.description));
    }
    // Findings name the numbers of these lines.
    let acceptance = |index: usize| format!("{}.", index + 1);
    lines.extend(marked_list("Accepted if", &details.acceptance, acceptance));
    let findings: Vec<_> = details.findings.iter().map(finding_text).collect();
    lines.extend(list_text("Findings of the last round", &findings));
    lines.extend(list_text("Evidence", &details.evidence));
    lines.extend(list_text("Output of the checks", &details.check_output));
    lines.extend(list_text("Edits outside of its paths", &edits(details)));
    let cause = task.cause.as_deref();
    lines.extend(cause.map(|cause| paragraph("Why it failed", cause)));
    // The last words of an agent may be its result.
    let result = task.result.as_deref().filter(|it| Some(*it) != cause);
    lines.extend(result.map(|result| paragraph("Result", result)));
    if !details.runs.is_empty() {
        lines.push(format!("\n{}", runs_text(&details.runs)));
    }
    lines.join("\n")
}

/// Formats the runs of a task as a table, with each verdict and its findings below the row.
fn runs_text(runs: &[TaskRun]) -> String {
    let rows = runs.iter().map(|run| {
        let verdict = run.verdict.map(|verdict| match verdict {
            CountedVerdict::Accept => "accepted".to_owned(),
            CountedVerdict::SendBack => "sent back".to_owned(),
        });
        let findings = run.findings.iter().map(finding_text);
        let cells = [
            run.id.to_string(),
            run.status.to_string(),
            run.prompt.clone().unwrap_or_default(),
            one_line(&run.seat),
        ];
        (cells, verdict.into_iter().chain(findings).collect())
    });
    table_with_notes(["RUN", "STATUS", "PROMPT", "SEAT"], rows)
}

/// Formats a finding with its source, its severity, and the acceptance line that the result misses.
fn finding_text(finding: &TaskFinding) -> String {
    let TaskFinding {
        id,
        text,
        severity,
        criterion,
        from,
    } = finding;
    let criterion = criterion.map(|number| format!(", acceptance line {number}"));
    format!(
        "{id} ({from}, {severity}{}): {text}",
        criterion.unwrap_or_default()
    )
}

fn fields(details: &TaskDetails, time: &LocalTime) -> Vec<(&'static str, Option<String>)> {
    let task = &details.task;
    let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(", "));
    let status = match task.step {
        Some(step) => format!("{} ({step})", task.status),
        None => task.status.to_string(),
    };
    vec![
        ("status", Some(status)),
        ("reason", task.reason.clone()),
        ("waits for", task.waits_for.clone()),
        ("kind", Some(task.kind.to_string())),
        (
            "priority",
            (task.kind == TaskKind::Work).then(|| task.priority.to_string()),
        ),
        ("role", Some(task.role.clone())),
        ("seat", task.seat.clone()),
        ("round", round_text(task)),
        (
            "attempts",
            (task.attempts > 0).then(|| task.attempts.to_string()),
        ),
        ("depends on", joined(&task.depends_on)),
        ("writes", joined(&details.writes)),
        ("checks", joined(&details.checks)),
        ("artifacts", joined(&details.artifacts)),
        ("tool calls", format_tool_calls(details)),
        ("started", task.started_at.map(|at| time.date_time(at))),
        ("ended", task.ended_at.map(|at| time.date_time(at))),
    ]
}

/// Formats the number of tool calls behind a result. Returns `None` if the task has no result of an agent's work.
fn format_tool_calls(details: &TaskDetails) -> Option<String> {
    let task = &details.task;
    task.result
        .as_ref()
        .filter(|_| task.kind == TaskKind::Work)?;
    Some(match details.tool_calls? {
        0 => "0 (the result may be invented)".to_owned(),
        calls => calls.to_string(),
    })
}

/// Returns the edits outside of the paths of a task, with the number of those that the server leaves out.
fn edits(details: &TaskDetails) -> Vec<String> {
    let more = details.more_edits_outside_writes;
    let more = (more > 0).then(|| format!("{more} more"));
    let paths = details.edits_outside_writes.iter().cloned();
    paths.chain(more).collect()
}

/// Formats a text under a heading, indented.
fn paragraph(heading: &str, text: &str) -> String {
    format!("\n{heading}:\n  {}", continued(text, 2))
}

/// Formats a list under a heading. Returns `None` if the list is empty.
fn list_text(heading: &str, items: &[String]) -> Option<String> {
    marked_list(heading, items, |_| "-".to_owned())
}

/// Formats a list as [`list_text`] does, with a mark for each index in front of its item.
fn marked_list(heading: &str, items: &[String], mark: impl Fn(usize) -> String) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let items = items.iter().enumerate();
    let items = items.map(|(index, item)| format!("{} {}", mark(index), continued(item, 2)));
    let items: Vec<_> = items.collect();
    Some(format!("\n{heading}:\n{}", items.join("\n")))
}

async fn move_task(app: &App, args: &MoveArgs, to: TaskMove) -> Result<(), CliError> {
    let id = find(app, &args.task).await?.id.to_string();
    let task = app
        .client
        .move_task(&id, to, args.comment.as_deref())
        .await?;
    if app.output.json {
        return Ok(app.output.document(&task)?);
    }
    let line = format!("{} is {}.", one_line(&task.key), task.status);
    Ok(app.output.line(&line)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{LINE_COLUMNS, column_count};

    /// A text of an agent with lines of its own headings, and with characters that control a terminal.
    const HOSTILE: &str = "One\nResult:\nAccepted.\r\nEvidence:\n- none\u{1b}[2J\n\nRUN  STATUS";

    #[test]
    fn text_of_agent_forges_no_heading() {
        let details: TaskDetails = serde_json::from_value(serde_json::json!({
            "id": "task_01970197019701970197019701970197", "goal_id": "ses_01970197019701970197019701970197",
            "key": HOSTILE, "title": HOSTILE, "kind": "work", "role": "worker", "status": "FAILED", "round": 3,
            "round_limit": 3, "attempts": 0, "optional": false, "review": true, "priority": 5, "plan_version": 1,
            "depends_on": [], "reason": HOSTILE, "cause": HOSTILE, "result": format!("{HOSTILE}\n"),
            "created_at": "2026-11-20T06:00:00Z",
            "description": HOSTILE, "acceptance": [HOSTILE], "writes": [HOSTILE], "checks": [], "artifacts": [HOSTILE],
            "findings": [{ "id": "f1", "text": HOSTILE, "severity": "blocker", "from": "judge" }],
            "evidence": [HOSTILE], "check_output": [HOSTILE], "runs": [],
            "edits_outside_writes": [HOSTILE], "more_edits_outside_writes": 3,
        }))
        .unwrap();
        let text = details_text(&details, &LocalTime::of_zone("Europe/Prague"));
        assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{text:?}");
        let is_heading = |line: &&str| !line.is_empty() && !line.starts_with([' ', '-', '1']);
        let headings: Vec<_> = text.lines().skip(1).filter(is_heading).collect();
        let own = [
            "Description:",
            "Accepted if:",
            "Findings of the last round:",
            "Evidence:",
            "Output of the checks:",
            "Edits outside of its paths:",
            "Why it failed:",
            "Result:",
        ];
        assert_eq!(headings, own, "{text}");
        let items = text.lines().filter(|line| line.starts_with(['-', '1']));
        let finding = "- f1 (judge, blocker): One";
        let own = ["1. One", finding, "- One", "- One", "- One", "- 3 more"];
        assert_eq!(items.collect::<Vec<_>>(), own, "{text}");
        assert!(
            text.contains("Result:\n  One\n  Result:\n  Accepted."),
            "{text}"
        );
    }

    #[test]
    fn runs_of_judge_have_verdicts_and_findings_with_acceptance_lines() {
        let run = |prompt: &str, verdict: Option<&str>, findings: serde_json::Value| {
            serde_json::json!({
                "id": "run_01970197019701970197019701970197", "status": "succeeded", "prompt": prompt,
                "seat": "worker-1", "verdict": verdict, "evidence": [], "findings": findings,
            })
        };
        let finding = |id: &str, criterion: Option<u32>, text: &str| {
            serde_json::json!({
                "id": id, "text": text, "severity": "blocker", "criterion": criterion, "from": "judge",
            })
        };
        let long = finding(
            "length",
            Some(2),
            &format!("It is\n{} long.", "very ".repeat(20)),
        );
        let findings = serde_json::json!([long, finding("tone", None, HOSTILE)]);
        let runs: Vec<TaskRun> = serde_json::from_value(serde_json::json!([
            run("work", None, serde_json::json!([])),
            run("review", Some("send_back"), findings),
            run("review", Some("accept"), serde_json::json!([])),
        ]))
        .unwrap();
        let text = runs_text(&runs);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "RUN                                   STATUS     PROMPT  SEAT",
                "run_01970197019701970197019701970197  succeeded  work    worker-1",
                "run_01970197019701970197019701970197  succeeded  review  worker-1",
                "  sent back",
                "  length (judge, blocker, acceptance line 2): It is very very very very very ve…",
                "  tone (judge, blocker): One Result: Accepted. Evidence: - none\\u{1b}[2J RUN ST…",
                "run_01970197019701970197019701970197  succeeded  review  worker-1",
                "  accepted",
            ]
        );
        assert!(lines.iter().all(|line| column_count(line) <= LINE_COLUMNS));
    }

    #[test]
    fn run_of_server_without_verdicts_has_none() {
        let run: TaskRun = serde_json::from_value(serde_json::json!({
            "id": "run_01970197019701970197019701970197", "status": "succeeded", "seat": "judge",
        }))
        .unwrap();
        assert_eq!((run.verdict, run.findings.len()), (None, 0));
        assert!(runs_text(&[run]).ends_with("judge"));
    }
}
