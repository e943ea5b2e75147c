//! Tests of team files.

use model::{
    goal::{Directory, Graph, Reviews},
    limits::INSTRUCTIONS_BYTES,
    team::{CheckDefinition, MemoryScope},
    tools::AgentCron,
};

use super::*;

/// The seats of a small team on one line.
const SEATS: &str = "seats = [{ role = \"planner\", entry = true }, { role = \"worker\" }]";

/// Returns the problems of a file `team.toml`.
fn problems(text: &str) -> Vec<String> {
    let error = parse_team("team.toml", text.as_bytes()).unwrap_err();
    error.problems.iter().map(TeamProblem::to_string).collect()
}

/// Returns the only problem of a team whose worker has one more line.
pub(super) fn worker_problem(line: &str) -> String {
    let text = format!(
        "name = \"x\"\n[[seats]]\nrole = \"planner\"\nentry = true\n[[seats]]\nrole = \"worker\"\n{line}\n"
    );
    let mut problems = problems(&text);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.remove(0)
}

#[test]
fn team_with_every_key_is_read() {
    let text = r#"
name = "full"
limits = { plan = 5, tasks = 6, replans = 0, rounds = 2, equal_rounds = 2, failed_checks = 1, idle_turns = 9, alternating_turns = 4, messages = 0, message_turns = 0, turns = 50, parallel = 1, hours = 8, question_hours = 2, give_up_after_hours = 3 }
checks = { tests = "cargo test -q", lint = { command = "cargo clippy", timeout = 90 } }
seats = [
  { role = "planner", entry = true },
  { role = "worker", count = 3, agent = "codex", instructions = "Write.\nTest.", memory = "seat", mode = "plan", directory = "own", writes = ["src", "docs/a"], cron = "deny", attempts = 3, accept_answers = true },
  { role = "judge", reviews = "all" },
]
"#;
    let team = parse_team("full.toml", text.as_bytes()).unwrap();
    assert_eq!(team.name, "full");
    let limits = model::team::LIMIT_FIELDS.map(|limit| (limit.get)(&team.limits));
    assert_eq!(limits, [5, 6, 0, 2, 2, 1, 9, 4, 0, 0, 50, 1, 8, 2, 3]);
    assert_eq!(team.checks["tests"], CheckDefinition::new("cargo test -q"));
    let lint = &team.checks["lint"];
    assert_eq!(
        (lint.command.as_str(), lint.timeout_seconds),
        ("cargo clippy", 90)
    );
    assert_eq!(team.checks.len(), 2);
    let worker = &team.seats[1];
    assert_eq!((worker.count, worker.attempts), (3, 3));
    assert_eq!(worker.agent.as_deref(), Some("codex"));
    assert_eq!(worker.instructions.as_deref(), Some("Write.\nTest."));
    assert_eq!(worker.memory, MemoryScope::Seat);
    assert_eq!(worker.mode.as_deref(), Some("plan"));
    assert_eq!(worker.directory, Directory::Own);
    assert_eq!(
        worker.writes,
        Some(vec!["src".to_owned(), "docs/a".to_owned()])
    );
    assert_eq!(worker.cron, AgentCron::Deny);
    assert!(worker.accept_answers && !worker.is_entry);
    assert_eq!(team.seats[2].reviews, Some(Reviews::All));
}

#[test]
fn shipped_teams_are_valid_and_start_a_graph() {
    let mut seats = Vec::new();
    for shipped in SHIPPED_TEAMS {
        let team = shipped.definition().unwrap();
        assert_eq!(team.name, shipped.name);
        Graph::new(team.graph_team(false), team.limits.graph.clone()).unwrap();
        let names: Vec<_> = team.seats().into_iter().map(|seat| seat.name).collect();
        seats.push(format!("{}: {}", shipped.name, names.join(", ")));
    }
    assert_eq!(
        seats,
        [
            "code: planner, researcher-1, researcher-2, worker, judge",
            "demo: planner, worker-1, worker-2, judge",
            "inbox: planner, worker-1, worker-2, worker-3, worker-4",
            "research: planner, worker-1, worker-2, worker-3, judge",
        ]
    );
    assert!(ShippedTeam::find("code").is_some() && ShippedTeam::find("Code").is_none());
}

#[test]
fn settings_of_shipped_teams_are_read() {
    let team = |name| ShippedTeam::find(name).unwrap().definition().unwrap();
    assert_eq!(team("research").graph_team(false).reviews, Reviews::Goal);
    assert_eq!(team("code").graph_team(false).reviews, Reviews::All);
    let inbox = team("inbox");
    let limits = &inbox.limits.graph;
    assert_eq!((limits.plan, limits.tasks, limits.turns), (250, 400, 600));
    let worker = &inbox.seats[1];
    assert_eq!((worker.directory, worker.attempts), (Directory::Own, 3));
    assert!(worker.accept_answers);
    let demo = team("demo");
    assert!(
        demo.seats
            .iter()
            .all(|seat| seat.agent.as_deref() == Some("demo"))
    );
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_location() {
    let found = problems("name = \"x\"\nseats = [\n");
    assert_eq!(found.len(), 1);
    assert!(
        found[0].contains("the file is not valid TOML: "),
        "{found:?}"
    );
    let error = parse_team("a.toml", b"name = \"x\"\n  \xff").unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.toml:2:3: the file is not UTF-8; accepted is TOML in UTF-8"
    );
    let long = vec![b'#'; MAX_TEAM_FILE_BYTES + 1];
    let error = parse_team("a.toml", &long).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.toml:1:1: the file has more than the accepted 524288 bytes"
    );
}

#[test]
fn missing_keys_are_named() {
    assert_eq!(
        problems(""),
        [
            "team.toml:1:1: missing `name`; accepted is a text, such as `name = \"code\"`",
            "team.toml:1:1: missing `seats`; accepted is a list of 2 to 16 seats",
        ]
    );
    let found = problems(
        "name = \"x\"\nseats = [\n  { role = \"planner\", entry = true },\n  { count = 2 },\n]",
    );
    assert_eq!(
        found,
        ["team.toml:4:3: missing `seats[1].role`; accepted is a text, such as `role = \"worker\"`"]
    );
}

#[test]
fn missing_role_is_located_at_head_of_table() {
    let found =
        problems("name = \"x\"\n[[seats]]\nrole = \"planner\"\nentry = true\n[[seats]]\ncount = 2");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("team.toml:5:"), "{found:?}");
}

#[test]
fn unknown_key_is_refused_with_suggestion() {
    assert_eq!(
        problems(&format!("nmae = \"x\"\nname = \"x\"\n{SEATS}")),
        [
            "team.toml:1:1: unknown key `nmae`; did you mean `name`? Accepted are name, limits, checks, seats"
        ]
    );
    let found = problems(&format!("name = \"x\"\nlimits = {{ task = 3 }}\n{SEATS}"));
    assert!(
        found[0].starts_with(
            "team.toml:2:12: unknown key `limits.task`; did you mean `tasks`? Accepted are plan, tasks, "
        ),
        "{found:?}"
    );
    assert_eq!(
        worker_problem("  colour = 3"),
        "team.toml:7:3: unknown key `seats[1].colour`; accepted are role, entry, count, agent, instructions, memory, \
         mode, directory, writes, cron, reviews, attempts, accept_answers, timeout, inactivity, \
         on_unmatched, ask_timeout, allow, deny"
    );
}

#[test]
fn order_of_roles_is_refused() {
    let found = worker_problem("depends_on = [\"worker\"]");
    assert!(
        found.starts_with(
            "team.toml:7:1: unknown key `seats[1].depends_on`: roles have no order, because the planner orders tasks; \
             accepted are role, "
        ),
        "{found}"
    );
}

#[test]
fn value_of_wrong_type_is_refused() {
    for (line, expected) in [
        (
            "count = \"two\"",
            "`seats[1].count = \"two\"`: accepted are 1 to 8",
        ),
        ("count = 1.5", "`seats[1].count = 1.5`: accepted are 1 to 8"),
        ("count = -1", "`seats[1].count = -1`: accepted are 1 to 8"),
        (
            "count = 99999999999999999999",
            "`seats[1].count = 99999999999999999999`: accepted are 1 to 8",
        ),
        (
            "attempts = true",
            "`seats[1].attempts = true`: accepted are 1 to 10",
        ),
        (
            "entry = 1",
            "`seats[1].entry = 1`: accepted are true and false",
        ),
        (
            "accept_answers = \"yes\"",
            "`seats[1].accept_answers = \"yes\"`: accepted are true and false",
        ),
        (
            "agent = 3",
            "`seats[1].agent = 3`: accepted is a text in quotes",
        ),
        (
            "mode = []",
            "`seats[1].mode`: it is a list; accepted is a text in quotes",
        ),
        (
            "instructions = {}",
            "`seats[1].instructions`: it is a table; accepted is a text in quotes",
        ),
        (
            "writes = \"src\"",
            "`seats[1].writes = \"src\"`: accepted is a list of texts in quotes",
        ),
        (
            "writes = [\"src\", 3]",
            "`seats[1].writes`: it is a list; accepted is a list of texts in quotes",
        ),
        (
            "memory = \"none\"",
            "`seats[1].memory = \"none\"`: accepted are \"seat\" and \"task\"",
        ),
        (
            "directory = \"home\"",
            "`seats[1].directory = \"home\"`: accepted are \"shared\" and \"own\"",
        ),
        (
            "cron = \"ask\"",
            "`seats[1].cron = \"ask\"`: accepted is \"deny\", because the agents of goals make no automations",
        ),
        (
            "reviews = \"some\"",
            "`seats[1].reviews = \"some\"`: accepted are \"goal\", \"marked\" and \"all\"",
        ),
    ] {
        assert_eq!(
            worker_problem(line),
            format!("team.toml:7:1: invalid {expected}")
        );
    }
}

#[test]
fn table_of_wrong_type_is_refused() {
    for (text, expected) in [
        (
            "limits = 3",
            "`limits`: accepted is a table, such as `limits = { tasks = 50 }`",
        ),
        (
            "checks = [\"make\"]",
            "`checks`: accepted is a table, such as `checks = { tests = \"cargo test -q\" }`",
        ),
        (
            "limits.tasks = \"many\"",
            "`limits.tasks = \"many\"`: accepted are 1 to 10000",
        ),
        (
            "checks.tests = 3",
            "`checks.tests = 3`: accepted is a text in quotes",
        ),
    ] {
        let column = if text.contains('.') { 8 } else { 1 };
        assert_eq!(
            problems(&format!("name = \"x\"\n{SEATS}\n{text}")),
            [format!("team.toml:3:{column}: invalid {expected}")]
        );
    }
    assert_eq!(
        problems("name = \"x\"\nseats = 3"),
        [
            "team.toml:2:1: invalid `seats = 3`: accepted is a list of tables, such as `seats = [{ role = \
             \"planner\", entry = true }]`"
        ]
    );
    assert_eq!(
        problems("name = \"x\"\nseats = [\"worker\"]"),
        [
            "team.toml:2:10: invalid `seats[0]`: accepted is a table, such as `{ role = \"worker\" }`"
        ]
    );
}

#[test]
fn fault_of_team_has_location_of_its_field() {
    for (line, expected) in [
        ("count = 0", "`seats[1].count = 0`: accepted are 1 to 8"),
        ("count = 9", "`seats[1].count = 9`: accepted are 1 to 8"),
        (
            "entry = true",
            "`seats[1].entry = true`: `seats[0]` is the entry; accepted is one entry, the role `planner`",
        ),
        (
            "reviews = \"all\"",
            "`seats[1].reviews = \"all\"`: accepted is it for the role `judge` alone",
        ),
        (
            "attempts = 11",
            "`seats[1].attempts = 11`: accepted are 1 to 10",
        ),
        (
            "writes = [\"/\"]",
            "`seats[1].writes = \"/\"`: accepted are paths below the directory, such as `.` and `src/api`, of up to \
             500 bytes",
        ),
    ] {
        assert_eq!(
            worker_problem(line),
            format!("team.toml:7:1: invalid {expected}")
        );
    }
    let long = "x".repeat(INSTRUCTIONS_BYTES + 1);
    let found = worker_problem(&format!("instructions = \"{long}\""));
    assert!(
        found.ends_with("it has 16385 bytes; accepted are 1 to 16384"),
        "{found}"
    );
    assert!(found.len() < 200, "{}", found.len());
}

#[test]
fn invalid_time_limit_of_check_has_its_location() {
    let text = |check: &str| format!("name = \"x\"\n{SEATS}\n[checks.tests]\n{check}\n");
    let cases = [
        (
            "command = \"make\"\ntimeout = 3601",
            "team.toml:5:1: invalid `checks.tests.timeout = 3601`: accepted are 1 to 3600 seconds",
        ),
        (
            "timeout = 0\ncommand = \"make\"",
            "team.toml:4:1: invalid `checks.tests.timeout = 0`: accepted are 1 to 3600 seconds",
        ),
        (
            "command = \"make\"\ntimeout = \"90 s\"",
            "team.toml:5:1: invalid `checks.tests.timeout = \"90 s\"`: accepted are 1 to 3600 seconds",
        ),
        (
            "command = \"make\"\ntimeuot = 90",
            "team.toml:5:1: unknown key `checks.tests.timeuot`; did you mean `timeout`? Accepted are command, timeout",
        ),
        (
            "timeout = 90",
            "team.toml:3:9: missing `checks.tests.command`; accepted is a command, such as `command = \"cargo test -q\"`",
        ),
    ];
    for (check, expected) in cases {
        assert_eq!(problems(&text(check)), [expected]);
    }
}

#[test]
fn fault_of_limits_checks_and_seats_has_its_location() {
    assert_eq!(
        problems(&format!(
            "name = \"X\"\nlimits.tasks = 10001\nchecks.tests = \"\"\n{SEATS}\n"
        )),
        [
            "team.toml:1:1: invalid `name = \"X\"`: accepted are 1 to 40 lower-case letters, digits and hyphens, the \
             first a letter and the last no hyphen",
            "team.toml:2:8: invalid `limits.tasks = 10001`: accepted are 1 to 10000",
            "team.toml:3:8: invalid `checks.tests = \"\"`: accepted is a command on one line, such as `cargo test -q`, \
             with closed quotes",
        ]
    );
    let found = problems("name = \"X\"\n[limits]\n# many\ntasks = 10001\n[checks]\ntests = \"\"\n");
    assert_eq!(found.len(), 4);
    assert_eq!(
        found[0],
        "team.toml:1:1: missing `seats`; accepted is a list of 2 to 16 seats"
    );
    assert_eq!(
        problems("name = \"x\"\nseats = []"),
        ["team.toml:2:1: invalid `seats`: it is empty; accepted are 2 to 16 seats"]
    );
    assert_eq!(
        problems("name = \"x\"\nseats = [{ role = \"worker\" }]"),
        [
            "team.toml:2:1: invalid `seats`: no seat has the role `planner`; accepted is one, with `entry = true`"
        ]
    );
    assert_eq!(
        problems("name = \"x\"\nseats = [{ role = \"planner\" }]"),
        [
            "team.toml:2:1: invalid `seats`: no seat can work on tasks; accepted is at least one more role, such as \
             `worker`",
            "team.toml:2:10: invalid `seats[0].entry = false`: no seat is the entry; accepted is true for `planner`"
        ]
    );
}

#[test]
fn unknown_keys_and_wrong_types_hide_no_other_problem() {
    // The location and the field of each problem, without the accepted values.
    let heads = |text: &str| {
        let found = problems(text).into_iter();
        let heads = found.map(|problem| problem.split('`').take(2).collect::<Vec<_>>().join("`"));
        heads.collect::<Vec<_>>()
    };
    let found = heads(&format!(
        "name = \"x\"\nlimits = {{ turns = 0, foo = 3, parallel = 99 }}\n\
         checks.tests = {{ timeout = 0 }}\n{SEATS}"
    ));
    assert_eq!(
        found,
        [
            "team.toml:2:12: invalid `limits.turns = 0",
            "team.toml:2:23: unknown key `limits.foo",
            "team.toml:2:32: invalid `limits.parallel = 99",
            "team.toml:3:8: missing `checks.tests.command",
            "team.toml:3:18: invalid `checks.tests.timeout = 0",
        ]
    );
    let found = heads(
        "name = 3\n[[seats]]\nrole = \"planner\"\nentry = true\ncount = \"one\"\n[[seats]]\nrole = 4\nentry = true\n\
         reviews = \"all\"\nwrites = [\"/a\", \"src\", \"../b\", \"\"]\n",
    );
    assert_eq!(
        found,
        [
            "team.toml:1:1: invalid `name = 3",
            "team.toml:5:1: invalid `seats[0].count = \"one\"",
            "team.toml:7:1: invalid `seats[1].role = 4",
            "team.toml:10:1: invalid `seats[1].writes = \"/a\"",
            "team.toml:10:1: invalid `seats[1].writes = \"../b\"",
            "team.toml:10:1: invalid `seats[1].writes = \"\"",
        ]
    );
}

#[test]
fn column_counts_characters() {
    let found = problems(&format!(
        "name = \"x\" # é\nlimits = {{ \"é\" = 1 , tusks = 2 }}\n{SEATS}"
    ));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("team.toml:2:12: "), "{found:?}");
    assert!(found[1].starts_with("team.toml:2:22: "), "{found:?}");
}

#[test]
fn hostile_names_stay_on_one_line() {
    let text = format!("name = \"x\"\n\"a\\n\\u001b[2J\" = 1\n{SEATS}");
    let error = parse_team("b\n.toml", text.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "b\\n.toml:2:1: unknown key `a\\n\\u{1b}[2J`; accepted are name, limits, checks, seats"
    );
}

#[test]
fn number_of_problems_is_limited() {
    let lines: Vec<_> = (0..1000).map(|key| format!("key{key} = 1")).collect();
    let error = parse_team("team.toml", lines.join("\n").as_bytes()).unwrap_err();
    assert_eq!((error.problems.len(), error.more), (20, 982));
    let end = "\n982 more problems are not listed";
    assert!(error.to_string().ends_with(end), "{error}");
}

#[test]
fn error_lists_each_problem_on_a_line() {
    let error = parse_team("team.toml", b"").unwrap_err();
    assert_eq!(error.to_string().lines().count(), 2);
}
