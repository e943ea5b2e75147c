//! Writes an export, escaped: a server of another version may send it raw.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use api_types::ExportFormat;
use model::escape::{escape_json, escape_text};

/// Escapes an export that arrives in parts, which may end within a character.
pub(crate) struct ExportWriter<W> {
    to: W,
    format: ExportFormat,
    /// The beginning of a character whose end has not arrived yet.
    incomplete: Vec<u8>,
    /// The number of written bytes.
    written: usize,
}

impl<W: Write> ExportWriter<W> {
    pub(crate) fn new(to: W, format: ExportFormat) -> Self {
        Self {
            to,
            format,
            incomplete: Vec::new(),
            written: 0,
        }
    }

    /// Writes the complete characters of a part.
    pub(crate) fn write(&mut self, part: &[u8]) -> io::Result<()> {
        let bytes = if self.incomplete.is_empty() {
            Cow::Borrowed(part)
        } else {
            self.incomplete.extend_from_slice(part);
            Cow::Owned(std::mem::take(&mut self.incomplete))
        };
        let complete = match std::str::from_utf8(&bytes) {
            // The bytes after the valid ones are the beginning of a character and not invalid.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => bytes.len(),
        };
        let (complete, incomplete) = bytes.split_at(complete);
        self.write_escaped(complete)?;
        self.incomplete = incomplete.to_vec();
        Ok(())
    }

    /// Writes the rest of an export that ends within a character. Returns the number of written bytes.
    pub(crate) fn finish(mut self) -> io::Result<usize> {
        let rest = std::mem::take(&mut self.incomplete);
        self.write_escaped(&rest)?;
        Ok(self.written)
    }

    fn write_escaped(&mut self, bytes: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(bytes);
        let escaped = match self.format {
            ExportFormat::Jsonl => escape_json(&text),
            ExportFormat::Markdown => escape_text(&text),
        };
        self.written += escaped.len();
        self.to.write_all(escaped.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: ExportFormat, parts: &[&[u8]]) -> String {
        let mut to = Vec::new();
        let mut writer = ExportWriter::new(&mut to, format);
        for part in parts {
            writer.write(part).unwrap();
        }
        let bytes = writer.finish().unwrap();
        assert_eq!(bytes, to.len());
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn export_in_parts_within_characters_is_escaped() {
        let export = "\"a\u{202e}ž\u{e0041}\u{9b}\"\n";
        let single: Vec<&[u8]> = export.as_bytes().chunks(1).collect();
        for parts in [&single[..], &[export.as_bytes()]] {
            let json = written(ExportFormat::Jsonl, parts);
            assert_eq!(json, "\"a\\u202ež\\udb40\\udc41\\u009b\"\n");
            let markdown = written(ExportFormat::Markdown, parts);
            assert_eq!(markdown, "\"a\\u{202e}ž\\u{e0041}\\u{9b}\"\n");
        }
    }

    #[test]
    fn invalid_and_cut_bytes_of_export_are_replaced() {
        let parts: [&[u8]; 3] = [b"a\xff", b"b", "ž".as_bytes().split_at(1).0];
        assert_eq!(written(ExportFormat::Jsonl, &parts), "a\u{fffd}b\u{fffd}");
    }
}
