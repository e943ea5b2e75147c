//! Sessions: their life, and the effect of pausing and closing on waiting runs.

pub(crate) mod seats;

use model::{
    entity::Channel,
    event::{Change, SessionChange},
    lifecycle::Lifecycle as _,
    outcome::FailureKind,
    policy::{Overlap, SessionMode},
    run::RunStatus::{Cancelled, Deferred, Queued, Running, Succeeded},
    session::{SessionEvent, SessionStatus},
    turn::StartReply,
};
use store::{Error, Scope, SessionEdit, params};

pub(crate) use seats::seats_are_created_at_once;

use crate::{fixtures::TestStore, stage::Stage};

async fn force(db: &TestStore, state: SessionStatus, session: model::SessionId) {
    let ended = state.admission() == model::session::Admission::Refuse;
    let ended = ended.then(crate::fixtures::instant);
    let sql = "update agent_sessions set state = $1, ended_at = $2 where id = $3";
    let params = params![state.as_str(), ended, session];
    db.run(Scope::System, sql, params).await.unwrap();
}

impl Stage {
    pub(crate) async fn move_on(
        &self,
        session: model::SessionId,
        event: SessionEvent,
    ) -> SessionStatus {
        let moved = self
            .store
            .transition_session(self.scope(), session, event, None, self.now());
        moved.await.unwrap()
    }
}

pub(crate) async fn invalid_session_transition_names_current_state(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    for state in SessionStatus::ALL {
        for event in SessionEvent::ALL {
            force(db, *state, session).await;
            let moved =
                stage
                    .store
                    .transition_session(stage.scope(), session, *event, None, stage.now());
            match (moved.await, state.next_state(*event)) {
                (Ok(now), Some(expected)) => assert_eq!(now, expected),
                (Err(Error::Refused(refused)), None) => {
                    assert_eq!(refused.state, state.as_str());
                    let session = stage.store.session(stage.scope(), session);
                    assert_eq!(session.await.unwrap().status(), *state);
                }
                (other, _) => panic!("{state} {event}: {other:?}"),
            }
        }
    }
}

pub(crate) async fn session_of_other_tenant_is_not_found(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = other.await.unwrap();
    let scope = Scope::Tenant(other);
    let missing =
        |result: Result<(), Error>| assert!(matches!(result, Err(Error::NotFound { .. })));
    missing(stage.store.session(scope, session).await.map(drop));
    let pause = SessionEvent::Pause;
    let moved = stage
        .store
        .transition_session(scope, session, pause, None, stage.now());
    missing(moved.await.map(drop));
    let deleted = stage
        .store
        .delete_session(other, session, true, stage.now());
    missing(deleted.await.map(drop));
    let sent = stage
        .store
        .send_message(other, session, None, "hello", stage.now());
    missing(sent.await.map(drop));
    let cancelled = stage
        .store
        .cancel_session_runs(scope, session, "x", stage.now());
    missing(cancelled.await.map(drop));
    assert!(stage.store.seats(scope, session).await.unwrap().is_empty());
    let messages = stage.store.messages(scope, session, 0, 10);
    assert!(messages.await.unwrap().is_empty());
    let events = stage.store.events(scope, session, 0, 10);
    assert!(events.await.unwrap().is_empty());
}

pub(crate) async fn session_key_is_unique_within_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let first = stage.keyed_session(Some("slack:C1:42")).await;
    let again = stage.new_session(Some("slack:C1:42"));
    let again = stage
        .store
        .create_session(stage.tenant, &again, stage.now());
    let again = again.await.unwrap_err();
    assert!(matches!(again, Error::NameTaken { .. }), "{again:?}");
    let found = stage.store.session_by_key(stage.tenant, "slack:C1:42");
    assert_eq!(found.await.unwrap().unwrap().id, first);
    let nobody = stage.store.session_by_key(stage.tenant, "slack:C1:43");
    assert_eq!(nobody.await.unwrap(), None);
}

pub(crate) async fn session_pause_defers_queued_runs_and_keeps_running_turn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let waits = stage.send_message(session, "hello").await.run_id;
    stage.move_on(session, SessionEvent::Pause).await;
    assert_eq!(stage.status(waits).await, Deferred);
    assert_eq!(stage.claim().await, None);

    let other = stage.session().await;
    let runs = stage.send_message(other, "hello").await.run_id;
    let next = stage.send_message(other, "and then?").await.run_id;
    stage.start(runs).await;
    stage.move_on(other, SessionEvent::Pause).await;
    assert_eq!(stage.status(runs).await, Running);
    stage.succeed(runs).await;
    assert_eq!(stage.statuses([runs, next]).await, [Succeeded, Deferred]);
    stage.assert_nothing_promotable().await;
}

pub(crate) async fn claimed_run_of_paused_session_is_deferred(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    assert_eq!(stage.claim().await, Some(run));
    stage.move_on(session, SessionEvent::Pause).await;
    assert!(matches!(stage.begin(run).await, StartReply::Deferred));
    assert_eq!(stage.status(run).await, Deferred);
    assert_eq!(db.count(Scope::System, "run_heartbeats").await, 0);
    assert!(matches!(stage.begin(run).await, StartReply::Fenced));
    stage.move_on(session, SessionEvent::Resume).await;
    stage.start(run).await;
}

pub(crate) async fn session_resume_starts_deferred_runs_in_order(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    let second = stage.send_message(session, "two").await.run_id;
    stage.move_on(session, SessionEvent::Pause).await;
    assert_eq!(stage.statuses([first, second]).await, [Deferred, Deferred]);
    stage.move_on(session, SessionEvent::Resume).await;
    assert_eq!(stage.statuses([first, second]).await, [Queued, Deferred]);
}

pub(crate) async fn draft_session_defers_inputs_until_enabled(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    force(db, SessionStatus::Draft, session).await;
    let run = stage.send_message(session, "hello").await.run_id;
    assert_eq!(stage.status(run).await, Deferred);
    stage.assert_nothing_promotable().await;
    stage.move_on(session, SessionEvent::Enable).await;
    assert_eq!(stage.status(run).await, Queued);
}

pub(crate) async fn session_close_cancels_waiting_runs_and_keeps_running_turn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let runs = stage.send_message(session, "one").await.run_id;
    let waits = stage.send_message(session, "two").await.run_id;
    stage.start(runs).await;
    stage.move_on(session, SessionEvent::Complete).await;
    assert_eq!(stage.statuses([runs, waits]).await, [Running, Cancelled]);
    assert_eq!(
        stage.run(waits).await.state.reason(),
        Some("the session is done")
    );
    stage.succeed(runs).await;
    assert_eq!(stage.status(runs).await, Succeeded);
    stage.move_on(session, SessionEvent::Archive).await;
}

pub(crate) async fn claimed_run_of_closed_session_is_cancelled(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "one").await.run_id;
    stage.claim().await;
    stage.move_on(session, SessionEvent::Fail).await;
    assert!(matches!(stage.begin(run).await, StartReply::Cancelled));
    assert_eq!(stage.status(run).await, Cancelled);
}

pub(crate) async fn failed_run_of_closed_session_is_not_retried(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "one").await.run_id;
    stage.start(run).await;
    stage.move_on(session, SessionEvent::Complete).await;
    stage.fail(run, FailureKind::AgentExited).await;
    let input = stage.run(run).await.input_id;
    let attempts = stage.store.attempts(stage.scope(), input).await.unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(
        stage.transcript(session).await.last().unwrap(),
        "system: The turn failed: it broke."
    );
}

pub(crate) async fn run_deferred_by_pause_frees_overlap_slot(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_overlap(SessionMode::Fresh, Overlap::Queue)
        .await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    let third = stage.fire(automation).await.run_id;
    stage
        .move_on(stage.session_of(first).await, SessionEvent::Pause)
        .await;
    assert_eq!(
        stage.statuses([first, second, third]).await,
        [Deferred, Queued, Deferred]
    );
    // A claimed run that is then deferred frees its seat too.
    assert_eq!(stage.claim().await, Some(second));
    stage
        .move_on(stage.session_of(second).await, SessionEvent::Pause)
        .await;
    assert!(matches!(stage.begin(second).await, StartReply::Deferred));
    assert_eq!(
        stage.statuses([first, second, third]).await,
        [Deferred, Deferred, Queued]
    );
    // A resumed run waits for the run that took its seat.
    stage
        .move_on(stage.session_of(first).await, SessionEvent::Resume)
        .await;
    assert_eq!(stage.status(first).await, Deferred);
    stage.assert_nothing_promotable().await;
    stage.start(third).await;
    stage.succeed(third).await;
    assert_eq!(stage.status(first).await, Queued);
}

pub(crate) async fn session_is_created_as_draft_of_channel(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let channel = Channel {
        channel: "slack".into(),
        chat_id: "C024BE91L".into(),
        thread: Some("1355517523.000005".into()),
    };
    let new = store::NewSession {
        session_type: model::session::SessionType::ChannelSlack,
        draft: true,
        channel: Some(channel.clone()),
        ..stage.new_session(Some("slack:1"))
    };
    let created = stage.store.create_session(stage.tenant, &new, stage.now());
    let id = created.await.unwrap().0;
    let found = stage.store.session(stage.scope(), id).await.unwrap();
    assert_eq!(
        (found.status(), found.channel),
        (SessionStatus::Draft, Some(channel))
    );
    let run = stage.send_message(id, "hello").await;
    assert_eq!(run.status, Deferred);
    let moved =
        stage
            .store
            .transition_session(stage.scope(), id, SessionEvent::Enable, None, stage.now());
    assert_eq!(moved.await.unwrap(), SessionStatus::Active);
    assert_eq!(stage.status(run.run_id).await, Queued);
    let plain = stage.session().await;
    let plain = stage.store.session(stage.scope(), plain).await.unwrap();
    assert_eq!(
        (plain.status(), plain.channel),
        (SessionStatus::Active, None)
    );
}

fn titled(title: &str) -> SessionEdit {
    SessionEdit {
        title: Some(title.into()),
    }
}

pub(crate) async fn title_edit_with_stale_version_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.session().await;
    let read = async || stage.store.session(stage.scope(), id).await.unwrap();
    let edit = async |seen: &SessionEdit, to: &SessionEdit| {
        let (scope, now) = (stage.scope(), stage.advance_seconds(1));
        stage.store.edit_session(scope, id, seen, to, now).await
    };
    let untitled = SessionEdit::of(&read().await);
    assert_eq!(untitled.title, None);
    edit(&untitled, &titled("One")).await.unwrap();
    let lost = edit(&untitled, &titled("Two")).await;
    assert!(matches!(lost, Err(Error::StaleVersion { .. })), "{lost:?}");
    let found = read().await;
    assert_eq!(found.title.as_deref(), Some("One"));
    let events = stage.store.events(stage.scope(), id, 0, 10).await.unwrap();
    let last = events.last().unwrap();
    let renamed = Change::Session {
        session_id: id,
        change: SessionChange::Renamed {
            state: found.status(),
            title: Some("One".into()),
        },
    };
    assert_eq!((last.seq, &last.change), (found.last_seq, &renamed));
    // An edit without a change writes nothing to the log, and a title can be removed.
    edit(&titled("One"), &titled("One")).await.unwrap();
    assert_eq!(read().await.last_seq, found.last_seq);
    edit(&titled("One"), &untitled).await.unwrap();
    assert_eq!(read().await.title, None);
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    let theirs = stage
        .store
        .edit_session(other, id, &untitled, &untitled, stage.now())
        .await;
    assert!(matches!(theirs, Err(Error::NotFound { .. })));
}

pub(crate) async fn concurrent_title_edits_have_one_winner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.session().await;
    let stores = crate::without_locks::without_locks(db).await;
    let untitled = SessionEdit { title: None };
    let edits = stores
        .iter()
        .cycle()
        .take(8)
        .enumerate()
        .map(|(number, store)| {
            let (stage, untitled) = (&stage, &untitled);
            async move {
                let to = titled(&format!("Number {number}"));
                loop {
                    let now = stage.now();
                    match store
                        .edit_session(stage.scope(), id, untitled, &to, now)
                        .await
                    {
                        Ok(()) => return 1,
                        Err(Error::StaleVersion { .. }) => return 0,
                        Err(error) if error.is_transient() => tokio::task::yield_now().await,
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }
        });
    let won: Vec<i32> = futures::future::join_all(edits).await;
    assert_eq!(won.iter().sum::<i32>(), 1);
}
