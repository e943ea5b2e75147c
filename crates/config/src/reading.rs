//! Reading a configuration file.

use std::{collections::BTreeMap, path::Path};

use model::nearest::nearest;
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::{
    file::{File, Written},
    problem::{Problem, excerpt},
    settings::SETTINGS,
};

/// The maximum size of the file, in bytes.
pub const MAX_FILE_BYTES: usize = 64 << 10;
/// The maximum number of reported problems of one file.
const MAX_PROBLEMS: usize = 20;

impl File {
    /// Parses the content of the file at `path`. [`crate::resolve`] returns the problems of the file.
    pub fn parse(path: &Path, content: &[u8]) -> Self {
        let mut file = Self {
            path: path.to_owned(),
            values: BTreeMap::new(),
            problems: Vec::new(),
        };
        if content.len() > MAX_FILE_BYTES {
            file.problems.push(Problem::TooLong {
                path: path.to_owned(),
                most: MAX_FILE_BYTES,
            });
            return file;
        }
        match std::str::from_utf8(content) {
            Ok(text) => file.read(text),
            Err(error) => {
                let line = line(content, error.valid_up_to());
                file.problems.push(Problem::Syntax {
                    origin: file.at(line),
                    reason: "it is not UTF-8".into(),
                });
            }
        }
        file
    }

    fn read(&mut self, text: &str) {
        match DeTable::parse(text) {
            Ok(table) => self.table(text, None, table.get_ref()),
            Err(error) => {
                let place = error.span().map_or(text.len(), |span| span.start);
                let reason = error.message().lines().collect::<Vec<_>>().join(", ");
                self.problems.push(Problem::Syntax {
                    origin: self.at(line(text.as_bytes(), place)),
                    reason: excerpt(&reason),
                });
            }
        }
    }

    fn table(&mut self, text: &str, table: Option<&'static str>, content: &DeTable<'_>) {
        for (key, value) in content {
            if self.problems.len() >= MAX_PROBLEMS {
                return;
            }
            self.entry(text, table, key, value);
        }
    }

    fn entry(
        &mut self,
        text: &str,
        table: Option<&'static str>,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let line = line(text.as_bytes(), key.span().start);
        let name: &str = key.get_ref();
        if let Some(setting) = SETTINGS.iter().find(|it| it.path() == (table, name)) {
            let written = written(value.get_ref());
            self.values.insert(setting.name, (written, line));
            return;
        }
        let known = tables().find(|known| table.is_none() && *known == name);
        match (known, value.get_ref()) {
            (Some(known), DeValue::Table(content)) => self.table(text, Some(known), content),
            (Some(table), _) => self.problems.push(Problem::NotATable {
                table,
                origin: self.at(line),
            }),
            (None, _) => {
                let whole = table.map_or_else(|| name.into(), |table| format!("{table}.{name}"));
                self.problems.push(Problem::UnknownKey {
                    near: meant(&whole, name),
                    key: excerpt(&whole),
                    origin: self.at(line),
                });
            }
        }
    }
}

/// Returns the names of all tables with settings. A name can occur more than once.
fn tables() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().filter_map(|setting| setting.path().0)
}

/// Returns the name of the setting or the table that an unknown key may mean. The search compares `whole` with all
/// full names, and then `key` with the keys of all tables, so that a key in a wrong table is found as well.
fn meant(whole: &str, key: &str) -> Option<String> {
    let names = SETTINGS.iter().map(|setting| setting.name);
    if let Some(name) = nearest(whole, names.chain(tables())) {
        return Some(name.to_owned());
    }
    let key = nearest(key, SETTINGS.iter().map(|setting| setting.path().1))?;
    let setting = SETTINGS.iter().find(|setting| setting.path().1 == key)?;
    Some(setting.name.to_owned())
}

fn written(value: &DeValue<'_>) -> Written {
    match value {
        DeValue::String(text) => Written::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).map_or(
            Written::Other("a number that is far too large"),
            Written::Number,
        ),
        DeValue::Float(_) => Written::Other("a number with a fraction"),
        DeValue::Boolean(switch) => Written::Switch(*switch),
        DeValue::Datetime(_) => Written::Other("a date or a time"),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| match item.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            });
            let texts: Option<Vec<_>> = texts.collect();
            texts.map_or(
                Written::Other("a list of something other than texts"),
                Written::List,
            )
        }
        DeValue::Table(_) => Written::Other("a table"),
    }
}

/// Returns the line number, from 1, of a byte offset in a text.
fn line(text: &[u8], place: usize) -> usize {
    let before = &text[..place.min(text.len())];
    before.split(|byte| *byte == b'\n').count()
}
