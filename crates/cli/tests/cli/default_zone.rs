//! The time zone of schedules for which a command names none.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use crate::test_installation::{CommandOutput, TestInstallation};

const ADD: [&str; 5] = ["automation", "add", "0 9 * * *", "--agent", "demo"];

fn add(world: &TestInstallation, name: &str, more: &[&str]) -> CommandOutput {
    world.run(&[&ADD[..], &["--name", name], more, &["Look"]].concat())
}

/// Returns the zones of the schedules of an automation.
fn zones(world: &TestInstallation, name: &str) -> Vec<String> {
    let view = world.json(&["automation", "show", name]);
    let specs = view["triggers"].as_array().unwrap().iter();
    let zones = specs.filter_map(|trigger| trigger["spec"]["zone"].as_str().map(str::to_owned));
    zones.collect()
}

fn write_config(world: &TestInstallation, text: &str) {
    let folder = world.path().join(".config/matins");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

/// Sends a request with the token of the data folder, and returns the response.
fn post(world: &TestInstallation, path: &str, body: &str) -> String {
    let (address, token) = (world.address(), world.token());
    let host = address.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn schedule_without_zone_uses_zone_of_variable_and_names_it() {
    let world = TestInstallation::new().with_env("TZ", ":Europe/Prague");
    let added = add(&world, "standup", &[]).expect_success();
    assert!(
        added.contains("\nTime zone Europe/Prague, from the variable `TZ`\nNext runs\n"),
        "{added}"
    );
    assert_eq!(zones(&world, "standup"), ["Europe/Prague"]);
    let once = [
        "automation",
        "add",
        "--at",
        "2030-07-01T09:00",
        "--agent",
        "demo",
    ];
    let once = world.run(&[&once[..], &["--name", "once", "Look"]].concat());
    let once = once.expect_success();
    assert!(
        once.contains("2030-07-01 09:00:00 +02:00 Europe/Prague"),
        "{once}"
    );
    let preview = ["automation", "preview", "--cron", "0 9 1 7 *"];
    let preview = [&preview[..], &["--quiet-hours", "08:00-10:00"]].concat();
    let shown = world.run(&preview).expect_success();
    assert!(
        shown.starts_with("Time zone Europe/Prague, from"),
        "{shown}"
    );
    assert!(
        shown.contains("09:00:00 +02:00 Europe/Prague  (quiet hours"),
        "{shown}"
    );
    // A schedule that no clock decides needs no zone, and a command that names the zone need not explain it.
    let on_demand = ["automation", "add", "--on-demand", "--agent", "demo"];
    let on_demand = world.run(&[&on_demand[..], &["--name", "tidy", "Tidy"]].concat());
    assert!(!on_demand.expect_success().contains("Time zone"));
    let named = add(&world, "named", &["--zone", "asia/tokyo"]).expect_success();
    assert!(!named.contains("Time zone"), "{named}");
    assert_eq!(zones(&world, "named"), ["Asia/Tokyo"]);
}

#[test]
fn zone_comes_from_option_then_setting_then_variable() {
    let world = TestInstallation::new().with_env("TZ", "Europe/Prague");
    write_config(&world, "default_zone = \"africa/cairo\"\n");
    let from_file = add(&world, "file", &[]).expect_success();
    let line = "\nTime zone Africa/Cairo, from the setting `default_zone`\n";
    assert!(from_file.contains(line), "{from_file}");
    let world = world.with_env("MATINS_DEFAULT_ZONE", "America/Lima");
    let from_variable = add(&world, "variable", &[]).expect_success();
    let line = "\nTime zone America/Lima, from the variable `MATINS_DEFAULT_ZONE`\n";
    assert!(from_variable.contains(line), "{from_variable}");
    let from_flag = add(&world, "flag", &["--default-zone", "Asia/Kolkata"]).expect_success();
    let line = "\nTime zone Asia/Kolkata, from the flag `--default-zone`\n";
    assert!(from_flag.contains(line), "{from_flag}");
    let local = add(&world, "local", &["--zone", "local"]).expect_success();
    let line = "\nTime zone Europe/Prague, from the variable `TZ`\n";
    assert!(local.contains(line), "{local}");
    add(&world, "option", &["--zone", "UTC"]).expect_success();
    for (name, zone) in [
        ("file", "Africa/Cairo"),
        ("variable", "America/Lima"),
        ("flag", "Asia/Kolkata"),
        ("local", "Europe/Prague"),
        ("option", "UTC"),
    ] {
        assert_eq!(zones(&world, name), [zone], "{name}");
    }
}

#[test]
fn unusable_zone_of_variable_or_setting_is_refused_with_advice() {
    let world = TestInstallation::new().with_env("TZ", "CET-1CEST");
    let refused = add(&world, "standup", &[]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    let message = "invalid time zone `CET-1CEST`: expected an IANA name such as Europe/Prague or UTC (in the \
                   variable `TZ`)";
    assert!(refused.stderr.contains(message), "{refused:#?}");
    assert!(
        refused.stderr.contains("`--zone Europe/Prague`"),
        "{refused:#?}"
    );
    add(&world, "standup", &["--zone", "Europe/Prague"]).expect_success();
    // An edit that keeps the zone does not read the variable.
    let edit = ["automation", "edit", "standup", "--cron", "30 8 * * *"];
    world.run(&edit).expect_success();
    let world = TestInstallation::new().with_env("MATINS_DEFAULT_ZONE", "CET-1CEST");
    let refused = add(&world, "standup", &[]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    let message = "invalid `MATINS_DEFAULT_ZONE=CET-1CEST`: expected an IANA name";
    assert!(refused.stderr.contains(message), "{refused:#?}");
}

#[test]
fn edited_schedule_keeps_zone_unless_option_names_one() {
    let prague = TestInstallation::new().with_env("TZ", "Europe/Prague");
    add(&prague, "standup", &[]).expect_success();
    let tokyo = prague.with_data_folder("data").with_env("TZ", "Asia/Tokyo");
    let edit = |more: &[&str]| {
        let edited = tokyo.run(&[&["automation", "edit", "standup"][..], more].concat());
        (edited.expect_success(), zones(&tokyo, "standup"))
    };
    for more in [
        &["--cron", "30 8 * * *"][..],
        &["--add", "--every", "2h"],
        &["--prompt", "Look again"],
    ] {
        let (shown, zones) = edit(more);
        assert!(
            zones.iter().all(|zone| zone == "Europe/Prague"),
            "{zones:?}"
        );
        assert!(!shown.contains("Time zone"), "{shown}");
    }
    let (shown, zones) = edit(&["--zone", "local"]);
    assert_eq!(zones, ["Asia/Tokyo", "Asia/Tokyo"]);
    assert!(
        shown.contains("Time zone Asia/Tokyo, from the variable `TZ`"),
        "{shown}"
    );
    // Without a schedule there is no zone to keep.
    edit(&["--on-demand"]);
    let prague_again = tokyo.with_env("TZ", "Europe/Prague");
    let edit = ["automation", "edit", "standup", "--cron", "0 9 * * *"];
    let shown = prague_again.run(&edit).expect_success();
    assert!(
        shown.contains("Time zone Europe/Prague, from the variable `TZ`"),
        "{shown}"
    );
}

#[test]
fn request_to_api_without_zone_stays_in_utc() {
    let world = TestInstallation::new().with_env("TZ", "Europe/Prague");
    let _server = world.serve();
    let added = world.run(&[&ADD[..], &["--name", "by-command", "Look"]].concat());
    added.expect_success();
    assert_eq!(zones(&world, "by-command"), ["Europe/Prague"]);
    let body = r#"{"name": "by-request", "prompt": "Look", "agent": "demo",
        "triggers": [{"kind": "cron", "expression": "0 9 * * *"}]}"#;
    let created = post(&world, "/api/v1/automations", body);
    assert!(created.starts_with("HTTP/1.1 201"), "{created}");
    assert_eq!(zones(&world, "by-request"), ["UTC"]);
}

#[test]
fn zone_of_automation_without_schedule_is_refused() {
    let world = TestInstallation::new();
    let options = ["--agent", "demo", "--quiet-hours", "21:00-23:00", "--name"];
    let add = |kind: &str, more: &[&str]| {
        let add = ["automation", "add", kind];
        world.run(&[&add[..], &options, more, &["Look"]].concat())
    };
    let expect_refused = |refused: CommandOutput| {
        assert_eq!(refused.code, 2, "{refused:#?}");
        let message = "`--zone Asia/Tokyo` has no effect: the automation has no schedule, and quiet hours of a \
                       webhook are in UTC";
        assert!(refused.stderr.contains(message), "{refused:#?}");
    };
    let tokyo = ["--zone", "Asia/Tokyo"];
    for kind in ["--webhook", "--on-demand"] {
        expect_refused(add(kind, &["refused", tokyo[0], tokyo[1]]));
    }
    add("--webhook", &["push"]).expect_success();
    let edit = |more: &[&str]| world.run(&[&["automation", "edit", "push"][..], more].concat());
    expect_refused(edit(&tokyo));
    edit(&["--add", "--every", "1h", "--zone", "Asia/Tokyo"]).expect_success();
    assert_eq!(zones(&world, "push"), ["Asia/Tokyo"]);
    // A schedule that the same command removes has no zone either.
    expect_refused(edit(&["--remove-trigger", "1h", "--zone", "Asia/Tokyo"]));
    expect_refused(edit(&["--on-demand", "--zone", "Asia/Tokyo"]));
}

#[test]
fn shown_quiet_hours_have_zone_of_each_trigger() {
    let world = TestInstallation::new();
    let add = ["automation", "add", "--webhook", "--agent", "demo"];
    let hours = ["--quiet-hours", "21:00-23:00", "--name", "push", "Look"];
    world.run(&[&add[..], &hours].concat()).expect_success();
    let edit = |more: &[&str]| {
        let edit = ["automation", "edit", "push"];
        world.run(&[&edit[..], more].concat()).expect_success();
    };
    let expect_hours = |expected: &str| {
        let shown = world.run(&["automation", "show", "push"]).expect_success();
        let line = format!("\n  quiet hours {expected}\n");
        assert!(shown.contains(&line), "{shown}");
    };
    expect_hours("21:00-23:00 (UTC for webhooks)");
    edit(&["--add", "--every", "1h", "--zone", "Asia/Tokyo"]);
    expect_hours("21:00-23:00 (Asia/Tokyo, UTC for webhooks)");
    edit(&["--remove-trigger", "webhook", "--add", "--every", "2h"]);
    expect_hours("21:00-23:00 (Asia/Tokyo)");
    edit(&["--on-demand"]);
    expect_hours("21:00-23:00 (not for runs on demand)");
}
