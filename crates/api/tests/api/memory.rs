//! The memory of automations and sessions.

use model::access::{Permission, Role};
use serde_json::{Value, json};

use crate::world::{Answer, World};

impl World {
    /// Sends a PUT of an admin.
    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        let token = self.token(Role::Admin, None).await;
        self.request_as(&token, "PUT", path, Some(&body), &[]).await
    }
}

pub(crate) async fn memory_entries_are_set_listed_shown_and_deleted(world: &World) {
    world.automation("digest").await;
    let session = world.session().await;
    for owner in [
        "/automations/digest".to_owned(),
        format!("/sessions/{session}"),
    ] {
        let memory = format!("{owner}/memory");
        // A key may have characters that a path gives a meaning.
        let entry = format!("{memory}/build%2Flast%20one");
        let set = world
            .put(&entry, json!({ "value": "green" }))
            .await
            .expect(200);
        assert_eq!(set["key"], "build/last one");
        assert_eq!(
            (&set["confidence"], &set["version"]),
            (&json!(1.0), &json!(1))
        );
        assert_eq!(set["unconfirmed"], false);
        assert_eq!(set["run_id"], Value::Null);
        let body =
            json!({ "value": "red", "confidence": 0.5, "expires_at": "2999-01-01T00:00:00Z" });
        let set = world.put(&entry, body).await.expect(200);
        assert_eq!((&set["version"], &set["value"]), (&json!(2), &json!("red")));
        world
            .put(&format!("{memory}/a"), json!({ "value": "One" }))
            .await
            .expect(200);
        let page = world.get(&format!("{memory}?limit=1")).await.expect(200);
        assert_eq!(page["items"][0]["key"], "a");
        let next = page["next"].as_str().unwrap();
        let page = world
            .get(&format!("{memory}?after={next}"))
            .await
            .expect(200);
        assert_eq!(page["items"][0]["key"], "build/last one");
        assert_eq!(page["next"], Value::Null);
        let found = world.get(&format!("{memory}?text=one")).await.expect(200);
        assert_eq!(
            found["items"].as_array().unwrap().len(),
            2,
            "in a key and in a value"
        );
        assert_eq!(world.get(&entry).await.expect(200), set);
        assert_eq!(world.delete(&entry).await.expect(200), set);
        world.get(&entry).await.expect(404);
        world.delete(&entry).await.expect(404);
    }
}

pub(crate) async fn memory_edit_with_stale_etag_is_refused(world: &World) {
    world.automation("digest").await;
    let session = world.session().await;
    for owner in [
        "/automations/digest".to_owned(),
        format!("/sessions/{session}"),
    ] {
        let entry = format!("{owner}/memory/build");
        let send = async |method: &'static str, body: Option<Value>, tag: &str| {
            let headers = [("if-match", tag)];
            let sent = world.request_as(&world.admin, method, &entry, body.as_ref(), &headers);
            sent.await
        };
        let value = |value: &str| Some(json!({ "value": value }));
        // No tag matches an entry that does not exist.
        send("PUT", value("none"), "*").await.problem(412);
        send("DELETE", None, "*").await.problem(412);
        let set = world.put(&entry, json!({ "value": "green" })).await;
        set.expect(200);
        let first = world.get(&entry).await.header("etag").to_owned();
        assert_eq!(set.header("etag"), first);
        let set = send("PUT", value("red"), &first).await;
        assert_eq!(set.expect(200)["version"], 2);
        let second = set.header("etag").to_owned();
        // An end is a part of the entry, too.
        let with_end = json!({ "value": "red", "expires_at": "2999-01-01T00:00:00Z" });
        let set = send("PUT", Some(with_end), &second).await;
        assert_eq!(set.expect(200)["version"], 2);
        for stale in [&first, &second] {
            let refused = send("PUT", value("late"), stale).await;
            assert!(refused.problem(412).contains("If-Match"));
            let refused = send("DELETE", None, stale).await;
            assert!(refused.problem(412).contains("If-Match"));
        }
        assert_eq!(world.get(&entry).await.expect(200)["value"], "red");
        let third = set.header("etag").to_owned();
        send("DELETE", None, &third).await.expect(200);
        world.get(&entry).await.expect(404);
        // Another entry under the same key has another tag, although its content and its version are those of the first.
        let again = world.put(&entry, json!({ "value": "green" })).await;
        assert_eq!(again.expect(200)["version"], 1);
        assert_ne!(again.header("etag"), first);
        let refused = send("PUT", value("late"), &first).await;
        assert!(refused.problem(412).contains("If-Match"));
        let fourth = again.header("etag").to_owned();
        send("PUT", value("red"), &fourth).await.expect(200);
    }
}

pub(crate) async fn invalid_memory_entry_is_refused_with_field(world: &World) {
    world.automation("digest").await;
    let memory = "/automations/digest/memory";
    for (key, body, problem) in [
        ("a", json!({}), "value"),
        (
            "a",
            json!({ "value": "x".repeat(16385) }),
            "it has 16385 bytes, accepted are up to 16384",
        ),
        (
            "a",
            json!({ "value": "x", "confidence": 1.5 }),
            "invalid confidence `1.5`: accepted are numbers from 0 to 1",
        ),
        (
            "a",
            json!({ "value": "x", "expires_at": "2001-01-01T00:00:00Z" }),
            "it is past; accepted is a later instant",
        ),
        ("a", json!({ "value": "x", "ttl": 3 }), "ttl"),
        (
            "%20a",
            json!({ "value": "x" }),
            "accepted are 1 to 200 bytes on one line",
        ),
    ] {
        let answer = world.put(&format!("{memory}/{key}"), body).await;
        let status = if problem == "value" || problem == "ttl" {
            400
        } else {
            422
        };
        let detail = answer.problem(status);
        assert!(detail.contains(problem), "{detail}");
    }
    let long = "x".repeat(201);
    world
        .get(&format!("{memory}?text={long}"))
        .await
        .problem(422);
    world.get("/automations/nothing/memory").await.expect(404);
    world.get("/sessions/nothing/memory").await.expect(404);
    assert_eq!(world.get(memory).await.expect(200)["items"], json!([]));
}

pub(crate) async fn memory_needs_permissions_of_its_owner(world: &World) {
    world.automation("digest").await;
    let session = world.session().await;
    let reader = world
        .token(Role::Member, Some(&[Permission::SessionsRead]))
        .await;
    let body = json!({ "value": "x" });
    let of_session = format!("/sessions/{session}/memory");
    let list = |path: String| {
        let reader = reader.clone();
        async move { world.request_as(&reader, "GET", &path, None, &[]).await }
    };
    list(of_session.clone()).await.expect(200);
    list("/automations/digest/memory".to_owned())
        .await
        .expect(403);
    let entry = format!("{of_session}/a");
    let set = world.request_as(&reader, "PUT", &entry, Some(&body), &[]);
    set.await.expect(403);
    // Another tenant finds no owner.
    let other = world.other_tenant("other").await;
    let answer = world.request_as(&other, "GET", &of_session, None, &[]);
    answer.await.expect(404);
}
