//! `matins session delete`.

use api_types::{BoundAutomation, Session, SessionDeleted};
use serde_json::json;

use crate::{
    app::App,
    error::{CliError, Exit},
    output::clean,
};

/// Delete a session with its transcript; automations that are bound to it block that
///
/// A turn that is under way is called off, and its agent is ended. The working directory and what the
/// agent keeps in its own folders stay.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its key, its ID or a prefix of its ID
    session: String,
    /// Delete the automations that are bound to it, too
    #[arg(long)]
    with_automations: bool,
}

pub(super) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    // Read the session first, because its directory is unknown after the deletion.
    let session = app.client.session(&args.session).await?.value.session;
    let deleted = app
        .client
        .delete_session(&session.id.to_string(), args.with_automations)
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
    for line in format_result(&args.session, &session, &deleted) {
        app.output.line(&line)?;
    }
    Ok(exit)
}

fn format_result(given: &str, session: &Session, deleted: &SessionDeleted) -> Vec<String> {
    let name = |automation: &BoundAutomation| {
        let paused = if automation.enabled { "" } else { ", paused" };
        format!("  {} ({}{paused})", clean(&automation.name), automation.id)
    };
    let names = deleted.automations.iter().map(name);
    if !deleted.deleted {
        let head = "Nothing was deleted: automations speak in this session.".to_owned();
        let how = format!(
            "To delete them, too: matins session delete {} --with-automations",
            clean(given)
        );
        return std::iter::once(head).chain(names).chain([how]).collect();
    }
    let mut lines = vec![format!("Deleted {}.", session.id)];
    if !deleted.automations.is_empty() {
        lines.push("Deleted with it:".into());
        lines.extend(names);
    }
    if deleted.turns > 0 {
        lines.push("A turn was under way in it; its agent is ended.".into());
    }
    lines.push(format!("Its directory stays: {}", clean(&session.cwd)));
    lines
}
