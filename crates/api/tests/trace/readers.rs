//! Readers that connect late, with a foreign cursor, or read slowly.

use std::time::Duration;

use api::trace::{Hub, TraceSettings};
use futures::StreamExt as _;
use model::{
    ApprovalId,
    approval::{ApprovalRequest, Decider},
    permission::Verdict,
    turn::WriteOutcome,
};
use serde_json::json;
use testkit::clock::SeededEntropy;

use crate::stage::{Client, Stage, ids};

pub(crate) async fn session_reader_behind_retention_gets_one_resync(stage: &Stage) {
    let session = stage.session().await;
    let over = stage.send_message(session, "hello").await;
    stage.start(over).await;
    stage.succeed(over, "Hi.").await;
    let last = stage.numbers(session).await.pop().unwrap();
    stage.trim_all().await;
    let open = stage.send_message(session, "and now?").await;
    let hub = stage.hub();
    let trace = hub.session(stage.scope(), session, Some(2)).await.unwrap();
    let mut client = Client::new(trace);
    let frame = client.next().await;
    assert_eq!(frame.event, "resync");
    let now: i64 = last.parse::<i64>().unwrap() + 1;
    assert_eq!(frame.id, Some(now.to_string()));
    assert_eq!(frame.data["last_seq"], now);
    assert_eq!(frame.data["session"]["id"], json!(session));
    assert_eq!(frame.data["runs"].as_array().unwrap().len(), 1);
    assert_eq!(frame.data["runs"][0]["id"], json!(open));
    // One snapshot, and then the next events.
    stage.send_message(session, "more").await;
    assert_eq!(client.next().await.id, Some((now + 1).to_string()));
    // A reader that has received every removed event has missed nothing.
    let after = last.parse().ok();
    let trace = hub.session(stage.scope(), session, after).await.unwrap();
    assert_eq!(Client::new(trace).next().await.event, "run");
    // Neither has a reader whose next event still exists.
    let trace = hub.session(stage.scope(), session, None).await.unwrap();
    assert_eq!(Client::new(trace).next().await.id, Some(now.to_string()));
}

pub(crate) async fn resync_has_pending_approvals(stage: &Stage) {
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await;
    stage.start(run).await;
    let ask = async |number: u64, title: &str| {
        let (now, worker) = (stage.now(), &stage.worker);
        let id = ApprovalId::generate(now, &SeededEntropy::new(number));
        let question = ApprovalRequest::new("execute", title, "1", None);
        let deadline = now + Duration::from_mins(1);
        let asked = stage
            .store
            .request_approval(run, worker, id, &question, deadline, now)
            .await;
        assert_eq!(asked.unwrap(), WriteOutcome::Committed);
        id
    };
    let decided = ask(1, "ls").await;
    let by = Decider {
        token: None,
        name: "me".into(),
    };
    let decide = async |id| {
        let (store, now) = (&stage.store, stage.now());
        let decided = store.decide_approval(stage.tenant, id, Verdict::Deny, &by, None, now);
        decided.await.unwrap();
    };
    decide(decided).await;
    let waits = ask(2, "rm").await;
    let hub = stage.hub();
    // The number was never assigned, so the reader gets a snapshot.
    let trace = hub.session(stage.scope(), session, Some(1_000)).await;
    let trace = trace.unwrap();
    let mut client = Client::new(trace);
    let frame = client.next().await;
    assert_eq!(frame.event, "resync");
    let waiting = frame.data["approvals"].as_array().unwrap();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!(waiting[0]["id"], json!(waits));
    assert_eq!(waiting[0]["title"], "rm");
    // Then the later events.
    decide(waits).await;
    let frame = client.next().await;
    assert_eq!(frame.event, "approval");
    assert_eq!(frame.data["approval_id"], json!(waits));
    assert_eq!(frame.data["change"]["state"], "denied");
    assert_eq!(frame.data["change"]["decided_by"], "me");
}

pub(crate) async fn cursor_beyond_log_gets_one_resync(stage: &Stage) {
    let session = stage.session().await;
    let hub = stage.hub();
    for after in [2, 1_000, i64::MAX] {
        let trace = hub.session(stage.scope(), session, Some(after)).await;
        let mut client = Client::new(trace.unwrap());
        let frame = client.next().await;
        let last = stage.numbers(session).await.pop();
        assert_eq!((frame.event.as_str(), &frame.id), ("resync", &last));
        stage.send_message(session, "hello").await;
        let next = last.unwrap().parse::<i64>().unwrap() + 1;
        assert_eq!(client.next().await.id, Some(next.to_string()));
    }
}

pub(crate) async fn slow_reader_misses_nothing_and_blocks_no_other(stage: &Stage) {
    let session = stage.session().await;
    let hub = stage.hub();
    let trace = hub.session(stage.scope(), session, None).await.unwrap();
    let mut slow = Client::new(trace);
    slow.until("1").await;
    let trace = hub.session(stage.scope(), session, None).await.unwrap();
    let mut quick = Client::new(trace);
    // More than is kept of the newest: it reads the rest in the table.
    for number in 2..=150 {
        stage.send_message(session, "hello").await;
        if number % 50 == 0 {
            quick.until(&number.to_string()).await;
        }
    }
    let log = stage.numbers(session).await;
    assert_eq!(ids(&slow.until("150").await), log[1..]);
}

pub(crate) async fn reader_over_client_timeout_is_dropped(stage: &Stage) {
    let session = stage.session().await;
    let settings = TraceSettings {
        heartbeat_interval: Duration::from_hours(1),
        client_timeout: Duration::from_millis(20),
    };
    let hub = Hub::new(stage.store.clone(), settings, stage.stop.clone());
    let mut trace = hub.session(stage.scope(), session, None).await.unwrap();
    assert!(trace.next().await.is_some());
    let away = tokio::time::Instant::now();
    while away.elapsed() <= Duration::from_millis(40) {
        stage.send_message(session, "hello").await;
    }
    assert_eq!(trace.next().await, None);
    // It comes again, and nothing is lost.
    let trace = stage.hub().session(stage.scope(), session, None).await;
    let log = stage.numbers(session).await;
    let read = Client::new(trace.unwrap()).until(log.last().unwrap()).await;
    assert_eq!(ids(&read), log);
}
