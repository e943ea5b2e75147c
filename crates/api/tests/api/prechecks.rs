//! The permission to set the command that runs on the server before a turn.

use model::access::Role;
use serde_json::{Value, json};

use crate::world::{Answer, World};

fn precheck_policy(command: &str) -> Value {
    json!({ "precheck": { "command": [command] } })
}

impl World {
    async fn patch_automation(&self, token: &str, patch: &Value) -> Answer {
        let path = "/automations/daily";
        self.request_as(token, "PATCH", path, Some(patch), &[])
            .await
    }
}

pub(crate) async fn precheck_requires_agents_write(world: &World) {
    let member = world.token(Role::Member, None).await;
    let asked = json!({
        "name": "daily", "prompt": "Look.", "agent": "good", "policies": precheck_policy("check"),
    });
    let create = async |token: &str| {
        world
            .request_as(token, "POST", "/automations", Some(&asked), &[])
            .await
    };
    let refused = create(&member).await.problem(403);
    assert!(refused.contains("agents:write"), "{refused}");
    let made = create(&world.admin).await.expect(201);
    let precheck = json!({ "command": ["check"], "timeout_seconds": 60 });
    assert_eq!(made["policies"]["precheck"], precheck);

    // A patch or a replacement that keeps the precheck needs no further permission.
    let patch = json!({ "prompt": "Look twice." });
    let patched = world.patch_automation(&member, &patch).await.expect(200);
    assert_eq!(patched["policies"]["precheck"], precheck);
    let mut whole = asked.clone();
    whole["prompt"] = "Look again.".into();
    let replaced = world
        .request_as(&member, "PUT", "/automations/daily", Some(&whole), &[])
        .await;
    assert_eq!(replaced.expect(200)["policies"]["precheck"], precheck);

    for other in [
        precheck_policy("other"),
        json!({ "precheck": { "timeout_seconds": 1 } }),
        json!({ "precheck": null }),
    ] {
        let patch = json!({ "policies": other });
        let refused = world.patch_automation(&member, &patch).await.problem(403);
        assert!(refused.contains("agents:write"), "{refused}");
        world
            .patch_automation(&world.admin, &patch)
            .await
            .expect(200);
    }
    let none = world.get("/automations/daily").await.expect(200);
    assert_eq!(none["policies"]["precheck"], Value::Null);
    let patch = json!({ "policies": precheck_policy("check") });
    world.patch_automation(&member, &patch).await.problem(403);
}

pub(crate) async fn precheck_directory_change_requires_agents_write(world: &World) {
    let member = world.token(Role::Member, None).await;
    let [here, there] = ["here", "there"].map(|_| tempfile::tempdir().unwrap());
    let path = |folder: &tempfile::TempDir| folder.path().to_str().unwrap().to_owned();
    let asked = json!({
        "name": "daily", "prompt": "Look.", "agent": "good", "cwd": path(&here),
        "policies": precheck_policy("./check"),
    });
    let made = world.post("/automations", asked.clone()).await.expect(201);
    let cwd = made["cwd"].clone();

    let mut whole = asked.clone();
    whole["cwd"] = path(&there).into();
    let replaced = world
        .request_as(&member, "PUT", "/automations/daily", Some(&whole), &[])
        .await;
    let refused = replaced.problem(403);
    assert!(refused.contains("agents:write"), "{refused}");
    for elsewhere in [
        json!({ "cwd": path(&there) }),
        json!({ "cwd": null }),
        json!({ "session": "bound:web:7" }),
    ] {
        let refused = world
            .patch_automation(&member, &elsewhere)
            .await
            .problem(403);
        assert!(refused.contains("agents:write"), "{refused}");
    }
    let shown = world.get("/automations/daily").await.expect(200);
    assert_eq!(shown["cwd"], cwd);

    // Without a precheck, a change of the session or of the directory needs no further permission.
    let patch = json!({ "session": "continuous" });
    world.patch_automation(&member, &patch).await.expect(200);
    let patch = json!({ "policies": { "precheck": null } });
    world
        .patch_automation(&world.admin, &patch)
        .await
        .expect(200);
    let patch = json!({ "cwd": path(&there) });
    world.patch_automation(&member, &patch).await.expect(200);
}

pub(crate) async fn invalid_precheck_is_refused_with_field(world: &World) {
    world.automation("daily").await;
    for (precheck, status, named) in [
        (json!({ "command": [] }), 422, "precheck.command"),
        (json!({ "command": [""] }), 422, "precheck.command"),
        (
            json!({ "command": ["x"], "timeout_seconds": 0 }),
            422,
            "precheck.timeout_seconds",
        ),
        (json!({ "command": "x" }), 400, "precheck.command"),
        (json!({ "command": ["x"], "shell": true }), 400, "shell"),
    ] {
        let patch = json!({ "policies": { "precheck": precheck } });
        let refused = world
            .patch_automation(&world.admin, &patch)
            .await
            .problem(status);
        assert!(refused.contains(named), "{refused}");
    }
}
