//! `matins instance`: adds, lists, shows, checks and removes instances.

mod add;

use api_types::{Instance, InstanceKind, InstanceState};
use clap::Subcommand;

use crate::{
    app::App,
    error::{CliError, Exit},
    output::{BOLD, excerpt, paint, table},
};

/// The longest name in the list, so that a row fits into 80 columns.
const LISTED_NAME_CHARS: usize = 24;

/// Manage instances: the folders in which agents run and keep their memory
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add an instance with a folder that `matins runtime` watches, and write the token of its runtime into a file
    ///
    /// Servers write each run that is placed on the instance into the folder, as a trigger file. The runtime takes the
    /// turns there, with the files of that folder and the agents of that machine.
    Add(add::AddArgs),
    /// Check the folder, the rights, the clock and the runtime of an instance, and say what to mend
    Check {
        /// The instance: its name or its ID
        instance: String,
    },
    /// Replace the token of the runtime of an instance; the earlier one is invalid from then on
    RotateToken {
        /// The instance: its name or its ID
        instance: String,
        /// The file for the new token, which is written with mode 0600 and replaced if it exists [default: NAME.token]
        #[arg(long, value_name = "FILE")]
        token_file: Option<std::path::PathBuf>,
    },
    /// List the instances with their servers and waiting runs
    #[command(visible_alias = "ls")]
    List,
    /// Show an instance
    Show {
        /// The instance: its name or its ID
        instance: String,
    },
    /// Remove an instance whose folder is lost or no longer used
    ///
    /// The waiting runs of the instance fail, and so does each later turn of its sessions; their transcripts
    /// remain. The token of its runtime is revoked. The command is refused while a server or a runtime serves the
    /// instance. If a server starts on the data folder of a host again, that instance exists again.
    #[command(visible_alias = "rm")]
    Remove {
        /// The instance: its name or its ID
        instance: String,
    },
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::Add(args) => add::add(app, args).await?,
        Command::Check { instance } => return add::check(app, &instance).await,
        Command::RotateToken {
            instance,
            token_file,
        } => add::rotate_token(app, &instance, token_file).await?,
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
        let last_seen = instance.last_seen_at;
        [
            excerpt(&instance.name, LISTED_NAME_CHARS),
            format_kind(instance).to_owned(),
            format_state(instance).to_owned(),
            instance.waiting_runs.to_string(),
            last_seen.map_or_else(|| "never".to_owned(), |at| app.time.minute(at)),
            instance.version.clone().unwrap_or_default(),
        ]
    });
    let head = ["NAME", "KIND", "STATE", "WAITING", "LAST SEEN", "VERSION"];
    app.output.line(&table(head, rows))?;
    for outdated in listed.iter().filter(|it| it.automations_too_new > 0) {
        app.output.line(&format!(
            "{}: version {}",
            excerpt(&outdated.name, LISTED_NAME_CHARS),
            format_version(outdated)
        ))?;
    }
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
    let waiting = match instance.waiting_runs {
        0 => "no runs".to_owned(),
        1 => "1 run waits for it".to_owned(),
        runs => format!("{runs} runs wait for it"),
    };
    let waiting = match instance.delivered_runs {
        0 => waiting,
        delivered => format!("{waiting}, {delivered} of them as files in its folder"),
    };
    app.output.line(&format!(
        "{}  {}",
        paint(BOLD, &excerpt(&instance.name, 80)),
        instance.id
    ))?;
    let folder = instance
        .folder
        .iter()
        .map(|path| ("folder", excerpt(path, 300)));
    let runtime_folder = instance.runtime_folder.iter();
    let runtime_folder = runtime_folder.map(|path| ("there", excerpt(path, 300)));
    let serves = match instance.kind {
        InstanceKind::Directory => "runtime",
        InstanceKind::Host | InstanceKind::Unknown => "server",
    };
    let facts = [
        ("kind", format_kind(instance).to_owned()),
        ("state", format_state(instance).to_owned()),
    ];
    let use_of_it = [
        (serves, server),
        ("last seen", format_last_seen(app, instance)),
        ("waiting", waiting),
    ];
    for (name, value) in facts
        .into_iter()
        .chain(folder)
        .chain(runtime_folder)
        .chain(use_of_it)
    {
        app.output.line(&format!("  {name:12}{value}"))?;
    }
    Ok(())
}

const fn format_kind(instance: &Instance) -> &'static str {
    match instance.kind {
        InstanceKind::Host => "host",
        InstanceKind::Directory => "directory",
        InstanceKind::Unknown => "unknown",
    }
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
