//! The document `goals.team`.

use std::collections::BTreeMap;

use model::{
    goal::{Directory, Limits, Reviews},
    team::{
        CHECK_TIMEOUT_SECONDS, CheckDefinition, MemoryScope, SeatDefinition, TeamDefinition,
        TeamLimits,
    },
    tools::AgentCron,
};
use serde::{Deserialize, Serialize};

use super::seat_policies::StoredSeatPolicies;
use crate::{
    document_format::{BASE_FORMAT, CHECK_TIMEOUT_FORMAT, SEAT_POLICIES_FORMAT},
    stored::{BoxError, Document},
};

/// A team, as the row of a goal holds it. Every limit and every default is written, so that a later version with other
/// defaults does not change a goal under way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredTeam {
    name: String,
    limits: StoredTeamLimits,
    checks: BTreeMap<String, String>,
    /// The time limits of the checks, in seconds. Teams of earlier programs have none. A server that does not know them would
    /// give each check the default time.
    #[serde(default)]
    check_timeouts: BTreeMap<String, u32>,
    seats: Vec<StoredTeamSeat>,
    /// `true` if a person approves the first plan.
    #[serde(default)]
    approve_plan: bool,
}

/// A team with the choice that a person makes for one goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoalTeam {
    /// The team.
    pub(crate) definition: TeamDefinition,
    /// `true` if a person approves the first plan.
    pub(crate) approve_plan: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredTeamLimits {
    plan: u32,
    tasks: u32,
    replans: u32,
    rounds: u32,
    equal_rounds: u32,
    failed_checks: u32,
    idle_turns: u32,
    alternating_turns: u32,
    messages: u32,
    message_turns: u32,
    turns: u32,
    parallel: u32,
    hours: u32,
    question_hours: u32,
    give_up_after_hours: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredTeamSeat {
    role: String,
    entry: bool,
    count: u32,
    agent: Option<String>,
    instructions: Option<String>,
    memory: MemoryScope,
    mode: Option<String>,
    directory: Directory,
    writes: Option<Vec<String>>,
    cron: AgentCron,
    reviews: Option<Reviews>,
    attempts: u32,
    accept_answers: bool,
    /// The policies of the turns. Teams of earlier programs have none.
    #[serde(default)]
    policies: StoredSeatPolicies,
}

impl Document for StoredTeam {
    type Domain = GoalTeam;

    fn of(team: &GoalTeam) -> Self {
        let TeamDefinition {
            name,
            limits,
            checks,
            seats,
        } = team.definition.clone();
        Self {
            name,
            limits: limits.into(),
            check_timeouts: checks
                .iter()
                .map(|(name, check)| (name.clone(), check.timeout_seconds))
                .collect(),
            checks: checks
                .into_iter()
                .map(|(name, check)| (name, check.command))
                .collect(),
            seats: seats.into_iter().map(Into::into).collect(),
            approve_plan: team.approve_plan,
        }
    }

    fn into_domain(self) -> Result<GoalTeam, BoxError> {
        let timeouts = self.check_timeouts;
        let checks = self.checks.into_iter().map(|(name, command)| {
            let timeout = timeouts.get(&name).copied();
            let check = CheckDefinition {
                command,
                timeout_seconds: timeout.unwrap_or(CHECK_TIMEOUT_SECONDS),
            };
            (name, check)
        });
        // Mistakes are refused on creation. A later version may accept more, and its goals stay readable.
        Ok(GoalTeam {
            definition: TeamDefinition {
                name: self.name,
                limits: self.limits.into(),
                checks: checks.collect(),
                seats: self.seats.into_iter().map(Into::into).collect(),
            },
            approve_plan: self.approve_plan,
        })
    }

    fn needs_format(&self) -> i64 {
        let default = StoredSeatPolicies::default();
        if self.seats.iter().any(|seat| seat.policies != default) {
            return SEAT_POLICIES_FORMAT;
        }
        let mut timeouts = self.check_timeouts.values();
        if timeouts.all(|timeout| *timeout == CHECK_TIMEOUT_SECONDS) {
            BASE_FORMAT
        } else {
            CHECK_TIMEOUT_FORMAT
        }
    }
}

impl From<TeamLimits> for StoredTeamLimits {
    fn from(limits: TeamLimits) -> Self {
        // Destructure without `..`, so that a new limit does not compile until it is stored.
        let TeamLimits {
            graph:
                Limits {
                    plan,
                    tasks,
                    replans,
                    rounds,
                    equal_rounds,
                    failed_checks,
                    idle_turns,
                    alternating_turns,
                    messages,
                    message_turns,
                    turns,
                    parallel,
                },
            hours,
            question_hours,
            give_up_after_hours,
        } = limits;
        Self {
            plan,
            tasks,
            replans,
            rounds,
            equal_rounds,
            failed_checks,
            idle_turns,
            alternating_turns,
            messages,
            message_turns,
            turns,
            parallel,
            hours,
            question_hours,
            give_up_after_hours,
        }
    }
}

impl From<StoredTeamLimits> for TeamLimits {
    fn from(limits: StoredTeamLimits) -> Self {
        Self {
            graph: Limits {
                plan: limits.plan,
                tasks: limits.tasks,
                replans: limits.replans,
                rounds: limits.rounds,
                equal_rounds: limits.equal_rounds,
                failed_checks: limits.failed_checks,
                idle_turns: limits.idle_turns,
                alternating_turns: limits.alternating_turns,
                messages: limits.messages,
                message_turns: limits.message_turns,
                turns: limits.turns,
                parallel: limits.parallel,
            },
            hours: limits.hours,
            question_hours: limits.question_hours,
            give_up_after_hours: limits.give_up_after_hours,
        }
    }
}

impl From<SeatDefinition> for StoredTeamSeat {
    fn from(seat: SeatDefinition) -> Self {
        let SeatDefinition {
            role,
            is_entry: entry,
            count,
            agent,
            instructions,
            memory,
            mode,
            directory,
            writes,
            cron,
            reviews,
            attempts,
            accept_answers,
            policies,
        } = seat;
        Self {
            role,
            entry,
            count,
            agent,
            instructions,
            memory,
            mode,
            directory,
            writes,
            cron,
            reviews,
            attempts,
            accept_answers,
            policies: policies.into(),
        }
    }
}

impl From<StoredTeamSeat> for SeatDefinition {
    fn from(seat: StoredTeamSeat) -> Self {
        Self {
            role: seat.role,
            is_entry: seat.entry,
            count: seat.count,
            agent: seat.agent,
            instructions: seat.instructions,
            memory: seat.memory,
            mode: seat.mode,
            directory: seat.directory,
            writes: seat.writes,
            cron: seat.cron,
            reviews: seat.reviews,
            attempts: seat.attempts,
            accept_answers: seat.accept_answers,
            policies: seat.policies.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{
        approval::OnUnmatched,
        goal,
        permission::{PermissionRule, PermissionRules, Verdict},
        team::{LIMIT_FIELDS, SeatPolicies},
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::stored::{DOCUMENT_FORMAT, rewrite_value, write};

    /// Returns a rule that allows edits.
    fn edits() -> PermissionRule {
        PermissionRule {
            tool: "edit".into(),
            title: None,
            verdict: Verdict::Allow,
        }
    }

    /// Returns a team in which no optional field is absent.
    fn example() -> GoalTeam {
        let mut planner = SeatDefinition::new(goal::PLANNER);
        planner.is_entry = true;
        let worker = SeatDefinition {
            role: goal::WORKER.into(),
            is_entry: false,
            count: 2,
            agent: Some("codex".into()),
            instructions: Some("Write the failing test first.".into()),
            memory: MemoryScope::Task,
            mode: Some("plan".into()),
            directory: Directory::Own,
            writes: Some(vec!["src".into()]),
            cron: AgentCron::Ask,
            reviews: None,
            attempts: 3,
            accept_answers: true,
            policies: SeatPolicies {
                timeout_seconds: 5400,
                inactivity_seconds: 1200,
                on_unmatched: OnUnmatched::RequestApproval,
                ask_seconds: 60,
                permissions: PermissionRules(vec![edits()]),
            },
        };
        let mut judge = SeatDefinition::new(goal::JUDGE);
        judge.reviews = Some(Reviews::All);
        let definition = TeamDefinition {
            name: "code".into(),
            limits: TeamLimits::default(),
            checks: [(
                "tests".to_owned(),
                CheckDefinition {
                    command: "cargo test -q".into(),
                    timeout_seconds: 90,
                },
            )]
            .into(),
            seats: vec![planner, worker, judge],
        };
        GoalTeam {
            definition,
            approve_plan: true,
        }
    }

    fn read(document: &Value) -> Result<GoalTeam, BoxError> {
        StoredTeam::deserialize(document)?.into_domain()
    }

    #[test]
    fn team_is_read_as_it_was_written() {
        let mut team = example();
        for (index, limit) in (1..).zip(&LIMIT_FIELDS) {
            (limit.set)(&mut team.definition.limits, index);
        }
        let written = write::<StoredTeam>(&team);
        assert_eq!(read(&written.value).unwrap(), team);
        assert!(written.needs_format <= DOCUMENT_FORMAT);
    }

    #[test]
    fn team_has_every_default_in_its_document() {
        let document = write::<StoredTeam>(&example()).value;
        let limits = document["limits"].as_object().unwrap();
        assert_eq!(limits.len(), LIMIT_FIELDS.len());
        for limit in LIMIT_FIELDS {
            let value = (limit.get)(&TeamLimits::default());
            assert_eq!(limits[limit.name], json!(value), "{}", limit.name);
        }
        assert_eq!(document["seats"][0]["memory"], "seat");
        assert_eq!(document["seats"][0]["attempts"], 2);
        assert_eq!(document["check_timeouts"], json!({ "tests": 90 }));
        let policies = json!({
            "timeout_seconds": 1800, "inactivity_seconds": 600, "on_unmatched": "deny", "ask_seconds": 600,
            "permissions": [],
        });
        assert_eq!(document["seats"][0]["policies"], policies);
    }

    #[test]
    fn time_limit_of_check_needs_server_that_knows_it() {
        let mut team = example();
        team.definition.seats[1].policies = SeatPolicies::default();
        assert_eq!(
            write::<StoredTeam>(&team).needs_format,
            CHECK_TIMEOUT_FORMAT
        );
        for seconds in [CHECK_TIMEOUT_SECONDS - 1, CHECK_TIMEOUT_SECONDS + 1] {
            let slow = CheckDefinition {
                command: "true".into(),
                timeout_seconds: seconds,
            };
            team.definition.checks = [
                ("lint".to_owned(), CheckDefinition::new("true")),
                ("tests".to_owned(), slow),
            ]
            .into();
            assert_eq!(
                write::<StoredTeam>(&team).needs_format,
                CHECK_TIMEOUT_FORMAT
            );
        }
        team.definition.checks.remove("tests");
        assert_eq!(write::<StoredTeam>(&team).needs_format, BASE_FORMAT);
        team.definition.checks.clear();
        assert_eq!(write::<StoredTeam>(&team).needs_format, BASE_FORMAT);
    }

    #[test]
    fn policies_of_seat_need_server_that_knows_them() {
        let mut team = example();
        team.definition.checks.clear();
        let changes: [fn(&mut SeatPolicies); 5] = [
            |policies| policies.timeout_seconds = 1,
            |policies| policies.inactivity_seconds = 1,
            |policies| policies.on_unmatched = OnUnmatched::RequestApproval,
            |policies| policies.ask_seconds = 1,
            |policies| policies.permissions.0.push(edits()),
        ];
        for change in changes {
            team.definition.seats[1].policies = SeatPolicies::default();
            assert_eq!(write::<StoredTeam>(&team).needs_format, BASE_FORMAT);
            change(&mut team.definition.seats[1].policies);
            let needed = write::<StoredTeam>(&team).needs_format;
            assert_eq!(needed, SEAT_POLICIES_FORMAT);
        }
    }

    #[test]
    fn seats_of_earlier_programs_have_default_policies() {
        let mut document = write::<StoredTeam>(&example()).value;
        let worker = document["seats"][1].as_object_mut().unwrap();
        worker.remove("policies");
        let team = read(&document).unwrap().definition;
        assert_eq!(team.seats[1].policies, SeatPolicies::default());
        document["seats"][1]["policies"] = json!({ "timeout_seconds": 60 });
        let team = read(&document).unwrap().definition;
        let expected = SeatPolicies {
            timeout_seconds: 60,
            ..SeatPolicies::default()
        };
        assert_eq!(team.seats[1].policies, expected);
    }

    #[test]
    fn checks_of_earlier_programs_have_default_time_limit() {
        let mut document = write::<StoredTeam>(&example()).value;
        document.as_object_mut().unwrap().remove("check_timeouts");
        let checks = read(&document).unwrap().definition.checks;
        assert_eq!(checks["tests"], CheckDefinition::new("cargo test -q"));
    }

    #[test]
    fn key_of_later_version_is_ignored_and_kept() {
        let mut document = write::<StoredTeam>(&example()).value;
        document["later"] = json!({ "a": 1 });
        document["limits"]["later"] = json!(7);
        document["seats"][1]["later"] = json!("x");
        assert_eq!(read(&document).unwrap(), example());
        let mut changed = example();
        changed.definition.limits.graph.turns = 7;
        let rewritten = rewrite_value::<StoredTeam>(&changed, &document).unwrap();
        let mut expected = document;
        expected["limits"]["turns"] = json!(7);
        assert_eq!(rewritten.value, expected);
    }

    #[test]
    fn absent_optional_field_is_read() {
        let mut document = write::<StoredTeam>(&example()).value;
        for seat in document["seats"].as_array_mut().unwrap() {
            let seat = seat.as_object_mut().unwrap();
            for key in ["agent", "instructions", "mode", "writes", "reviews"] {
                seat.remove(key);
            }
        }
        let team = read(&document).unwrap().definition;
        assert_eq!(team.seats[1].agent, None);
        assert_eq!(team.seats[1].writes, None);
        assert_eq!(team.seats[2].reviews, None);
    }

    #[test]
    fn corrupt_document_is_refused_with_its_field() {
        let change = |change: fn(&mut Value)| {
            let mut document = write::<StoredTeam>(&example()).value;
            change(&mut document);
            read(&document).unwrap_err().to_string()
        };
        let word = change(|document| document["seats"][0]["memory"] = json!("none"));
        assert!(word.contains("expected one of seat, task"), "{word}");
        let missing = change(|document| document["limits"] = json!({}));
        assert!(missing.contains("missing field `plan`"), "{missing}");
    }
}
