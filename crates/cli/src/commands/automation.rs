//! `matins automation`: manages automations.

mod add;
mod edit;
mod policies;
mod preview;
mod show;
mod trigger_removals;
mod triggers;
mod webhook;

use clap::Subcommand;
use serde_json::json;

use crate::{
    app::App,
    error::{CliError, Exit},
    follow,
};

/// Manage automations: prompts that agents receive on a schedule, in sessions that remember
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(visible_alias = "create")]
    Add(Box<add::Args>),
    Edit(Box<edit::Args>),
    /// List the automations by name
    #[command(visible_alias = "ls")]
    List {
        /// Only automations whose turns go to this session: its key, its ID or a prefix of its ID
        #[arg(long)]
        session: Option<String>,
    },
    /// Show an automation with its next runs and its last runs
    Show(AutomationSelector),
    Preview(Box<preview::Args>),
    Webhook(webhook::Args),
    /// Run an automation now, in the same way as a scheduled run, and print the answer
    #[command(visible_alias = "run")]
    Fire {
        #[command(flatten)]
        selector: AutomationSelector,
        /// Only queue the run, and leave it to the server of the data folder
        #[arg(long)]
        queue: bool,
    },
    /// Pause an automation: it starts no runs by itself until it is resumed
    Pause(AutomationSelector),
    /// Resume a paused automation from now on
    Resume(AutomationSelector),
    /// Detach an automation from its session: its next run creates a new session
    Reset(AutomationSelector),
    /// Delete an automation; its sessions remain
    #[command(visible_alias = "rm")]
    Delete {
        #[command(flatten)]
        selector: AutomationSelector,
        /// Also delete the sessions that it created
        #[arg(long)]
        with_sessions: bool,
    },
}

#[derive(Debug, clap::Args)]
struct AutomationSelector {
    /// The automation: its name, its ID or a prefix of its ID
    automation: String,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    let (view, action) = match args.command {
        Command::Add(args) => {
            let (view, zone) = add::run(*args, app).await?;
            show::print_result(app, &view, "Added", zone.as_ref())?;
            return Ok(Exit::Done);
        }
        Command::Edit(args) => {
            let edited = edit::run(*args, app).await?;
            let action = if edited.is_changed {
                "Changed"
            } else {
                "Nothing to change in"
            };
            show::print_result(app, &edited.view, action, edited.zone.as_ref())?;
            return Ok(Exit::Done);
        }
        Command::List { session } => {
            show::list(app, session).await?;
            return Ok(Exit::Done);
        }
        Command::Preview(args) => {
            preview::run(*args, app).await?;
            return Ok(Exit::Done);
        }
        Command::Webhook(args) => {
            webhook::run(args, app).await?;
            return Ok(Exit::Done);
        }
        Command::Show(named) => {
            let view = app.client.automation(&named.automation).await?.value;
            show::print_details(app, &view).await?;
            return Ok(Exit::Done);
        }
        Command::Fire {
            selector: named,
            queue,
        } => {
            let run = app.client.fire_automation(&named.automation).await?;
            return follow::follow_to_end(app, run, queue).await;
        }
        Command::Delete {
            selector: named,
            with_sessions,
        } => return delete(app, &named.automation, with_sessions).await,
        Command::Pause(named) => {
            let view = app.client.pause_automation(&named.automation).await?;
            (view, "Paused")
        }
        Command::Resume(named) => {
            let view = app.client.resume_automation(&named.automation).await?;
            (view, "Resumed")
        }
        Command::Reset(named) => {
            let view = app.client.reset_automation(&named.automation).await?;
            (view, "Reset; its next run creates a new session:")
        }
    };
    show::print_result(app, &view, action, None)?;
    Ok(Exit::Done)
}

async fn delete(app: &App, given: &str, with_sessions: bool) -> Result<Exit, CliError> {
    // Read the automation first, because it is unknown after the deletion. A corrupt automation is deleted as well.
    let automation = app.client.automation(given).await;
    let automation = automation.ok().map(|found| found.value.automation);
    let id = automation.as_ref().map(|found| found.id.to_string());
    let id = id.as_deref().unwrap_or(given);
    let deleted = app.client.delete_automation(id, with_sessions).await?;
    if app.output.json {
        let unreadable = || json!({ "id": deleted.automation_id, "name": deleted.name });
        app.output.document(&json!({
            "automation": automation.map_or_else(unreadable, |found| json!(found)),
            "sessions_deleted": deleted.sessions_deleted,
            "sessions_kept": deleted.sessions_kept,
        }))?;
        return Ok(Exit::Done);
    }
    let sessions = if with_sessions {
        format!("and {} of its sessions", deleted.sessions_deleted)
    } else {
        "and kept its sessions".into()
    };
    app.output
        .line(&format!("Deleted {} {sessions}.", deleted.name))?;
    for session in &deleted.sessions_kept {
        app.output.line(&format!(
            "Kept {session}, because other automations are bound to it."
        ))?;
    }
    Ok(Exit::Done)
}
