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

pub(crate) async fn tenant_trace_has_text_of_chosen_sessions_only(stage: &Stage) {
    let [one, two, other] = [
        stage.session().await,
        stage.session().await,
        stage.session().await,
    ];
    let mut runs = Vec::new();
    for session in [one, two, other] {
        let run = stage.send_message(session, "hello").await;
        stage.start(run).await;
        runs.push(run);
    }
    // The text from before the trace comes as well, also if it is longer than what the hub keeps.
    let piece = "0123456789".repeat(1000);
    for at in 0..40 {
        stage.write(runs[0], at * 10_000, &piece).await;
    }
    let replica = stage.replica().await;
    for hub in [&stage.hub(), &stage.hub_over(&replica)] {
        let texts = [one, two].into();
        let trace = hub.tenant_with_texts(stage.tenant, None, &texts).await;
        let mut client = Client::new(trace.unwrap());
        let mut length = 0;
        while length < 400_000 {
            let frame = client.next().await;
            assert_eq!((frame.id, frame.event.as_str()), (None, "delta"));
            assert_eq!(frame.data["run_id"], json!(runs[0]));
            assert_eq!(frame.data["position"], json!(length));
            length += frame.data["text"].as_str().unwrap().len();
        }
    }
    let texts = [one, two].into();
    let hub = stage.hub();
    let trace = hub.tenant_with_texts(stage.tenant, None, &texts).await;
    let mut client = Client::new(trace.unwrap());
    let mut seen = 0;
    while seen < 400_000 {
        seen += client.next().await.data["text"].as_str().unwrap().len();
    }
    stage.write(runs[2], 0, "of no interest").await;
    stage.write(runs[1], 0, "of interest").await;
    let frame = client.next().await;
    assert_eq!(
        frame.data,
        json!({ "kind": "delta", "run_id": runs[1], "position": 0, "text": "of interest" })
    );
    // Events of all sessions still come, each once, and the end has the whole text.
    for run in [runs[2], runs[1]] {
        stage.succeed(run, "whole").await;
        let frame = client.next().await;
        assert_eq!(frame.data["message"]["content"], "whole");
        let frame = client.next().await;
        assert_eq!(
            (&frame.data["run_id"], &frame.data["change"]["status"]),
            (&json!(run), &json!("succeeded"))
        );
    }
}

pub(crate) async fn tenant_trace_with_text_of_another_tenants_session_is_not_found(stage: &Stage) {
    let session = stage.session().await;
    let other = stage.store.ensure_tenant("other", stage.now()).await;
    let texts = [session].into();
    let refused = stage
        .hub()
        .tenant_with_texts(other.unwrap(), None, &texts)
        .await;
    assert!(matches!(refused, Err(store::Error::NotFound { .. })));
}

pub(crate) async fn tenant_trace_outlives_session_whose_text_it_has(stage: &Stage) {
    let [gone, stays] = [stage.session().await, stage.session().await];
    let texts = [gone, stays].into();
    let hub = stage.hub();
    let trace = hub.tenant_with_texts(stage.tenant, None, &texts).await;
    let mut client = Client::new(trace.unwrap());
    let deleted = stage
        .store
        .delete_session(stage.tenant, gone, false, stage.now());
    deleted.await.unwrap();
    let run = stage.send_message(stays, "hello").await;
    stage.start(run).await;
    stage.write(run, 0, "still here").await;
    loop {
        let frame = client.next().await;
        if frame.event == "delta" {
            assert_eq!(frame.data["text"], "still here");
            break;
        }
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
