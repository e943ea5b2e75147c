//! `matins session show`.

use model::entity::Message;
use service::SessionView;

use super::title;
use crate::{
    app::App,
    failure::Failure,
    follow,
    output::{BOLD, DIM, clean, conversation_line, paint},
};

/// Show a session with the end of its transcript
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its key, its id or the beginning of that
    session: String,
    /// How many rows of the transcript, the last ones
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all")]
    last: u32,
    /// The whole transcript
    #[arg(long)]
    all: bool,
}

pub(super) async fn run(args: Args, app: &App) -> Result<(), Failure> {
    let last = if args.all { None } else { Some(args.last) };
    if app.output.json {
        let view = app.service.session(&args.session, last).await?;
        return Ok(app.output.document(&view)?);
    }
    // Of a whole transcript, which may be long, nothing is held at once.
    let view = app
        .service
        .session(&args.session, Some(last.unwrap_or(0)))
        .await?;
    head(app, &view)?;
    if view.messages_before > 0 {
        let rows = match view.messages_before {
            1 => "One row comes".to_owned(),
            rows => format!("{rows} rows come"),
        };
        app.output.line(&paint(
            DIM,
            &format!("{rows} before these; --all shows everything.\n"),
        ))?;
    }
    print(app, &view.messages)?;
    if args.all {
        let mut after = 0;
        loop {
            let page = app.service.messages_page(view.session.id, after).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            print(app, &page)?;
        }
    }
    for run in &view.open_runs {
        app.output
            .line(&format!("\n{} is {}.", run.id, run.status))?;
        if let Some(waiting) = app.service.waits_for(run).await? {
            app.output.line(&follow::waits(app, &waiting))?;
        }
    }
    Ok(())
}

fn head(app: &App, view: &SessionView) -> Result<(), Failure> {
    let session = &view.session;
    let output = app.output;
    output.line(&paint(
        BOLD,
        &format!("{}  {}", session.id, clean(title(session))),
    ))?;
    for (name, value) in [
        ("state", Some(session.state.to_string())),
        ("why", session.state_reason.clone()),
        ("key", session.session_key.clone()),
        ("automation", session.schedule_id.map(|id| id.to_string())),
        (
            "bound to it",
            Some(view.bound_automations.join(", ")).filter(|names| !names.is_empty()),
        ),
        ("directory", Some(session.cwd.clone())),
        (
            "turns",
            view.seats.first().map(|seat| seat.turns.to_string()),
        ),
    ] {
        if let Some(value) = value {
            output.line(&format!("  {name:12}{}", clean(&value)))?;
        }
    }
    Ok(output.line("")?)
}

fn print(app: &App, messages: &[Message]) -> Result<(), Failure> {
    for message in messages {
        let time = app.time.date_time(message.created_at);
        app.output.line(&conversation_line(message, &time))?;
    }
    Ok(())
}
