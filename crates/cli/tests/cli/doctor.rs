//! `matins doctor`.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use rustix::process::Signal;
use serde_json::Value;
use store::{Scope, database::Statement};
use testkit::databases::TestDatabase;

use crate::test_installation::TestInstallation;

/// Returns the exit code of the doctor, and for each check its name, its level and its finding.
fn doctor_checks(world: &TestInstallation, args: &[&str]) -> (i32, Vec<(String, String, String)>) {
    let args: Vec<_> = ["doctor", "--json"].iter().chain(args).copied().collect();
    let done = world.run(&args);
    assert_eq!(done.stderr, "", "{done:#?}");
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = told["checks"].as_array().unwrap();
    let checks = checks.iter().map(|check| {
        let remedied = check["level"] == "ok" || check["remedy"].is_string();
        assert!(remedied, "there is no remedy: {check}");
        (
            text(&check["check"]),
            text(&check["level"]),
            text(&check["found"]),
        )
    });
    (done.code, checks.collect())
}

/// Asserts that a check has a finding with this level and this text.
fn assert_found(world: &TestInstallation, check: &str, level: &str, says: &str) {
    let (code, checks) = doctor_checks(world, &[]);
    let found = checks
        .iter()
        .any(|(name, grave, found)| name == check && grave == level && found.contains(says));
    assert!(found, "{check}: {level}: {says} in {checks:#?}");
    let problems = checks.iter().any(|(_, level, _)| level == "problem");
    assert_eq!(code, i32::from(problems), "{checks:#?}");
}

/// Returns all files and folders below a folder.
fn folder_contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        if path.is_dir() {
            found.insert(name, Vec::new());
            found.extend(folder_contents(&path));
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

fn add_automation(world: &TestInstallation, agent: &str) {
    let add = [
        "automation",
        "add",
        "--every",
        "1h",
        "--agent",
        agent,
        "--name",
        "tidy",
        "x",
    ];
    world.run(&add).expect_success();
}

#[test]
fn doctor_on_fresh_machine_finds_and_creates_nothing() {
    let world = TestInstallation::new();
    let (code, checks) = doctor_checks(&world, &[]);
    assert_eq!(code, 0, "{checks:#?}");
    for check in [
        "configuration",
        "clock",
        "time zones",
        "kernel",
        "data folder",
        "disk",
        "database",
        "server",
    ] {
        assert!(
            checks.iter().any(|(name, ..)| name == check),
            "{check} in {checks:#?}"
        );
    }
    assert!(
        checks.iter().all(|(_, level, _)| level == "ok"),
        "{checks:#?}"
    );
    assert_eq!(folder_contents(world.path()), BTreeMap::new());
}

#[test]
fn doctor_changes_no_file() {
    let world = TestInstallation::new();
    add_automation(&world, "demo");
    let before = folder_contents(world.path());
    let (code, checks) = doctor_checks(&world, &[]);
    assert_eq!(code, 0, "{checks:#?}");
    let after = folder_contents(world.path());
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    assert!(before == after, "a file was changed");
}

#[test]
fn doctor_reports_running_missing_and_unresponsive_server() {
    let world = TestInstallation::new();
    add_automation(&world, "demo");
    assert_found(
        &world,
        "server",
        "warning",
        "the folder has no server, but 1 automation is enabled",
    );
    let server = world.serve();
    assert_found(
        &world,
        "server",
        "ok",
        &format!("the process {} serves", server.process_id()),
    );
    // A hanging server holds the lock of the folder and does not answer.
    fs::remove_file(world.data_folder().join("matins.sock")).unwrap();
    assert_found(
        &world,
        "server",
        "problem",
        &format!("{} holds the folder", server.process_id()),
    );
    server.signal(Signal::TERM);
    server.end();
}

#[test]
fn doctor_reports_each_fault_and_continues_other_checks() {
    let world = TestInstallation::new();
    add_automation(&world, "demo");
    let config = world.path().join("mine.toml");
    fs::write(&config, "wrokers = 3").unwrap();
    let broken = world
        .with_data_folder("data")
        .with_env("MATINS_CONFIG", config.to_str().unwrap());
    assert_found(
        &broken,
        "configuration",
        "problem",
        "did you mean `workers`?",
    );
    assert_found(&broken, "automations", "ok", "1 of them enabled");
    let missing = world
        .with_data_folder("data")
        .with_env("MATINS_CONFIG", "none.toml");
    assert_found(&missing, "configuration", "problem", "none.toml");
    let unknown = world
        .with_data_folder("data")
        .with_env("MATINS_WROKERS", "3");
    assert_found(&unknown, "environment", "warning", "MATINS_WROKERS");

    let file = world.data_folder().join("matins.db");
    let whole = fs::read(&file).unwrap();
    let page = 20 * 4096;
    fs::write(
        &file,
        [&whole[..page], &[0xff; 4096], &whole[page + 4096..]].concat(),
    )
    .unwrap();
    assert_found(&world, "database", "problem", "it is damaged");
    fs::write(&file, "the notes of a person, and not a database file").unwrap();
    assert_found(&world, "database", "problem", "it is not a database");
    fs::write(&file, whole).unwrap();

    fs::write(world.data_folder().join("instance.id"), "nonsense").unwrap();
    assert_found(&world, "data folder", "problem", "instance.id");
    let file = TestInstallation::new();
    fs::write(file.data_folder(), "").unwrap();
    assert_found(&file, "data folder", "problem", "is not a folder");
    let away = TestInstallation::new().with_env("MATINS_DATABASE", "postgres://me@localhost:1/x");
    assert_found(&away, "database", "problem", "Connection refused");
}

#[test]
fn doctor_lists_rules_that_allow_commands_by_pattern() {
    let world = TestInstallation::new();
    let rules = [
        "--allow",
        "execute:git log*",
        "--allow",
        "execute",
        "--allow",
        "read:*.md",
        "--allow",
        "other:git*",
        "--deny",
        "execute:rm*",
    ];
    let add = ["agent", "add", "mine"]
        .iter()
        .chain(&rules)
        .chain(&["--", "my-agent"]);
    world
        .run(&add.copied().collect::<Vec<_>>())
        .expect_success();
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--agent",
        "demo",
        "--name",
        "tidy",
        "--allow",
        "*:ls*",
        "x",
    ];
    world.run(&add).expect_success();
    let (_, checks) = doctor_checks(&world, &[]);
    let found: Vec<_> = checks
        .iter()
        .filter(|(name, ..)| name == "permission rules")
        .collect();
    assert_eq!(found.len(), 1, "{checks:#?}");
    let (_, level, found) = found[0];
    assert_eq!(level, "ok");
    assert!(
        found.ends_with(
            ": automation tidy `*:ls*`, agent mine `execute:git log*`, agent mine `other:git*`"
        ),
        "{found}"
    );
}

#[tokio::test]
async fn doctor_lists_budgets_in_unknown_currencies() {
    let world = TestInstallation::new();
    add_automation(&world, "demo");
    let edit = ["automation", "edit", "tidy", "--budget", "3 USD/day"];
    world.run(&edit).expect_success();
    let edit = ["tenant", "edit", "default", "--budget", "5 EUR/run"];
    world.run(&edit).expect_success();
    // An earlier version stored units that it did not know as currencies.
    for sql in [
        "update automations set policies = replace(policies, 'USD', 'runs')",
        "update tenants set budget = replace(budget, 'EUR', 'tokns')",
    ] {
        world.execute_sql(sql).await;
    }
    for says in [
        "the budget of automation tidy has the unknown currency `runs` (`3 runs/day`)",
        "the budget of tenant default has the unknown currency `tokns` (`5 tokns/run`)",
    ] {
        assert_found(&world, "budgets", "problem", says);
    }
}

#[test]
fn doctor_warns_of_files_readable_by_others() {
    let world = TestInstallation::new();
    add_automation(&world, "demo");
    fs::set_permissions(
        world.data_folder().join("matins.db"),
        Permissions::from_mode(0o644),
    )
    .unwrap();
    assert_found(&world, "database", "warning", "other users can read it");
    fs::set_permissions(world.data_folder(), Permissions::from_mode(0o755)).unwrap();
    assert_found(&world, "data folder", "warning", "other users can access");
    let config = world.path().join("mine.toml");
    let path = config.to_str().unwrap();
    fs::write(&config, "database = \"postgres://me:s3cret@localhost:1/x\"").unwrap();
    fs::set_permissions(&config, Permissions::from_mode(0o644)).unwrap();
    let open = world
        .with_data_folder("data")
        .with_env("MATINS_CONFIG", path);
    assert_found(
        &open,
        "configuration",
        "warning",
        "which contains a password",
    );
    fs::set_permissions(&config, Permissions::from_mode(0o600)).unwrap();
    assert_found(&open, "configuration", "ok", path);
}

#[test]
fn doctor_reports_missing_and_failing_agents() {
    let world = TestInstallation::new();
    world
        .run(&["agent", "add", "gone", "--", "no-such-agent"])
        .expect_success();
    add_automation(&world, "gone");
    assert_found(&world, "agent gone", "problem", "`no-such-agent`");

    let world = TestInstallation::new();
    add_automation(&world, "demo");
    let (code, checks) = doctor_checks(&world, &["--agents"]);
    assert_eq!(code, 0, "{checks:#?}");
    let started = |(name, _, found): &(String, String, String)| {
        name == "agent demo" && found.contains("matins-demo-agent")
    };
    assert!(checks.iter().any(started), "{checks:#?}");
    world
        .run(&["agent", "add", "demo", "--", "sh", "-c", "exit 3"])
        .expect_success();
    assert_found(&world, "agent demo", "ok", "/sh");
    let (code, checks) = doctor_checks(&world, &["--agents"]);
    assert_eq!(code, 1, "{checks:#?}");
}

#[test]
fn doctor_reports_killed_worker_and_missing_working_directory() {
    let world = TestInstallation::new();
    world.slow_agent();
    let work = world.path().join("work");
    fs::create_dir(&work).unwrap();
    let add = [
        "automation",
        "add",
        "--every",
        "1h",
        "--agent",
        "slow",
        "--name",
        "tidy",
        "--dir",
        work.to_str().unwrap(),
        "x",
    ];
    world.run(&add).expect_success();
    let server = world.serve();
    world
        .run(&["automation", "fire", "tidy", "--queue"])
        .expect_success();
    world.wait_for("a turn is taken", |world| {
        world.json(&["run", "list", "--status", "running"]) != Value::Array(vec![])
    });
    assert_found(&world, "workers", "ok", "1 turn is running here");
    server.signal(Signal::KILL);
    server.end();
    assert_found(&world, "workers", "warning", "has died");
    fs::remove_dir(&work).unwrap();
    assert_found(
        &world,
        "automations",
        "problem",
        "the working directory of tidy does not exist",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_lists_old_names_in_form_of_id() {
    let world = TestInstallation::new();
    add_automation(&world, "demo");
    let send = ["session", "send", "--new", "--agent", "demo", "hello"];
    world.run(&send).expect_success();
    assert_found(&world, "names", "ok", "none has the form of an ID");
    // Store names that are older than the rule.
    let digits = "0199ab00000070008000000000000000";
    let file = world.data_folder().join("matins.db");
    let store = store::open(&store::Location::SqliteFile(file))
        .await
        .unwrap();
    for sql in [
        "update automations set name = 'ses_0199ab00000070008000000000000000'",
        "update agent_sessions set session_key = '0199AB00-0000-7000-8000-000000000000'",
        "update harnesses set name = 'har_0199ab000000' where name = 'goose'",
    ] {
        let statement = Box::leak(Box::new(Statement::new("a test's statement", sql, sql)));
        let mut tx = store.begin(Scope::System).await.unwrap();
        tx.execute(statement, Vec::new()).await.unwrap();
        tx.commit().await.unwrap();
    }
    store.close().await;
    for (kind, name) in [
        ("the name of the automation aut_", format!("ses_{digits}")),
        (
            "the key of the session ses_",
            "0199AB00-0000-7000-8000-000000000000".to_owned(),
        ),
        ("the name of the agent har_", "har_0199ab000000".to_owned()),
    ] {
        let (code, checks) = doctor_checks(&world, &[]);
        let found = checks.iter().any(|(check, level, found)| {
            let names = found.starts_with(kind) && found.ends_with(&name);
            check == "names" && level == "warning" && names
        });
        assert!(found && code == 0, "{kind}: {checks:#?}");
    }
    // The hint of the doctor works.
    let listed = world.run(&["automation", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let id = listed[0]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{listed}"));
    let hint = format!("matins automation edit {id} --name NAME");
    assert!(world.run(&["doctor"]).stdout.contains(&hint));
    world
        .run(&["automation", "edit", id, "--name", "tidy"])
        .expect_success();
    let refused = world.run(&["automation", "edit", "tidy", "--name", id]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(refused.stderr.contains("form of an ID"), "{refused:#?}");
    let (_, checks) = doctor_checks(&world, &[]);
    let of_automation = |found: &str| found.contains("name of the automation");
    assert!(!checks.iter().any(|(.., found)| of_automation(found)));
}

#[test]
fn doctor_on_shared_database_reports_instances_with_queued_runs() {
    let database = TestDatabase::empty_postgres().unwrap();
    let here = TestInstallation::new().with_env("MATINS_DATABASE", database.url());
    assert_found(
        &here,
        "database",
        "ok",
        "empty; the first command creates the schema",
    );
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--session",
        "continuous",
        "--agent",
        "demo",
        "--name",
        "tidy",
        "x",
    ];
    here.run(&add).expect_success();
    assert_found(&here, "database", "ok", "PostgreSQL");
    here.run(&["automation", "fire", "tidy"]).expect_success();
    here.run(&["automation", "fire", "tidy", "--queue"])
        .expect_success();
    assert_found(&here, "instances", "ok", "1 instance");
    let other = here.with_data_folder("other");
    other.run(&["agent", "list"]).expect_success();
    assert_found(&other, "instances", "warning", "1 run waits for");
    assert_found(
        &other,
        "server",
        "ok",
        "other instances that share the database",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_runs_every_check_of_postgres_server() {
    let database = TestDatabase::empty_postgres().unwrap();
    let world = TestInstallation::new().with_env("MATINS_DATABASE", database.url());
    world.run(&["agent", "list"]).expect_success();
    for (check, says) in [
        ("database clock", "it, known within"),
        ("database role", "has all required privileges"),
        ("transactions", "none has been open for long"),
        ("autovacuum", "on; "),
        ("connections", "a server opens up to 11"),
    ] {
        assert_found(&world, check, "ok", says);
    }
    // Revoke a privilege, and exclude a table from autovacuum.
    let store = store::open(&database.url().parse().unwrap()).await.unwrap();
    for sql in [
        "revoke update on agent_runs from current_user",
        "alter table run_live set (autovacuum_enabled = off)",
    ] {
        let statement = Box::leak(Box::new(Statement::new("a test's statement", sql, sql)));
        let mut tx = store.begin(Scope::System).await.unwrap();
        tx.execute(statement, Vec::new()).await.unwrap();
        tx.commit().await.unwrap();
    }
    store.close().await;
    let refused = "may not read and write agent_runs";
    assert_found(&world, "database role", "problem", refused);
    assert_found(&world, "autovacuum", "warning", "it leaves out run_live");
}
