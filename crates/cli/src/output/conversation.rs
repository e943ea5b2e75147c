//! A transcript as people read it: the time, who speaks, and the words.

use std::{
    borrow::Cow,
    collections::HashSet,
    io::{self, IsTerminal},
};

use anstyle::{AnsiColor, Style};
use model::{MessageId, SessionId, entity::Message, transcript::is_automation_turn};
use service::Service;

use super::{ATTENTION, DIM, LocalTime, Output, OutputError, clean, paint};
use crate::failure::Failure;

/// How wide the column of who speaks is.
const WHO_WIDTH: usize = 9;
/// How many columns words need at the least.
const LEAST_ROOM: usize = 20;

/// Who speaks in a row of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// A person.
    You,
    /// A scheduled turn.
    Schedule,
    /// The agent's answer.
    Agent,
    /// The agent's thoughts and plans.
    Aside,
    /// A tool of the agent's.
    Tool,
    /// Matins itself.
    Matins,
}

impl Who {
    /// Who speaks in `message`.
    pub(crate) fn of(message: &Message) -> Self {
        match (message.role.as_str(), message.kind.as_str()) {
            ("user", _) if is_automation_turn(&message.metadata) => Self::Schedule,
            ("user", _) => Self::You,
            ("assistant", "message") => Self::Agent,
            ("assistant", _) => Self::Aside,
            ("tool", _) => Self::Tool,
            _ => Self::Matins,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::Schedule => "schedule",
            Self::Agent | Self::Aside => "agent",
            Self::Tool => "tool",
            Self::Matins => "matins",
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::You => AnsiColor::Cyan.on_default(),
            Self::Schedule => AnsiColor::Magenta.on_default(),
            Self::Agent => AnsiColor::Green.on_default(),
            Self::Aside | Self::Tool => DIM,
            Self::Matins => ATTENTION,
        }
    }
}

/// One row, as a line or several.
pub(crate) fn line(message: &Message, time: &str) -> String {
    let who = Who::of(message);
    let indent = time.chars().count() + WHO_WIDTH + 3;
    let said = clean(message.content.trim_end());
    let lines = said.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<_> = match room(indent) {
        Some(room) => lines.flat_map(|line| textwrap::wrap(line, room)).collect(),
        None => lines.map(Cow::Borrowed).collect(),
    };
    let said = lines.join(&format!("\n{}", " ".repeat(indent)));
    let said = match who {
        Who::Aside | Who::Tool => paint(DIM, &said),
        _ => said,
    };
    let speaker = format!("{:WHO_WIDTH$}", who.word());
    format!(
        "{}  {} {said}",
        paint(DIM, time),
        paint(who.style(), &speaker)
    )
}

/// How many columns of the terminal are left behind the margin; none where nobody watches, or where
/// too few are left to wrap words in.
fn room(indent: usize) -> Option<usize> {
    let watched = io::stdout().is_terminal();
    let room = watched.then(|| textwrap::termwidth().saturating_sub(indent))?;
    (room >= LEAST_ROOM).then_some(room)
}

/// A transcript that is printed as it grows.
pub(crate) struct Transcript {
    session: SessionId,
    after: i64,
    seen: HashSet<MessageId>,
}

impl Transcript {
    /// The transcript of a session, from now on or, with `after` 0, from its beginning.
    pub(crate) fn new(session: SessionId, after: i64) -> Self {
        Self {
            session,
            after,
            seen: HashSet::new(),
        }
    }

    /// The session.
    pub(crate) fn session(&self) -> SessionId {
        self.session
    }

    /// Reads what is new. A row that was told already and changed since is not told again.
    pub(crate) async fn news(&mut self, service: &Service) -> Result<Vec<Message>, Failure> {
        let mut messages = service.messages_after(self.session, self.after).await?;
        if let Some(last) = messages.last() {
            self.after = last.seq;
        }
        messages.retain(|message| self.seen.insert(message.id));
        Ok(messages)
    }

    /// Prints what is new.
    pub(crate) async fn print_news(
        &mut self,
        service: &Service,
        output: Output,
        time: &LocalTime,
    ) -> Result<(), Failure> {
        for message in self.news(service).await? {
            print(output, &message, time)?;
        }
        Ok(())
    }
}

fn print(output: Output, message: &Message, time: &LocalTime) -> Result<(), OutputError> {
    if output.json {
        return output.document_line(message);
    }
    output.line(&line(message, &time.time(message.created_at)))
}
