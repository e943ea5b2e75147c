//! `matins run`: what was done, and how it ended.

use clap::Subcommand;
use model::{
    entity::Run,
    run::{Origin, RunStatus},
};
use serde_json::json;
use service::{RunQuery, RunView};

use crate::{
    app::App,
    commands::options::length,
    failure::{Exit, Failure},
    follow,
    output::{clean, excerpt, short_ids, table},
};

/// Runs: one attempt each to take one turn
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List runs, the newest first
    List {
        /// Those of a session: its key, its id or the beginning of that
        #[arg(long)]
        session: Option<String>,
        /// Those of an automation, with what was skipped and missed
        #[arg(long, value_name = "NAME")]
        automation: Option<String>,
        /// Those in a status, such as failed
        #[arg(long)]
        status: Option<RunStatus>,
        /// How many at the most
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a run with its attempts and what was really sent
    Show {
        /// The run: its id or the beginning of that
        run: String,
    },
    /// Try a run again that failed, was called off or was given up, and print the answer
    Retry {
        /// The run: its id or the beginning of that
        run: String,
        /// Only queue it, for whoever serves the data folder
        #[arg(long)]
        queue: bool,
    },
    /// Call a run off, whether it waits or runs
    Cancel {
        /// The run: its id or the beginning of that
        run: String,
    },
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, Failure> {
    match args.command {
        Command::List {
            session,
            automation,
            status,
            limit,
        } => {
            let query = RunQuery {
                session,
                automation,
                status,
                limit,
            };
            list(app, &query).await?;
        }
        Command::Show { run } => show(app, &run).await?,
        Command::Retry { run, queue } => {
            let again = app.service.retry_run(&run).await?;
            return follow::see_through(app, again, queue).await;
        }
        Command::Cancel { run } => cancel(app, &run).await?,
    }
    Ok(Exit::Done)
}

async fn list(app: &App, query: &RunQuery) -> Result<(), Failure> {
    let runs = app.service.runs(query).await?;
    if app.output.json {
        return Ok(app.output.document(&runs)?);
    }
    if runs.is_empty() {
        return Ok(app.output.line("No runs.")?);
    }
    Ok(app.output.line(&runs_table(app, &runs).await?)?)
}

/// Runs as a table.
pub(crate) async fn runs_table(app: &App, runs: &[Run]) -> Result<String, Failure> {
    let names = app.service.automation_names().await?;
    let ids = short_ids(runs.iter().map(|run| run.id));
    let rows = runs.iter().zip(ids).map(|(run, id)| {
        let of = run.automation_id.map(|id| names.get(&id));
        [
            id,
            run.status.to_string(),
            match of {
                None => from(run.origin).to_owned(),
                Some(name) => excerpt(name.map_or("(deleted automation)", String::as_str), 40),
            },
            app.time
                .date_time(run.scheduled_for.unwrap_or(run.input_at)),
            run.attempt.to_string(),
            excerpt(&why(run), 60),
        ]
    });
    let headings = ["RUN", "STATUS", "OF", "DUE", "ATTEMPT", "WHY"];
    Ok(table(headings, rows))
}

/// Why a run is as it is, in a few words.
fn why(run: &Run) -> String {
    let mut told: Vec<String> = Vec::new();
    told.extend(run.message.clone().or_else(|| run.reason.clone()));
    if run.occurrences > 1 {
        told.push(format!("{} instants", run.occurrences));
    }
    if run.flags.empty_answer && run.status == RunStatus::Succeeded {
        told.push("no answer".into());
    }
    if run.flags.permissions_denied > 0 {
        told.push(format!("{} denied", run.flags.permissions_denied));
    }
    told.join(", ")
}

const fn from(origin: Origin) -> &'static str {
    match origin {
        Origin::Person => "you",
        Origin::Occurrence => "schedule",
        Origin::Task => "task",
        Origin::Message => "message",
    }
}

async fn show(app: &App, given: &str) -> Result<(), Failure> {
    let view = app.service.run(given).await?;
    if app.output.json {
        return Ok(app.output.document(&view)?);
    }
    let RunView {
        run,
        waiting,
        attempts,
        record,
        record_trimmed,
    } = &view;
    let at = |at: Option<model::Timestamp>| at.map(|at| app.time.date_time(at));
    let fields = [
        ("status", Some(run.status.to_string())),
        ("why", Some(why(run)).filter(|why| !why.is_empty())),
        ("stop reason", run.stop_reason.clone()),
        ("session", run.session_id.map(|id| id.to_string())),
        ("automation", run.automation_id.map(|id| id.to_string())),
        ("due", at(run.scheduled_for)),
        ("came", at(Some(run.input_at))),
        ("began", at(run.started_at)),
        ("ended", at(run.ended_at)),
        ("worker", run.worker_id.as_ref().map(ToString::to_string)),
    ];
    app.output.line(&run.id.to_string())?;
    for (name, value) in fields {
        if let Some(value) = value {
            app.output.line(&format!("  {name:12}{}", clean(&value)))?;
        }
    }
    if let Some(waiting) = waiting {
        app.output.line(&follow::waits(app, waiting))?;
    }
    if attempts.len() > 1 {
        let table = runs_table(app, attempts).await?;
        app.output.line(&format!("\nAttempts\n{table}"))?;
    }
    app.output
        .line(&format!("\nAsked\n{}", clean(run.content.trim_end())))?;
    if *record_trimmed {
        let age = match app.settings.retain_records {
            Some(age) => format!(", which is after {}", length(age.as_secs())),
            None => String::new(),
        };
        app.output.line(&format!(
            "\nSent\nRetention has removed the record of what was sent and went wrong{age}."
        ))?;
    }
    if let Some(record) = record {
        if let Some(prompt) = &record.rendered_prompt {
            app.output
                .line(&format!("\nSent\n{}", clean(prompt.trim_end())))?;
        }
        if let Some(error) = &record.error {
            app.output
                .line(&format!("\nError\n{}", clean(error.trim_end())))?;
        }
    }
    Ok(())
}

async fn cancel(app: &App, given: &str) -> Result<(), Failure> {
    let run = app.service.cancel_named_run(given).await?;
    app.poke().await;
    if app.output.json {
        let document = json!({ "run_id": run.id, "status": run.status });
        return Ok(app.output.document(&document)?);
    }
    let told = if run.status.is_over() {
        format!("Called off {}.", run.id)
    } else {
        format!(
            "{} is {}; it ends as soon as its agent has stopped.",
            run.id, run.status
        )
    };
    Ok(app.output.line(&told)?)
}
