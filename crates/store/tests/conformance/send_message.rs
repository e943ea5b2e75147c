//! A person's messages: at once, or waiting in their order.

use futures::future::join_all;
use model::{
    RunId,
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus::{Deferred, Queued, Succeeded},
    session::SessionEvent,
};
use store::{Error, RunFilter, Scope};

use crate::{fixtures::TestStore, stage::Stage};

pub(crate) use crate::placement::unclaimed_files::edit_rewrites_file_of_message;
pub(crate) use crate::sessions::seats::message_to_seat_runs_beside_other_seats;

pub(crate) async fn message_to_closed_session_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for (moves, state) in [
        (&[SessionEvent::Complete][..], "done"),
        (&[SessionEvent::Fail], "failed"),
        (&[SessionEvent::Complete, SessionEvent::Archive], "archived"),
    ] {
        let session = stage.session().await;
        for event in moves {
            let moved =
                stage
                    .store
                    .transition_session(stage.scope(), session, *event, None, stage.now());
            moved.await.unwrap();
        }
        let sent = stage
            .store
            .send_message(stage.tenant, session, None, "hi", stage.now());
        match sent.await {
            Err(Error::Refused(refused)) => assert_eq!(refused.state, state),
            other => panic!("{state}: {other:?}"),
        }
        assert!(stage.transcript(session).await.is_empty());
    }
}

pub(crate) async fn message_to_free_seat_is_queued(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let sent = stage.send_message(session, "hello").await;
    assert_eq!(sent.status, Queued);
    assert_eq!(sent.seat_id, Some(stage.seat(session).await));
    let run = stage.run(sent.run_id).await;
    assert_eq!((run.attempt, run.content.as_str()), (1, "hello"));
    assert_eq!(run.usage, None);
}

pub(crate) async fn message_to_busy_seat_waits_for_end_of_turn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    let second = stage.send_message(session, "two").await;
    assert_eq!(second.status, Deferred);
    let assignment = stage.start(first).await;
    assert!(!assignment.prompt.text.contains("two"));
    stage.succeed(first).await;
    let statuses = stage.statuses([first, second.run_id]).await;
    assert_eq!(statuses, [Succeeded, Queued]);
}

pub(crate) async fn seat_takes_people_before_automations_in_order(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound_automation("report", "web:1").await;
    let running = stage.send_message(session, "zero").await.run_id;
    let (fire_1, say_1) = (
        stage.fire(automation).await.run_id,
        stage.send_message(session, "one").await.run_id,
    );
    let (fire_2, say_2) = (
        stage.fire(automation).await.run_id,
        stage.send_message(session, "two").await.run_id,
    );
    let mut order = Vec::new();
    while let Some(run) = stage.claim().await {
        stage.begin(run).await;
        stage.succeed(run).await;
        order.push(run);
    }
    assert_eq!(order, [running, say_1, say_2, fire_1, fire_2]);
}

pub(crate) async fn occurrence_is_hidden_from_running_turn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound_automation("report", "web:1").await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    let fired = stage.fire(automation).await;
    assert_eq!(fired.status, Deferred);
    assert_eq!(stage.transcript(session).await, ["user: hello"]);
    stage.succeed(run).await;
    stage.start(fired.run_id).await;
    let shown = stage.transcript(session).await;
    let last = "user: Scheduled automation triggered: report\n\nDo the report.";
    assert_eq!(shown.last().unwrap(), last);
}

pub(crate) async fn concurrent_messages_share_one_seat_in_sequence(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let sent = join_all((0..12).map(|_| stage.send_message(session, "me first"))).await;
    let queued = sent.iter().filter(|sent| sent.status == Queued).count();
    assert_eq!(queued, 1);
    let mut ended = 0;
    while let Some(run) = stage.claim().await {
        assert_eq!(stage.claim().await, None, "two runs occupy one seat");
        stage.begin(run).await;
        stage.succeed(run).await;
        ended += 1;
    }
    assert_eq!(ended, 12);
    let filter = RunFilter {
        statuses: vec![Succeeded],
        ..RunFilter::default()
    };
    let runs = stage.store.runs(stage.scope(), filter, 100).await.unwrap();
    assert_eq!(runs.len(), 12);
}

pub(crate) async fn session_key_is_scoped_to_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let ours = stage.keyed_session(Some("unified:default")).await;
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = other.await.unwrap();
    let found = stage.store.session_by_key(other, "unified:default");
    assert_eq!(found.await.unwrap(), None);
    let automation = stage.automation("any", SessionMode::Fresh).await;
    let fired = stage
        .store
        .fire_automation(other, automation, None, stage.now())
        .await;
    assert!(matches!(fired, Err(Error::NotFound { .. })), "{fired:?}");
    stage.send_message(ours, "hello").await;
}

pub(crate) async fn message_from_channel_has_person_origin(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let new = store::NewSession {
        session_type: model::session::SessionType::ChannelSlack,
        channel: Some(model::entity::Channel {
            channel: "slack".into(),
            chat_id: "C024BE91L".into(),
            thread: None,
        }),
        ..stage.new_session(Some("slack:C024BE91L"))
    };
    let created = stage.store.create_session(stage.tenant, &new, stage.now());
    let session = created.await.unwrap().0;
    let run = stage.send_message(session, "hello").await.run_id;
    let assignment = stage.start(run).await;
    assert_eq!(assignment.run.origin, model::run::Origin::Person);
    assert_eq!(assignment.prompt.text, "hello");
    assert_eq!(stage.transcript(session).await, ["user: hello"]);
}

pub(crate) async fn waiting_message_is_edited_until_worker_takes_it(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    let second = stage.send_message(session, "two").await.run_id;
    let edit = async |scope, run: RunId, seen: &str, to: &str| {
        let edited = stage.store.edit_message(scope, run, seen, to, stage.now());
        edited.await
    };
    let refused = |edited: Result<(), Error>, state: &str| match edited {
        Err(Error::Refused(refused)) => assert_eq!(refused.state, state),
        other => panic!("{state}: {other:?}"),
    };
    // 1. Queued and deferred messages are edited, each once for each version.
    let scope = stage.scope();
    edit(scope, first, "one", "One").await.unwrap();
    edit(scope, second, "two", "Two").await.unwrap();
    let stale = edit(scope, second, "two", "2").await;
    assert!(
        matches!(stale, Err(Error::StaleVersion { .. })),
        "{stale:?}"
    );
    let before = stage.store.session(scope, session).await.unwrap().last_seq;
    edit(scope, second, "Two", "Two").await.unwrap();
    let after = stage.store.session(scope, session).await.unwrap().last_seq;
    assert_eq!(before, after, "an edit that changes nothing has no event");
    assert_eq!(stage.status(second).await, Deferred);
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    let foreign = edit(other, second, "Two", "2").await;
    assert!(
        matches!(foreign, Err(Error::NotFound { .. })),
        "{foreign:?}"
    );

    // 2. A worker takes the run, its turn begins and ends.
    assert_eq!(stage.claim().await, Some(first));
    refused(edit(scope, first, "One", "1").await, "delivered");
    stage.begin(first).await;
    refused(edit(scope, first, "One", "1").await, "in progress");
    let shown = stage.transcript(session).await;
    assert!(shown.iter().any(|row| row.contains("One")), "{shown:?}");
    stage.fail(first, FailureKind::AgentError).await;
    refused(edit(scope, first, "One", "1").await, "failed");

    // 3. The transcript has the input of a retry already.
    let retry = stage.store.retry_run(scope, first, None, stage.now());
    let retry = retry.await.unwrap().run_id;
    refused(edit(scope, retry, "One", "1").await, "in progress");
    assert_eq!(stage.run(second).await.content, "Two");
}

pub(crate) async fn input_of_automation_is_not_edited(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("daily", SessionMode::Continuous).await;
    let run = stage.fire(automation).await.run_id;
    let content = stage.run(run).await.content;
    let edited = stage
        .store
        .edit_message(stage.scope(), run, &content, "1", stage.now());
    let edited = edited.await;
    assert!(matches!(edited, Err(Error::Refused(_))), "{edited:?}");
    assert_eq!(stage.run(run).await.content, content);
}
