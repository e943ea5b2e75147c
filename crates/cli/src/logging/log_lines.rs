//! The writer of the log: every event is one bounded line without a raw character of an agent.
//!
//! Events contain text from outside, also those of libraries: the protocol's SDK logs the names of methods that an
//! agent invents. So the writer escapes whole lines, and no call site can forget it.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use config::LogFormat;
use model::escape::{escape_except, escape_json, escape_line};
use serde_json::{Value, json};
use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

/// The maximum size of a field of an event, in bytes before escapes.
pub(super) const MAX_FIELD_BYTES: usize = 4 << 10;
/// The maximum size of a line of the log, in bytes before escapes.
const MAX_LINE_BYTES: usize = 16 << 10;
// A long field alone does not lose the other fields of its event.
const _: () = assert!(2 * MAX_FIELD_BYTES <= MAX_LINE_BYTES);

/// The styles of levels, times and names of fields in a log with colours.
const LOG_STYLES: [&str; 8] = [
    "\u{1b}[0m",
    "\u{1b}[2m",
    "\u{1b}[3m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[35m",
];

/// Makes writers that escape and bound each event before they pass it on.
pub(super) struct LogLines<W> {
    pub(super) to: W,
    pub(super) format: LogFormat,
    /// `true` if the formatter writes styles. It escapes all fields itself, so a style is never that of an agent.
    pub(super) colours: bool,
}

impl<'writer, W: MakeWriter<'writer>> MakeWriter<'writer> for LogLines<W> {
    type Writer = LogLine<W::Writer>;

    fn make_writer(&'writer self) -> Self::Writer {
        self.line(self.to.make_writer())
    }

    fn make_writer_for(&'writer self, metadata: &Metadata<'_>) -> Self::Writer {
        self.line(self.to.make_writer_for(metadata))
    }
}

impl<W> LogLines<W> {
    fn line<T>(&self, to: T) -> LogLine<T> {
        LogLine {
            to,
            format: self.format,
            colours: self.colours,
        }
    }
}

/// The writer of one event.
pub(super) struct LogLine<T> {
    to: T,
    format: LogFormat,
    colours: bool,
}

impl<T: Write> Write for LogLine<T> {
    /// Writes an event, which `tracing_subscriber` passes as a whole.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let mut line = match self.format {
            LogFormat::Text => text_line(line, self.colours),
            LogFormat::Json => json_line(line),
        }
        .into_owned();
        line.push('\n');
        self.to.write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Returns an event of a text log as one line.
fn text_line(event: &str, colours: bool) -> Cow<'_, str> {
    let styles: &[&str] = if colours { &LOG_STYLES } else { &[] };
    if event.len() <= MAX_LINE_BYTES {
        return escape_except(event, styles);
    }
    let end = if colours { "\u{1b}[0m" } else { "" };
    let cut = cut_text(event, MAX_LINE_BYTES);
    Cow::Owned(format!("{}{end}", escape_except(&cut, styles)))
}

/// Returns an event of a JSON log as one line, which parses to the same values up to their maximum size.
fn json_line(event: &str) -> Cow<'_, str> {
    // A line of this size has no longer field.
    if event.len() <= MAX_FIELD_BYTES {
        return escape_json(event);
    }
    let mut entry = serde_json::from_str(event).unwrap_or_else(|_| Value::String(event.to_owned()));
    cut_strings(&mut entry);
    let mut line = entry.to_string();
    if line.len() > MAX_LINE_BYTES {
        let mut kept = json!({ "fields": { "message": cut_text(&line, MAX_FIELD_BYTES) } });
        for name in ["timestamp", "level", "target"] {
            kept[name] = entry[name].take();
        }
        line = kept.to_string();
    }
    Cow::Owned(escape_json(&line).into_owned())
}

/// Cuts each string within a value to the maximum size of a field.
fn cut_strings(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_FIELD_BYTES => {
            *text = cut_text(text, MAX_FIELD_BYTES);
        }
        Value::Array(values) => values.iter_mut().for_each(cut_strings),
        Value::Object(fields) => fields.values_mut().for_each(cut_strings),
        _ => {}
    }
}

/// Returns the beginning of a text with the number of bytes that are left out.
pub(super) fn cut_text(text: &str, max_bytes: usize) -> String {
    let kept = &text[..text.floor_char_boundary(max_bytes)];
    format!("{kept}{}", cut_notice(text.len() - kept.len()))
}

/// Returns the text that replaces the cut end of a field or a line.
pub(super) fn cut_notice(bytes: usize) -> String {
    format!("… ({bytes} more bytes)")
}

/// Returns the beginning of a field's text on one line, escaped and bounded.
pub(super) fn field_text(text: &str, cut_bytes: usize) -> String {
    let mut shown = escape_line(text).into_owned();
    if cut_bytes > 0 {
        shown.push_str(&cut_notice(cut_bytes));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_line_has_no_raw_character_and_only_styles_of_log() {
        let event = "now \u{1b}[31mERROR\u{1b}[0m a\n2001 forged\r\u{1b}[5mb\u{9b}\u{202e}";
        assert_eq!(
            text_line(event, true),
            "now \u{1b}[31mERROR\u{1b}[0m a\\n2001 forged\\r\\u{1b}[5mb\\u{9b}\\u{202e}"
        );
        assert!(!text_line(event, false).contains('\u{1b}'));
        let harmless = "now ERROR žluť";
        assert!(matches!(text_line(harmless, false), Cow::Borrowed(_)));
    }

    #[test]
    fn long_text_line_is_cut_between_characters() {
        let event = "é".repeat(MAX_LINE_BYTES);
        let line = text_line(&event, false);
        let bytes = MAX_LINE_BYTES;
        assert!(
            line.ends_with(&format!("é… ({bytes} more bytes)")),
            "{line}"
        );
        assert!(line.len() < MAX_LINE_BYTES + 40);
    }

    #[test]
    fn json_line_has_same_values_without_raw_character() {
        let event = json!({ "fields": { "message": "a\u{9b}\u{202e}\n\u{1b}" }, "level": "WARN" });
        let line = json_line(&event.to_string()).into_owned();
        assert!(line.contains(r"\u009b\u202e\n\u001b"), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), event);
        assert!(matches!(json_line("{}"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_json_line_parses_with_cut_fields() {
        let long = "é".repeat(MAX_FIELD_BYTES);
        let mut event = json!({ "timestamp": "now", "level": "WARN", "target": "here" });
        event["fields"] = json!({ "message": "short", "method": long });
        let line = json_line(&event.to_string()).into_owned();
        let entry: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(entry["fields"]["message"], "short");
        let method = entry["fields"]["method"].as_str().unwrap();
        assert!(method.ends_with("(4096 more bytes)"), "{method}");

        event["fields"] = json!({ "message": "short", "all": vec![long; 9] });
        let line = json_line(&event.to_string()).into_owned();
        assert!(line.len() <= MAX_LINE_BYTES);
        let entry: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(entry["timestamp"], "now");
        assert_eq!(entry["level"], "WARN");
        assert!(entry["fields"]["message"].is_string());
    }
}
