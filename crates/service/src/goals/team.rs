//! The team of a new goal: one that ships or one from a file, with the choices of the request.

use api_types::GoalRequest;
use config::team::{SHIPPED_TEAMS, ShippedTeam, parse_team};
use model::{
    nearest::nearest,
    team::{CheckDefinition, LIMIT_FIELDS, TeamDefinition, TeamField, TeamLimits},
};

use crate::Error;

/// The team of a request that names none.
const DEFAULT_TEAM: &str = "research";
/// The highest number of commands that a request adds: as many checks as one task may have.
const MAX_VERIFY: usize = 5;

/// Returns the team of a request, with its checks and limits. `workers` is the number of turns that the worker pool takes at
/// a time.
///
/// # Errors
///
/// Returns an error that names the field if the team is unknown or has mistakes, or if a check or a limit is invalid.
pub(super) fn team_of(
    request: &GoalRequest,
    workers: Option<u32>,
) -> Result<TeamDefinition, Error> {
    let mut team = match (&request.team, &request.team_file) {
        (Some(name), Some(_)) => {
            let problem = "`team_file` excludes it; accepted is one of both";
            return Err(Error::invalid("team", name, problem));
        }
        (None, Some(file)) => parse_team(&file.name, file.text.as_bytes())?,
        (name, None) => shipped(name.as_deref().unwrap_or(DEFAULT_TEAM))?,
    };
    add_checks(&mut team, &request.verify)?;
    for (name, value) in &request.limits {
        set_limit(&mut team.limits, name, *value)?;
    }
    leave_worker_to_people(&mut team.limits, workers);
    Ok(team)
}

/// Lowers the number of turns at a time below the number of workers, because a goal that takes all workers would let the
/// messages of people wait.
pub(super) fn leave_worker_to_people(limits: &mut TeamLimits, workers: Option<u32>) {
    if let Some(workers) = workers {
        let most = workers.saturating_sub(1).max(1);
        limits.graph.parallel = limits.graph.parallel.min(most);
    }
}

fn shipped(name: &str) -> Result<TeamDefinition, Error> {
    if let Some(team) = ShippedTeam::find(name) {
        return Ok(team.definition()?);
    }
    let names = SHIPPED_TEAMS.map(|team| team.name);
    let nearest =
        nearest(name, names).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let problem = format!(
        "there is no such team, accepted are {}{nearest}",
        names.join(", ")
    );
    Err(Error::invalid("team", name, problem))
}

/// Adds commands as the checks `verify`, `verify-2` and so on. A name that the team uses is skipped.
fn add_checks(team: &mut TeamDefinition, commands: &[String]) -> Result<(), Error> {
    if commands.len() > MAX_VERIFY {
        let problem = format!("accepted are up to {MAX_VERIFY} commands");
        return Err(Error::invalid(
            "verify",
            &commands.len().to_string(),
            problem,
        ));
    }
    if let Some(first) = commands.first().filter(|_| !team.verifies_tasks()) {
        let problem = "each role of the team has `writes = []`, so that no task would have the command; accepted is a team \
                       with a role that writes files";
        return Err(Error::invalid("verify[0]", first, problem));
    }
    for (index, command) in commands.iter().enumerate() {
        let number = |number: usize| match number {
            1 => "verify".to_owned(),
            number => format!("verify-{number}"),
        };
        let mut names = (1..).map(number);
        let Some(name) = names.find(|name| !team.checks.contains_key(name)) else {
            continue;
        };
        team.checks
            .insert(name.clone(), CheckDefinition::new(command.as_str()));
        let faults = team.faults();
        let of_checks = faults.into_iter().find(|fault| match &fault.field {
            TeamField::Check(of) => *of == name,
            field => *field == TeamField::Checks,
        });
        if let Some(fault) = of_checks {
            return Err(Error::invalid(
                format!("verify[{index}]"),
                command,
                fault.reason,
            ));
        }
    }
    Ok(())
}

/// Sets a limit by its name.
///
/// # Errors
///
/// Returns an error that names the limit if it is unknown, or if the value is not accepted.
pub(super) fn set_limit(limits: &mut TeamLimits, name: &str, value: u32) -> Result<(), Error> {
    let Some(limit) = LIMIT_FIELDS.iter().find(|limit| limit.name == name) else {
        let names = LIMIT_FIELDS.map(|limit| limit.name);
        let nearest = nearest(name, names)
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let problem = format!(
            "there is no such limit, accepted are {}{nearest}",
            names.join(", ")
        );
        return Err(Error::invalid("limits", name, problem));
    };
    if value < limit.least || value > limit.highest {
        let field = format!("limits.{name}");
        return Err(Error::invalid(field, &value.to_string(), limit.accepted()));
    }
    (limit.set)(limits, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use api_types::TeamFile;

    use super::*;

    fn request() -> GoalRequest {
        GoalRequest {
            goal: "Draft it.".into(),
            ..GoalRequest::default()
        }
    }

    fn file(text: &str) -> GoalRequest {
        GoalRequest {
            team_file: Some(TeamFile {
                name: "own.toml".into(),
                text: text.into(),
            }),
            ..request()
        }
    }

    #[test]
    fn invalid_team_is_refused_with_its_place() {
        let planner = "name = \"own\"\nseats = [{ role = \"planner\", entry = true }]\n";
        let limited = |name: &str, value| GoalRequest {
            limits: [(name.to_owned(), value)].into(),
            ..request()
        };
        let verifying = |commands: &[&str]| GoalRequest {
            verify: commands.iter().map(|it| (*it).to_owned()).collect(),
            ..request()
        };
        let named = |name: &str| GoalRequest {
            team: Some(name.into()),
            ..request()
        };
        let both = GoalRequest {
            team: Some("code".into()),
            ..file(planner)
        };
        let cases = [
            (named("reserach"), "team", "did you mean `research`?"),
            (both, "team", "one of both"),
            (
                file("name = \"own\"\n"),
                "team_file.text",
                "own.toml:1:1: missing `seats`",
            ),
            (
                file("name = \"own\"\nseats = []\n"),
                "team_file.text",
                "own.toml:2:1: invalid `seats`",
            ),
            (
                file("name = \"own\"\nseats = [{ role = \"worker\" }]\n"),
                "team_file.text",
                "planner",
            ),
            (
                file(&planner.replace(
                    "entry = true }",
                    "entry = true }, { role = \"worker\", count = 0 }",
                )),
                "team_file.text",
                "count = 0`: accepted are 1 to 8",
            ),
            (
                file(&format!("{planner}colour = 1\n")),
                "team_file.text",
                "own.toml:3:1:",
            ),
            (limited("turn", 5), "limits", "did you mean `turns`?"),
            (
                limited("turns", 0),
                "limits.turns",
                "accepted are 1 to 100000",
            ),
            (verifying(&["true"; 6]), "verify", "up to 5 commands"),
            (
                GoalRequest {
                    verify: vec!["true".to_owned()],
                    ..file(&planner.replace(
                        "entry = true }",
                        "entry = true }, { role = \"reader\", writes = [] }",
                    ))
                },
                "verify[0]",
                "no task would have the command",
            ),
            (
                verifying(&["true", " "]),
                "verify[1]",
                "a command on one line",
            ),
        ];
        for (request, field, says) in cases {
            let error = team_of(&request, None).unwrap_err();
            assert_eq!(error.field(), Some(field), "{error}");
            assert!(error.to_string().contains(says), "{says}: {error}");
        }
    }

    #[test]
    fn commands_become_checks_beside_those_of_team() {
        let text = "name = \"own\"\nchecks = { verify = \"make\" }\nseats = [{ role = \"planner\", entry = true }, { role = \"worker\" }]\n";
        let request = GoalRequest {
            verify: vec!["cargo test -q".into(), "cargo fmt --check".into()],
            ..file(text)
        };
        let checks = team_of(&request, None).unwrap().checks;
        let checks: Vec<_> = checks
            .iter()
            .map(|(name, check)| format!("{name}: {}", check.command))
            .collect();
        assert_eq!(
            checks,
            [
                "verify: make",
                "verify-2: cargo test -q",
                "verify-3: cargo fmt --check"
            ]
        );
    }

    #[test]
    fn commands_are_accepted_for_team_without_workers() {
        let text = "name = \"own\"\nseats = [{ role = \"planner\", entry = true }, { role = \"coder\" }]\n";
        let request = GoalRequest {
            verify: vec!["make".into()],
            ..file(text)
        };
        let team = team_of(&request, None).unwrap();
        assert_eq!(team.seats[1].writes, Some(vec![".".to_owned()]));
        assert_eq!(team.graph_team(false).verification, ["verify"]);
    }

    #[test]
    fn goal_leaves_one_worker_to_people() {
        let parallel = |workers| team_of(&request(), workers).unwrap().limits.graph.parallel;
        assert_eq!(parallel(None), 3);
        assert_eq!(parallel(Some(1)), 1);
        assert_eq!(parallel(Some(2)), 1);
        assert_eq!(parallel(Some(4)), 3);
        assert_eq!(parallel(Some(16)), 3);
    }
}
