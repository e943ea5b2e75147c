//! `matins config`, and the sources of settings.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::test_installation::TestInstallation;

/// Writes the configuration file at its default path.
fn write_default_config(world: &TestInstallation, content: &str) -> PathBuf {
    let folder = world.path().join(".config/matins");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("config.toml");
    fs::write(&path, content).unwrap();
    path
}

/// Returns the entry of one setting in `config show`.
fn shown_setting(world: &TestInstallation, name: &str, args: &[&str]) -> Value {
    let args: Vec<_> = ["config", "show"].iter().chain(args).copied().collect();
    let all = world.json(&args);
    let all = all.as_array().unwrap().clone();
    let found = all.into_iter().find(|setting| setting["name"] == name);
    found.unwrap()
}

#[test]
fn config_show_prints_each_setting_with_its_origin() {
    let world = TestInstallation::new().with_env("MATINS_TICK_SECONDS", "7");
    let path = write_default_config(&world, "workers = 9\n\n[heartbeat]\nseconds = 10\n");
    let workers = shown_setting(&world, "workers", &[]);
    assert_eq!(workers["value"], 9);
    assert_eq!(
        workers["origin"],
        json!({ "kind": "file", "path": path, "line": 1 })
    );
    let tick = shown_setting(&world, "scheduler.tick_seconds", &[]);
    assert_eq!(tick["value"], 7);
    assert_eq!(tick["origin"]["name"], "MATINS_TICK_SECONDS");
    let tick = shown_setting(&world, "scheduler.tick_seconds", &["--tick-seconds", "8"]);
    assert_eq!(tick["value"], 8);
    assert_eq!(tick["origin"]["name"], "--tick-seconds");
    let stale = shown_setting(&world, "heartbeat.stale_seconds", &[]);
    assert_eq!(stale["value"], 180);
    assert_eq!(stale["origin"], json!({ "kind": "default" }));
    let database = shown_setting(&world, "database", &[]);
    assert_eq!(
        database["value"],
        json!(world.data_folder().join("matins.db"))
    );

    let shown = world.run(&["config", "show", "--origin"]).expect_success();
    let line = shown
        .lines()
        .find(|line| line.starts_with("heartbeat.seconds"));
    assert!(
        line.unwrap().ends_with(&format!("{}:4", path.display())),
        "{shown}"
    );
    assert!(!world.data_folder().exists(), "to show makes nothing");
}

#[test]
fn database_password_is_never_printed() {
    let address = "postgres://me:s3cret@localhost:1/matins";
    let world = TestInstallation::new().with_env("MATINS_DATABASE", address);
    for args in [
        &["config", "show", "--origin"][..],
        &["config", "show", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["agent", "list"],
        &["agent", "list", "--database", "mysql://me:s3cret@host/x"],
        &[
            "agent",
            "list",
            "--database",
            "postgres://me:s3cret@host:port/x",
        ],
        &[
            "agent",
            "list",
            "--database-direct",
            "postgres://me:s3cret@host:port/x",
        ],
        &["config", "show", "--database-direct", address],
    ] {
        let told = world.run(args);
        let told = format!("{}{}", told.stdout, told.stderr);
        assert!(
            !told.is_empty() && !told.contains("s3cret"),
            "{args:?}: {told}"
        );
    }
    let shown = world.run(&["config", "show"]).expect_success();
    assert!(
        shown.contains("postgres://me:***@localhost:1/matins"),
        "{shown}"
    );
}

#[test]
fn invalid_config_file_is_refused_before_any_effect() {
    let world = TestInstallation::new();
    let path = write_default_config(
        &world,
        "[scheduler]\ntick_secnds = 3\n\n[serve]\nstop_seconds = \"x\"\n",
    );
    for args in [
        &["agent", "list"][..],
        &["serve"],
        &["demo", "--turns", "1"],
    ] {
        let refused = world.run(args);
        assert_eq!(refused.code, 2, "{refused:#?}");
        let place = format!("{}:2", path.display());
        for says in [
            &place,
            "tick_secnds",
            "scheduler.tick_seconds",
            "one more problem",
        ] {
            assert!(refused.stderr.contains(says), "{refused:#?}");
        }
        assert!(!world.data_folder().exists(), "{args:?}");
    }
    let checked = world.run(&["config", "check"]);
    assert_eq!(checked.code, 2, "{checked:#?}");
    assert_eq!(checked.stdout.lines().count(), 2, "{checked:#?}");
    let checked = world.run(&["config", "check", "--json"]);
    let told: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(told["problems"].as_array().unwrap().len(), 2);
}

#[test]
fn config_check_lists_unknown_variables() {
    let world = TestInstallation::new().with_env("MATINS_WORKRES", "3");
    let checked = world.run(&["config", "check"]);
    assert_eq!(checked.code, 0, "{checked:#?}");
    let near = "unknown variable `MATINS_WORKRES`; did you mean `MATINS_WORKERS`?";
    assert!(checked.stderr.contains(near), "{checked:#?}");
    assert_eq!(world.json(&["config", "check"])["warnings"][0], near);
}

#[test]
fn config_check_of_file_ignores_environment() {
    let world = TestInstallation::new().with_env("MATINS_WORKERS", "many");
    let file = world.path().join("try.toml");
    let check = |content: &str| {
        fs::write(&file, content).unwrap();
        world.run(&["config", "check", "try.toml"])
    };
    check("workers = 2\n").expect_success();
    for (content, says) in [
        ("database = \"mysql://me:s3cret@x\"", "`mysql`"),
        ("log.directives = \"loud=very\"", "loud=very"),
    ] {
        let refused = check(content);
        assert_eq!(refused.code, 2, "{refused:#?}");
        assert!(refused.stdout.contains(says), "{refused:#?}");
        assert!(refused.stdout.contains("try.toml:1"), "{refused:#?}");
        assert!(!refused.stdout.contains("s3cret"), "{refused:#?}");
    }
    let missing = world.run(&["config", "check", "none.toml"]);
    assert_eq!(missing.code, 6, "{missing:#?}");
}

#[test]
fn named_config_file_must_exist_and_default_one_is_optional() {
    let world = TestInstallation::new();
    world.run(&["agent", "list"]).expect_success();
    let path = world.run(&["config", "path"]);
    assert!(path.stderr.contains("does not exist"), "{path:#?}");
    let refused = world.run(&["agent", "list", "--config", "none.toml"]);
    assert_eq!(refused.code, 6, "{refused:#?}");
    assert!(
        refused.stderr.contains("none.toml (named by --config)"),
        "{refused:#?}"
    );
    let elsewhere = world
        .with_data_folder("data")
        .with_env("MATINS_CONFIG", "none.toml");
    let refused = elsewhere.run(&["agent", "list"]);
    assert_eq!(refused.code, 6, "{refused:#?}");
    assert!(
        refused.stderr.contains("named by MATINS_CONFIG"),
        "{refused:#?}"
    );
    fs::write(world.path().join("mine.toml"), "workers = 2").unwrap();
    let workers = shown_setting(&elsewhere, "workers", &["--config", "mine.toml"]);
    assert_eq!(workers["value"], 2, "a flag outweighs the variable");
    let xdg = world.path().join("xdg");
    let other = world
        .with_data_folder("data")
        .with_env("XDG_CONFIG_HOME", xdg.to_str().unwrap());
    let path = other.json(&["config", "path"]);
    assert_eq!(path["path"], json!(xdg.join("matins/config.toml")));
    assert_eq!(path["exists"], false);
}

#[test]
fn config_file_sets_data_folder_and_log_format() {
    let world = TestInstallation::new();
    write_default_config(
        &world,
        "data = \"~/elsewhere\"\n[log]\nformat = \"json\"\ndirectives = \"info\"\n",
    );
    let mut command = world.command(&["agent", "list"]);
    let listed = command.env_remove("MATINS_DATA").output().unwrap();
    assert!(listed.status.success(), "{listed:#?}");
    assert!(world.path().join("elsewhere/matins.db").exists());
    let logs = String::from_utf8(listed.stderr).unwrap();
    let first: Value = serde_json::from_str(logs.lines().next().unwrap()).unwrap();
    assert_eq!(first["level"], "INFO", "{logs}");
}

#[test]
fn unknown_matins_variable_logs_warning() {
    let world = TestInstallation::new().with_env("MATINS_WROKERS", "2");
    let told = world.run(&["agent", "list"]);
    assert_eq!(told.code, 0, "{told:#?}");
    for says in ["WARN", "MATINS_WROKERS", "did you mean `MATINS_WORKERS`?"] {
        assert!(told.stderr.contains(says), "{told:#?}");
    }
}

#[test]
fn config_reference_equals_committed_page() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let told = TestInstallation::new()
        .run(&["config", "reference"])
        .expect_success();
    assert_eq!(told, fs::read_to_string(page).unwrap());
}
