//! `matins automation`: what agents do on time.

mod add;
mod edit;
mod policies;
mod show;

use clap::Subcommand;
use serde_json::json;

use crate::{
    app::App,
    failure::{Exit, Failure},
    follow,
};

/// Automations: what agents do on time, inside sessions that remember
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(Box<add::Args>),
    Edit(Box<edit::Args>),
    /// List the automations by name
    List,
    /// Show an automation with its next fires and its last runs
    Show(Named),
    /// Run an automation now, on the path of a scheduled turn, and print the answer
    Fire {
        #[command(flatten)]
        named: Named,
        /// Only queue it, for whoever serves the data folder
        #[arg(long)]
        queue: bool,
    },
    /// Hold an automation: nothing is due until it is resumed
    Pause(Named),
    /// Let a paused automation go on, from now
    Resume(Named),
    /// Let go of the automation's session: its next run begins another one
    Reset(Named),
    /// Remove an automation; its sessions stay
    Delete {
        #[command(flatten)]
        named: Named,
        /// Delete the sessions that it made, too
        #[arg(long)]
        with_sessions: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Named {
    /// The automation: its name, its id or the beginning of that
    automation: String,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, Failure> {
    let (view, told) = match args.command {
        Command::Add(args) => (add::run(*args, app).await?, "Added"),
        Command::Edit(args) => match edit::run(*args, app).await? {
            (view, true) => (view, "Changed"),
            (view, false) => (view, "Nothing to change in"),
        },
        Command::List => {
            show::list(app).await?;
            return Ok(Exit::Done);
        }
        Command::Show(named) => {
            let view = app.service.automation(&named.automation).await?;
            show::whole(app, &view).await?;
            return Ok(Exit::Done);
        }
        Command::Fire { named, queue } => {
            let run = app.service.fire(&named.automation).await?;
            return follow::see_through(app, run, queue).await;
        }
        Command::Delete {
            named,
            with_sessions,
        } => return delete(app, &named.automation, with_sessions).await,
        Command::Pause(named) => {
            let view = app.service.pause_automation(&named.automation).await?;
            (view, "Paused")
        }
        Command::Resume(named) => {
            let view = app.service.resume_automation(&named.automation).await?;
            (view, "Resumed")
        }
        Command::Reset(named) => {
            let view = app.service.reset_automation(&named.automation).await?;
            (view, "Reset; the next run of it begins a new session:")
        }
    };
    app.poke().await;
    show::answer(app, &view, told)?;
    Ok(Exit::Done)
}

async fn delete(app: &App, given: &str, with_sessions: bool) -> Result<Exit, Failure> {
    let deleted = app.service.delete_automation(given, with_sessions).await?;
    app.poke().await;
    if app.output.json {
        app.output.document(&json!({
            "automation": deleted.automation,
            "sessions_deleted": deleted.sessions_deleted,
            "sessions_kept": deleted.sessions_kept,
        }))?;
        return Ok(Exit::Done);
    }
    let name = &deleted.automation.name;
    let sessions = if with_sessions {
        format!("and {} of its sessions", deleted.sessions_deleted)
    } else {
        "and kept its sessions".into()
    };
    app.output.line(&format!("Deleted {name} {sessions}."))?;
    for session in &deleted.sessions_kept {
        app.output.line(&format!(
            "Kept {session}, because other automations are bound to it."
        ))?;
    }
    Ok(Exit::Done)
}
