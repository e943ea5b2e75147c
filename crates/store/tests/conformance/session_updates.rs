//! Continued reading of many sessions at once.

use std::collections::HashMap;

use model::{RunId, SessionId, TenantId, turn::WriteOutcome};
use store::{LiveText, Scope};

use crate::{
    fixtures::{TestStore, id},
    stage::Stage,
};

impl Stage {
    async fn write_live_text(&self, run: RunId, position: i64, text: &str) {
        let written = self
            .store
            .append_live_text(run, &self.worker, position, text, self.now());
        assert_eq!(written.await.unwrap(), WriteOutcome::Committed);
    }

    /// Returns the joined live texts of turns, each from a position on.
    async fn live_texts(&self, runs: &[(RunId, i64)], limit: u32) -> HashMap<RunId, String> {
        let mut from: HashMap<RunId, i64> = runs.iter().copied().collect();
        let mut texts: HashMap<RunId, String> = HashMap::new();
        loop {
            let positions: Vec<(RunId, i64)> =
                from.iter().map(|(run, from)| (*run, *from)).collect();
            let pieces = self.store.live_texts(self.scope(), &positions, limit).await;
            let pieces: Vec<LiveText> = pieces.unwrap();
            if pieces.is_empty() {
                return texts;
            }
            for piece in pieces {
                assert_eq!(from.insert(piece.run, piece.end()), Some(piece.position));
                texts.entry(piece.run).or_default().push_str(&piece.text);
            }
        }
    }
}

pub(crate) async fn events_of_many_sessions_are_read_in_one_call(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut positions = Vec::new();
    for number in 0..70 {
        let session = stage.session().await;
        for _ in 0..number % 3 {
            stage.send_message(session, "hello").await;
        }
        positions.push((session, number % 2));
    }
    let run = stage.send_message(positions[0].0, "hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    let missing = SessionId::from_uuid(id());
    positions.push((missing, 0));
    let updates = stage
        .store
        .session_updates(stage.scope(), &positions, 4)
        .await;
    let updates = updates.unwrap();
    let found: HashMap<SessionId, _> = updates
        .iter()
        .map(|update| (update.session, update))
        .collect();
    assert_eq!(found.len(), 70);
    assert!(!found.contains_key(&missing));
    for (session, after) in &positions[..70] {
        let log = stage.store.events(stage.scope(), *session, *after, 4);
        let log = log.await.unwrap();
        let updates = found[session];
        let events: Vec<_> = updates
            .events
            .iter()
            .map(|entry| entry.event.clone())
            .collect();
        assert_eq!(events, log);
        let last = stage.store.session(stage.scope(), *session).await.unwrap();
        assert_eq!(updates.last_seq, last.last_seq);
    }
    let transcript = stage
        .store
        .messages(stage.scope(), positions[0].0, 0, 10)
        .await;
    let messages: Vec<_> = found[&positions[0].0]
        .events
        .iter()
        .map(|entry| entry.message.clone())
        .collect();
    assert_eq!(messages[..2], [None, None]);
    assert_eq!(messages[2].as_ref(), transcript.unwrap().first());
}

pub(crate) async fn session_updates_are_limited_to_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.write_live_text(run, 0, "secret").await;
    let other = stage
        .store
        .ensure_tenant("other", stage.now())
        .await
        .unwrap();
    let nobody = TenantId::from_uuid(id());
    for scope in [Scope::Tenant(other), Scope::Tenant(nobody)] {
        let store = &stage.store;
        let updates = store.session_updates(scope, &[(session, 0)], 9).await;
        assert_eq!(updates.unwrap(), []);
        assert!(
            store
                .running_turns(scope, &[session])
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(store.live_texts(scope, &[(run, 0)], 9).await.unwrap(), []);
    }
    let scope = Scope::System;
    let running = stage.store.running_turns(scope, &[session]).await.unwrap();
    assert_eq!(running, HashMap::from([(session, vec![run])]));
    stage.succeed(run).await;
    let running = stage.store.running_turns(scope, &[session]).await.unwrap();
    assert!(running.is_empty(), "the turn has ended");
}

pub(crate) async fn live_texts_of_many_runs_are_read_in_one_call(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut runs = Vec::new();
    for number in 0..3 {
        let run = stage
            .send_message(stage.session().await, "hello")
            .await
            .run_id;
        stage.start(run).await;
        for (piece, position) in ["one", "zwei", "drei…"].iter().zip([0, 4, 9]) {
            stage
                .write_live_text(run, position, &format!("{piece}{number}"))
                .await;
        }
        runs.push(run);
    }
    let positions: Vec<_> = runs
        .iter()
        .zip([0, 2, 4])
        .map(|(run, from)| (*run, from))
        .collect();
    for limit in [1, 2, 100] {
        let texts = stage.live_texts(&positions, limit).await;
        assert_eq!(texts[&runs[0]], "one0zwei0drei…0");
        assert_eq!(texts[&runs[1]], "e1zwei1drei…1");
        assert_eq!(texts[&runs[2]], "zwei2drei…2");
    }
}

pub(crate) async fn grown_live_text_is_read_from_middle(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let run = stage
        .send_message(stage.session().await, "hello")
        .await
        .run_id;
    stage.start(run).await;
    stage.write_live_text(run, 0, "a").await;
    stage.write_live_text(run, 1, "bä").await;
    let read = stage.live_texts(&[(run, 0)], 10).await;
    assert_eq!(read[&run], "abä");
    // The writer sends a piece again if it does not know whether it was written, together with the text that followed.
    stage.write_live_text(run, 1, "bäcd").await;
    stage.write_live_text(run, 6, "e").await;
    let rest = stage.live_texts(&[(run, 4)], 10).await;
    assert_eq!(rest[&run], "cde");
    assert!(stage.live_texts(&[(run, 7)], 10).await.is_empty());
    assert!(stage.live_texts(&[(run, 700)], 10).await.is_empty());
}
