//! The output of commands: results on standard output, remarks and errors on standard error.
//!
//! Only terminals get colours. A pipe, `NO_COLOR` and a dumb terminal get plain text.

mod conversation;
mod table;
mod text;

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

pub(crate) use conversation::{Transcript, format_message as conversation_line};
pub(crate) use service::{clean, excerpt};
pub(crate) use table::{short_ids, table};
pub(crate) use text::{LocalTime, paint};

/// The style of secondary text.
pub(crate) const DIM: Style = Style::new().dimmed();
/// The style of emphasized text.
pub(crate) const BOLD: Style = Style::new().bold();
/// The style of success.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// The style of errors.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// The style of text that needs the user's attention.
pub(crate) const ATTENTION: Style = AnsiColor::Yellow.on_default();

/// An error of writing to standard output.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the output")]
pub(crate) struct OutputError(#[from] io::Error);

impl OutputError {
    /// `true` if the reader of a pipe has closed it, as `head` does.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

/// The output format of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// `true` if results are printed as JSON.
    pub(crate) json: bool,
}

#[expect(clippy::unused_self, reason = "only a holder of the output may print")]
impl Output {
    /// Prints a JSON document on several lines.
    pub(crate) fn document(self, value: &impl Serialize) -> Result<(), OutputError> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.line(&text)
    }

    /// Prints a JSON document on one line.
    pub(crate) fn document_line(self, value: &impl Serialize) -> Result<(), OutputError> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.line(&text)
    }

    /// Prints one or more complete lines.
    pub(crate) fn line(self, text: &str) -> Result<(), OutputError> {
        let mut stdout = anstream::stdout().lock();
        writeln!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }

    /// Prints a part of a line.
    pub(crate) fn piece(self, text: &str) -> Result<(), OutputError> {
        let mut stdout = anstream::stdout().lock();
        write!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }

    /// Prints a line to standard error. Ignores errors, because there is no channel left to report them.
    pub(crate) fn note(self, text: &str) {
        writeln!(anstream::stderr().lock(), "{text}").ok();
    }

    /// Prints a remark to standard error that the user may ignore. Prints nothing if the output is JSON.
    pub(crate) fn aside(self, text: &str) {
        if !self.json {
            self.note(&paint(DIM, text));
        }
    }

    /// Prints an error and its hint to standard error.
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

    /// `true` if standard output is a terminal and the output is text.
    pub(crate) fn is_interactive(self) -> bool {
        !self.json && io::stdout().is_terminal()
    }
}
