//! Tests of the agents and the policies of seats.

use model::team::SeatPolicies;

use super::{tests::worker_problem, *};

/// Returns the policies of a worker with these lines.
fn policies_of(lines: &str) -> SeatPolicies {
    let text = format!(
        "name = \"x\"\n[[seats]]\nrole = \"planner\"\nentry = true\n[[seats]]\nrole = \"worker\"\n{lines}\n"
    );
    let mut team = parse_team("team.toml", text.as_bytes()).unwrap();
    assert_eq!(team.seats[0].policies, SeatPolicies::default());
    team.seats.remove(1).policies
}

#[test]
fn limits_of_turns_are_periods() {
    assert_eq!(policies_of(""), SeatPolicies::default());
    let expected = SeatPolicies {
        timeout_seconds: 5400,
        inactivity_seconds: 1200,
    };
    let lines = "timeout = \"1h30m\"\ninactivity = \"20m\"";
    assert_eq!(policies_of(lines), expected);
}

#[test]
fn invalid_period_is_refused_with_its_location() {
    for key in ["timeout", "inactivity"] {
        for given in ["\"0\"", "\"0s\"", "\"90\"", "\"367d\"", "90"] {
            assert_eq!(
                worker_problem(&format!("{key} = {given}")),
                format!(
                    "team.toml:7:1: invalid `seats[1].{key} = {given}`: accepted is a period in quotes of 1s to 366d, \
                     such as \"45m\""
                )
            );
        }
    }
}

#[test]
fn roles_of_file_without_workers_write_whole_directory() {
    let seats = "seats = [{ role = \"planner\", entry = true }, { role = \"coder\" }, { role = \"reader\", writes = [] }]";
    let team = parse_team("team.toml", format!("name = \"x\"\n{seats}").as_bytes()).unwrap();
    let writes: Vec<_> = team.seats.into_iter().map(|seat| seat.writes).collect();
    assert_eq!(writes, [None, Some(vec![".".to_owned()]), Some(Vec::new())]);
}

#[test]
fn unknown_agent_is_located_and_accepted_agents_are_listed() {
    let text = "name = \"x\"\n[[seats]]\nrole = \"planner\"\nentry = true\nagent = \"good\"\n[[seats]]\n\
                role = \"worker\"\n  agent = \"nosuch\"\n";
    let problems = agent_problems(
        "team.toml",
        text,
        |agent| agent == "good",
        "accepted are good",
    );
    let problems: Vec<_> = problems.iter().map(TeamProblem::to_string).collect();
    assert_eq!(
        problems,
        [
            "team.toml:8:3: invalid `seats[1].agent = \"nosuch\"`: there is no such agent; accepted are good"
        ]
    );
}
