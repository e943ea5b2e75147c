//! Runs turns as a worker does, so that tests have a transcript to read.

use std::time::Duration;

use model::{
    AcpSessionId, InstanceId, MessageId, RunId, WorkerId,
    outcome::{Outcome, StopReason},
    turn::{Assignment, Entry, EntryKind, Role, StartReply, TurnResult, WriteOutcome},
};
use serde_json::{Value, json};
use testkit::clock::SeededEntropy;

use crate::world::World;

fn worker() -> WorkerId {
    WorkerId::from_stored("host-1-aaaaaaaa".into())
}

impl World {
    /// Sends a message to a session and returns the run.
    pub(crate) async fn send_message(&self, session: &str, words: &str) -> RunId {
        self.advance_clock();
        self.service
            .send_message(session, words, None)
            .await
            .unwrap()
            .id
    }

    /// Claims a run and begins its turn.
    pub(crate) async fn begin_turn(&self, run: RunId) {
        self.begin_with_assignment(run).await;
    }

    /// Claims a run, begins its turn and returns the assignment.
    pub(crate) async fn begin_with_assignment(&self, run: RunId) -> Assignment {
        let now = self.advance_clock();
        let here = InstanceId::from_uuid(uuid::Uuid::from_u128(1));
        let registered = self.store.register_instance(self.tenant, here, "host", now);
        registered.await.unwrap();
        let claimed = self.store.claim(&worker(), here, 1, Some(run), now).await;
        assert_eq!(claimed.unwrap().len(), 1, "{run} cannot be claimed");
        let begun = self
            .store
            .begin(run, &worker(), here, now, None)
            .await
            .unwrap();
        let StartReply::Started(assignment) = begun else {
            panic!("{begun:?}")
        };
        *assignment
    }

    /// Writes rows of a run's transcript, each a tool call with a title.
    pub(crate) async fn record_tool_calls(&self, run: RunId, titles: &[&str]) {
        let fact = json!({ "tool_kind": "execute", "status": "completed" });
        self.record(run, Role::Tool, EntryKind::ToolCall, titles, &fact)
            .await;
    }

    /// Writes a tool call that began and perhaps ended.
    pub(crate) async fn record_timed_tool_call(&self, run: RunId, title: &str, times: [&str; 2]) {
        let [start, end] = times;
        let fact = json!({ "tool_kind": "edit", "status": "failed", "started_at": start, "ended_at": end });
        self.record(run, Role::Tool, EntryKind::ToolCall, &[title], &fact)
            .await;
    }

    /// Writes a thought of the agent.
    pub(crate) async fn record_thought(&self, run: RunId, text: &str) {
        let none = json!({});
        self.record(run, Role::Assistant, EntryKind::Thought, &[text], &none)
            .await;
    }

    async fn record(&self, run: RunId, role: Role, kind: EntryKind, texts: &[&str], facts: &Value) {
        let now = self.advance_clock();
        let seed = u64::try_from(now.as_microsecond()).unwrap();
        let ids = SeededEntropy::new(seed);
        let entries: Vec<Entry> = texts
            .iter()
            .map(|text| Entry {
                id: MessageId::generate(now, &ids),
                role,
                kind,
                content: (*text).into(),
                metadata: facts.clone(),
            })
            .collect();
        let recorded = self.store.record(run, &worker(), &entries, now).await;
        assert_eq!(recorded.unwrap(), WriteOutcome::Committed);
    }

    /// Ends a turn with an answer.
    pub(crate) async fn finish_with_answer(&self, run: RunId, text: &str) {
        let finished = TurnResult {
            answer: text.into(),
            acp_session_id: Some(AcpSessionId::new("memory-1")),
            turn_ended: true,
            ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
        };
        let now = self.advance_clock();
        let settled = self.store.finish(run, &worker(), &finished, now).await;
        assert_eq!(settled.unwrap(), WriteOutcome::Committed);
    }

    /// Advances the clock by a millisecond, so that later IDs sort later.
    fn advance_clock(&self) -> model::Timestamp {
        self.clock.advance(Duration::from_millis(1))
    }
}
