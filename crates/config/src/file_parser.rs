//! Parses a configuration file. Collects its problems, so that all of them are reported at once.

use std::{collections::BTreeMap, path::Path};

use model::nearest::nearest;
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::{
    file::{ConfigFile, FileValue},
    problem::{ConfigProblem, excerpt},
    settings::SETTINGS,
};

/// The maximum size of the file, in bytes.
pub const MAX_FILE_BYTES: usize = 64 << 10;
/// The maximum number of reported problems of one file.
const MAX_PROBLEMS: usize = 20;

impl ConfigFile {
    /// Parses the content of the file at `path`. [`crate::resolve`] returns the problems of the file.
    pub fn parse(path: &Path, content: &[u8]) -> Self {
        let mut file = Self {
            path: path.to_owned(),
            values: BTreeMap::new(),
            problems: Vec::new(),
        };
        if content.len() > MAX_FILE_BYTES {
            file.problems.push(ConfigProblem::TooLong {
                path: path.to_owned(),
                max_bytes: MAX_FILE_BYTES,
            });
            return file;
        }
        match std::str::from_utf8(content) {
            Ok(text) => file.parse_text(text),
            Err(error) => {
                let line = line_number(content, error.valid_up_to());
                file.problems.push(ConfigProblem::Syntax {
                    origin: file.origin_at(line),
                    reason: "it is not UTF-8".into(),
                });
            }
        }
        file
    }

    fn parse_text(&mut self, text: &str) {
        match DeTable::parse(text) {
            Ok(table) => self.read_table(text, None, table.get_ref()),
            Err(error) => {
                let offset = error.span().map_or(text.len(), |span| span.start);
                let reason = error.message().lines().collect::<Vec<_>>().join(", ");
                self.problems.push(ConfigProblem::Syntax {
                    origin: self.origin_at(line_number(text.as_bytes(), offset)),
                    reason: excerpt(&reason),
                });
            }
        }
    }

    fn read_table(&mut self, text: &str, table: Option<&'static str>, content: &DeTable<'_>) {
        for (key, value) in content {
            if self.problems.len() >= MAX_PROBLEMS {
                return;
            }
            self.read_entry(text, table, key, value);
        }
    }

    fn read_entry(
        &mut self,
        text: &str,
        table: Option<&'static str>,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let line = line_number(text.as_bytes(), key.span().start);
        let name: &str = key.get_ref();
        if let Some(setting) = SETTINGS.iter().find(|it| it.path() == (table, name)) {
            let written = file_value(value.get_ref());
            self.values.insert(setting.name, (written, line));
            return;
        }
        let known = table_names().find(|known| table.is_none() && *known == name);
        match (known, value.get_ref()) {
            (Some(known), DeValue::Table(content)) => self.read_table(text, Some(known), content),
            (Some(table), _) => self.problems.push(ConfigProblem::NotATable {
                table,
                origin: self.origin_at(line),
            }),
            (None, _) => {
                let whole = table.map_or_else(|| name.into(), |table| format!("{table}.{name}"));
                self.problems.push(ConfigProblem::UnknownKey {
                    suggestion: suggest_name(&whole, name),
                    key: excerpt(&whole),
                    origin: self.origin_at(line),
                });
            }
        }
    }
}

/// Returns the names of all tables with settings. A name can occur more than once.
fn table_names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().filter_map(|setting| setting.path().0)
}

/// Returns the name of the setting or the table that an unknown key may mean. The search compares `whole` with all
/// full names, and then `key` with the keys of all tables, so that a key in a wrong table is found as well.
fn suggest_name(whole: &str, key: &str) -> Option<String> {
    let names = SETTINGS.iter().map(|setting| setting.name);
    if let Some(name) = nearest(whole, names.chain(table_names())) {
        return Some(name.to_owned());
    }
    let key = nearest(key, SETTINGS.iter().map(|setting| setting.path().1))?;
    let setting = SETTINGS.iter().find(|setting| setting.path().1 == key)?;
    Some(setting.name.to_owned())
}

fn file_value(value: &DeValue<'_>) -> FileValue {
    match value {
        DeValue::String(text) => FileValue::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).map_or(
            FileValue::Other("a number that is far too large"),
            FileValue::Number,
        ),
        DeValue::Float(_) => FileValue::Other("a number with a fraction"),
        DeValue::Boolean(switch) => FileValue::Bool(*switch),
        DeValue::Datetime(_) => FileValue::Other("a date or a time"),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| match item.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            });
            let texts: Option<Vec<_>> = texts.collect();
            texts.map_or(
                FileValue::Other("a list of something other than texts"),
                FileValue::List,
            )
        }
        DeValue::Table(_) => FileValue::Other("a table"),
    }
}

/// Returns the line number, from 1, of a byte offset in a text.
fn line_number(text: &[u8], offset: usize) -> usize {
    let before = &text[..offset.min(text.len())];
    before.split(|byte| *byte == b'\n').count()
}
