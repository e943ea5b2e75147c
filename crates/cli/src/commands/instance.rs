//! `matins instance`: lists, shows and removes instances.

use api_types::{Instance, InstanceState};
use clap::Subcommand;

use crate::{
    app::App,
    error::{CliError, Exit},
    output::{BOLD, excerpt, paint, table},
};

/// Manage instances: the data folders in which agents run and keep their memory
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the instances with their servers and queued runs
    #[command(visible_alias = "ls")]
    List,
    /// Show an instance
    Show {
        /// The instance: its name or its ID
        instance: String,
    },
    /// Remove an instance whose data folder is lost
    ///
    /// The queued runs of the instance fail, and so does each later turn of its sessions; their transcripts
    /// remain. The command is refused while the instance has a server. If a server starts on the data folder
    /// again, the instance exists again.
    #[command(visible_alias = "rm")]
    Remove {
        /// The instance: its name or its ID
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
                app.output.line(&format!("Removed {name}."))?;
                if removed.waiting_runs > 0 {
                    app.output.aside(&format!(
                        "Failed with it: {}.",
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
    let rows = listed.iter().map(|instance| {
        [
            excerpt(&instance.name, 80),
            format_state(instance).to_owned(),
            instance.waiting_runs.to_string(),
            format_last_seen(app, instance),
            instance
                .worker
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            format_version(instance),
        ]
    });
    let head = ["NAME", "STATE", "QUEUED", "LAST SEEN", "SERVER", "VERSION"];
    app.output.line(&table(head, rows))?;
    Ok(())
}

/// Formats the version of the instance's server, and the number of automations that need a later version.
fn format_version(instance: &Instance) -> String {
    let version = instance.version.clone().unwrap_or_default();
    match instance.automations_too_new {
        0 => version,
        1 => format!("{version}, too old for 1 automation"),
        count => format!("{version}, too old for {count} automations"),
    }
}

fn show(app: &App, instance: &Instance) -> Result<(), CliError> {
    if app.output.json {
        return Ok(app.output.document(instance)?);
    }
    let server = match (&instance.worker, &instance.version, instance.state) {
        (Some(worker), Some(_), InstanceState::Online) => {
            format!("{worker}, version {}", format_version(instance))
        }
        (Some(worker), _, InstanceState::Offline) => format!("none; the last one was {worker}"),
        _ => "none so far".to_owned(),
    };
    let queued = match instance.waiting_runs {
        0 => "no runs".to_owned(),
        1 => "1 run waits for it".to_owned(),
        runs => format!("{runs} runs wait for it"),
    };
    app.output.line(&format!(
        "{}  {}",
        paint(BOLD, &excerpt(&instance.name, 80)),
        instance.id
    ))?;
    for (name, value) in [
        ("state", format_state(instance).to_owned()),
        ("server", server),
        ("last seen", format_last_seen(app, instance)),
        ("queued", queued),
    ] {
        app.output.line(&format!("  {name:12}{value}"))?;
    }
    Ok(())
}

const fn format_state(instance: &Instance) -> &'static str {
    match instance.state {
        InstanceState::Online => "online",
        InstanceState::Offline => "offline",
    }
}

fn format_last_seen(app: &App, instance: &Instance) -> String {
    instance
        .last_seen_at
        .map_or_else(|| "never".to_owned(), |at| app.time.date_time(at))
}

fn format_run_count(runs: i64) -> String {
    match runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    }
}
