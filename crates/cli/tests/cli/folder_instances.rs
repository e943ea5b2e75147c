//! Instances with folders: their lists and their marks.

use serde_json::Value;
use testkit::scripted::Step;

use crate::runtime::FolderInstance;

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
    let session = stage.world.json(&["session", "show", &session]);
    assert_eq!(
        session["seats"][0]["removed_instance"], "elsewhere",
        "{session:#}"
    );
}
