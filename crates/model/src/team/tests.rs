//! Tests of teams.

use super::*;
use crate::goal::Graph;

/// Returns a team with a planner, two workers and a judge.
fn team() -> TeamDefinition {
    let mut planner = SeatDefinition::new(PLANNER);
    planner.is_entry = true;
    TeamDefinition {
        name: "code".into(),
        limits: TeamLimits::default(),
        checks: [("tests".to_owned(), CheckDefinition::new("cargo test -q"))].into(),
        seats: vec![
            planner,
            SeatDefinition::new(WORKER),
            SeatDefinition::new(JUDGE),
        ],
    }
}

/// Returns the mistakes of the team after a change.
fn faults(change: impl FnOnce(&mut TeamDefinition)) -> Vec<String> {
    let mut team = team();
    change(&mut team);
    let faults = team.faults();
    faults.iter().map(TeamFault::to_string).collect()
}

const NAMES: &str = "accepted are 1 to 40 lower-case letters, digits and hyphens, the first a letter and the last no hyphen";

#[test]
fn team_without_faults_starts_a_graph() {
    let team = team();
    assert_eq!(team.faults(), []);
    let graph = Graph::new(team.graph_team(true), team.limits.graph.clone());
    graph.unwrap();
    let graph_team = team.graph_team(true);
    assert!(graph_team.approve_plan && graph_team.checks.contains("tests"));
    assert_eq!(graph_team.reviews, Reviews::Marked);
}

#[test]
fn checks_named_verify_belong_to_tasks_that_do_not_name_them() {
    let mut team = team();
    let names = ["verify", "verify-2", "verify-all", "tests"];
    team.checks = names
        .map(|name| (name.to_owned(), CheckDefinition::new("true")))
        .into();
    assert_eq!(team.faults(), []);
    let graph_team = team.graph_team(false);
    assert_eq!(graph_team.verification, ["verify", "verify-2"]);
}

/// Returns a team with a planner and these roles.
fn team_of(roles: &[&str]) -> TeamDefinition {
    let mut team = team();
    team.seats.truncate(1);
    team.seats
        .extend(roles.iter().map(|role| SeatDefinition::new(role)));
    assert_eq!(team.faults(), []);
    team
}

#[test]
fn roles_of_team_without_workers_write_whole_directory() {
    let writes = |mut team: TeamDefinition| {
        team.set_default_writes();
        let writes = team.seats.into_iter().map(|seat| seat.writes);
        writes.collect::<Vec<_>>()
    };
    let whole = Some(vec![".".to_owned()]);
    let coders = team_of(&["coder", "tester", JUDGE]);
    assert_eq!(writes(coders), [None, whole.clone(), whole.clone(), None]);
    let mut named = team_of(&["coder", "tester"]);
    named.seats[2].writes = Some(Vec::new());
    assert_eq!(writes(named), [None, whole, Some(Vec::new())]);
    assert_eq!(writes(team_of(&[WORKER, "researcher"])), [None, None, None]);
}

#[test]
fn tasks_are_verified_if_a_role_writes() {
    let with_writes = |roles: &[&str], paths: &[&str]| {
        let mut team = team_of(roles);
        team.seats[1].writes = Some(paths.iter().map(|it| (*it).to_owned()).collect());
        team
    };
    assert!(team_of(&[WORKER]).verifies_tasks());
    assert!(with_writes(&[WORKER], &[]).verifies_tasks());
    assert!(with_writes(&["coder"], &["src"]).verifies_tasks());
    assert!(!with_writes(&["reader", JUDGE], &[]).verifies_tasks());
}

#[test]
fn reviews_of_judge_are_those_of_graph() {
    let mut team = team();
    team.seats[2].reviews = Some(Reviews::All);
    assert_eq!(team.faults(), []);
    assert_eq!(team.graph_team(false).reviews, Reviews::All);
}

#[test]
fn defaults_depend_on_role() {
    let defaults = ["planner", "worker", "judge", "researcher"].map(|role| {
        let seat = SeatDefinition::new(role);
        (seat.count, seat.memory, seat.directory, seat.cron)
    });
    let (seat, task) = (MemoryScope::Seat, MemoryScope::Task);
    let others = (Directory::Shared, AgentCron::Deny);
    assert_eq!(
        defaults,
        [(1, seat), (2, task), (1, task), (1, task)]
            .map(|(count, memory)| (count, memory, others.0, others.1))
    );
}

#[test]
fn entry_is_first_seat_and_seats_have_order_of_graph() {
    let mut team = team();
    team.seats.rotate_left(1);
    assert_eq!(team.faults(), []);
    let names: Vec<_> = team.seats().into_iter().map(|seat| seat.name).collect();
    assert_eq!(names, ["planner", "worker-1", "worker-2", "judge"]);
    let indexes: Vec<_> = team.seats().into_iter().map(|seat| seat.index).collect();
    assert_eq!(indexes, [2, 0, 0, 1]);
    let specs = team.graph_team(false).seats;
    let specs: Vec<_> = specs.into_iter().map(|seat| seat.name).collect();
    assert_eq!(specs, names);
}

#[test]
fn seat_gives_its_work_to_role_and_its_mode_to_settings() {
    let mut team = team();
    team.seats[1].mode = Some("plan".into());
    team.seats[1].attempts = 3;
    team.seats[1].accept_answers = true;
    team.seats[1].writes = Some(vec!["docs".into()]);
    team.seats[1].directory = Directory::Own;
    let settings = team.seats()[1].definition.settings();
    assert_eq!(settings.mode.as_deref(), Some("plan"));
    let graph_team = team.graph_team(false);
    let role = &graph_team.roles[1];
    assert_eq!((role.attempts, role.accept_answers), (3, true));
    assert_eq!(role.writes, Some(vec!["docs".to_owned()]));
    assert_eq!(graph_team.seats[2].directory, Directory::Own);
}

type Change = fn(&mut SeatPolicies);

#[test]
fn period_of_zero_is_refused() {
    let set: [(&str, Change); 3] = [
        ("timeout", |policies| policies.timeout_seconds = 0),
        ("inactivity", |policies| policies.inactivity_seconds = 0),
        ("ask_timeout", |policies| policies.ask_seconds = 0),
    ];
    for (key, set) in set {
        let expected = format!("invalid `seats[1].{key} = \"0s\"`: {ACCEPTED_PERIODS}");
        assert_eq!(faults(|team| set(&mut team.seats[1].policies)), [expected]);
    }
}

#[test]
fn invalid_name_is_refused() {
    for name in ["", "Code", "a b", "-a", "a-", "1a", "é", &"x".repeat(41)] {
        assert_eq!(
            faults(|team| team.name = name.to_owned()),
            [format!("invalid `name = \"{name}\"`: {NAMES}")]
        );
    }
}

#[test]
fn hostile_value_stays_on_one_line_of_error() {
    let found = faults(|team| team.name = "x\n\u{1b}[2J".into());
    assert_eq!(
        found,
        [format!("invalid `name = \"x\\n\\u{{1b}}[2J\"`: {NAMES}")]
    );
    let long = faults(|team| team.name = "x".repeat(1000));
    assert!(long[0].len() < 300 && long[0].contains('…'), "{long:?}");
}

#[test]
fn limit_out_of_range_is_refused() {
    for limit in LIMIT_FIELDS {
        let outside = [limit.least.checked_sub(1), limit.highest.checked_add(1)];
        for value in outside.into_iter().flatten() {
            let expected = format!(
                "invalid `limits.{} = {value}`: accepted are {} to {}",
                limit.name, limit.least, limit.highest
            );
            let found = faults(|team| (limit.set)(&mut team.limits, value));
            assert_eq!(found, [expected]);
        }
        for value in [limit.least, limit.highest] {
            let mut team = team();
            (limit.set)(&mut team.limits, value);
            assert_eq!((limit.get)(&team.limits), value);
            assert_eq!(team.faults(), []);
            Graph::new(team.graph_team(false), team.limits.graph.clone()).unwrap();
        }
    }
}

#[test]
fn each_limit_has_own_field() {
    let mut limits = TeamLimits::default();
    for (value, limit) in (1..).zip(&LIMIT_FIELDS) {
        (limit.set)(&mut limits, value);
    }
    let values = LIMIT_FIELDS.map(|limit| (limit.get)(&limits));
    assert!(values.into_iter().eq(1..=15), "{values:?}");
}

#[test]
fn invalid_check_is_refused() {
    let check = |name: &str, command: &str| {
        faults(|team| {
            let check = CheckDefinition::new(command);
            team.checks.insert(name.to_owned(), check);
        })
    };
    let command = "accepted is a command on one line, such as `cargo test -q`, with closed quotes";
    for text in ["", "  ", "a 'b", "a\nb"] {
        let given = text.replace('\n', "\\n");
        let expected = format!("invalid `checks.lint = \"{given}\"`: {command}");
        assert_eq!(check("lint", text), [expected]);
    }
    assert_eq!(
        check("Lint", "make"),
        [format!(
            "invalid `checks.Lint = \"make\"`: the name of a check is invalid: {NAMES}"
        )]
    );
    for (name, given) in [("", "\"\""), ("a.b", "\"a.b\"")] {
        let expected =
            format!("invalid `checks.{given} = \"true\"`: the name of a check is invalid: {NAMES}");
        assert_eq!(check(name, "true"), [expected]);
    }
    let long = check("lint", &"x".repeat(1001));
    assert!(long[0].ends_with("it has 1001 bytes; accepted are up to 1000"));
    let many = faults(|team| {
        team.checks = (0..21)
            .map(|it| (format!("check-{it}"), CheckDefinition::new("make")))
            .collect();
    });
    assert_eq!(
        many,
        ["invalid `checks`: there are 21; accepted are up to 20"]
    );
    for (timeout_seconds, is_accepted) in [(0, false), (1, true), (3600, true), (3601, false)] {
        let found = faults(|team| {
            let check = CheckDefinition {
                timeout_seconds,
                ..CheckDefinition::new("make")
            };
            team.checks.insert("lint".to_owned(), check);
        });
        let expected = format!(
            "invalid `checks.lint.timeout = {timeout_seconds}`: accepted are 1 to 3600 seconds"
        );
        let expected = if is_accepted { vec![] } else { vec![expected] };
        assert_eq!(found, expected);
    }
}

#[test]
fn team_without_seats_is_refused() {
    assert_eq!(
        faults(|team| team.seats.clear()),
        ["invalid `seats`: it is empty; accepted are 2 to 16 seats"]
    );
}

#[test]
fn team_without_planner_or_entry_is_refused() {
    assert_eq!(
        faults(|team| drop(team.seats.remove(0))),
        ["invalid `seats`: no seat has the role `planner`; accepted is one, with `entry = true`"]
    );
    assert_eq!(
        faults(|team| team.seats[0].is_entry = false),
        ["invalid `seats[0].entry = false`: no seat is the entry; accepted is true for `planner`"]
    );
}

#[test]
fn team_without_role_that_works_is_refused() {
    let expected = "invalid `seats`: no seat can work on tasks; accepted is at least one more role, such as `worker`";
    assert_eq!(faults(|team| team.seats.truncate(1)), [expected]);
    assert_eq!(faults(|team| drop(team.seats.remove(1))), [expected]);
    assert_eq!(
        faults(|team| team.seats[1].role = "researcher".into()),
        [""; 0]
    );
    let found = faults(|team| drop(team.seats.drain(..2)));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn second_or_other_entry_is_refused() {
    assert_eq!(
        faults(|team| team.seats[1].is_entry = true),
        [
            "invalid `seats[1].entry = true`: `seats[0]` is the entry; accepted is one entry, the role `planner`"
        ]
    );
    assert_eq!(
        faults(|team| {
            team.seats[0].is_entry = false;
            team.seats[1].is_entry = true;
        }),
        ["invalid `seats[1].entry = true`: accepted is one entry, the role `planner`"]
    );
}

#[test]
fn invalid_role_is_refused() {
    for role in ["", "Worker", "a_b", "../x", "all", "person"] {
        assert_eq!(
            faults(|team| team.seats[1].role = role.to_owned()),
            [format!(
                "invalid `seats[1].role = \"{role}\"`: {NAMES}, except `all` and `person`"
            )]
        );
    }
    let long = "x".repeat(39);
    let found = faults(|team| team.seats[1].role.clone_from(&long));
    let expected = format!(
        "invalid `seats[1].role = \"{long}\"`: the name `{long}-1` has more than 40 characters"
    );
    assert_eq!(found, [expected]);
}

#[test]
fn repeated_role_is_refused() {
    assert_eq!(
        faults(|team| team.seats.push(SeatDefinition::new(JUDGE))),
        [
            "invalid `seats[3].role = \"judge\"`: `seats[2]` has the role; accepted is each role once"
        ]
    );
    assert_eq!(
        faults(|team| team.seats.push(SeatDefinition::new(WORKER))),
        [
            "invalid `seats[3].role = \"worker\"`: `seats[1]` has the role; accepted is each role once, with a `count`"
        ]
    );
}

#[test]
fn role_with_name_of_other_seat_is_refused() {
    assert_eq!(
        faults(|team| team.seats.push(SeatDefinition::new("worker-2"))),
        [
            "invalid `seats[3].role = \"worker-2\"`: a seat of `seats[1]` has the name `worker-2` too; accepted are \
             different names"
        ]
    );
}

#[test]
fn count_out_of_range_is_refused() {
    for count in [0, 9] {
        assert_eq!(
            faults(|team| team.seats[1].count = count),
            [format!(
                "invalid `seats[1].count = {count}`: accepted are 1 to 8"
            )]
        );
    }
    for count in [0, 2] {
        assert_eq!(
            faults(|team| team.seats[0].count = count),
            [format!(
                "invalid `seats[0].count = {count}`: accepted is 1, because one seat makes the plan"
            )]
        );
    }
}

#[test]
fn seat_that_may_make_automations_is_refused() {
    for (cron, word) in [(AgentCron::Allow, "allow"), (AgentCron::Ask, "ask")] {
        assert_eq!(
            faults(|team| team.seats[1].cron = cron),
            [format!(
                "invalid `seats[1].cron = \"{word}\"`: accepted is \"deny\", because the agents of goals make no automations"
            )]
        );
    }
}

#[test]
fn seventeenth_seat_is_refused() {
    let with = |others: u32| {
        faults(|team| {
            let mut seat = SeatDefinition::new("researcher");
            seat.count = others;
            team.seats[1].count = 8;
            team.seats.push(seat);
        })
    };
    assert_eq!(with(6), [""; 0]);
    assert_eq!(
        with(7),
        ["invalid `seats`: there are 17 seats; accepted are 2 to 16"]
    );
}

#[test]
fn reviews_of_other_role_are_refused() {
    assert_eq!(
        faults(|team| team.seats[1].reviews = Some(Reviews::All)),
        ["invalid `seats[1].reviews = \"all\"`: accepted is it for the role `judge` alone"]
    );
}

#[test]
fn empty_and_long_texts_are_refused() {
    let long = "x".repeat(crate::limits::INSTRUCTIONS_BYTES + 1);
    let found = faults(|team| team.seats[1].instructions = Some(long.clone()));
    assert!(
        found[0].ends_with("it has 16385 bytes; accepted are 1 to 16384"),
        "{found:?}"
    );
    let whole = long[1..].to_owned();
    assert_eq!(
        faults(|team| team.seats[1].instructions = Some(whole)),
        [""; 0]
    );
    let found = faults(|team| {
        team.seats[1].agent = Some(" ".into());
        team.seats[1].mode = Some("x".repeat(201));
    });
    assert_eq!(
        found[0],
        "invalid `seats[1].agent = \" \"`: it is empty; accepted are 1 to 200 bytes"
    );
    assert!(
        found[1].starts_with("invalid `seats[1].mode = "),
        "{found:?}"
    );
}

#[test]
fn attempts_out_of_range_are_refused() {
    for attempts in [0, 11] {
        assert_eq!(
            faults(|team| team.seats[1].attempts = attempts),
            [format!(
                "invalid `seats[1].attempts = {attempts}`: accepted are 1 to 10"
            )]
        );
    }
}

#[test]
fn path_outside_of_directory_is_refused() {
    for path in ["", "/etc", "../x", "a/../../b"] {
        assert_eq!(
            faults(|team| team.seats[1].writes = Some(vec!["docs".into(), path.to_owned()])),
            [format!(
                "invalid `seats[1].writes = \"{path}\"`: accepted are paths below the directory, such as `.` and \
                 `src/api`, of up to 500 bytes"
            )]
        );
    }
    let found = faults(|team| {
        team.seats[1].writes = Some(vec!["/a".into(), "docs".into(), "../b".into()]);
    });
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("\"/a\"") && found[1].contains("\"../b\""),
        "{found:?}"
    );
    assert_eq!(
        faults(|team| team.seats[1].writes = Some(vec!["docs".into(); 21])),
        ["invalid `seats[1].writes`: there are 21 paths; accepted are up to 20"]
    );
}

#[test]
fn all_faults_are_reported() {
    let found = faults(|team| {
        team.name = String::new();
        team.limits.graph.tasks = 0;
        team.seats[1].count = 0;
        team.seats[2].attempts = 0;
    });
    assert_eq!(found.len(), 4, "{found:?}");
}
