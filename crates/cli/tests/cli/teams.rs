//! `matins team`: the teams that ship, and team files.

use std::{fs, path::Path};

use serde_json::json;

use crate::test_installation::TestInstallation;

const VALID: &str = "name = \"mine\"\n\n[[seats]]\nrole = \"planner\"\nentry = true\n\n[[seats]]\nrole = \"worker\"\n";

#[test]
fn team_list_and_show_print_shipped_teams() {
    let world = TestInstallation::new();
    let listed = world.run(&["team", "list"]).expect_success();
    for row in [
        "research",
        "planner, worker (3), judge",
        "planner, worker (4)",
    ] {
        assert!(listed.contains(row), "{row}: {listed}");
    }
    let listed = world.json(&["team", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 4);
    assert_eq!(listed[0]["name"], "code");
    let shown = world.json(&["team", "show", "inbox"]);
    assert_eq!(shown["limits"]["plan"], 250);
    assert_eq!(shown["limits"]["replans"], 5);
    assert_eq!(shown["seats"][1]["name"], "worker-1");
    assert_eq!(shown["seats"][1]["directory"], "own");
    let text = world.run(&["team", "show", "research"]).expect_success();
    assert!(text.contains("Source every claim."), "{text}");
    assert!(!world.data_folder().exists(), "to show makes nothing");
}

#[test]
fn teams_fit_into_80_columns() {
    let world = TestInstallation::new();
    let path = world.path().join("long.toml");
    let (long, words) = ("x".repeat(200), "word ".repeat(100));
    let team = format!(
        "{VALID}agent = \"{long}\"\ninstructions = \"{words}\"\nmode = \"{long}\"\nwrites = [\"{long}\", \"src\"]\n\n[checks]\ntests = \"echo {words}\"\n"
    );
    fs::write(&path, team).unwrap();
    for args in [
        &["team", "list"][..],
        &["team", "show", "code"],
        &["team", "show", "demo"],
        &["team", "show", "inbox"],
        &["team", "show", "research"],
        &["team", "show", path.to_str().unwrap()],
    ] {
        let shown = world.run(args).expect_success();
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {line}");
        }
    }
    let shown = world.run(&["team", "show", "code"]).expect_success();
    let about = "The number of turns without a finished task, a new";
    assert!(shown.contains(about), "{shown}");
    assert!(
        shown.contains("artifact or a new plan after which"),
        "{shown}"
    );
}

#[test]
fn shipped_file_serves_as_template_of_own_team() {
    let world = TestInstallation::new();
    let file = world
        .run(&["team", "show", "code", "--file"])
        .expect_success();
    let path = world.path().join("own.toml");
    fs::write(&path, file.replace("name = \"code\"", "name = \"own\"")).unwrap();
    let path = path.to_str().unwrap();
    let checked = world.run(&["team", "check", path]).expect_success();
    assert_eq!(checked.trim(), "The team is valid.");
    assert_eq!(world.json(&["team", "show", path])["name"], "own");
}

#[test]
fn team_check_reports_each_problem_with_its_location() {
    let world = TestInstallation::new();
    let path = world.path().join("team.toml");
    fs::write(&path, format!("{VALID}colour = 1\nshape = 2\n")).unwrap();
    let path = path.to_str().unwrap();
    let checked = world.run(&["team", "check", path]);
    assert_eq!(checked.code, 2);
    let lines: Vec<_> = checked.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let problems = world.run(&["team", "check", path, "--json"]);
    assert_eq!(problems.code, 2);
    let found: serde_json::Value = serde_json::from_str(&problems.stdout).unwrap();
    let expected = [
        (9, "unknown key `seats[1].colour`"),
        (10, "unknown key `seats[1].shape`"),
    ];
    assert_eq!(found["more"], 0);
    let problems = found["problems"].as_array().unwrap();
    assert_eq!(problems.len(), expected.len(), "{found}");
    for ((problem, (number, says)), line) in problems.iter().zip(expected).zip(lines) {
        assert_eq!(
            (&problem["line"], &problem["column"]),
            (&json!(number), &json!(1))
        );
        assert!(
            problem["message"].as_str().unwrap().starts_with(says),
            "{problem}"
        );
        assert!(
            line.starts_with(&format!("{path}:{number}:1: {says}")),
            "{line}"
        );
    }
    fs::write(path, format!("{VALID}count = 9\n")).unwrap();
    let checked = world.run(&["team", "check", path]);
    let expected = format!("{path}:9:1: invalid `seats[1].count = 9`: accepted are 1 to 8");
    assert_eq!(checked.stdout.trim(), expected);
    let shown = world.run(&["team", "show", path]);
    assert_eq!(shown.code, 2);
    assert!(shown.stderr.contains(&expected), "{}", shown.stderr);
}

#[test]
fn team_check_says_how_many_problems_it_does_not_print() {
    let world = TestInstallation::new();
    let path = world.path().join("team.toml");
    let keys: Vec<_> = (0..30).map(|key| format!("key{key} = 1\n")).collect();
    let keys = keys.concat();
    fs::write(&path, format!("{VALID}{keys}")).unwrap();
    let path = path.to_str().unwrap();
    let checked = world.run(&["team", "check", path]);
    assert_eq!(checked.code, 2);
    assert_eq!(checked.stdout.lines().count(), 20);
    let more = "10 more problems are not listed.";
    assert!(checked.stderr.contains(more), "{checked:#?}");
    let checked = world.run(&["team", "check", path, "--json"]);
    let found: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(found["problems"].as_array().unwrap().len(), 20);
    assert_eq!(found["more"], 10);
}

#[test]
fn team_show_prints_what_each_role_sets() {
    let world = TestInstallation::new();
    let path = world.path().join("own.toml");
    let set = "mode = \"plan\"\nwrites = [\"src\", \"docs/a\"]\naccept_answers = true\n";
    let policies = "timeout = \"1h30m\"\ninactivity = \"20m\"\nask_timeout = \"1h\"\non_unmatched = \"ask\"\n\
                    allow = [\"edit\", \"execute:cargo *\"]\ndeny = [\"execute:*push*\"]\n";
    let judge = "\n[[seats]]\nrole = \"judge\"\nreviews = \"all\"\n";
    fs::write(&path, format!("{VALID}{set}{policies}{judge}")).unwrap();
    let shown = world
        .run(&["team", "show", path.to_str().unwrap()])
        .expect_success();
    let lines = format!("{set}{policies}").replace('\n', "\n  ");
    let expected = format!(
        "worker:\n  {}\n\njudge:\n  reviews = \"all\"",
        lines.trim_end()
    );
    assert!(shown.contains(&expected), "{shown}");
    assert!(!shown.contains("planner:"), "{shown}");
    let shown = world.json(&["team", "show", path.to_str().unwrap()]);
    let worker = &shown["seats"][1];
    let limits = [
        &worker["timeout_seconds"],
        &worker["inactivity_seconds"],
        &worker["ask_seconds"],
    ];
    assert_eq!(limits, [&json!(5400), &json!(1200), &json!(3600)]);
    assert_eq!(worker["on_unmatched"], "ask");
    let rule = json!({ "tool": "execute", "title": "*push*", "verdict": "deny" });
    assert_eq!(worker["permissions"][2], rule);
    fs::write(&path, VALID).unwrap();
    let shown = world
        .run(&["team", "show", path.to_str().unwrap()])
        .expect_success();
    assert!(!shown.contains("worker:"), "{shown}");
}

#[test]
fn unknown_team_is_refused_with_suggestion() {
    let world = TestInstallation::new();
    let shown = world.run(&["team", "show", "reserach"]);
    assert_eq!(shown.code, 3);
    assert!(
        shown.stderr.contains("there is no team `reserach`"),
        "{}",
        shown.stderr
    );
    assert!(
        shown.stderr.contains("did you mean `research`?"),
        "{}",
        shown.stderr
    );
    let shown = world.run(&["team", "show", "x"]);
    assert!(
        shown.stderr.contains("code, demo, inbox, research"),
        "{}",
        shown.stderr
    );
    let missing = world.run(&["team", "check", "absent.toml"]);
    assert_eq!(missing.code, 3);
    assert!(missing.stderr.contains("absent.toml"), "{}", missing.stderr);
    // A file without the mark of a path is no team, and each command says how to name it.
    fs::write(world.path().join("code.txt"), VALID).unwrap();
    for args in [
        &["team", "show", "code.txt"][..],
        &[
            "goal",
            "start",
            "Draft it.",
            "--agent",
            "demo",
            "--team",
            "code.txt",
        ],
    ] {
        let mut command = world.command(args);
        let output = command.current_dir(world.path()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            errors.contains("or ./code.txt for the file of that name"),
            "{errors}"
        );
    }
}

#[test]
fn valid_file_has_no_problems() {
    let world = TestInstallation::new();
    let path = world.path().join("team.toml");
    fs::write(&path, VALID).unwrap();
    let checked = world.json(&["team", "check", path.to_str().unwrap()]);
    assert_eq!(checked, json!({ "problems": [], "more": 0 }));
}

#[test]
fn reference_has_each_limit_with_its_default() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let page = fs::read_to_string(root.unwrap().join("docs/reference/teams.md")).unwrap();
    let shown = TestInstallation::new().json(&["team", "show", "code"]);
    let limits = shown["limits"].as_object().unwrap();
    assert_eq!(limits.len(), 15);
    for (name, value) in limits {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("no row of {name}"));
        assert!(row.contains(&format!(" | {value} | ")), "{row}");
    }
}
