//! Text of turns while it is written.

use model::{RunId, SessionId};
use serde_json::json;

use crate::stage::{Client, Frame, Stage};

/// Returns a session with a running turn, and a reader that has received its start.
async fn running(stage: &Stage) -> (SessionId, RunId) {
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await;
    stage.start(run).await;
    (session, run)
}

/// Reads text until it is as long as expected.
async fn read_text(client: &mut Client, run: RunId, length: usize) -> String {
    let mut text = String::new();
    while text.len() < length {
        let Frame { id, event, data } = client.next().await;
        assert_eq!((id, event.as_str()), (None, "delta"));
        assert_eq!(data["run_id"], json!(run));
        assert_eq!(data["position"], text.len());
        text.push_str(data["text"].as_str().unwrap());
    }
    text
}

pub(crate) async fn live_text_is_streamed_as_deltas(stage: &Stage) {
    let (session, run) = running(stage).await;
    let trace = stage.hub().session(stage.scope(), session, None).await;
    let mut client = Client::new(trace.unwrap());
    client.until("4").await;
    let (mut position, mut whole) = (0, String::new());
    for word in ["Grüße", ", ", "Welt\n", "…"] {
        stage.write(run, position, word).await;
        let frame = client.next().await;
        assert_eq!((frame.id, frame.event.as_str()), (None, "delta"));
        let delta = json!({
            "kind": "delta", "run_id": run, "position": position, "text": word,
        });
        assert_eq!(frame.data, delta);
        position += i64::try_from(word.len()).unwrap();
        whole.push_str(word);
    }
    stage.succeed(run, &whole).await;
    // The end contains the whole text, and no frame follows it.
    let end = client.next().await;
    assert_eq!(end.data["message"]["content"], whole);
    assert_eq!(client.next().await.data["change"]["status"], "succeeded");
    stage.send_message(session, "thanks").await;
    assert_eq!(client.next().await.event, "run");
}

pub(crate) async fn late_reader_gets_live_text_from_start(stage: &Stage) {
    let (session, run) = running(stage).await;
    let hub = stage.hub();
    let trace = hub.session(stage.scope(), session, Some(4)).await.unwrap();
    let mut first = Client::new(trace);
    // More than is kept of the newest.
    let piece = "0123456789".repeat(1000);
    let mut whole = String::new();
    for _ in 0..40 {
        stage
            .write(run, i64::try_from(whole.len()).unwrap(), &piece)
            .await;
        whole.push_str(&piece);
    }
    assert_eq!(read_text(&mut first, run, whole.len()).await, whole);
    for after in [Some(4), None] {
        let trace = hub.session(stage.scope(), session, after).await.unwrap();
        let mut late = Client::new(trace);
        if after.is_none() {
            late.until("4").await;
        }
        assert_eq!(read_text(&mut late, run, whole.len()).await, whole);
    }
    let fresh = stage.hub().session(stage.scope(), session, Some(4)).await;
    let mut fresh = Client::new(fresh.unwrap());
    assert_eq!(read_text(&mut fresh, run, whole.len()).await, whole);
    stage.write(run, 400_000, "more").await;
    for client in [&mut first, &mut fresh] {
        assert_eq!(client.next().await.data["text"], "more");
    }
}

pub(crate) async fn reader_on_another_replica_gets_live_text(stage: &Stage) {
    let other = stage.replica().await;
    let hub = stage.hub_over(&other);
    let session = stage.session().await;
    let trace = hub.session(stage.scope(), session, None).await.unwrap();
    let mut viewer = Client::new(trace);
    viewer.until("1").await;
    let run = stage.send_message(session, "hello").await;
    stage.start(run).await;
    viewer.until("4").await;
    stage.write(run, 0, "one ").await;
    assert_eq!(read_text(&mut viewer, run, 4).await, "one ");
    stage.write(run, 4, "two").await;
    assert_eq!(viewer.next().await.data["text"], "two");
    stage.succeed(run, "one two").await;
    assert_eq!(viewer.next().await.data["message"]["content"], "one two");
}
