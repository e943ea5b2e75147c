//! Formats a transcript for people: the time, the speaker and the text.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    io::{self, IsTerminal},
};

use anstyle::{AnsiColor, Style};
use api_types::{MAX_PAGE_ITEMS, Message, Seat};
use client::{Client, MessageRange};
use model::{
    MessageId, SeatId, SessionId,
    transcript::{Speaker, seat_message_names, task_prompt_names},
};

use crate::{
    error::CliError,
    output::{
        ATTENTION, DIM, LocalTime, Output, OutputError, clean, column_count, excerpt, padded, paint,
    },
};

/// The minimum width of the column of speakers.
const SPEAKER_COLUMNS: usize = 9;
/// The minimum number of columns for wrapped text.
const MIN_TEXT_COLUMNS: usize = 20;

/// The highest width of a seat's name in the column of speakers.
const MAX_SEAT_COLUMNS: usize = 16;

/// The names of the seats of a session that has several, which label the rows of their agents.
#[derive(Debug, Default)]
pub(crate) struct SeatNames(HashMap<SeatId, String>);

impl SeatNames {
    /// Returns the names of seats. Returns none for a session with only one seat, whose agent needs no name.
    pub(crate) fn of(seats: &[Seat]) -> Self {
        let named = seats.iter().filter(|_| seats.len() > 1);
        Self(
            named
                .map(|seat| (seat.id, excerpt(&seat.name, MAX_SEAT_COLUMNS)))
                .collect(),
        )
    }

    /// Returns the label of the speaker of a row.
    fn label(&self, message: &Message) -> &str {
        let who = message.speaker();
        let seat = message.seat_id.filter(|_| who != Speaker::Tool);
        let name = seat.and_then(|seat| self.0.get(&seat));
        name.map_or_else(|| speaker_label(who), String::as_str)
    }

    /// Returns the width of the column of speakers.
    fn columns(&self) -> usize {
        let names = self.0.values().map(|name| column_count(name));
        names.max().unwrap_or(0).max(SPEAKER_COLUMNS)
    }
}

/// Returns the label of a speaker.
const fn speaker_label(who: Speaker) -> &'static str {
    match who {
        Speaker::Person => "you",
        Speaker::Schedule => "schedule",
        Speaker::Agent | Speaker::AgentThought => "agent",
        Speaker::Tool => "tool",
        Speaker::Seat => "message",
        Speaker::Task | Speaker::Matins => "matins",
    }
}

const fn speaker_style(who: Speaker) -> Style {
    match who {
        Speaker::Person => AnsiColor::Cyan.on_default(),
        Speaker::Schedule | Speaker::Task => AnsiColor::Magenta.on_default(),
        Speaker::Agent | Speaker::Seat => AnsiColor::Green.on_default(),
        Speaker::AgentThought | Speaker::Tool => DIM,
        Speaker::Matins => ATTENTION,
    }
}

/// Formats a row of the transcript as one line or several.
pub(crate) fn format_message(message: &Message, time: &str, seats: &SeatNames) -> String {
    let who = message.speaker();
    let columns = seats.columns();
    let indent = column_count(time) + columns + 3;
    let content = &message.content;
    let text = match who {
        Speaker::Seat => {
            let (from, to) = seat_message_names(&message.metadata).unwrap_or_default();
            format!("{from} to {to}: {content}")
        }
        Speaker::Task => {
            let (seat, task) = task_prompt_names(&message.metadata).unwrap_or_default();
            format!("to {seat}, task {task}: {content}")
        }
        _ => content.clone(),
    };
    let text = clean(text.trim_end());
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<_> = match text_columns(indent) {
        Some(room) => lines.flat_map(|line| textwrap::wrap(line, room)).collect(),
        None => lines.map(Cow::Borrowed).collect(),
    };
    let text = lines.join(&format!("\n{}", " ".repeat(indent)));
    let text = match who {
        Speaker::AgentThought | Speaker::Tool => paint(DIM, &text),
        _ => text,
    };
    let speaker = padded(seats.label(message), columns);
    format!(
        "{}  {} {text}",
        paint(DIM, time),
        paint(speaker_style(who), &speaker)
    )
}

/// Returns the number of columns of the terminal to the right of the indent. Returns `None` if standard output is no
/// terminal, or if too few columns are left to wrap text.
fn text_columns(indent: usize) -> Option<usize> {
    let watched = io::stdout().is_terminal();
    let room = watched.then(|| textwrap::termwidth().saturating_sub(indent))?;
    (room >= MIN_TEXT_COLUMNS).then_some(room)
}

/// A reader of a growing transcript. It delivers each row once.
pub(crate) struct Transcript {
    session: SessionId,
    next_part: MessageRange,
    seen: HashSet<MessageId>,
}

impl Transcript {
    /// Starts with a part of the transcript of a session, and continues with the rows that follow it.
    pub(crate) fn new(session: SessionId, from: MessageRange) -> Self {
        Self {
            session,
            next_part: from,
            seen: HashSet::new(),
        }
    }

    /// Returns the ID of the session.
    pub(crate) fn session(&self) -> SessionId {
        self.session
    }

    /// Marks a row as delivered. Returns `false` if it was delivered before.
    pub(crate) fn mark_delivered(&mut self, message: MessageId) -> bool {
        self.seen.insert(message)
    }

    /// Returns the rows that were not delivered yet. A delivered row that has changed since is not delivered again.
    pub(crate) async fn new_messages(
        &mut self,
        client: &Client,
    ) -> Result<Vec<Message>, client::Error> {
        let session = self.session.to_string();
        let mut news = Vec::new();
        loop {
            let page = client
                .messages(&session, self.next_part, Some(MAX_PAGE_ITEMS))
                .await?;
            if let Some(last) = page.items.last() {
                self.next_part = MessageRange::After(last.seq);
            }
            let unseen = page.items.into_iter();
            news.extend(unseen.filter(|message| self.seen.insert(message.id)));
            if page.next.is_none() {
                return Ok(news);
            }
        }
    }

    /// Prints the rows that were not delivered yet.
    pub(crate) async fn print_new_messages(
        &mut self,
        client: &Client,
        output: Output,
        time: &LocalTime,
    ) -> Result<(), CliError> {
        for message in self.new_messages(client).await? {
            print_message(output, &message, time)?;
        }
        Ok(())
    }
}

fn print_message(output: Output, message: &Message, time: &LocalTime) -> Result<(), OutputError> {
    if output.json {
        return output.document_line(message);
    }
    let time = time.time(message.created_at);
    output.line(&format_message(message, &time, &SeatNames::default()))
}
