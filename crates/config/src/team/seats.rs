//! Parses the seats of a team file.

use model::{
    goal::SEATS_PER_ROLE,
    permission::Verdict,
    team::{
        ACCEPTED_PERIODS, MAX_ATTEMPTS, SeatDefinition, SeatPolicies, TeamDefinition, TeamField,
    },
};
use toml::de::{DeTable, DeValue};

use super::values::{Key, Reader, Value};
use crate::problem::excerpt;

/// The keys of a seat.
const SEAT_KEYS: [&str; 19] = [
    "role",
    "entry",
    "count",
    "agent",
    "instructions",
    "memory",
    "mode",
    "directory",
    "writes",
    "cron",
    "reviews",
    "attempts",
    "accept_answers",
    "timeout",
    "inactivity",
    "on_unmatched",
    "ask_timeout",
    "allow",
    "deny",
];

/// Keys by which other programs order roles. Roles of a team have no order, so that they have no cycle either.
const ORDER_KEYS: [&str; 5] = ["after", "depends_on", "needs", "reports_to", "reviewed_by"];

impl Reader<'_> {
    pub(super) fn seats(&mut self, team: &mut TeamDefinition, key: &Key<'_>, value: &Value<'_>) {
        self.locate(TeamField::Seats, key);
        let DeValue::Array(items) = value.get_ref() else {
            let accepted = "accepted is a list of tables, such as `seats = [{ role = \"planner\", entry = true }]`";
            self.refuse(&TeamField::Seats, key, value, accepted);
            return;
        };
        for (index, item) in items.iter().enumerate() {
            let offset = item.span().start;
            self.locate_seat(index, offset);
            let DeValue::Table(table) = item.get_ref() else {
                let message = format!(
                    "invalid `seats[{index}]`: accepted is a table, such as `{{ role = \"worker\" }}`"
                );
                self.problem(offset, message);
                self.mark_unread(TeamField::Seat { index, key: "role" });
                team.seats.push(SeatDefinition::new(""));
                continue;
            };
            let seat = self.seat(index, offset, table);
            team.seats.push(seat);
        }
    }

    fn seat(&mut self, index: usize, offset: usize, table: &DeTable<'_>) -> SeatDefinition {
        // The defaults of the other fields depend on the role.
        let role = table.iter().find(|(key, _)| key.get_ref() == "role");
        let role = if let Some((key, value)) = role {
            self.text(TeamField::Seat { index, key: "role" }, key, value)
        } else {
            let message = format!(
                "missing `seats[{index}].role`; accepted is a text, such as `role = \"worker\"`"
            );
            self.problem(offset, message);
            self.mark_unread(TeamField::Seat { index, key: "role" });
            None
        };
        let mut seat = SeatDefinition::new(&role.unwrap_or_default());
        for (key, value) in table {
            let name: &str = key.get_ref();
            let Some(known) = SEAT_KEYS.into_iter().find(|known| *known == name) else {
                self.unknown_seat_key(index, key);
                continue;
            };
            self.seat_field(
                &mut seat,
                TeamField::Seat { index, key: known },
                known,
                (key, value),
            );
        }
        seat
    }

    fn seat_field(
        &mut self,
        seat: &mut SeatDefinition,
        field: TeamField,
        name: &'static str,
        (key, value): (&Key<'_>, &Value<'_>),
    ) {
        match name {
            "entry" => set(&mut seat.is_entry, self.switch(field, key, value)),
            "count" => {
                let accepted = format!("accepted are 1 to {SEATS_PER_ROLE}");
                set(&mut seat.count, self.number(field, key, value, &accepted));
            }
            "agent" => seat.agent = self.text(field, key, value),
            "instructions" => seat.instructions = self.text(field, key, value),
            "memory" => set(
                &mut seat.memory,
                self.word(field, key, value, "accepted are \"seat\" and \"task\""),
            ),
            "mode" => seat.mode = self.text(field, key, value),
            "directory" => set(
                &mut seat.directory,
                self.word(field, key, value, "accepted are \"shared\" and \"own\""),
            ),
            "writes" => seat.writes = self.texts(field, key, value),
            "cron" => set(
                &mut seat.cron,
                self.word(field, key, value, "accepted is \"deny\""),
            ),
            "reviews" => {
                let accepted = "accepted are \"goal\", \"marked\" and \"all\"";
                seat.reviews = self.word(field, key, value, accepted);
            }
            "attempts" => {
                let accepted = format!("accepted are 1 to {MAX_ATTEMPTS}");
                set(
                    &mut seat.attempts,
                    self.number(field, key, value, &accepted),
                );
            }
            "accept_answers" => set(&mut seat.accept_answers, self.switch(field, key, value)),
            // The role was read before the others.
            "role" => {}
            _ => self.seat_policy(&mut seat.policies, field, name, (key, value)),
        }
    }

    fn seat_policy(
        &mut self,
        policies: &mut SeatPolicies,
        field: TeamField,
        name: &'static str,
        (key, value): (&Key<'_>, &Value<'_>),
    ) {
        let period = match name {
            "timeout" => Some(&mut policies.timeout_seconds),
            "inactivity" => Some(&mut policies.inactivity_seconds),
            "ask_timeout" => Some(&mut policies.ask_seconds),
            _ => None,
        };
        match (period, name) {
            (Some(period), _) => set(period, self.seconds(field, key, value, ACCEPTED_PERIODS)),
            (None, "on_unmatched") => {
                let accepted = "accepted are \"deny\" and \"ask\"";
                set(
                    &mut policies.on_unmatched,
                    self.word(field, key, value, accepted),
                );
            }
            (None, _) => {
                let verdict = if name == "allow" {
                    Verdict::Allow
                } else {
                    Verdict::Deny
                };
                let rules = self.rules(&field, key, value, verdict);
                policies.permissions.0.extend(rules);
            }
        }
    }

    fn unknown_seat_key(&mut self, index: usize, key: &Key<'_>) {
        let name: &str = key.get_ref();
        if ORDER_KEYS.contains(&name) {
            let message = format!(
                "unknown key `seats[{index}].{}`: roles have no order, because the planner orders tasks; accepted are {}",
                excerpt(name),
                SEAT_KEYS.join(", ")
            );
            self.problem(key.span().start, message);
        } else {
            self.unknown_key(&format!("seats[{index}]."), key, &SEAT_KEYS);
        }
    }
}

/// Sets a field to the value of the file, if it has one of the right type.
fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}
