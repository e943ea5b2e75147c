//! Traces of a tenant and of an automation.

use api::trace::feed_cursor;
use model::feed::FeedCursor;
use serde_json::json;

use crate::stage::{Client, Stage, ids};

pub(crate) async fn tenant_trace_has_each_event_once(stage: &Stage) {
    let before = stage.session().await;
    let hub = stage.hub();
    let other = stage.replica().await;
    let mut clients = Vec::new();
    for hub in [&hub, &stage.hub_over(&other)] {
        let all = hub.tenant(stage.tenant, Some(FeedCursor::START)).await;
        clients.push(Client::new(all.unwrap()));
    }
    let two = stage.session().await;
    let run = stage.send_message(before, "hello").await;
    stage.send_message(two, "hello").await;
    let automation = stage.automation().await;
    stage.start(run).await;
    stage.succeed(run, "Hi.").await;
    let mut seen = Vec::new();
    for client in &mut clients {
        let mut frames = Vec::new();
        while frames.len() < 9 {
            frames.push(client.next().await);
        }
        seen.push(frames);
    }
    assert_eq!(seen[0], seen[1]);
    let frames = &seen[0];
    for session in [before, two] {
        let of_session = frames
            .iter()
            .filter(|one| one.data["session_id"] == json!(session));
        let numbers: Vec<_> = of_session.map(|one| one.data["seq"].to_string()).collect();
        assert_eq!(numbers, stage.numbers(session).await);
    }
    let own = frames.iter().find(|one| one.event == "automation").unwrap();
    assert_eq!(own.data["automation_id"], json!(automation));
    assert_eq!(own.data["change"]["action"], "created");
    let says = |frame: &&crate::stage::Frame| frame.data["message"]["content"] == "Hi.";
    assert_eq!(frames.iter().filter(says).count(), 1);
    // A client that reconnects at any cursor continues there.
    let all = ids(frames);
    for (at, id) in all.iter().enumerate().take(8) {
        let after = feed_cursor(Some(id), None).unwrap();
        let trace = hub.tenant(stage.tenant, after).await.unwrap();
        let rest = Client::new(trace).until(&all[8]).await;
        assert_eq!(ids(&rest), all[at + 1..]);
    }
}

pub(crate) async fn automation_trace_has_only_its_events(stage: &Stage) {
    let automation = stage.automation().await;
    let other = stage.session().await;
    let hub = stage.hub();
    let start = Some(FeedCursor::START);
    let trace = hub.automation(stage.tenant, automation, start).await;
    let mut client = Client::new(trace.unwrap());
    let created = client.next().await;
    assert_eq!(created.event, "automation");
    stage.send_message(other, "nothing of it").await;
    let fired = stage
        .store
        .fire_automation(stage.tenant, automation, None, stage.now());
    let run = fired.await.unwrap().run_id;
    assert_eq!(client.next().await.event, "session");
    let frame = client.next().await;
    assert_eq!(
        (frame.event.as_str(), &frame.data["run_id"]),
        ("run", &json!(run))
    );
    assert_eq!(frame.data["automation_id"], json!(automation));
    let scope = stage.scope();
    let paused = stage
        .store
        .pause_automation(scope, automation, "lunch", stage.now());
    paused.await.unwrap();
    let frame = client.next().await;
    assert_eq!(
        frame.data["change"],
        json!({ "action": "paused", "reason": "lunch" })
    );
}

pub(crate) async fn feed_reader_behind_retention_gets_one_resync(stage: &Stage) {
    let session = stage.session().await;
    let hub = stage.hub();
    let trace = hub.tenant(stage.tenant, Some(FeedCursor::START)).await;
    let mut early = Client::new(trace.unwrap());
    early.next().await;
    stage.trim_all().await;
    let mut open = Vec::new();
    for after in [FeedCursor::START, FeedCursor::before(i64::MAX)] {
        let trace = hub.tenant(stage.tenant, Some(after)).await.unwrap();
        let mut client = Client::new(trace);
        let frame = client.next().await;
        assert_eq!(frame.event, "feed_resync");
        assert_eq!(frame.data["cursor"], frame.id.clone().unwrap());
        let runs = frame.data["runs"].as_array().unwrap();
        let runs: Vec<_> = runs.iter().map(|run| run["id"].clone()).collect();
        assert_eq!(runs, open, "the runs under way");
        assert_eq!(frame.data["approvals"], json!([]));
        let run = stage.send_message(session, "hello").await;
        open.push(json!(run));
        for client in [&mut client, &mut early] {
            let frame = client.next().await;
            assert_eq!(frame.data["run_id"], json!(run));
        }
        // From the place that it was given it goes on.
        let after = feed_cursor(None, frame.id.as_deref()).unwrap();
        let trace = hub.tenant(stage.tenant, after).await.unwrap();
        assert_eq!(Client::new(trace).next().await.data["run_id"], json!(run));
    }
}
