//! Automations and their triggers.

use axum::body::Body;
use http::Request;
use model::{Clock as _, access::Role};
use serde_json::{Value, json};

use crate::world::{Answer, World};

pub(crate) async fn automation_is_created_read_changed_and_deleted(world: &World) {
    let asked = json!({
        "prompt": "Look at the new issues.",
        "agent": "good",
        "triggers": [{ "kind": "cron", "expression": "30 8 * * 1-5", "zone": "Europe/Prague" }],
        "policies": { "jitter_seconds": 60 },
    });
    let made = world.post("/automations", asked).await.expect(201);
    assert_eq!(made["name"], "look-at-the-new-issues");
    assert_eq!(made["agent"], "good");
    // Each policy has a default that can be read.
    assert_eq!(made["policies"]["jitter_seconds"], 60);
    assert_eq!(made["policies"]["queue_limit"], 100);
    assert_eq!(made["policies"]["catch_up"], "latest");
    let fires = made["upcoming_runs"].as_array().unwrap();
    assert_eq!(fires.len(), 5);
    assert_eq!(fires[0]["at"], "2026-11-23T07:30:00Z");
    assert!(
        fires[0]["display"].as_str().unwrap().contains("+01:00"),
        "{fires:?}"
    );
    let path = format!("/automations/{}", made["id"].as_str().unwrap());
    let paused = world
        .post(&format!("{path}/pause"), json!({}))
        .await
        .expect(200);
    assert_eq!(
        (&paused["state"], &paused["upcoming_runs"]),
        (&json!("paused"), &json!([]))
    );
    let resumed = world
        .post(&format!("{path}/resume"), json!({}))
        .await
        .expect(200);
    assert_eq!(resumed["state"], "enabled");
    let replaced = json!({ "name": "issues", "prompt": "Look.", "agent": "good" });
    let replaced = world
        .request_as(&world.admin, "PUT", &path, Some(&replaced), &[])
        .await
        .expect(200);
    assert_eq!(replaced["name"], "issues");
    assert_eq!(replaced["policies"]["jitter_seconds"], 0);
    let list = world
        .get("/automations?text=ISSU&state=enabled")
        .await
        .expect(200);
    assert_eq!(list["items"][0]["name"], "issues");
    let deleted = world.delete(&path).await.expect(200);
    assert_eq!(deleted["name"], "issues");
    world.get(&path).await.problem(404);
}

pub(crate) async fn policy_defaults_are_returned(world: &World) {
    let defaults = json!({
        "queue_limit": 100,
        "catch_up": "latest",
        "catch_up_window_seconds": 86400,
        "jitter_seconds": 0,
        "quiet_hours": [],
        "timeout_seconds": 1800,
        "inactivity_seconds": 600,
        "retry": { "attempts": 3, "backoff_seconds": 10, "backoff_max_seconds": 600 },
        "on_crash": "retry",
        "pause_after_failures": 5,
        "precheck": null,
    });
    world
        .post(
            "/sessions",
            json!({ "agent": "good", "session_key": "chat" }),
        )
        .await
        .expect(201);
    for (session, overlap) in [
        ("fresh", "allow"),
        ("continuous", "queue"),
        ("bound:chat", "queue"),
    ] {
        let asked =
            json!({ "name": session, "prompt": "Look.", "agent": "good", "session": session });
        let made = world.post("/automations", asked).await.expect(201);
        // The request names no overlap policy, so that the default follows from the session mode.
        assert_eq!(made["overlap"], overlap, "{session}");
        assert_eq!(made["policies"]["overlap"], Value::Null);
        for (name, default) in defaults.as_object().unwrap() {
            assert_eq!(&made["policies"][name], default, "{name}");
        }
        let patch = json!({ "policies": { "overlap": "skip" } });
        let path = format!("/automations/{}", made["id"].as_str().unwrap());
        let named = world
            .request_as(&world.admin, "PATCH", &path, Some(&patch), &[])
            .await;
        assert_eq!(named.expect(200)["overlap"], "skip");
    }
}

pub(crate) async fn automation_edit_with_stale_etag_is_refused(world: &World) {
    world.automation("daily").await;
    let seen = world.get("/automations/daily").await;
    let tag = seen.header("etag").to_owned();
    let change = async |prompt: &str, tag: &str| {
        let body = json!({ "prompt": prompt });
        let headers = [("if-match", tag)];
        world
            .request_as(
                &world.admin,
                "PATCH",
                "/automations/daily",
                Some(&body),
                &headers,
            )
            .await
    };
    let changed = change("One.", &tag).await;
    assert_eq!(changed.expect(200)["prompt"], "One.");
    change("Other.", &tag).await.problem(412);
    let now = world.get("/automations/daily").await;
    assert_eq!(now.json()["prompt"], "One.");
    assert_eq!(now.header("etag"), changed.header("etag"));
    // A fired run does not change the entity tag.
    world
        .post("/automations/daily/fire", json!({}))
        .await
        .expect(202);
    let fired = world.get("/automations/daily").await;
    assert_eq!(fired.header("etag"), changed.header("etag"));
}

pub(crate) async fn automation_patch_changes_only_given_fields(world: &World) {
    let asked = json!({
        "name": "daily", "prompt": "Look.", "agent": "good",
        "triggers": [{ "kind": "every", "period": "2h" }],
        "policies": { "overlap": "skip", "queue_limit": 7 },
    });
    let made = world.post("/automations", asked).await.expect(201);
    let patch = async |body: Value| {
        world
            .request_as(
                &world.admin,
                "PATCH",
                "/automations/daily",
                Some(&body),
                &[],
            )
            .await
    };
    let patched = patch(json!({ "policies": { "overlap": null } }))
        .await
        .expect(200);
    assert_eq!(patched["policies"]["overlap"], Value::Null);
    assert_eq!(patched["policies"]["queue_limit"], 7);
    assert_eq!(
        patched["triggers"], made["triggers"],
        "they keep their cadence"
    );
    assert!(
        patch(json!({ "promt": "x" }))
            .await
            .problem(400)
            .contains("promt")
    );
    assert!(patch(json!([])).await.problem(400).contains("object"));
    let detail = patch(json!({ "policies": { "queue_limit": "many" } })).await;
    assert!(
        detail.problem(400).contains("policies.queue_limit"),
        "{}",
        detail.text
    );
    let detail = patch(json!({ "prompt": " " })).await;
    assert!(detail.problem(422).contains("prompt"));
    // The present triggers get a zone that comes without triggers.
    let every = |view: &Value| {
        let triggers = view["triggers"].as_array().unwrap();
        let found = triggers.iter().find(|one| one["spec"]["kind"] == "every");
        found.unwrap()["spec"].clone()
    };
    for (zone, expected) in [
        (json!("Europe/Prague"), "Europe/Prague"),
        (Value::Null, "UTC"),
    ] {
        let patched = patch(json!({ "zone": zone })).await.expect(200);
        assert_eq!(every(&patched)["zone"], expected);
        assert_eq!(every(&patched)["anchor"], every(&made)["anchor"]);
    }
    patch(json!({ "triggers": [] })).await.expect(200);
    let refused = patch(json!({ "zone": "Europe/Prague" })).await;
    assert_eq!(refused.expect(422)["field"], "zone");
}

pub(crate) async fn triggers_are_added_and_removed(world: &World) {
    world.automation("daily").await;
    let path = "/automations/daily/triggers";
    let cron = json!({ "kind": "cron", "expression": "0 9 * * *" });
    world.post(path, cron.clone()).await.expect(201);
    // The same one is there already.
    world.post(path, cron).await.expect(200);
    let list = world.get(path).await.expect(200);
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "the manual one and this: {list}");
    let trigger = items
        .iter()
        .find(|one| one["spec"]["kind"] == "cron")
        .unwrap();
    let one = format!("{path}/{}", trigger["id"].as_str().unwrap());
    assert_eq!(&world.get(&one).await.expect(200), trigger);
    world.delete(&one).await.expect(200);
    world.get(&one).await.problem(404);
    let manual = items
        .iter()
        .find(|one| one["spec"]["kind"] == "manual")
        .unwrap();
    let manual = format!("{path}/{}", manual["id"].as_str().unwrap());
    world.delete(&manual).await.problem(422);
    for (wrong, named) in [
        (json!({ "kind": "cron", "expression": "0 0 30 2 *" }), "30"),
        (
            json!({ "kind": "cron", "expression": "0 9 * * *", "zone": "Mars" }),
            "Mars",
        ),
        (
            json!({ "kind": "at", "at": "2020-01-01T00:00:00Z" }),
            "2020",
        ),
    ] {
        assert!(
            world.post(path, wrong).await.problem(422).contains(named),
            "{named}"
        );
    }
}

pub(crate) async fn upcoming_runs_are_previewed_with_zone_and_offset(world: &World) {
    let asked = json!({
        "triggers": [{ "kind": "cron", "expression": "30 2 * * *" }],
        "zone": "Europe/Prague",
        "policies": { "quiet_hours": ["02:00-03:00"] },
        "count": 3,
    });
    let preview = world.post("/automations/preview", asked).await.expect(200);
    let fires = preview["upcoming_runs"].as_array().unwrap();
    assert_eq!(fires.len(), 3);
    assert_eq!(fires[0]["at"], "2026-11-22T01:30:00Z");
    assert_eq!(fires[0]["in_quiet_hours"], true);
    let list = world.get("/automations").await.expect(200);
    assert_eq!(list["items"], json!([]), "nothing was made");
    let daily = json!([{ "kind": "cron", "expression": "@daily" }]);
    for (asked, field) in [
        (json!({ "triggers": [] }), "triggers"),
        (json!({ "triggers": daily, "count": 0 }), "count"),
        (json!({ "triggers": daily, "count": 101 }), "count"),
    ] {
        let refused = world.post("/automations/preview", asked).await;
        assert_eq!(refused.expect(422)["field"], field);
    }
}

pub(crate) async fn retried_occurrence_is_listed_once(world: &World) {
    world.automation("daily").await;
    let first = world
        .post("/automations/daily/fire", json!({}))
        .await
        .expect(202);
    let run = format!("/runs/{}", first["id"].as_str().unwrap());
    let called = world
        .post(&format!("{run}/cancel"), json!({}))
        .await
        .expect(200);
    assert_eq!(called["status"], "cancelled");
    let again = world
        .post(&format!("{run}/retry"), json!({}))
        .await
        .expect(202);
    assert_eq!(again["attempt"], 2);
    let shown = world.get(&run).await.expect(200);
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 2);
    let runs = world.get("/runs?automation=daily").await.expect(200);
    assert_eq!(runs["items"].as_array().unwrap().len(), 1);
    let attempts = "/runs?automation=daily&all_attempts=true";
    let attempts = world.get(attempts).await.expect(200);
    assert_eq!(attempts["items"].as_array().unwrap().len(), 2);
    let occurrences = world
        .get("/automations/daily/occurrences")
        .await
        .expect(200);
    let items = occurrences["items"].as_array().unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["id"], again["id"]);
    let record = world.get(&format!("{run}/record")).await.expect(200);
    assert!(record.as_object().unwrap().contains_key("record"));
}

pub(crate) async fn replayed_webhook_fires_no_second_run(world: &World) {
    world.automation("daily").await;
    let hook = json!({ "kind": "webhook" });
    let path = "/automations/daily/triggers";
    let view = world.post(path, hook).await.expect(201);
    let triggers = view["triggers"].as_array().unwrap();
    let trigger = triggers.iter().find(|one| one["spec"]["kind"] == "webhook");
    let trigger = trigger.unwrap()["id"].as_str().unwrap();
    let detail = world
        .get(&format!("{path}/{trigger}/secret"))
        .await
        .expect(200);
    let secret: model::signing_secret::SigningSecret =
        detail["secret"].as_str().unwrap().parse().unwrap();
    let send = async |to: &str,
                      id: &str,
                      body: &str,
                      secret: &model::signing_secret::SigningSecret|
           -> Answer {
        let seconds = world.clock.now().as_microsecond() / 1_000_000;
        let signature = webhook::sign(secret, id, seconds, body.as_bytes());
        let request = Request::builder()
            .method("POST")
            .uri(to)
            .header("host", "localhost:7347")
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", signature);
        world
            .send(request.body(Body::from(body.to_owned())).unwrap())
            .await
    };
    let to = detail["path"].as_str().unwrap().to_owned();
    let received = send(&to, "msg_1", r#"{"a":1}"#, &secret).await.expect(202);
    assert_eq!(received["already_received"], false);
    let again = send(&to, "msg_1", r#"{"a":1}"#, &secret).await.expect(202);
    assert_eq!(again["already_received"], true);
    assert_eq!(again["run_id"], received["run_id"]);
    let run = format!("/runs/{}", received["run_id"].as_str().unwrap());
    let run = world.get(&run).await.expect(200);
    assert_eq!(run["trigger_id"], trigger);

    // During the overlap both secrets are valid; a foreign secret never is.
    let rotate = format!("{path}/{trigger}/rotate-secret");
    let rotated = world
        .post(&rotate, json!({ "overlap_seconds": 60 }))
        .await
        .expect(200);
    let new = rotated["secret"].as_str().unwrap().parse().unwrap();
    send(&to, "msg_2", "{}", &secret).await.expect(202);
    send(&to, "msg_3", "{}", &new).await.expect(202);
    world.clock.advance(std::time::Duration::from_secs(61));
    let refused = send(&to, "msg_4", "{}", &secret).await.problem(401);
    let nobodys = format!("/api/v1/webhooks/trg_{}", "0197".repeat(8));
    assert_eq!(
        send(&nobodys, "msg_5", "{}", &secret).await.problem(401),
        refused
    );
    let runs = world.get("/runs?automation=daily").await.expect(200);
    assert_eq!(runs["items"].as_array().unwrap().len(), 3);
}

pub(crate) async fn trigger_change_with_stale_etag_is_refused(world: &World) {
    world.automation("daily").await;
    let path = "/automations/daily/triggers";
    let tag = world.get("/automations/daily").await;
    let first = tag.header("etag").to_owned();
    let ask = async |method: &str, path: &str, body: Option<&Value>, tag: &str| {
        let headers = [("if-match", tag)];
        world
            .request_as(&world.admin, method, path, body, &headers)
            .await
    };
    let daily = json!({ "kind": "cron", "expression": "0 9 * * *" });
    let hourly = json!({ "kind": "cron", "expression": "0 * * * *" });
    let added = ask("POST", path, Some(&daily), &first).await;
    let view = added.expect(201);
    let shown = world.get("/automations/daily").await;
    assert_eq!(added.header("etag"), shown.header("etag"));
    assert_ne!(added.header("etag"), first);
    let triggers = view["triggers"].as_array().unwrap();
    let cron = triggers.iter().find(|one| one["spec"]["kind"] == "cron");
    let one = format!("{path}/{}", cron.unwrap()["id"].as_str().unwrap());

    let refused = ask("POST", path, Some(&hourly), &first).await;
    assert!(refused.problem(412).contains("If-Match"));
    ask("DELETE", &one, None, &first).await.problem(412);
    let now = world.get("/automations/daily").await;
    assert_eq!(now.header("etag"), added.header("etag"));
    let removed = ask("DELETE", &one, None, added.header("etag")).await;
    removed.expect(200);
    assert_eq!(removed.header("etag"), first);
    // Of two that have seen the same one wins.
    let (one, other) = tokio::join!(
        ask("POST", path, Some(&daily), &first),
        ask("POST", path, Some(&hourly), &first)
    );
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 412], "{} {}", one.text, other.text);
}

pub(crate) async fn dry_run_tells_next_run_and_stores_nothing(world: &World) {
    let stored = json!({
        "name": "standup", "prompt": "Look at the issues.", "agent": "good", "zone": "Europe/Prague",
        "session": "continuous",
        "triggers": [{ "kind": "cron", "expression": "30 2 * * *" }],
        "permissions": [{ "tool": "read", "verdict": "allow" }],
        "policies": { "budget": { "day": { "turns": 3 } } },
    });
    world.post("/automations", stored.clone()).await.expect(201);
    let dry = world.post("/automations/dry-run", json!({ "automation": "standup" }));
    let dry = dry.await.expect(200);
    assert_eq!(dry["agent"], "good");
    assert_eq!(dry["session"], Value::Null);
    assert_eq!(dry["session_mode"], "continuous");
    let prompt = dry["prompt"].as_str().unwrap();
    for part in [
        "Look at the issues.",
        "standup",
        "2026-11-22 02:30:00 +01:00",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert_eq!(dry["scheduled_for"], "2026-11-22T01:30:00Z");
    assert_eq!(dry["permissions"][0]["tool"], "read");
    assert_eq!(dry["on_unmatched"], "deny");
    assert_eq!(dry["usage"]["budget"]["day"]["turns"], 3);
    let change = &dry["clock_changes"][0];
    assert_eq!(
        (&change["is_gap"], &change["at"]),
        (&json!(true), &json!("2027-03-28T01:00:00Z"))
    );
    let text = "Sun 2027-03-28 has no 02:30, because clocks go forward; it runs at 03:00";
    assert_eq!(change["text"], text);

    // Another definition of it, and one of a new automation.
    let mut other = stored.clone();
    other["prompt"] = json!("Look elsewhere.");
    other["triggers"] = json!([{ "kind": "webhook" }]);
    let request = json!({ "automation": "standup", "definition": other });
    let dry = world
        .post("/automations/dry-run", request)
        .await
        .expect(200);
    assert!(dry["prompt"].as_str().unwrap().contains("Look elsewhere."));
    assert_eq!(dry["prompt_ref"]["id"], "webhook.received");
    assert_eq!(dry["clock_changes"], json!([]));
    let new = json!({ "prompt": "Sum up.", "agent": "good" });
    let request = json!({ "definition": new });
    let dry = world
        .post("/automations/dry-run", request)
        .await
        .expect(200);
    assert_eq!(dry["usage"], Value::Null);
    assert_eq!(dry["prompt_ref"]["id"], "automation.fire");
    let list = world.get("/automations").await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(list["items"][0]["triggers"].as_array().unwrap().len(), 2);

    let refused = world.post("/automations/dry-run", json!({})).await;
    assert!(refused.problem(422).contains("definition"));
    let bad = json!({ "definition": { "prompt": "x", "agent": "nobody" } });
    let refused = world.post("/automations/dry-run", bad).await;
    assert!(refused.problem(404).contains("`nobody`"));
}

pub(crate) async fn dry_run_of_definition_needs_permission_to_write(world: &World) {
    world.automation("standup").await;
    let viewer = world.token(Role::Viewer, None).await;
    let dry = |body: Value| {
        let viewer = viewer.clone();
        async move {
            let path = "/automations/dry-run";
            world
                .request_as(&viewer, "POST", path, Some(&body), &[])
                .await
        }
    };
    dry(json!({ "automation": "standup" })).await.expect(200);
    let definition = json!({ "prompt": "x", "agent": "good", "cwd": "/etc" });
    let refused = dry(json!({ "definition": definition })).await;
    assert!(refused.problem(403).contains("automations:write"));
}
