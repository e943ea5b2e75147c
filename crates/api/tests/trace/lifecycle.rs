//! The start, the events and the end of traces.

use std::time::Duration;

use api::trace::{Hub, TraceSettings};
use model::TenantId;
use serde_json::json;
use store::{Error, Scope};

use crate::stage::{Client, Stage, ids};

pub(crate) async fn trace_streams_new_events(stage: &Stage) {
    let session = stage.session().await;
    let trace = stage.hub().session(stage.scope(), session, None).await;
    let mut client = Client::new(trace.unwrap());
    let first = client.chunk().await.unwrap();
    assert_eq!(first, "retry: 2000\n\n");
    assert_eq!(client.next().await.event, "session");
    // Each is read before the next is there: they come through the wake-up.
    let run = stage.send_message(session, "hello").await;
    let frame = client.next().await;
    assert_eq!(
        (frame.id.as_deref(), frame.event.as_str()),
        (Some("2"), "run")
    );
    assert_eq!(frame.data["change"]["status"], "queued");
    assert_eq!(frame.data["run_id"], run.to_string());
    stage.start(run).await;
    let frame = client.next().await;
    assert_eq!(
        (frame.id.as_deref(), frame.event.as_str()),
        (Some("3"), "message")
    );
    // A message needs no other request.
    assert_eq!(frame.data["message"]["content"], "hello");
    assert_eq!(client.next().await.data["change"]["status"], "running");
    stage.succeed(run, "Done\nat last.").await;
    assert_eq!(
        client.next().await.data["message"]["content"],
        "Done\nat last."
    );
    let frame = client.next().await;
    assert_eq!(
        frame.data,
        json!({
            "kind": "run",
            "seq": 6,
            "created_at": stage.log(session).await[5].created_at,
            "session_id": session,
            "automation_id": null,
            "run_id": run,
            "change": { "status": "succeeded", "attempt": 1 },
        })
    );
}

pub(crate) async fn many_readers_get_same_events(stage: &Stage) {
    let session = stage.session().await;
    let hub = stage.hub();
    let other = stage.replica().await;
    let elsewhere = stage.hub_over(&other);
    let mut tabs = Vec::new();
    for number in 0..100 {
        let hub = if number % 10 == 0 { &elsewhere } else { &hub };
        let trace = hub.session(stage.scope(), session, Some(0)).await;
        tabs.push(Client::new(trace.unwrap()));
        stage.send_message(session, "hello").await;
    }
    let log = stage.numbers(session).await;
    assert_eq!(log.len(), 101);
    for tab in &mut tabs {
        assert_eq!(ids(&tab.until("101").await), log);
    }
}

pub(crate) async fn idle_trace_sends_heartbeat_comments(stage: &Stage) {
    let session = stage.session().await;
    let settings = TraceSettings {
        heartbeat_interval: Duration::from_millis(5),
        ..TraceSettings::default()
    };
    let hub = Hub::new(stage.store.clone(), settings, stage.stop.clone());
    let trace = hub.session(stage.scope(), session, Some(1)).await.unwrap();
    let mut client = Client::new(trace);
    assert_eq!(client.chunk().await.unwrap(), "retry: 2000\n\n");
    for _ in 0..3 {
        assert_eq!(client.chunk().await.unwrap(), ": \n\n");
    }
    stage.send_message(session, "hello").await;
    assert_eq!(client.next().await.id.as_deref(), Some("2"));
}

pub(crate) async fn server_stop_ends_all_traces(stage: &Stage) {
    let session = stage.session().await;
    let hub = stage.hub();
    let mut clients = Vec::new();
    for _ in 0..3 {
        let trace = hub.session(stage.scope(), session, None).await.unwrap();
        let mut client = Client::new(trace);
        client.until("1").await;
        clients.push(client);
    }
    let trace = hub.tenant(stage.tenant, None).await.unwrap();
    clients.push(Client::new(trace));
    stage.stop.cancel();
    for client in &mut clients {
        assert_eq!(client.try_next().await, None);
    }
}

pub(crate) async fn session_deletion_ends_its_trace(stage: &Stage) {
    let session = stage.session().await;
    let hub = stage.hub();
    let mut early = Client::new(hub.session(stage.scope(), session, None).await.unwrap());
    early.until("1").await;
    let mut late = Client::new(hub.session(stage.scope(), session, None).await.unwrap());
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    deleted.await.unwrap();
    for client in [&mut early, &mut late] {
        let last = client.next().await;
        assert_eq!((last.id, last.event.as_str()), (None, "session_deleted"));
        let deleted = json!({ "kind": "session_deleted", "session_id": session });
        assert_eq!(last.data, deleted);
        assert_eq!(client.try_next().await, None);
    }
    let gone = hub.session(stage.scope(), session, None).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })));
}

pub(crate) async fn trace_of_another_tenant_is_not_found(stage: &Stage) {
    let session = stage.session().await;
    let automation = stage.automation().await;
    let other = stage.store.ensure_tenant("other", stage.now()).await;
    let other: TenantId = other.unwrap();
    let hub = stage.hub();
    let refused = hub.session(Scope::Tenant(other), session, Some(0)).await;
    assert!(matches!(refused, Err(Error::NotFound { .. })));
    let refused = hub.automation(other, automation, None).await;
    assert!(matches!(refused, Err(Error::NotFound { .. })));
}
