//! `matins status`: prints what ran, what failed, what waits, what comes next and what it cost.

use std::{path::PathBuf, time::Duration};

use api_types::{
    AutomationItem, FailureGroup, GoalReason, OutcomeCounts, Overview, ReportedUsage, RunItem,
    WaitingApproval, WaitingGoal, WaitingQuestion,
};
use client::{TraceItem, TraceSubject};
use model::{Clock, Timestamp, question::QuestionKind, run::RunStatus};
use server::SystemClock;
use tokio::time::{Instant, sleep_until, timeout};

use crate::{
    app::{App, Target},
    commands::{budget, instant_arg::InstantArg, options::format_period, run::format_wait},
    data_folder, environment,
    error::{CliError, Exit},
    last_look,
    output::{ATTENTION, BAD, BOLD, DIM, GOOD, excerpt, paint},
    signals::Signals,
};

/// The time after an event in which further events come into the same printing.
const GATHER_TIME: Duration = Duration::from_millis(500);

/// The longest time between two printings. Deadlines come closer without an event.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest time since the last look that the command asks for. The server accepts a day more, so that its clock may
/// differ.
const LONGEST_SINCE: Duration = Duration::from_hours(30 * 24);

/// The number of characters of a name.
const NAME_CHARS: usize = 30;
/// The number of characters of a reason, so that a line fits into 80 columns.
const REASON_CHARS: usize = 74;

/// Show what ran since you last looked, what failed, what waits, what comes next, and what it cost
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show what ran since this time: 12h, 2026-11-19T22:41, or an instant with an offset
    ///
    /// Without it, the time since the last `matins status` counts, or 24 hours.
    #[arg(long, value_name = "TIME")]
    since: Option<InstantArg>,
    /// Print the status again whenever something happens, until Ctrl-C
    #[arg(long)]
    watch: bool,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    let now = SystemClock.now();
    let memory = Memory::locate(app)?;
    let since = match args.since {
        Some(time) => Some(time.resolve("--since", now, &app.time)?),
        None => memory.last_look(now),
    };
    let overview = app.client.overview(since).await?;
    // A look with `--since` is a look all the same.
    memory.note_look(app, overview.now);
    if args.watch {
        return watch(app, overview).await;
    }
    if app.output.json {
        app.output.document(&overview)?;
    } else {
        print(app, &overview)?;
    }
    Ok(Exit::Done)
}

/// Where the command remembers its last use, and the server that it belongs to.
struct Memory {
    /// `None` if there is no home directory.
    path: Option<PathBuf>,
    server: String,
}

impl Memory {
    fn locate(app: &App) -> Result<Self, CliError> {
        let server = match app.target {
            Target::Remote => app.client.server_name().to_owned(),
            Target::Local | Target::InProcess(_) => {
                let folder = data_folder::data_folder_path(&app.config)?;
                folder.display().to_string()
            }
        };
        let path = environment::state_folder().map(|folder| folder.join("looks.json"));
        Ok(Self { path, server })
    }

    /// Returns the instant of the last look, at most [`LONGEST_SINCE`] ago.
    fn last_look(&self, now: Timestamp) -> Option<Timestamp> {
        let last = last_look::read(self.path.as_deref()?, &self.server)?;
        // After the clock was set back, the last look lies in the future.
        (last <= now).then(|| last.max(now.saturating_sub(LONGEST_SINCE)))
    }

    fn note_look(&self, app: &App, at: Timestamp) {
        let Some(path) = &self.path else { return };
        if let Err(error) = last_look::write(path, &self.server, at) {
            let problem = format!("cannot remember this look in {}: {error}", path.display());
            app.output.aside(&problem);
        }
    }
}

/// Prints the status, and prints it again after each event, until a signal comes.
async fn watch(app: &App, first: Overview) -> Result<Exit, CliError> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        () = signals.next() => Ok(Exit::Done),
        ended = Box::pin(print_changes(app, first)) => ended,
    }
}

async fn print_changes(app: &App, first: Overview) -> Result<Exit, CliError> {
    let since = first.since;
    let mut trace = app.client.trace(TraceSubject::All, None);
    let mut overview = first;
    loop {
        if app.output.json {
            app.output.document_line(&overview)?;
        } else {
            app.output.clear_screen()?;
            print(app, &overview)?;
        }
        let latest = Instant::now() + LONGEST_PAUSE;
        tokio::select! {
            item = trace.next() => note(app, item?),
            () = sleep_until(latest) => {}
        }
        // One transition makes several events.
        while let Ok(item) = timeout(GATHER_TIME, trace.next()).await {
            note(app, item?);
            if Instant::now() >= latest {
                break;
            }
        }
        overview = app.client.overview(Some(since)).await?;
    }
}

fn note(app: &App, item: TraceItem) {
    if let TraceItem::Disconnected { cause, pause } = item {
        tracing::debug!(error = %cause, "the trace was disconnected");
        let seconds = pause.as_secs_f64().ceil();
        app.output.aside(&format!(
            "The connection broke; reconnecting in {seconds:.0} s."
        ));
    }
}

fn print(app: &App, overview: &Overview) -> Result<(), CliError> {
    app.output.line(&headline(app, overview))?;
    if !overview.has_server {
        let text = "No server runs: nothing fires until you start `matins serve`.";
        app.output.line(&paint(ATTENTION, text))?;
    }
    let needs = &overview.needs;
    let approvals = needs.approvals.iter();
    let questions = needs.questions.iter();
    let failures = needs.failures.iter();
    let mut lines: Vec<String> = Vec::new();
    lines.extend(approvals.flat_map(|approval| approval_lines(approval, overview.now)));
    lines.extend(questions.flat_map(|question| question_lines(question, overview.now)));
    lines.extend(needs.goals.iter().flat_map(goal_lines));
    lines.extend(needs.automations.iter().flat_map(automation_lines));
    lines.extend(failures.flat_map(|group| failure_lines(app, group)));
    if needs.cut {
        lines
            .push("  … and more: `matins approval list`, `matins run list --status failed`".into());
    }
    section(app, "Needs you", lines)?;
    section(
        app,
        "Running",
        overview
            .running
            .iter()
            .map(|run| running_line(run, overview.now))
            .collect(),
    )?;
    let next = overview.next_runs.iter().map(|next| {
        let quiet = if next.run.in_quiet_hours {
            " (quiet hours: skipped)"
        } else {
            ""
        };
        format!(
            "  {}  {}{quiet}",
            next.run.display,
            excerpt(&next.automation_name, NAME_CHARS)
        )
    });
    section(app, "Next", next.collect())?;
    section(app, "Cost", cost_lines(overview))
}

/// Prints a heading and lines, or nothing without lines.
fn section(app: &App, heading: &str, lines: Vec<String>) -> Result<(), CliError> {
    if lines.is_empty() {
        return Ok(());
    }
    app.output.line(&format!("\n{}", paint(BOLD, heading)))?;
    for line in lines {
        app.output.line(&line)?;
    }
    Ok(())
}

fn headline(app: &App, overview: &Overview) -> String {
    let OutcomeCounts {
        succeeded,
        failed,
        stalled,
        cancelled,
        missed,
        skipped,
        running,
        queued,
        delivered,
    } = overview.counts;
    let ran = succeeded + failed + stalled + cancelled;
    let more = if overview.counts_cut {
        "more than "
    } else {
        ""
    };
    let parts = [
        (succeeded, "succeeded", Some(GOOD)),
        (failed, "failed", Some(BAD)),
        (stalled, "stalled", Some(BAD)),
        (missed, "did not run", Some(BAD)),
        (cancelled, "cancelled", None),
        (skipped, "skipped", None),
        (running, "running", None),
        (queued, "waiting", None),
        (delivered, "waiting as files", None),
        (
            overview.without_directory,
            "wait: directory not here",
            Some(BAD),
        ),
    ];
    let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
    let parts: Vec<_> = parts
        .map(|(number, word, style)| {
            let text = format!("{number} {word}");
            style.map_or(text.clone(), |style| paint(style, &text))
        })
        .collect();
    let runs = if ran == 1 { "run" } else { "runs" };
    let since = app.time.date_time(overview.since);
    let head = paint(BOLD, &format!("{more}{ran} {runs} since {since}"));
    if parts.is_empty() {
        head
    } else {
        format!("{head}\n{}", parts.join(", "))
    }
}

fn approval_lines(waiting: &WaitingApproval, now: Timestamp) -> Vec<String> {
    let approval = &waiting.approval;
    let name = subject(
        waiting.automation_name.as_deref(),
        waiting.session_title.as_deref(),
    );
    let left = format_period(approval.deadline_at.since(now).as_secs());
    let request = excerpt(&approval.request.title, REASON_CHARS);
    vec![
        format!(
            "  {} {} asks; denied in {left} if nobody answers",
            paint(ATTENTION, "?"),
            paint(BOLD, &name)
        ),
        format!("    {request}"),
        format!(
            "    {}",
            paint(DIM, &format!("matins approval show {}", approval.id))
        ),
    ]
}

fn question_lines(waiting: &WaitingQuestion, now: Timestamp) -> Vec<String> {
    let question = &waiting.question;
    let name = subject(
        waiting.automation_name.as_deref(),
        waiting.session_title.as_deref(),
    );
    let left = format_period(question.deadline_at.since(now).as_secs());
    let asks = match (question.kind, &question.default) {
        (QuestionKind::Tool, _) => "has a question; its default counts",
        (QuestionKind::Elicitation, Some(_)) => "waits for an answer; its defaults count",
        (QuestionKind::Elicitation, None) => "waits for an answer; it is declined",
    };
    vec![
        format!(
            "  {} {} {asks} in {left}",
            paint(ATTENTION, "?"),
            paint(BOLD, &name)
        ),
        format!("    {}", excerpt(&question.text, REASON_CHARS)),
        format!(
            "    {}",
            paint(DIM, &format!("matins question show {}", question.id))
        ),
    ]
}

fn goal_lines(goal: &WaitingGoal) -> Vec<String> {
    let name = goal.title.as_deref().unwrap_or(&goal.goal);
    let name = paint(BOLD, &excerpt(name, NAME_CHARS));
    let state = match (goal.reason, goal.cause.as_deref()) {
        (GoalReason::ApprovePlan, _) => "waits for the approval of its plan".to_owned(),
        (GoalReason::Budget, _) => "is paused: a limit is reached".to_owned(),
        (GoalReason::Stuck, Some(cause)) => format!("is stuck: {}", excerpt(cause, NAME_CHARS)),
        (GoalReason::Stuck, None) => "is stuck".to_owned(),
        (GoalReason::GivenUp, _) => "has failed: it was stuck for too long".to_owned(),
        _ => "is paused".to_owned(),
    };
    let command = format!("matins goal show {}", goal.id);
    let mark = match goal.reason {
        GoalReason::GivenUp => paint(BAD, "x"),
        _ => paint(ATTENTION, "!"),
    };
    vec![
        format!("  {mark} {name} {state}"),
        format!("    {}", paint(DIM, &command)),
    ]
}

fn automation_lines(item: &AutomationItem) -> Vec<String> {
    let name = paint(BOLD, &excerpt(&item.name, NAME_CHARS));
    let mark = paint(ATTENTION, "!");
    let reason = item
        .attention
        .as_deref()
        .map(|text| excerpt(text, REASON_CHARS));
    let mut lines = vec![match &item.pause_reason {
        Some(reason) => format!("  {mark} {name} is paused: {}", excerpt(reason, NAME_CHARS)),
        None => format!("  {mark} {name} needs attention"),
    }];
    lines.extend(reason.map(|reason| format!("    {reason}")));
    lines.push(format!(
        "    {}",
        paint(DIM, &format!("matins automation show {}", item.id))
    ));
    lines
}

fn failure_lines(app: &App, group: &FailureGroup) -> Vec<String> {
    let title = group.session_title.as_deref();
    let name = paint(BOLD, &subject(group.automation_name.as_deref(), title));
    let verb = match group.status {
        RunStatus::Missed => "did not run",
        RunStatus::Stalled => "stalled",
        _ => "failed",
    };
    let times = match group.count {
        1 => String::new(),
        count => format!(" {count} times"),
    };
    let (mark, later) = if group.recovered {
        (paint(DIM, "-"), ", and succeeded since then")
    } else {
        (paint(BAD, "x"), "")
    };
    let last = app.time.time(group.last.at);
    let mut lines = vec![format!(
        "  {mark} {name} {verb}{times}, last at {last}{later}"
    )];
    let reason = group.last.message.as_deref().or(group.reason.as_deref());
    lines.extend(reason.map(|reason| format!("    {}", excerpt(reason, REASON_CHARS))));
    if !group.recovered {
        lines.push(format!(
            "    {}",
            paint(DIM, &format!("matins run show {}", group.last.run_id))
        ));
    }
    lines
}

/// Returns the name of an automation, or the title of a conversation.
fn subject(automation: Option<&str>, title: Option<&str>) -> String {
    match (automation, title) {
        (Some(name), _) => excerpt(name, NAME_CHARS),
        (None, Some(title)) => excerpt(title, NAME_CHARS),
        (None, None) => "a conversation".to_owned(),
    }
}

fn running_line(item: &RunItem, now: Timestamp) -> String {
    let names = &item.names;
    let name = subject(
        names.automation_name.as_deref(),
        names.session_title.as_deref(),
    );
    let agent = names.agent_name.as_deref().unwrap_or("the agent");
    let began = item.run.started_at.unwrap_or(item.run.created_at);
    let time = format_period(now.since(began).as_secs());
    let wait = format_wait(item).map_or_else(String::new, |wait| format!(", {wait}"));
    format!("  {name}, {} for {time}{wait}", excerpt(agent, NAME_CHARS))
}

fn cost_lines(overview: &Overview) -> Vec<String> {
    let usage = &overview.usage;
    let Some(amounts) = budget::usage_lines(usage) else {
        return Vec::new();
    };
    let mut lines: Vec<_> = amounts.iter().map(|line| format!("  {line}")).collect();
    if let Some(limits) = budget::format_limits(&usage.budget.clone().into()) {
        lines.push(format!("  budget: {limits}"));
    }
    let periods = [
        ("today", overview.reported),
        ("this month", overview.reported_in_month),
    ];
    for (period, reported) in periods {
        let ReportedUsage {
            runs, with_cost, ..
        } = reported;
        if runs > with_cost {
            let silent = runs - with_cost;
            let text = format!("  {silent} of {runs} runs of {period} reported no cost");
            lines.push(paint(DIM, &text));
        }
    }
    lines
}
