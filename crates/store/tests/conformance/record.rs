//! The writes of a running turn, and their fence.

use model::{
    MessageId, RunId, WorkerId,
    turn::{Entry, EntryKind, Role, WriteOutcome},
};
use serde_json::json;
use store::{Error, Scope};

use crate::{
    event_summary::subject_id,
    fixtures::TestStore,
    stage::{Stage, answer},
};

fn tool_call(state: &str) -> Entry {
    Entry {
        id: MessageId::from_uuid(crate::fixtures::id()),
        role: Role::Tool,
        kind: EntryKind::ToolCall,
        content: "Read mail".into(),
        metadata: json!({ "state": state }),
    }
}

impl Stage {
    async fn record(&self, run: RunId, entry: &Entry) -> WriteOutcome {
        let entries = std::slice::from_ref(entry);
        let written = self.store.record(run, &self.worker, entries, self.now());
        written.await.unwrap()
    }

    async fn write(&self, run: RunId, position: i64, text: &str) -> WriteOutcome {
        let written = self
            .store
            .append_live_text(run, &self.worker, position, text, self.now());
        written.await.unwrap()
    }

    pub(crate) async fn live(&self, run: RunId, from: i64) -> (String, i64) {
        self.store.live_text(self.scope(), run, from).await.unwrap()
    }
}

pub(crate) async fn write_of_unstarted_or_ended_attempt_is_fenced(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    assert_eq!(
        stage.record(run, &tool_call("new")).await,
        WriteOutcome::Fenced
    );
    stage.start(run).await;
    let other = WorkerId::from_stored("host-2-bbbbbbbb".into());
    let entries = [tool_call("new")];
    let written = stage.store.record(run, &other, &entries, stage.now());
    assert_eq!(written.await.unwrap(), WriteOutcome::Fenced);
    stage.succeed(run).await;
    let before = stage.transcript(session).await;
    assert_eq!(
        stage.record(run, &tool_call("new")).await,
        WriteOutcome::Fenced
    );
    assert_eq!(stage.write(run, 0, "more").await, WriteOutcome::Fenced);
    assert_eq!(
        stage.finish(run, &answer("again")).await,
        WriteOutcome::Fenced
    );
    assert_eq!(stage.transcript(session).await, before);
    assert_eq!(db.count(Scope::System, "run_live").await, 0);
}

pub(crate) async fn stalled_attempt_cannot_finish(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    let before = stage.transcript(session).await;
    assert_eq!(
        stage.finish(run, &answer("late")).await,
        WriteOutcome::Fenced
    );
    assert_eq!(
        stage.record(run, &tool_call("late")).await,
        WriteOutcome::Fenced
    );
    assert_eq!(stage.write(run, 0, "late").await, WriteOutcome::Fenced);
    assert_eq!(stage.transcript(session).await, before);
}

pub(crate) async fn repeated_entry_replaces_its_row(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    let mut call = tool_call("pending");
    assert_eq!(stage.record(run, &call).await, WriteOutcome::Committed);
    call.metadata = json!({ "state": "done" });
    assert_eq!(stage.record(run, &call).await, WriteOutcome::Committed);
    let rows = stage.store.messages(stage.scope(), session, 0, 10);
    let rows = rows.await.unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].id, call.id);
    assert_eq!(rows[1].kind, EntryKind::ToolCall);
    assert_eq!(rows[1].metadata, json!({ "state": "done" }));
    // Both writes are in the log, so that viewers read the row again.
    let events = stage.store.events(stage.scope(), session, 0, 100);
    let events = events.await.unwrap();
    let id = call.id.to_string();
    let of_call = events
        .iter()
        .filter(|event| subject_id(&event.change) == id);
    assert_eq!(of_call.count(), 2);
}

pub(crate) async fn entry_of_other_run_cannot_be_replaced(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, two) = (stage.session().await, stage.session().await);
    let first = stage.send_message(one, "hello").await.run_id;
    let second = stage.send_message(two, "hello").await.run_id;
    stage.start(first).await;
    stage.start(second).await;
    let mut call = tool_call("pending");
    assert_eq!(stage.record(first, &call).await, WriteOutcome::Committed);
    call.content = "stolen".into();
    let entries = [call];
    let written = stage
        .store
        .record(second, &stage.worker, &entries, stage.now());
    let refused = written.await.unwrap_err();
    assert!(matches!(refused, Error::NameTaken { .. }), "{refused:?}");
    assert_eq!(
        stage.transcript(one).await.last().unwrap(),
        "tool: Read mail"
    );
}

pub(crate) async fn live_text_is_read_from_any_position(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    assert_eq!(stage.live(run, 0).await, (String::new(), 0));
    assert_eq!(stage.write(run, 0, "naïve ").await, WriteOutcome::Committed);
    assert_eq!(stage.write(run, 7, "text").await, WriteOutcome::Committed);
    // A repeated write, as after a lost response.
    assert_eq!(stage.write(run, 7, "text").await, WriteOutcome::Committed);
    assert_eq!(stage.live(run, 0).await, ("naïve text".into(), 11));
    assert_eq!(stage.live(run, 7).await, ("text".into(), 11));
    assert_eq!(stage.live(run, 9).await, ("xt".into(), 11));
    assert_eq!(stage.live(run, 2).await, ("ïve text".into(), 11));
    assert_eq!(stage.live(run, 11).await, (String::new(), 11));
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    let theirs = stage.store.live_text(other, run, 0).await.unwrap();
    assert_eq!(theirs, (String::new(), 0));
    stage.succeed(run).await;
    assert_eq!(stage.live(run, 0).await, (String::new(), 0));
}
