//! Parses a team file.

use std::collections::BTreeMap;

use model::team::{
    CheckDefinition, LIMIT_FIELDS, MAX_CHECK_TIMEOUT_SECONDS, TeamDefinition, TeamField, TeamLimits,
};
use toml::de::{DeTable, DeValue};

use super::{
    problem::{InvalidTeam, TeamProblem},
    values::{Key, Reader, Value, position},
};
use crate::problem::excerpt;

/// The maximum size of a team file, in bytes: 16 roles with the longest instructions, and room for the rest.
pub const MAX_TEAM_FILE_BYTES: usize = 512 << 10;
/// The keys of a check.
const CHECK_KEYS: [&str; 2] = ["command", "timeout"];
/// The keys of a team.
const TEAM_KEYS: [&str; 4] = ["name", "limits", "checks", "seats"];

pub(super) fn parse(file: &str, content: &[u8]) -> Result<TeamDefinition, InvalidTeam> {
    let refuse = |offset, message| {
        let (line, column) = position(content, offset);
        let file = file.to_owned();
        InvalidTeam {
            problems: vec![TeamProblem {
                file,
                line,
                column,
                message,
            }],
            more: 0,
        }
    };
    if content.len() > MAX_TEAM_FILE_BYTES {
        // A command reads only the beginning of such a file.
        let message = format!("the file has more than the accepted {MAX_TEAM_FILE_BYTES} bytes");
        return Err(refuse(0, message));
    }
    let text = std::str::from_utf8(content).map_err(|error| {
        let message = "the file is not UTF-8; accepted is TOML in UTF-8".to_owned();
        refuse(error.valid_up_to(), message)
    })?;
    let table = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(text.len(), |span| span.start);
        let reason = error.message().lines().collect::<Vec<_>>().join(", ");
        refuse(
            offset,
            format!("the file is not valid TOML: {}", excerpt(&reason)),
        )
    })?;
    let mut reader = Reader::new(file, text);
    let mut team = reader.team(table.get_ref());
    team.set_default_writes();
    for fault in team.faults() {
        // A default stands for a value that could not be read. The file does not contain the fault of a default.
        if !reader.is_unread(&fault.field) {
            let offset = reader.offset(&fault.field);
            reader.problem(offset, fault.to_string());
        }
    }
    let (problems, more) = reader.into_problems();
    if problems.is_empty() {
        Ok(team)
    } else {
        Err(InvalidTeam { problems, more })
    }
}

/// Returns a problem for each seat whose agent is unknown. `accepted` returns the end of the message.
pub(super) fn agent_problems(
    file: &str,
    text: &str,
    is_known: impl Fn(&str) -> bool,
    accepted: impl Fn(&str) -> String,
) -> Vec<TeamProblem> {
    let Ok(table) = DeTable::parse(text) else {
        return Vec::new();
    };
    let mut reader = Reader::new(file, text);
    let team = reader.team(table.get_ref());
    for (index, seat) in team.seats.iter().enumerate() {
        if let Some(agent) = seat.agent.as_deref().filter(|agent| !is_known(agent)) {
            let field = TeamField::Seat {
                index,
                key: "agent",
            };
            let offset = reader.offset(&field);
            let message = format!(
                "invalid `{field} = \"{}\"`: there is no such agent; {}",
                excerpt(agent),
                accepted(agent)
            );
            reader.problem(offset, message);
        }
    }
    reader.into_problems().0
}

impl Reader<'_> {
    fn team(&mut self, table: &DeTable<'_>) -> TeamDefinition {
        let mut team = TeamDefinition {
            name: String::new(),
            limits: TeamLimits::default(),
            checks: BTreeMap::new(),
            seats: Vec::new(),
        };
        for (key, value) in table {
            let name: &str = key.get_ref();
            match name {
                "name" => {
                    if let Some(name) = self.text(TeamField::Name, key, value) {
                        team.name = name;
                    }
                }
                "limits" => self.limits(&mut team.limits, key, value),
                "checks" => self.checks(&mut team, key, value),
                "seats" => self.seats(&mut team, key, value),
                _ => self.unknown_key("", key, &TEAM_KEYS),
            }
        }
        for (field, accepted) in [
            (
                TeamField::Name,
                "accepted is a text, such as `name = \"code\"`",
            ),
            (TeamField::Seats, "accepted is a list of 2 to 16 seats"),
        ] {
            let key = field.to_string();
            if !table
                .iter()
                .any(|(given, _)| given.get_ref() == key.as_str())
            {
                self.problem(0, format!("missing `{key}`; {accepted}"));
                self.mark_unread(field);
            }
        }
        team
    }

    fn limits(&mut self, limits: &mut TeamLimits, key: &Key<'_>, value: &Value<'_>) {
        let DeValue::Table(table) = value.get_ref() else {
            self.refuse_table("limits", key, "limits = { tasks = 50 }");
            return;
        };
        for (key, value) in table {
            let name: &str = key.get_ref();
            let Some(limit) = LIMIT_FIELDS.iter().find(|limit| limit.name == name) else {
                self.unknown_key("limits.", key, &LIMIT_FIELDS.map(|limit| limit.name));
                continue;
            };
            let field = TeamField::Limit(limit.name);
            if let Some(number) = self.number(field, key, value, &limit.accepted()) {
                (limit.set)(limits, number);
            }
        }
    }

    fn checks(&mut self, team: &mut TeamDefinition, key: &Key<'_>, value: &Value<'_>) {
        let DeValue::Table(table) = value.get_ref() else {
            self.refuse_table("checks", key, "checks = { tests = \"cargo test -q\" }");
            return;
        };
        self.locate(TeamField::Checks, key);
        for (key, value) in table {
            let name: &str = key.get_ref();
            let check = match value.get_ref() {
                DeValue::Table(table) => Some(self.check(name, key, table)),
                _ => self
                    .text(TeamField::Check(name.to_owned()), key, value)
                    .map(CheckDefinition::new),
            };
            if let Some(check) = check {
                team.checks.insert(name.to_owned(), check);
            }
        }
    }

    /// Reads a check with its time limit.
    fn check(&mut self, check: &str, check_key: &Key<'_>, table: &DeTable<'_>) -> CheckDefinition {
        let mut read = CheckDefinition::new("");
        let mut has_command = false;
        for (key, value) in table {
            let name: &str = key.get_ref();
            match name {
                "command" => {
                    has_command = true;
                    let field = TeamField::Check(check.to_owned());
                    read.command = self.text(field, key, value).unwrap_or_default();
                }
                "timeout" => {
                    let field = TeamField::CheckTimeout(check.to_owned());
                    let accepted = format!("accepted are 1 to {MAX_CHECK_TIMEOUT_SECONDS} seconds");
                    if let Some(seconds) = self.number(field, key, value, &accepted) {
                        read.timeout_seconds = seconds;
                    }
                }
                _ => {
                    let field = TeamField::Check(check.to_owned());
                    self.unknown_key(&format!("{field}."), key, &CHECK_KEYS);
                }
            }
        }
        if !has_command {
            let field = TeamField::Check(check.to_owned());
            let message = format!(
                "missing `{field}.command`; accepted is a command, such as `command = \"cargo test -q\"`"
            );
            self.problem(check_key.span().start, message);
            self.mark_unread(field);
        }
        read
    }

    fn refuse_table(&mut self, name: &str, key: &Key<'_>, example: &str) {
        let message = format!("invalid `{name}`: accepted is a table, such as `{example}`");
        self.problem(key.span().start, message);
    }
}
