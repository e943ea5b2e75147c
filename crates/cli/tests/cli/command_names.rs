//! The names of commands and flags: hidden old names, short names, and the flags that only a server needs.

use crate::test_installation::TestInstallation;

/// Returns the help of a command in one line, because the terminal width must not matter.
fn help_text(world: &TestInstallation, command: &[&str], flag: &str) -> String {
    let args = [command, &[flag][..]].concat();
    let help = world.run(&args).expect_success();
    help.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn agent_commands_accept_former_name() {
    let world = TestInstallation::new();
    let listed = world.json(&["agent", "list"]);
    assert_eq!(world.json(&["harness", "list"]), listed);
    let add = ["automation", "add", "--on-demand", "--harness", "demo"];
    let add = [&add[..], &["--name", "news", "Work"]].concat();
    world.run(&add).expect_success();
    let edit = ["automation", "edit", "news", "--harness", "demo"];
    world.run(&edit).expect_success();
    let send = ["session", "send", "--new", "--harness", "demo", "Hello"];
    world.run(&send).expect_success();
    let commands: [&[&str]; 5] = [
        &[],
        &["agent"],
        &["automation", "add"],
        &["automation", "edit"],
        &["session", "send"],
    ];
    for command in commands {
        let help = help_text(&world, command, "--help");
        assert!(!help.contains("harness"), "{command:?}: {help}");
    }
}

#[test]
fn session_send_accepts_hidden_name_say() {
    let world = TestInstallation::new();
    let said = ["session", "say", "--new", "--agent", "demo", "Hello"];
    let answer = world.run(&said).expect_success();
    assert!(answer.contains("This is turn 1"), "{answer}");
    let help = help_text(&world, &["session", "send"], "--help");
    assert!(help.contains("<SESSION> <MESSAGE>"), "{help}");
    let help = help_text(&world, &["session"], "--help");
    assert!(!help.contains(" say"), "{help}");
}

#[test]
fn policy_flags_accept_hidden_old_names() {
    let world = TestInstallation::new();
    let add = ["automation", "add", "--every", "1h", "--agent", "demo"];
    let policies = ["--quiet", "22:00-06:00", "--unruled", "ask"];
    let add = [&add[..], &policies, &["--name", "news", "Work"]].concat();
    world.run(&add).expect_success();
    let show = ["automation", "show", "news"];
    let shown = world.run(&show).expect_success();
    for text in ["quiet hours 22:00-06:00", "unmatched   ask a person"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let clear = ["--clear", "quiet", "--clear", "unruled"];
    let edit = [&["automation", "edit", "news"][..], &clear].concat();
    world.run(&edit).expect_success();
    let shown = world.run(&show).expect_success();
    for text in ["22:00-06:00", "ask a person"] {
        assert!(!shown.contains(text), "{text}: {shown}");
    }
    let preview = ["automation", "preview", "--every", "1h", "--quiet"];
    let preview = [&preview[..], &["22:00-06:00"]].concat();
    world.run(&preview).expect_success();
    for command in ["add", "edit"] {
        let help = help_text(&world, &["automation", command], "--help");
        for flag in ["--quiet-hours <", "--on-unmatched <"] {
            assert!(help.contains(flag), "{flag}: {help}");
        }
        for flag in ["--quiet ", "--unruled"] {
            assert!(!help.contains(flag), "{flag}: {help}");
        }
    }
}

#[test]
fn automation_outputs_name_next_runs() {
    let world = TestInstallation::new();
    let add = ["automation", "add", "--every", "1h", "--agent", "demo"];
    let add = [&add[..], &["--name", "news", "Work"]].concat();
    let added = world.run(&add).expect_success();
    assert!(added.contains("Next runs\n"), "{added}");
    let listed = world.run(&["automation", "list"]).expect_success();
    assert!(listed.contains("NEXT RUN"), "{listed}");
}

#[test]
fn short_command_names_are_visible_aliases() {
    let world = TestInstallation::new();
    for (group, name, alias) in [
        ("agent", "list", "ls"),
        ("approval", "list", "ls"),
        ("question", "list", "ls"),
        ("automation", "list", "ls"),
        ("endpoint", "list", "ls"),
        ("instance", "list", "ls"),
        ("run", "list", "ls"),
        ("session", "list", "ls"),
        ("tenant", "list", "ls"),
        ("token", "list", "ls"),
        ("automation", "delete", "rm"),
        ("endpoint", "delete", "rm"),
        ("instance", "remove", "rm"),
        ("agent", "remove", "rm"),
        ("session", "delete", "rm"),
        ("agent", "add", "create"),
        ("automation", "add", "create"),
        ("endpoint", "add", "create"),
        ("automation", "fire", "run"),
    ] {
        let by_name = help_text(&world, &[group, name], "--help");
        let by_alias = help_text(&world, &[group, alias], "--help");
        assert_eq!(by_alias, by_name, "{group} {alias}");
        let group_help = help_text(&world, &[group], "--help");
        let shown = format!(": {alias}]");
        assert!(group_help.contains(&shown), "{group}: {group_help}");
    }
}

#[test]
fn server_flags_appear_only_in_help_of_serve_and_config() {
    let world = TestInstallation::new();
    let server_flags = ["--listen <", "--workers <", "--heartbeat-seconds <"];
    let common_flags = ["--data <", "--database <"];
    let with_server_flags: [&[&str]; 4] = [
        &["serve"],
        &["config"],
        &["config", "show"],
        &["config", "check"],
    ];
    let without_server_flags: [&[&str]; 6] = [
        &[],
        &["demo"],
        &["doctor"],
        &["agent", "list"],
        &["automation", "add"],
        &["session", "send"],
    ];
    let commands = with_server_flags.iter().chain(&without_server_flags);
    for command in commands {
        let is_shown = with_server_flags.contains(command);
        for help_flag in ["--help", "-h"] {
            let help = help_text(&world, command, help_flag);
            for flag in server_flags {
                assert_eq!(help.contains(flag), is_shown, "{command:?} {flag}: {help}");
            }
            for flag in common_flags {
                assert!(help.contains(flag), "{command:?} {flag}: {help}");
            }
        }
    }
}

#[test]
fn hidden_server_flags_are_still_accepted() {
    let world = TestInstallation::new();
    world
        .run(&["agent", "list", "--workers", "2"])
        .expect_success();
    for args in [
        &["config", "show", "--workers", "3"][..],
        &["config", "--workers", "3", "show"],
        &["--workers", "3", "config", "show"],
    ] {
        let settings = world.json(args);
        let settings = settings.as_array().unwrap();
        let workers = settings.iter().find(|it| it["name"] == "workers");
        assert_eq!(workers.unwrap()["value"], 3, "{args:?}");
        assert_eq!(workers.unwrap()["origin"]["name"], "--workers");
    }
}

#[test]
fn schedule_without_option_is_refused_with_the_option() {
    let world = TestInstallation::new();
    let refused = world.run(&["automation", "preview", "0 9 * * *"]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    for text in ["`0 9 * * *` has no option", "`--cron \"0 9 * * *\"`"] {
        assert!(refused.stderr.contains(text), "{text}: {refused:#?}");
    }
}
