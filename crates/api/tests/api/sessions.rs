//! Sessions.

use model::access::Role;
use serde_json::{Value, json};

use crate::world::World;

fn ids(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) async fn session_list_defaults_to_regular_type(world: &World) {
    let session = world.session().await;
    let slack = json!({
        "agent": "good",
        "session_key": "slack:C1:17",
        "channel": { "channel": "slack", "chat_id": "C1", "thread": "17" },
    });
    let slack = world.post("/sessions", slack).await.expect(201);
    assert_eq!(slack["type"], "channel_slack");
    assert_eq!(slack["channel"]["chat_id"], "C1");
    let automation = world.automation("daily").await;
    let automation = automation["id"].as_str().unwrap();
    let fired = world
        .post(&format!("/automations/{automation}/fire"), json!({}))
        .await
        .expect(202);
    let scheduled = fired["session_id"].as_str().unwrap();

    let regular = world.get("/sessions").await.expect(200);
    assert_eq!(ids(&regular), [session]);
    let all = world
        .get("/sessions?type=regular,channel_slack,schedule_cron")
        .await
        .expect(200);
    assert_eq!(ids(&all).len(), 3);
    let of = world.get("/sessions?automation=daily").await.expect(200);
    assert_eq!(ids(&of), [scheduled]);
    let of = world.get("/automations/daily/sessions").await.expect(200);
    assert_eq!(ids(&of), [scheduled]);
    let kind = world
        .get("/sessions?type=schedule_cron&kind=interactive")
        .await
        .expect(200);
    assert_eq!(ids(&kind), Vec::<String>::new());
    // A key names a session wherever one is named.
    let by_key = world.get("/sessions/slack:C1:17").await.expect(200);
    assert_eq!(by_key["id"], slack["id"]);
    world.get("/sessions?type=cron").await.problem(400);
}

pub(crate) async fn session_list_is_paginated(world: &World) {
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(world.session().await);
    }
    made.reverse();
    let mut read = Vec::new();
    let mut path = "/sessions?limit=2".to_owned();
    let mut pages = 0;
    loop {
        let page = world.get(&path).await.expect(200);
        read.extend(ids(&page));
        pages += 1;
        match page["next"].as_str() {
            Some(next) => path = format!("/sessions?limit=2&after={next}"),
            None => break,
        }
    }
    assert_eq!((read, pages), (made, 3));
    for wrong in ["limit=0", "limit=501", "limit=x", "order=title", "page=2"] {
        world.get(&format!("/sessions?{wrong}")).await.problem(400);
    }
    world.get("/sessions?after=x").await.problem(422);
}

pub(crate) async fn session_list_filters_by_text(world: &World) {
    world.session().await;
    let titled = json!({ "agent": "good", "title": "The 100% Plan" });
    let titled = world.post("/sessions", titled).await.expect(201);
    let id = titled["id"].as_str().unwrap();
    for text in ["100%25", "the%20100", id] {
        let found = world
            .get(&format!("/sessions?text={text}"))
            .await
            .expect(200);
        assert_eq!(ids(&found), [id], "{text}");
    }
    let none = world.get("/sessions?text=100_").await.expect(200);
    assert_eq!(ids(&none), Vec::<String>::new());
}

pub(crate) async fn invalid_session_transition_is_refused(world: &World) {
    let session = world.session().await;
    let moved = async |to: &str| {
        let path = format!("/sessions/{session}/{to}");
        world.post(&path, json!({ "reason": "because" })).await
    };
    assert_eq!(moved("pause").await.expect(200)["state"], "paused");
    assert!(moved("pause").await.problem(409).contains("paused"));
    let view = world.get(&format!("/sessions/{session}")).await.expect(200);
    assert_eq!(view["state_reason"], "because");
    assert_eq!(moved("resume").await.expect(200)["state"], "active");
    assert!(moved("archive").await.problem(409).contains("active"));
    assert_eq!(moved("complete").await.expect(200)["state"], "done");
    let said = json!({ "text": "One more" });
    let refused = world
        .post(&format!("/sessions/{session}/messages"), said)
        .await;
    assert!(refused.problem(409).contains("done"));
    assert_eq!(moved("archive").await.expect(200)["state"], "archived");
    assert!(moved("enable").await.problem(409).contains("archived"));
}

pub(crate) async fn inputs_to_draft_session_wait_until_enabled(world: &World) {
    let draft = json!({ "agent": "good", "draft": true });
    let draft = world.post("/sessions", draft).await.expect(201);
    assert_eq!(draft["state"], "draft");
    let path = format!("/sessions/{}", draft["id"].as_str().unwrap());
    let said = json!({ "text": "Later" });
    let run = world
        .post(&format!("{path}/messages"), said)
        .await
        .expect(202);
    assert_eq!(run["status"], "deferred");
    let waits = world.get(&path).await.expect(200);
    assert_eq!(waits["open_runs"][0]["blocked_on"]["for"], "session");
    let enabled = world.post(&format!("{path}/enable"), json!({})).await;
    assert_eq!(enabled.expect(200)["open_runs"][0]["status"], "queued");
}

pub(crate) async fn deletion_of_bound_session_requires_with_automations(world: &World) {
    let session = world.session().await;
    let bound = json!({
        "name": "standup", "prompt": "Look.", "session": format!("bound:{session}"),
    });
    let bound = world.post("/automations", bound).await.expect(201);
    let path = format!("/sessions/{session}");
    let blocked = world.delete(&path).await;
    let named = json!([{ "id": bound["id"], "name": "standup", "enabled": true }]);
    let blocked = blocked.expect(409);
    assert_eq!(blocked["kind"], "refused");
    assert_eq!(blocked["field"], "with_automations");
    assert_eq!(blocked["automations"], named);
    world.get(&path).await.expect(200);
    let consented = world.delete(&format!("{path}?with_automations=true")).await;
    assert_eq!(consented.expect(200)["deleted"], true);
    world.get(&path).await.problem(404);
    world.get("/automations/standup").await.problem(404);
}

pub(crate) async fn agent_in_use_is_removed_with_its_last_user(world: &World) {
    let session = world.session().await;
    let automation = world.automation("daily").await;
    let refused = world.delete("/agents/good").await;
    let detail = refused.problem(409);
    for part in ["`good`", "`daily`", &session] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
    let problem = refused.json();
    assert_eq!(problem["automations"][0]["id"], automation["id"]);
    assert_eq!(problem["sessions"][0]["id"], session.as_str());
    let member = world.token(Role::Member, None).await;
    let forbidden = world
        .request_as(&member, "DELETE", "/agents/good", None, &[])
        .await;
    assert!(forbidden.problem(403).contains("agents:write"));
    world.delete("/automations/daily").await.expect(200);
    world
        .post(&format!("/sessions/{session}/complete"), json!({}))
        .await
        .expect(200);
    let removed = world.delete("/agents/good").await.expect(200);
    assert_eq!(removed["name"], "good");
    world.delete("/agents/good").await.problem(404);
    world.get("/agents/good").await.problem(404);
    let body = json!({ "agent": "good" });
    let gone = world.post("/sessions", body).await;
    assert!(gone.problem(404).contains("agent `good` not found"));
    world.get(&format!("/sessions/{session}")).await.expect(200);
}

pub(crate) async fn session_edit_with_stale_etag_is_refused(world: &World) {
    let session = world.session().await;
    let path = format!("/sessions/{session}");
    let seen = world.get(&path).await;
    let tag = seen.header("etag").to_owned();
    let edit = async |title: &str, tag: &str| {
        let body = json!({ "title": title });
        world
            .request_as(
                &world.admin,
                "PATCH",
                &path,
                Some(&body),
                &[("if-match", tag)],
            )
            .await
    };
    let edited = edit("One", &tag).await;
    assert_eq!(edited.expect(200)["title"], "One");
    assert!(edit("Other", &tag).await.problem(412).contains("If-Match"));
    let again = edit("Other", edited.header("etag")).await;
    assert_eq!(again.expect(200)["title"], "Other");
    assert_eq!(edit("Any", "*").await.expect(200)["title"], "Any");
    // An absent field keeps its value, and null removes the title.
    for (body, title) in [
        (json!({}), json!("Any")),
        (json!({ "title": null }), json!(null)),
    ] {
        let patched = world
            .request_as(&world.admin, "PATCH", &path, Some(&body), &[])
            .await;
        assert_eq!(patched.expect(200)["title"], title, "{body}");
    }
}

pub(crate) async fn waiting_message_is_edited_with_its_etag(world: &World) {
    let session = world.session().await;
    let sent = json!({ "text": "Helo" });
    let path = format!("/sessions/{session}/messages");
    let sent = world.post(&path, sent).await.expect(202);
    let run = sent["id"].as_str().unwrap().to_owned();
    let path = format!("/runs/{run}");
    let tag = world.get(&path).await.header("etag").to_owned();
    let edit = async |body: Value, tag: &str| {
        let headers = [("if-match", tag)];
        let sent = world.request_as(&world.admin, "PATCH", &path, Some(&body), &headers);
        sent.await
    };
    let edited = edit(json!({ "content": "Hello" }), &tag).await;
    assert_eq!(edited.expect(200)["content"], "Hello");
    assert_eq!(world.get(&path).await.header("etag"), edited.header("etag"));
    let stale = edit(json!({ "content": "Hullo" }), &tag).await;
    assert!(stale.problem(412).contains("If-Match"));
    edit(json!({ "content": "" }), "*").await.problem(422);
    edit(json!({ "text": "Hello" }), "*").await.problem(400);
    world.take_turns(&session).await;
    let refused = edit(json!({ "content": "Hullo" }), edited.header("etag")).await;
    assert!(
        refused
            .problem(409)
            .contains("has succeeded, so it cannot be edited")
    );
    let read = world.get(&format!("/sessions/{session}/messages")).await;
    assert_eq!(read.expect(200)["items"][0]["content"], "Hello");
}

pub(crate) async fn transcript_is_read_backward_from_end_and_from_run(world: &World) {
    let session = world.session().await;
    let path = format!("/sessions/{session}");
    let mut runs = Vec::new();
    for words in ["One", "Two", "Three"] {
        let sent = json!({ "text": words });
        let run = world
            .post(&format!("{path}/messages"), sent)
            .await
            .expect(202);
        runs.push(run["id"].as_str().unwrap().to_owned());
    }
    world.take_turns(&session).await;
    let last = world
        .get(&format!("{path}/messages?last=1"))
        .await
        .expect(200);
    let previous = last["previous"].as_i64().unwrap();
    let earlier = format!("{path}/messages?before={previous}&limit=2");
    let earlier = world.get(&earlier).await.expect(200);
    assert_eq!(
        (
            &earlier["items"][0]["content"],
            &earlier["items"][1]["content"]
        ),
        (&json!("Done."), &json!("Three"))
    );
    assert_eq!(
        (&earlier["before"], &earlier["next"]),
        (&Value::Null, &Value::Null)
    );
    let previous = earlier["previous"].as_i64().unwrap();
    let start = format!("{path}/messages?before={previous}");
    let start = world.get(&start).await.expect(200);
    assert_eq!(start["items"].as_array().unwrap().len(), 3);
    assert_eq!(start["previous"], Value::Null);
    let from = format!("{path}/messages?from_run={}", runs[2]);
    let from = world.get(&from).await.expect(200);
    let before = format!("{path}/messages?before={}&limit=1", from["previous"]);
    let before = world.get(&before).await.expect(200);
    assert_eq!(before["items"][0]["content"], "Done.");
}

pub(crate) async fn session_is_read_replayed_and_exported(world: &World) {
    let session = world.session().await;
    let path = format!("/sessions/{session}");
    let mut runs = Vec::new();
    for words in ["One", "Two", "Three"] {
        let said = json!({ "text": words });
        let run = world
            .post(&format!("{path}/messages"), said)
            .await
            .expect(202);
        runs.push(run["id"].as_str().unwrap().to_owned());
    }
    world.take_turns(&session).await;

    let first = world
        .get(&format!("{path}/messages?limit=2"))
        .await
        .expect(200);
    assert_eq!(first["items"][0]["content"], "One");
    let next = first["next"].as_i64().unwrap();
    let rest = format!("{path}/messages?after={next}");
    let rest = world.get(&rest).await.expect(200);
    assert_eq!(rest["items"].as_array().unwrap().len(), 4);
    let last = world
        .get(&format!("{path}/messages?last=1"))
        .await
        .expect(200);
    assert_eq!(
        (&last["items"][0]["content"], &last["before"]),
        (&json!("Done."), &json!(5))
    );
    let from = format!("{path}/messages?from_run={}", runs[2]);
    let from = world.get(&from).await.expect(200);
    assert_eq!(from["items"][0]["content"], "Three");

    // Each run comes once, before its first row, however the pages lie.
    for limit in [1, 2, 4, 500] {
        let mut detail = Vec::new();
        let mut after = 0;
        loop {
            let part = format!("{path}/replay?after={after}&limit={limit}");
            let part = world.get(&part).await.expect(200);
            for item in part["items"].as_array().unwrap() {
                detail.push(match item["event"].as_str().unwrap() {
                    "run" => item["data"]["id"].as_str().unwrap().to_owned(),
                    _ => item["data"]["content"].as_str().unwrap().to_owned(),
                });
            }
            match part["next"].as_i64() {
                Some(next) => after = next,
                None => break,
            }
        }
        let [one, two, three] = &runs[..] else {
            unreachable!()
        };
        let order = [
            one, "One", "Done.", two, "Two", "Done.", three, "Three", "Done.",
        ];
        assert_eq!(detail, order, "limit {limit}");
    }

    let lines = world.get(&format!("{path}/export")).await;
    assert_eq!(lines.header("content-type"), "application/jsonl");
    let lines: Vec<Value> = lines
        .text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0]["format"], "matins.session");
    assert_eq!(lines[0]["session"]["id"], session);
    assert_eq!(lines[6]["content"], "Done.");
    let markdown = format!("{path}/export?format=markdown&zone=Europe/Prague");
    let markdown = world.get(&markdown).await;
    assert!(markdown.header("content-type").starts_with("text/markdown"));
    assert!(
        markdown
            .text
            .contains("## You, 2026-11-21 10:00:00 +01:00\n\nOne"),
        "{}",
        markdown.text
    );
    world
        .get(&format!("{path}/export?format=markdown&zone=Mars"))
        .await
        .problem(422);
}
