//! `matins run`: lists, shows, retries and cancels runs.

mod batch;
mod filter_args;

use std::fmt;

use api_types::{ProblemKind, Run, RunDelivery, RunItem, RunNames, RunPatch, RunRecord, RunView};
use clap::Subcommand;
use client::RunFilter;
use model::{
    run::{RunSource, RunStatus},
    trigger_file::TRIGGER_FILE_WORKER,
};
use serde::Serialize;

use self::{batch::BatchArgs, filter_args::FilterArgs};
use crate::{
    app::App,
    commands::{agent::format_own_tools, first_items::first_items, options::format_period},
    error::{CliError, Exit},
    follow,
    output::{clean, excerpt, field_row, short_ids, table_with_notes},
};

/// The highest width of the column SOURCE. The other columns take 56 of a line.
const MAX_SUBJECT_COLUMNS: usize = 24;

/// Manage runs: each is one attempt to take a turn
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List runs, newest first
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        filter: FilterArgs,
        /// List each attempt; without it, the last attempt stands for the others
        #[arg(long)]
        all_attempts: bool,
        /// The maximum number of runs
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a run with its answer, the prompt that was sent and the other attempts at its input
    Show {
        /// The run: its ID or a prefix of its ID
        run: String,
    },
    /// Retry a run that failed, was cancelled or is stalled, and print the answer
    ///
    /// With options in place of the run, queues all such runs that match them, and leaves them to a server.
    Retry {
        /// The run: its ID or a prefix of its ID
        #[arg(required_unless_present = "filter", conflicts_with = "filter")]
        run: Option<String>,
        /// Only queue the run, and leave it to the server of the data folder
        #[arg(long)]
        queue: bool,
        #[command(flatten)]
        batch: BatchArgs,
    },
    /// Change a message that waits, as long as its turn has not begun
    Edit {
        /// The run: its ID or a prefix of its ID
        run: String,
        /// The new text
        text: String,
    },
    /// Cancel a queued or running run
    ///
    /// With options in place of the run, cancels all runs that match them and have not ended.
    Cancel {
        /// The run: its ID or a prefix of its ID
        #[arg(required_unless_present = "filter", conflicts_with = "filter")]
        run: Option<String>,
        #[command(flatten)]
        batch: BatchArgs,
    },
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::List {
            filter,
            all_attempts,
            limit,
        } => {
            let filter = RunFilter {
                runs: filter.resolve(app)?,
                all_attempts,
                ..RunFilter::default()
            };
            list(app, filter, limit).await?;
        }
        Command::Show { run } => show(app, &run).await?,
        Command::Retry {
            run: None, batch, ..
        } => return batch::retry(app, batch).await,
        Command::Retry {
            run: Some(run),
            queue,
            ..
        } => {
            let again = app.client.retry_run(&run).await?;
            return follow::follow_to_end(app, again, queue).await;
        }
        Command::Edit { run, text } => edit(app, &run, text).await?,
        Command::Cancel { run: None, batch } => return batch::cancel(app, batch).await,
        Command::Cancel { run: Some(run), .. } => cancel(app, &run).await?,
    }
    Ok(Exit::Done)
}

async fn list(app: &App, filter: RunFilter, limit: u32) -> Result<(), CliError> {
    let runs = newest_runs(app, filter, limit).await?;
    if app.output.json {
        return Ok(app.output.document(&runs)?);
    }
    if runs.is_empty() {
        return Ok(app.output.line("No runs.")?);
    }
    let rows = runs.iter().map(|item| {
        let source = format_source(item.source, item.names.channel.as_deref());
        let name = item.names.automation_name.as_deref();
        RunRow {
            waits_for: format_wait(item),
            ..RunRow::new(
                &item.run,
                with_seat(format_subject(&item.run, name, &source), &item.names),
            )
        }
    });
    Ok(app.output.line(&runs_table(app, rows))?)
}

/// Returns the newest `limit` runs. Reads them page by page.
async fn newest_runs(
    app: &App,
    mut filter: RunFilter,
    limit: u32,
) -> Result<Vec<RunItem>, CliError> {
    let runs = first_items(limit, async |page| {
        filter.page = page;
        app.client.runs(&filter).await
    });
    Ok(runs.await?)
}

/// A row of a table of runs.
pub(crate) struct RunRow<'a> {
    run: &'a Run,
    /// What the run belongs to, and its source.
    subject: String,
    /// The person's part that the turn waits for.
    waits_for: Option<&'static str>,
}

impl<'a> RunRow<'a> {
    pub(crate) fn new(run: &'a Run, subject: String) -> Self {
        Self {
            run,
            subject,
            waits_for: None,
        }
    }
}

/// Formats the wait of a running turn for a person. Returns `None` if it waits for nobody.
pub(crate) fn format_wait(item: &RunItem) -> Option<&'static str> {
    match (item.waits_for_answer, item.waits_for_approval) {
        (true, _) => Some("waits for an answer"),
        (false, true) => Some("waits for an approval"),
        (false, false) => None,
    }
}

/// Formats runs as a table, with the reason of a status below its row.
pub(crate) fn runs_table<'a>(app: &App, runs: impl Iterator<Item = RunRow<'a>> + Clone) -> String {
    let ids = short_ids(runs.clone().map(|row| row.run.id));
    let rows = runs.zip(ids).map(|(row, id)| {
        let run = row.run;
        let reason = row
            .waits_for
            .map_or_else(|| format_reason(run), str::to_owned);
        let cells = [
            id,
            run.status.to_string(),
            excerpt(&row.subject, MAX_SUBJECT_COLUMNS),
            app.time.minute(run.scheduled_for.unwrap_or(run.input_at)),
            run.attempt.to_string(),
        ];
        let notes = Some(reason).filter(|reason| !reason.is_empty());
        (cells, notes.into_iter().collect())
    });
    let headings = ["RUN", "STATUS", "SOURCE", "TIME", "ATTEMPT"];
    table_with_notes(headings, rows)
}

/// Formats the automation of a run, with the source of the run if it is not the schedule, or the source alone if the
/// run has no automation.
fn format_subject(run: &Run, automation: Option<&str>, source: &str) -> String {
    let Some(id) = run.automation_id else {
        return source.to_owned();
    };
    let name = excerpt(automation.unwrap_or(&id.to_string()), 40);
    if source == format_source(RunSource::Schedule, None) {
        return name;
    }
    format!("{name} ({source})")
}

/// Adds the seat of a run to its subject if the session has several seats.
fn with_seat(subject: String, names: &RunNames) -> String {
    match &names.seat_name {
        Some(seat) => format!("{subject}, {}", excerpt(seat, 40)),
        None => subject,
    }
}

/// Formats the reason for the status of a run, in a few words.
fn format_reason(run: &Run) -> String {
    let mut reasons: Vec<String> = Vec::new();
    reasons.extend(run.message.clone().or_else(|| run.reason.clone()));
    if run.occurrences > 1 {
        reasons.push(format!("{} instants", run.occurrences));
    }
    if run.flags.empty_answer && run.status == RunStatus::Succeeded {
        reasons.push("no answer".into());
    }
    if run.flags.permissions_denied > 0 {
        reasons.push(format!("{} denied", run.flags.permissions_denied));
    }
    if run.flags.precheck_unclear {
        reasons.push("precheck unclear".into());
    }
    reasons.join(", ")
}

/// Formats the source of a run. `channel` is the name of the external chat of its session.
fn format_source(source: RunSource, channel: Option<&str>) -> String {
    match (source, channel) {
        (RunSource::Schedule, _) => "schedule".into(),
        (RunSource::OnDemand, _) => "on demand".into(),
        (RunSource::Webhook, _) => "webhook".into(),
        (RunSource::Person, _) => "you".into(),
        (RunSource::Channel, None) => "chat".into(),
        (RunSource::Channel, Some(channel)) => excerpt(channel, 40),
        (RunSource::Task, _) => "task".into(),
        (RunSource::Message, _) => "message".into(),
    }
}

/// Formats the worker of a run. While only the trigger file of the run waits, no worker has the run.
fn format_worker(run: &Run) -> Option<String> {
    let worker = run.worker_id.as_ref().map(ToString::to_string);
    worker.filter(|worker| worker != TRIGGER_FILE_WORKER)
}

/// Formats all attempts at the input of a run.
fn attempts_table(app: &App, view: &RunView, source: &str) -> String {
    let name = view.names.automation_name.as_deref();
    let rows = view.attempts.iter().map(|run| {
        RunRow::new(
            run,
            with_seat(format_subject(run, name, source), &view.names),
        )
    });
    runs_table(app, rows)
}

/// Formats the delivery of a run: the file, and when and how often it was written.
fn format_delivery(app: &App, file: &RunDelivery) -> String {
    let name = excerpt(&file.file, 120);
    let written = match (file.delivered_at, file.writes) {
        (None, _) => "not written yet".to_owned(),
        (Some(at), 0 | 1) => format!("delivered {}", app.time.date_time(at)),
        (Some(at), times) => format!("delivered {}, {times} times", app.time.date_time(at)),
    };
    match &file.error {
        Some(error) => format!("{name} ({written}; {})", excerpt(error, 300)),
        None => format!("{name} ({written})"),
    }
}

/// A run with its internal record.
#[derive(Serialize)]
struct RunDetails {
    #[serde(flatten)]
    view: RunView,
    /// The rendered prompt and the full error. `None` if the token may not read them or if there are none.
    record: Option<RunRecord>,
}

async fn show(app: &App, given: &str) -> Result<(), CliError> {
    let view = app.client.run(given).await?;
    // Only some tokens may read records. Show the run without its record to the others.
    let record = app.client.run_record(&view.run.id.to_string()).await;
    let record = match record {
        Ok(record) => record.record,
        Err(error) if error.kind() == Some(ProblemKind::Forbidden) => None,
        Err(error) => return Err(error.into()),
    };
    let whole = RunDetails { view, record };
    if app.output.json {
        return Ok(app.output.document(&whole)?);
    }
    let RunDetails { view, record } = &whole;
    let RunView {
        run,
        source,
        blocked_on,
        attempts,
        record_trimmed,
        own_tools,
        delivery,
        names,
    } = view;
    let source = format_source(*source, names.channel.as_deref());
    let at = |at: Option<model::Timestamp>| at.map(|at| app.time.date_time(at));
    let fields = [
        ("status", Some(run.status.to_string())),
        (
            "reason",
            Some(format_reason(run)).filter(|reason| !reason.is_empty()),
        ),
        ("source", Some(source.clone())),
        ("stop reason", run.stop_reason.clone()),
        (
            "session",
            run.session_id
                .map(|id| named(names.session_title.as_deref(), id)),
        ),
        (
            "automation",
            run.automation_id
                .map(|id| named(names.automation_name.as_deref(), id)),
        ),
        ("seat", names.seat_name.clone()),
        ("agent", names.agent_name.clone()),
        (
            "tools",
            own_tools
                .as_ref()
                .map(|rule| format_own_tools(rule.tools, &rule.titles)),
        ),
        ("instance", names.instance_name.clone()),
        (
            "file",
            delivery.as_ref().map(|file| format_delivery(app, file)),
        ),
        ("due", at(run.scheduled_for)),
        ("received", at(Some(run.input_at))),
        ("started", at(run.started_at)),
        ("ended", at(run.ended_at)),
        ("worker", format_worker(run)),
    ];
    app.output.line(&run.id.to_string())?;
    for (name, value) in fields {
        if let Some(value) = value {
            app.output.line(&field_row(name, &value))?;
        }
    }
    if let Some(blocked_on) = blocked_on {
        app.output
            .line(&follow::format_blocked_on(app, blocked_on))?;
    }
    if attempts.len() > 1 {
        let table = attempts_table(app, view, &source);
        app.output.line(&format!("\nAttempts\n{table}"))?;
    }
    app.output
        .line(&format!("\nInput\n{}", clean(run.content.trim_end())))?;
    if let Some(answer) = &names.answer {
        app.output
            .line(&format!("\nAnswer\n{}", clean(answer.trim_end())))?;
    }
    if *record_trimmed {
        show_trimmed_record(app)?;
    }
    if let Some(record) = record {
        show_record(app, record)?;
    }
    Ok(())
}

/// Says that the record of a run is gone.
fn show_trimmed_record(app: &App) -> Result<(), CliError> {
    // The retention period of a remote server is unknown here.
    let own_age = app.config.retain_records.value;
    let age = match own_age.filter(|_| app.resolves_local_paths()) {
        Some(age) => format!(" after {}", format_period(age.as_secs())),
        None => String::new(),
    };
    Ok(app.output.line(&format!(
        "\nSent\nRetention has removed the record of the sent prompt and the errors{age}."
    ))?)
}

fn show_record(app: &App, record: &RunRecord) -> Result<(), CliError> {
    let report = record.run_report.as_ref();
    if let Some(report) = report.and_then(|report| report.text.as_deref()) {
        app.output.line(&format!(
            "\nSent before the prompt\n{}",
            clean(report.trim_end())
        ))?;
    }
    if let Some(prompt) = &record.rendered_prompt {
        app.output
            .line(&format!("\nSent\n{}", clean(prompt.trim_end())))?;
    }
    if let Some(precheck) = format_precheck(record) {
        app.output.line(&format!("\nPrecheck\n{precheck}"))?;
    }
    if let Some(error) = &record.error {
        app.output
            .line(&format!("\nError\n{}", clean(error.trim_end())))?;
    }
    Ok(())
}

/// Formats an object by its name, if there is one, and its ID.
fn named(name: Option<&str>, id: impl fmt::Display) -> String {
    match name {
        Some(name) => format!("{} ({id})", excerpt(name, 80)),
        None => id.to_string(),
    }
}

/// Formats the result of a run's precheck and the end of its output.
fn format_precheck(record: &RunRecord) -> Option<String> {
    let kept = &record.diagnostics["precheck"];
    let ended = clean(kept["ended"].as_str()?).into_owned();
    let output = clean(kept["output_tail"].as_str().unwrap_or_default().trim_end());
    Some(if output.is_empty() {
        ended
    } else {
        format!("{ended}\n{output}")
    })
}

async fn edit(app: &App, given: &str, content: String) -> Result<(), CliError> {
    let patch = RunPatch {
        content: Some(content),
    };
    let edited = app.client.edit_run(given, &patch, None).await?;
    if app.output.json {
        return Ok(app.output.document(&edited)?);
    }
    Ok(app.output.line(&format!("Changed {}.", edited.run.id))?)
}

async fn cancel(app: &App, given: &str) -> Result<(), CliError> {
    let cancelled = app.client.cancel_run(given).await?;
    if app.output.json {
        return Ok(app.output.document(&cancelled)?);
    }
    let message = if cancelled.status.is_over() {
        format!("Cancelled {}.", cancelled.run_id)
    } else {
        format!(
            "{} is {}; it ends as soon as its agent has stopped.",
            cancelled.run_id, cancelled.status
        )
    };
    Ok(app.output.line(&message)?)
}
