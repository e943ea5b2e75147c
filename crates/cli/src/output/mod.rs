//! The output of commands: results on standard output, remarks and errors on standard error.
//!
//! Only terminals get colours. A pipe, `NO_COLOR` and a dumb terminal get plain text.
//!
//! **Invariant:** no text of an agent reaches a terminal raw. Every output goes through [`printable`], which leaves only
//! the styles of this module, and JSON documents through `escape_json`. Commands escape single texts (`clean`,
//! `one_line`, `excerpt`, `paint`), so that an agent cannot write such a style either.

mod columns;
mod export_writer;
mod table;
mod text;

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
};

use anstyle::{AnsiColor, Style};
use model::escape::{escape_except, escape_json};
use serde::Serialize;

pub(crate) use columns::{column_count, excerpt, padded};
pub(crate) use export_writer::ExportWriter;
pub(crate) use service::{clean, one_line};
pub(crate) use table::{last_columns, short_ids, table, table_with_notes, text_table};
pub(crate) use text::{
    FIELD_COLUMNS, LINE_COLUMNS, LocalTime, continued, field_row, paint, wrapped,
};

/// The indent of the further lines of an error or a remark.
pub(crate) const CONTINUATION_COLUMNS: usize = 2;
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

/// The characters and styles that an output may contain besides printable text.
const PRINTED: [&str; 10] = [
    "\n",
    "\t",
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[35m",
    "\u{1b}[36m",
];

/// Escapes an output, except for line breaks and the styles of this module.
fn printable(text: &str) -> Cow<'_, str> {
    escape_except(text, &PRINTED)
}

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
        self.line(&escape_json(&text))
    }

    /// Prints a JSON document on one line.
    pub(crate) fn document_line(self, value: &impl Serialize) -> Result<(), OutputError> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.line(&escape_json(&text))
    }

    /// Prints one or more complete lines.
    pub(crate) fn line(self, text: &str) -> Result<(), OutputError> {
        let mut stdout = anstream::stdout().lock();
        writeln!(stdout, "{}", printable(text))?;
        Ok(stdout.flush()?)
    }

    /// Prints a part of a line.
    pub(crate) fn piece(self, text: &str) -> Result<(), OutputError> {
        let mut stdout = anstream::stdout().lock();
        write!(stdout, "{}", printable(text))?;
        Ok(stdout.flush()?)
    }

    /// Prints a line to standard error. Ignores errors, because there is no channel left to report them.
    pub(crate) fn note(self, text: &str) {
        writeln!(anstream::stderr().lock(), "{}", printable(text)).ok();
    }

    /// Prints a JSON document on one line to standard error.
    pub(crate) fn note_document(self, document: &serde_json::Value) {
        self.note(&escape_json(&document.to_string()));
    }

    /// Prints a remark to standard error that the user may ignore. Prints nothing if the output is JSON.
    pub(crate) fn aside(self, text: &str) {
        if !self.json {
            self.note(&paint(DIM, text));
        }
    }

    /// Prints an error and its hint to standard error. Indents all lines but the first, because the text of an agent
    /// could otherwise look like another message or a line of the log.
    pub(crate) fn error(self, message: &str, hint: Option<&str>) {
        self.note(&format!(
            "{} {}",
            paint(BAD.bold(), "error:"),
            continued(message, CONTINUATION_COLUMNS)
        ));
        if let Some(hint) = hint {
            let hint = continued(hint, CONTINUATION_COLUMNS);
            self.note(&format!("{} {hint}", paint(BOLD, "hint:")));
        }
    }

    /// Clears the terminal, so that the next text replaces the former one. A pipe gets an empty line instead.
    pub(crate) fn clear_screen(self) -> Result<(), OutputError> {
        if self.is_interactive() {
            let mut out = io::stdout().lock();
            // Move the cursor home, then erase to the end (ECMA-48, CUP and ED).
            out.write_all(b"\x1b[H\x1b[J")?;
            return Ok(out.flush()?);
        }
        self.line("")
    }

    /// `true` if standard output is a terminal and the output is text.
    pub(crate) fn is_interactive(self) -> bool {
        !self.json && io::stdout().is_terminal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_contains_only_own_styles_and_line_breaks() {
        let cyan = AnsiColor::Cyan.on_default();
        let magenta = AnsiColor::Magenta.on_default();
        for style in [DIM, BOLD, GOOD, BAD, BAD.bold(), ATTENTION, cyan, magenta] {
            let painted = paint(style, "a\n\tb");
            assert_eq!(printable(&painted), painted);
            let hostile = paint(style, "a\u{1b}[31m");
            assert_eq!(printable(&hostile), paint(style, "a\\u{1b}[31m"));
        }
        assert_eq!(printable("a\u{1b}]52;c;x\u{7}\r"), r"a\u{1b}]52;c;x\u{7}\r");
    }
}
