//! Tests of the agents and the policies of seats.

use model::{
    approval::OnUnmatched,
    permission::{PermissionRule, PermissionRules, Verdict},
    team::SeatPolicies,
};

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
        ask_seconds: 3600,
        ..SeatPolicies::default()
    };
    let lines = "timeout = \"1h30m\"\ninactivity = \"20m\"\nask_timeout = \"1h\"";
    assert_eq!(policies_of(lines), expected);
}

#[test]
fn rules_for_permission_requests_are_read() {
    let rule = |tool: &str, title: Option<&str>, verdict| PermissionRule {
        tool: tool.to_owned(),
        title: title.map(str::to_owned),
        verdict,
    };
    let expected = SeatPolicies {
        on_unmatched: OnUnmatched::RequestApproval,
        permissions: PermissionRules(vec![
            rule("edit", None, Verdict::Allow),
            rule("execute", Some("cargo *"), Verdict::Allow),
            rule("execute", Some("*push*"), Verdict::Deny),
        ]),
        ..SeatPolicies::default()
    };
    let lines = "on_unmatched = \"ask\"\nallow = [\"edit\", \"execute:cargo *\"]\ndeny = [\"execute:*push*\"]";
    assert_eq!(policies_of(lines), expected);
}

#[test]
fn invalid_rule_is_refused_with_its_location() {
    let kinds = "expected one of read, edit, delete, move, search, execute, think, fetch, switch_mode, other, or a \
                 pattern with *";
    for (line, expected) in [
        (
            "on_unmatched = \"allow\"",
            "`seats[1].on_unmatched = \"allow\"`: accepted are \"deny\" and \"ask\"".to_owned(),
        ),
        (
            "allow = [\"edit\", \"edti\"]",
            format!("`seats[1].allow = \"edti\"`: unknown tool kind `edti`: {kinds}"),
        ),
        (
            "deny = [\"execute:\"]",
            "`seats[1].deny = \"execute:\"`: expected a tool kind such as edit, or a kind and a pattern such as \
             'execute:cargo *'"
                .to_owned(),
        ),
        (
            "deny = \"edit\"",
            "`seats[1].deny = \"edit\"`: accepted is a list of texts in quotes".to_owned(),
        ),
    ] {
        let expected = format!("team.toml:7:1: invalid {expected}");
        assert_eq!(worker_problem(line), expected);
    }
}

#[test]
fn invalid_period_is_refused_with_its_location() {
    for key in ["timeout", "inactivity", "ask_timeout"] {
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
        |agent| format!("accepted are good and not {agent}"),
    );
    let problems: Vec<_> = problems.iter().map(TeamProblem::to_string).collect();
    assert_eq!(
        problems,
        [
            "team.toml:8:3: invalid `seats[1].agent = \"nosuch\"`: there is no such agent; accepted are good and not nosuch"
        ]
    );
}
