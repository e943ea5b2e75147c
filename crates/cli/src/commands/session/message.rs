//! `matins session message`, `matins session messages` and `matins session ack`.

use api_types::{MAX_PAGE_ITEMS, SeatMessage, SeatMessageRequest, SeatMessageStatus};
use client::SeatMessageFilter;
use model::{caller_name::display_name, seat_message::TEXT_BYTES};

use super::super::options::text_or_stdin;
use crate::{
    app::App,
    error::{CliError, Exit},
    output::{clean, excerpt, one_line, table},
};

/// Send a message to a seat of a session, which starts a turn of the seat
///
/// A server takes the turn. One turn carries up to 20 messages.
#[derive(Debug, clap::Args)]
pub(super) struct SendArgs {
    /// The session: its key, its ID or a prefix of its ID
    session: String,
    /// The seat that receives the message, by its name or its ID, or `all`
    #[arg(long, value_name = "SEAT")]
    to: String,
    /// The message, or - to read it from standard input
    text: String,
}

/// List the messages to the seats of a session, in order
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// The session: its key, its ID or a prefix of its ID
    session: String,
    /// Only messages to this seat: its name or its ID
    #[arg(long, value_name = "SEAT")]
    to: Option<String>,
    /// Only messages after this one: its ID
    #[arg(long, value_name = "MESSAGE")]
    since: Option<String>,
}

/// Acknowledge a message to a seat, so that no turn brings it any more
#[derive(Debug, clap::Args)]
pub(super) struct AckArgs {
    /// The session: its key, its ID or a prefix of its ID
    session: String,
    /// The message: its ID
    message: String,
}

pub(super) async fn send(args: SendArgs, app: &App) -> Result<Exit, CliError> {
    let request = SeatMessageRequest {
        to: args.to,
        text: text_or_stdin(args.text, TEXT_BYTES)?,
    };
    let sent = app
        .client
        .send_seat_message(&args.session, &request)
        .await?
        .items;
    if app.output.json {
        app.output.document(&sent)?;
        return Ok(Exit::Done);
    }
    for message in &sent {
        let line = format!("Sent {} to {}.", message.id, clean(&message.to));
        app.output.line(&line)?;
    }
    if sent.is_empty() {
        app.output.line("The session has no other seat.")?;
    }
    Ok(Exit::Done)
}

pub(super) async fn list(args: ListArgs, app: &App) -> Result<Exit, CliError> {
    let mut filter = SeatMessageFilter {
        to: args.to,
        since: args.since,
        limit: Some(MAX_PAGE_ITEMS),
    };
    let mut messages = Vec::new();
    loop {
        let page = app.client.seat_messages(&args.session, &filter).await?;
        messages.extend(page.items);
        match page.next {
            Some(next) => filter.since = Some(next),
            None => break,
        }
    }
    if app.output.json {
        app.output.document(&messages)?;
    } else if messages.is_empty() {
        app.output.line("No messages.")?;
    } else {
        let headings = ["MESSAGE", "SENT", "FROM", "TO", "STATE", "TEXT"];
        let rows = messages.iter().map(|message| row(message, app));
        app.output.line(&table(headings, rows))?;
    }
    Ok(Exit::Done)
}

fn row(message: &SeatMessage, app: &App) -> [String; 6] {
    let state = match message.state {
        SeatMessageStatus::Blocked => "waits for an input".to_owned(),
        state => state.to_string(),
    };
    let from = match message.from_seat_id {
        Some(_) => message.from.as_str(),
        None => display_name(&message.from),
    };
    [
        message.id.to_string(),
        app.time.date_time(message.created_at),
        one_line(from),
        one_line(&message.to),
        state,
        excerpt(&message.text, 60),
    ]
}

pub(super) async fn acknowledge(args: AckArgs, app: &App) -> Result<Exit, CliError> {
    let acknowledged = app
        .client
        .acknowledge_seat_message(&args.session, &args.message)
        .await?;
    if app.output.json {
        app.output.document(&acknowledged)?;
    } else {
        let line = format!("{} is delivered.", acknowledged.id);
        app.output.line(&line)?;
    }
    Ok(Exit::Done)
}
