//! What commands print: answers on standard output, everything about them on standard error.
//!
//! Colours are for terminals alone: a pipe, `NO_COLOR` and a dumb terminal get plain text.

mod conversation;
mod table;
mod text;

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

pub(crate) use conversation::{Transcript, line as conversation_line};
pub(crate) use service::{clean, excerpt};
pub(crate) use table::{short_ids, table};
pub(crate) use text::{LocalTime, paint};

/// For what can be passed over.
pub(crate) const DIM: Style = Style::new().dimmed();
/// For what stands out.
pub(crate) const BOLD: Style = Style::new().bold();
/// For what went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// For what went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// For what somebody should look at.
pub(crate) const ATTENTION: Style = AnsiColor::Yellow.on_default();

/// Standard output cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("write the output")]
pub(crate) struct OutputError(#[from] io::Error);

impl OutputError {
    /// Whether whoever read it has gone away, as `head` does.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Where commands print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// Answers are JSON.
    pub(crate) json: bool,
}

#[expect(clippy::unused_self, reason = "whoever prints has an output")]
impl Output {
    /// Prints a JSON document over several lines.
    pub(crate) fn document(self, value: &impl Serialize) -> Result<(), OutputError> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.line(&text)
    }

    /// Prints a JSON document on one line.
    pub(crate) fn document_line(self, value: &impl Serialize) -> Result<(), OutputError> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.line(&text)
    }

    /// Prints a line or several.
    pub(crate) fn line(self, text: &str) -> Result<(), OutputError> {
        let mut stdout = anstream::stdout().lock();
        writeln!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }

    /// Prints a piece of a line.
    pub(crate) fn piece(self, text: &str) -> Result<(), OutputError> {
        let mut stdout = anstream::stdout().lock();
        write!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }

    /// Says something beside the answer. Nobody can be told if that fails.
    pub(crate) fn note(self, text: &str) {
        writeln!(anstream::stderr().lock(), "{text}").ok();
    }

    /// Says something beside the answer that can be passed over; not where answers are JSON.
    pub(crate) fn aside(self, text: &str) {
        if !self.json {
            self.note(&paint(DIM, text));
        }
    }

    /// Says what went wrong.
    pub(crate) fn error(self, message: &str, hint: Option<&str>) {
        self.note(&format!(
            "{} {}",
            paint(BAD.bold(), "error:"),
            clean(message)
        ));
        if let Some(hint) = hint {
            self.note(&format!("{} {}", paint(BOLD, "hint:"), clean(hint)));
        }
    }

    /// Whether a person watches the output.
    pub(crate) fn is_watched(self) -> bool {
        !self.json && io::stdout().is_terminal()
    }
}
