//! The values of a team file, each with its location.

use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use model::{
    nearest::nearest,
    permission::{PermissionRule, Verdict},
    schedule::Period,
    team::TeamField,
};
use toml::{
    Spanned,
    de::{DeString, DeValue},
};

use super::problem::TeamProblem;
use crate::problem::excerpt;

/// The maximum number of reported problems of one file.
const MAX_PROBLEMS: usize = 20;

pub(super) type Key<'t> = Spanned<DeString<'t>>;
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// A reader that collects problems, so that all of them are reported at once.
pub(super) struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    problems: Vec<TeamProblem>,
    /// The number of problems beyond the maximum.
    more: usize,
    offsets: BTreeMap<TeamField, usize>,
    unread: BTreeSet<TeamField>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(file: &'t str, text: &'t str) -> Self {
        Self {
            file,
            text,
            problems: Vec::new(),
            more: 0,
            offsets: BTreeMap::new(),
            unread: BTreeSet::new(),
        }
    }

    /// Notes the location of a field.
    pub(super) fn locate(&mut self, field: TeamField, key: &Key<'_>) {
        self.offsets.insert(field, key.span().start);
    }

    /// Returns the location of a field. Returns the location of the whole team for a field that the file leaves out.
    pub(super) fn offset(&self, field: &TeamField) -> usize {
        let whole = match field {
            TeamField::Seat { index, .. } => TeamField::Seat {
                index: *index,
                key: "",
            },
            _ => TeamField::Seats,
        };
        let offset = self.offsets.get(field).or_else(|| self.offsets.get(&whole));
        offset.copied().unwrap_or_default()
    }

    /// Notes the location of the seats of one role.
    pub(super) fn locate_seat(&mut self, index: usize, offset: usize) {
        self.offsets
            .insert(TeamField::Seat { index, key: "" }, offset);
    }

    /// Adds a problem at a byte offset of the text.
    pub(super) fn problem(&mut self, offset: usize, message: String) {
        if self.problems.len() < MAX_PROBLEMS {
            let (line, column) = position(self.text.as_bytes(), offset);
            self.problems.push(TeamProblem {
                file: self.file.to_owned(),
                line,
                column,
                message,
            });
        } else {
            self.more += 1;
        }
    }

    /// Returns the problems in the order of the file, and the number of those beyond the maximum.
    pub(super) fn into_problems(mut self) -> (Vec<TeamProblem>, usize) {
        self.problems
            .sort_by_key(|problem| (problem.line, problem.column));
        (self.problems, self.more)
    }

    /// Notes that a field has no value of the right type. The caller has added the problem.
    pub(super) fn mark_unread(&mut self, field: TeamField) {
        self.unread.insert(field);
    }

    /// `true` if a fault of a field can follow from a value that could not be read.
    pub(super) fn is_unread(&self, field: &TeamField) -> bool {
        if self.unread.contains(field) {
            return true;
        }
        match field {
            TeamField::Seats => self.unread.iter().any(|unread| {
                matches!(
                    unread,
                    TeamField::Seat {
                        key: "role" | "count",
                        ..
                    }
                )
            }),
            // Both depend on the role.
            TeamField::Seat {
                index,
                key: "entry" | "reviews",
            } => {
                let role = TeamField::Seat {
                    index: *index,
                    key: "role",
                };
                self.unread.contains(&role)
            }
            _ => false,
        }
    }

    /// Adds the problem of a value with a wrong type or an unknown word.
    pub(super) fn refuse(
        &mut self,
        field: &TeamField,
        key: &Key<'_>,
        value: &Value<'_>,
        accepted: &str,
    ) {
        let message = match notation(value.get_ref()) {
            Ok(given) => format!("invalid `{field} = {}`: {accepted}", excerpt(&given)),
            Err(kind) => format!("invalid `{field}`: it is {kind}; {accepted}"),
        };
        self.problem(key.span().start, message);
        self.mark_unread(field.clone());
    }

    /// Adds the problem of a key that no team has.
    pub(super) fn unknown_key(&mut self, table: &str, key: &Key<'_>, accepted: &[&str]) {
        let name: &str = key.get_ref();
        let whole = excerpt(&format!("{table}{name}"));
        let all = accepted.join(", ");
        let message = match nearest(name, accepted.iter().copied()) {
            Some(near) => {
                format!("unknown key `{whole}`; did you mean `{near}`? Accepted are {all}")
            }
            None => format!("unknown key `{whole}`; accepted are {all}"),
        };
        self.problem(key.span().start, message);
    }

    pub(super) fn text(
        &mut self,
        field: TeamField,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Option<String> {
        let text = match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => None,
        };
        if text.is_none() {
            self.refuse(&field, key, value, "accepted is a text in quotes");
        }
        self.locate(field, key);
        text
    }

    /// Reads one of a few words. `accepted` are the words.
    pub(super) fn word<W: FromStr>(
        &mut self,
        field: TeamField,
        key: &Key<'_>,
        value: &Value<'_>,
        accepted: &str,
    ) -> Option<W> {
        let word = match value.get_ref() {
            DeValue::String(text) => text.parse().ok(),
            _ => None,
        };
        if word.is_none() {
            self.refuse(&field, key, value, accepted);
        }
        self.locate(field, key);
        word
    }

    pub(super) fn number(
        &mut self,
        field: TeamField,
        key: &Key<'_>,
        value: &Value<'_>,
        accepted: &str,
    ) -> Option<u32> {
        let number = match value.get_ref() {
            DeValue::Integer(digits) => u32::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        };
        if number.is_none() {
            self.refuse(&field, key, value, accepted);
        }
        self.locate(field, key);
        number
    }

    /// Reads a period. Returns its length in seconds. `accepted` are the periods.
    pub(super) fn seconds(
        &mut self,
        field: TeamField,
        key: &Key<'_>,
        value: &Value<'_>,
        accepted: &str,
    ) -> Option<u32> {
        let period: Period = self.word(field, key, value, accepted)?;
        u32::try_from(period.duration().as_secs()).ok()
    }

    pub(super) fn switch(
        &mut self,
        field: TeamField,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Option<bool> {
        let switch = match value.get_ref() {
            DeValue::Boolean(switch) => Some(*switch),
            _ => None,
        };
        if switch.is_none() {
            self.refuse(&field, key, value, "accepted are true and false");
        }
        self.locate(field, key);
        switch
    }

    pub(super) fn texts(
        &mut self,
        field: TeamField,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Option<Vec<String>> {
        let texts = match value.get_ref() {
            DeValue::Array(items) => items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::String(text) => Some(text.to_string()),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        if texts.is_none() {
            self.refuse(&field, key, value, "accepted is a list of texts in quotes");
        }
        self.locate(field, key);
        texts
    }

    /// Reads rules for permission requests, which all have one verdict. Leaves out the invalid ones.
    pub(super) fn rules(
        &mut self,
        field: &TeamField,
        key: &Key<'_>,
        value: &Value<'_>,
        verdict: Verdict,
    ) -> Vec<PermissionRule> {
        let mut rules = Vec::new();
        for text in self.texts(field.clone(), key, value).unwrap_or_default() {
            match PermissionRule::parse(&text, verdict) {
                Ok(rule) => rules.push(rule),
                Err(error) => {
                    let message = format!("invalid `{field} = \"{}\"`: {error}", excerpt(&text));
                    self.problem(key.span().start, message);
                }
            }
        }
        rules
    }
}

/// Returns a value in the notation of a file.
///
/// # Errors
///
/// Returns the kind of a value that is too long to be shown.
fn notation(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(format!("\"{text}\"")),
        DeValue::Integer(digits) => Ok(digits.to_string()),
        DeValue::Float(digits) => Ok(digits.to_string()),
        DeValue::Boolean(switch) => Ok(switch.to_string()),
        DeValue::Datetime(instant) => Ok(instant.to_string()),
        DeValue::Array(_) => Err("a list"),
        DeValue::Table(_) => Err("a table"),
    }
}

/// Returns the line and the column in characters, from 1, of a byte offset in a text.
pub(super) fn position(text: &[u8], offset: usize) -> (usize, usize) {
    let before = &text[..offset.min(text.len())];
    let line = before.split(|byte| *byte == b'\n').count();
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (line, column)
}
