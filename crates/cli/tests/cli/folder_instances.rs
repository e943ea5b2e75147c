//! Instances with folders: their lists and their marks.

use serde_json::Value;
use testkit::scripted::Step;

use crate::runtime::FolderInstance;

#[test]
fn runs_of_instance_are_listed_and_list_of_instances_fits_80_columns() {
    let stage = FolderInstance::new();
    stage.world.add_scripted_agent([vec![Step::text("Done.")]]);
    stage.automation("report", "continuous");
    let waits = stage.fire("report");
    stage.wait_for_status(&waits, "delivered");
    let ids = |args: &[&str]| {
        let all = stage.world.json(&[&["run", "list"], args].concat());
        let ids = all.as_array().unwrap().iter();
        ids.map(|run| run["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--instance", "elsewhere"]), [waits["id"].clone()]);
    assert_eq!(
        ids(&["--instance", "elsewhere", "--status", "delivered"]).len(),
        1
    );
    let long = "x".repeat(60);
    let other = stage.world.path().join("other");
    let other = other.to_str().unwrap();
    let add = [
        "instance",
        "add",
        &long,
        "--kind",
        "directory",
        "--folder",
        other,
    ];
    stage.world.run(&add).expect_success();
    assert_eq!(ids(&["--instance", &long]), [Value::Null; 0]);
    let unknown = stage.world.run(&["run", "list", "--instance", "nowhere"]);
    assert!(unknown.stderr.contains("`nowhere`"), "{unknown:#?}");
    let listed = stage.world.run(&["instance", "list"]);
    let listed = listed.expect_success();
    let widest = listed.lines().map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 80, "{listed}");
    // The folder of an instance belongs to it alone.
    let add = [
        "instance",
        "add",
        "third",
        "--kind",
        "directory",
        "--folder",
        other,
    ];
    let refused = stage.world.run(&add);
    assert!(
        refused.stderr.contains("`third`") && refused.stderr.contains(&long),
        "{refused:#?}"
    );
}

#[test]
fn removed_instance_marks_its_automations_and_sessions() {
    let stage = FolderInstance::new();
    stage.world.add_scripted_agent([vec![Step::text("Done.")]]);
    stage.automation("report", "continuous");
    let run = stage.fire("report");
    let session = run["session_id"].as_str().unwrap().to_owned();
    stage.wait_for_status(&run, "delivered");
    stage
        .world
        .run(&["instance", "remove", "elsewhere"])
        .expect_success();
    let shown = stage.wait_for_status(&run, "failed");
    assert_eq!(shown["reason"], "instance_gone", "{shown:#}");
    for args in [
        ["automation", "show", "report"],
        ["session", "show", &session],
    ] {
        let shown = stage.world.run(&args);
        let shown = shown.expect_success();
        assert!(shown.contains("elsewhere, which was removed"), "{shown}");
    }
    let automation = stage.world.json(&["automation", "show", "report"]);
    assert_eq!(
        automation["removed_instance"], "elsewhere",
        "{automation:#}"
    );
    assert_eq!(automation["instance"], Value::Null, "{automation:#}");
    let listed = stage.world.json(&["automation", "list"]);
    assert_eq!(listed[0]["removed_instance"], "elsewhere", "{listed:#}");
    let listed = stage.world.json(&["session", "list", "--all"]);
    assert_eq!(listed[0]["id"], session.as_str(), "{listed:#}");
    assert_eq!(listed[0]["removed_instance"], "elsewhere", "{listed:#}");
    let listed = stage.world.run(&["session", "list", "--all"]);
    let listed = listed.expect_success();
    let mark = format!("{session} is on elsewhere, which was removed: its runs fail.");
    assert!(listed.lines().any(|line| line == mark), "{listed}");
    let session = stage.world.json(&["session", "show", &session]);
    assert_eq!(
        session["seats"][0]["removed_instance"], "elsewhere",
        "{session:#}"
    );
}
