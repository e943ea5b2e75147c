//! `matins instance`: lists, shows and removes instances.

use api_types::{Instance, InstanceState};
use clap::Subcommand;

use crate::{
    app::App,
    error::{CliError, Exit},
    output::{BOLD, excerpt, paint, table},
};

/// Instances: the data folders where agents run and keep their memory
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the instances: who serves them, and what waits for each
    List,
    /// Show an instance
    Show {
        /// Its name or its id
        instance: String,
    },
    /// Give an instance up whose data folder is lost: runs that wait for it fail, and so does each later turn
    /// of the sessions whose agents remember there; their transcripts stay
    ///
    /// Refused while a server serves it. When a server serves its data folder again, it is there again.
    Remove {
        /// Its name or its id
        instance: String,
    },
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::List => list(app).await?,
        Command::Show { instance } => show(app, &app.client.instance(&instance).await?)?,
        Command::Remove { instance } => {
            let removed = app.client.remove_instance(&instance).await?;
            if app.output.json {
                app.output.document(&removed)?;
            } else {
                let name = excerpt(&removed.name, 80);
                app.output.line(&format!("{name} is given up."))?;
                if removed.waiting_runs > 0 {
                    app.output.aside(&format!(
                        "{} that waited for it fail.",
                        format_run_count(removed.waiting_runs)
                    ));
                }
            }
        }
    }
    Ok(Exit::Done)
}

async fn list(app: &App) -> Result<(), CliError> {
    let listed = app.client.instances().await?.items;
    if app.output.json {
        return Ok(app.output.document(&listed)?);
    }
    let rows = listed.iter().map(|one| {
        [
            excerpt(&one.name, 80),
            format_state(one).to_owned(),
            one.waiting_runs.to_string(),
            format_last_seen(app, one),
            one.worker
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            format_version(one),
        ]
    });
    let head = ["NAME", "STATE", "WAITING", "SEEN", "SERVED BY", "VERSION"];
    app.output.line(&table(head, rows))?;
    Ok(())
}

/// Formats the version of the instance's server, and the number of automations that need a later one.
fn format_version(one: &Instance) -> String {
    let version = one.version.clone().unwrap_or_default();
    match one.automations_too_new {
        0 => version,
        1 => format!("{version}, too old for 1 automation"),
        count => format!("{version}, too old for {count} automations"),
    }
}

fn show(app: &App, one: &Instance) -> Result<(), CliError> {
    if app.output.json {
        return Ok(app.output.document(one)?);
    }
    let server = match (&one.worker, &one.version, one.state) {
        (Some(worker), Some(_), InstanceState::Online) => {
            format!("{worker}, version {}", format_version(one))
        }
        (Some(worker), _, InstanceState::Offline) => format!("nobody; {worker} did last"),
        _ => "nobody so far".to_owned(),
    };
    let waiting = match one.waiting_runs {
        0 => "nothing".to_owned(),
        runs => format!("{} whose memory lies there", format_run_count(runs)),
    };
    app.output.line(&format!(
        "{}  {}",
        paint(BOLD, &excerpt(&one.name, 80)),
        one.id
    ))?;
    for (name, value) in [
        ("state", format_state(one).to_owned()),
        ("served by", server),
        ("seen", format_last_seen(app, one)),
        ("waiting", waiting),
    ] {
        app.output.line(&format!("  {name:12}{value}"))?;
    }
    Ok(())
}

const fn format_state(one: &Instance) -> &'static str {
    match one.state {
        InstanceState::Online => "online",
        InstanceState::Offline => "offline",
    }
}

fn format_last_seen(app: &App, one: &Instance) -> String {
    one.last_seen_at
        .map_or_else(|| "never".to_owned(), |at| app.time.date_time(at))
}

fn format_run_count(runs: i64) -> String {
    match runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    }
}
