//! Formats the fields of events and spans in a text log: each is escaped and bounded.

use std::{
    error::Error,
    fmt::{self, Debug, Display, Write as _},
};

use anstyle::Style;
use tracing::field::{Field, Visit};
use tracing_subscriber::{
    field::RecordFields,
    fmt::{FormatFields, format::Writer},
};

use super::log_lines::{MAX_FIELD_BYTES, field_text};
use crate::output::DIM;

const ITALIC: Style = Style::new().italic();

/// Formats fields as `message name=value`, as `tracing_subscriber` does by itself.
pub(super) struct TextFields;

impl<'writer> FormatFields<'writer> for TextFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut visitor = FieldVisitor {
            writer,
            is_empty: true,
            result: Ok(()),
        };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct FieldVisitor<'writer> {
    writer: Writer<'writer>,
    /// `true` if no field is written yet.
    is_empty: bool,
    /// The first error. Later fields are left out.
    result: fmt::Result,
}

impl FieldVisitor<'_> {
    fn write(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        // The bridge from the crate `log` passes the metadata of an event as fields.
        if self.result.is_ok() && !field.name().starts_with("log.") {
            self.result = self.write_field(field.name(), value);
        }
    }

    fn write_field(&mut self, name: &str, value: fmt::Arguments<'_>) -> fmt::Result {
        if !std::mem::take(&mut self.is_empty) {
            self.writer.write_char(' ')?;
        }
        if name != "message" {
            let name = name.strip_prefix("r#").unwrap_or(name);
            if self.writer.has_ansi_escapes() {
                write!(self.writer, "{ITALIC}{name}{ITALIC:#}{DIM}={DIM:#}")?;
            } else {
                write!(self.writer, "{name}=")?;
            }
        }
        let mut bounded = BoundedText::default();
        bounded.write_fmt(value)?;
        let text = field_text(&bounded.text, bounded.cut_bytes);
        self.writer.write_str(&text)
    }
}

impl Visit for FieldVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.write(field, format_args!("{value}"));
        } else {
            self.write(field, format_args!("{value:?}"));
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.write(field, format_args!("{}", ErrorChain(value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.write(field, format_args!("{value:?}"));
    }
}

/// An error with its sources, separated by colons.
struct ErrorChain<'error>(&'error (dyn Error + 'static));

impl Display for ErrorChain<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(out, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

/// The first bytes of a formatted value, because a value of many MiB must not be kept in memory.
#[derive(Default)]
struct BoundedText {
    text: String,
    /// The number of bytes that are left out.
    cut_bytes: usize,
}

impl fmt::Write for BoundedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = MAX_FIELD_BYTES.saturating_sub(self.text.len());
        // Once a part was cut, a later one would be out of place.
        let kept = if self.cut_bytes == 0 {
            part.floor_char_boundary(room)
        } else {
            0
        };
        self.text.push_str(&part[..kept]);
        self.cut_bytes += part.len() - kept;
        Ok(())
    }
}
