//! `matins session delete`.

use api_types::{BoundAutomation, SessionDeleted, SessionView};
use serde_json::json;

use crate::{
    app::App,
    error::{CliError, Exit},
    output::clean,
};

/// Delete a session with its transcript, unless automations are bound to it
///
/// Cancels a running turn and ends its agent. The working directory and the files of the agent remain.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its key, its ID or a prefix of its ID
    session: String,
    /// Also delete the automations that are bound to it
    #[arg(long)]
    with_automations: bool,
}

pub(super) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    // Read the session first, because its directory is unknown after the deletion.
    let view = app.client.session(&args.session).await?.value;
    let deleted = app
        .client
        .delete_session(&view.session.id.to_string(), args.with_automations)
        .await?;
    let exit = if deleted.deleted {
        Exit::Done
    } else {
        Exit::Blocked
    };
    if app.output.json {
        app.output.document(&json!({
            "deleted": deleted.deleted,
            "blocked_by_automations": deleted.blocked_by_automations,
            "automations": deleted.automations,
        }))?;
        return Ok(exit);
    }
    for line in format_result(&args.session, &view, &deleted) {
        app.output.line(&line)?;
    }
    Ok(exit)
}

fn format_result(given: &str, view: &SessionView, deleted: &SessionDeleted) -> Vec<String> {
    let name = |automation: &BoundAutomation| {
        let paused = if automation.enabled { "" } else { ", paused" };
        format!("  {} ({}{paused})", clean(&automation.name), automation.id)
    };
    let names = deleted.automations.iter().map(name);
    if !deleted.deleted {
        let head = "Nothing was deleted, because automations are bound to this session:".to_owned();
        let hint = format!(
            "To delete them as well: matins session delete {} --with-automations",
            clean(given)
        );
        return std::iter::once(head).chain(names).chain([hint]).collect();
    }
    let mut lines = vec![format!("Deleted {}.", view.session.id)];
    if !deleted.automations.is_empty() {
        lines.push("Deleted automations:".into());
        lines.extend(names);
    }
    if deleted.turns > 0 {
        lines.push("A turn was running; its agent is ended.".into());
    }
    // A folder of the session's own exists only on the server that took its turns.
    if let Some(directory) = view.session.cwd.as_ref().or(view.own_folder.as_ref()) {
        lines.push(format!(
            "The working directory remains: {}",
            clean(directory)
        ));
    }
    lines
}
