//! Lists of runs for people: one row for each input, with its outcome and its names.

use std::time::Duration;

use model::{
    RunId, Timestamp,
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus::{self, Deferred, Failed, Missed, Queued, Skipped, Stalled, Succeeded},
};
use store::{Page, RunFilter, RunNames, SessionEdit};

use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

/// The filter of a list of inputs.
fn inputs(statuses: &[RunStatus]) -> RunFilter {
    RunFilter {
        statuses: statuses.to_vec(),
        last_attempts_only: true,
        ..RunFilter::default()
    }
}

async fn listed(stage: &Stage, filter: &RunFilter) -> Vec<RunId> {
    let page = stage.store.run_page(stage.scope(), filter, Page::first(50));
    page.await.unwrap().iter().map(|run| run.id).collect()
}

pub(crate) async fn run_list_has_one_row_for_each_input(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let retried = stage
        .send_message(stage.session().await, "one")
        .await
        .run_id;
    stage.start(retried).await;
    stage.fail(retried, FailureKind::AgentError).await;
    let again = stage
        .store
        .retry_run(stage.scope(), retried, None, stage.now());
    let again = again.await.unwrap().run_id;
    stage.start(again).await;
    stage.succeed(again).await;
    let lost = stage
        .send_message(stage.session().await, "two")
        .await
        .run_id;
    stage.start(lost).await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [lost]);
    let waiting = stage.attempts(lost).await[1].id;

    assert_eq!(listed(&stage, &inputs(&[])).await, [waiting, again]);
    assert_eq!(listed(&stage, &inputs(&[Failed, Stalled])).await, []);
    assert_eq!(listed(&stage, &inputs(&[Succeeded])).await, [again]);
    assert_eq!(
        listed(&stage, &inputs(&[Deferred, Queued])).await,
        [waiting]
    );
    let attempts = RunFilter {
        last_attempts_only: false,
        ..inputs(&[Failed, Stalled, Succeeded])
    };
    assert_eq!(listed(&stage, &attempts).await, [lost, again, retried]);
}

pub(crate) async fn run_list_is_filtered_by_reason_and_creation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let first = stage
        .send_message(stage.session().await, "one")
        .await
        .run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::AgentError).await;
    let between = stage.advance_seconds(60);
    let second = stage
        .send_message(stage.session().await, "two")
        .await
        .run_id;
    stage.start(second).await;
    stage.fail(second, FailureKind::SignIn).await;
    let end = stage.advance_seconds(1);

    let of_reason = |reason: &str| RunFilter {
        reason: Some(reason.into()),
        ..inputs(&[Failed, Skipped, Missed])
    };
    assert_eq!(listed(&stage, &of_reason("sign_in")).await, [second]);
    assert_eq!(listed(&stage, &of_reason("sign")).await, []);
    let created = |from: Option<Timestamp>, before: Option<Timestamp>| RunFilter {
        created_from: from,
        created_before: before,
        ..inputs(&[])
    };
    assert_eq!(
        listed(&stage, &created(Some(between), None)).await,
        [second]
    );
    assert_eq!(listed(&stage, &created(None, Some(between))).await, [first]);
    assert_eq!(listed(&stage, &created(Some(end), None)).await, []);
    let day_ago = end.saturating_sub(Duration::from_hours(24));
    let all = listed(&stage, &created(Some(day_ago), Some(end))).await;
    assert_eq!(all, [second, first]);
    // The earliest and the latest instant exclude nothing.
    let bounds = created(Some(Timestamp::UNIX_EPOCH), Some(Timestamp::MAX));
    assert_eq!(listed(&stage, &bounds).await, [second, first]);
}

pub(crate) async fn listed_runs_have_names_of_people(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let daily = stage.automation("daily", SessionMode::Continuous).await;
    let fired = stage.fire_and_start(daily).await;
    stage.end(fired, &answer("Two services changed")).await;
    let session = stage.session_of(fired).await;
    let seen = stage.store.session(stage.scope(), session).await.unwrap();
    let seen = SessionEdit::of(&seen);
    let titled = SessionEdit {
        title: Some("Release".into()),
    };
    let edited = stage
        .store
        .edit_session(stage.scope(), session, &seen, &titled, stage.now());
    edited.await.unwrap();
    let deleted = stage
        .store
        .delete_automation(stage.scope(), daily, stage.now());
    deleted.await.unwrap();
    let sent = stage
        .send_message(stage.session().await, "one")
        .await
        .run_id;

    let all = inputs(&[]);
    let read = stage
        .store
        .named_run_page(stage.scope(), &all, Page::first(50), 12);
    let read = read.await.unwrap();
    let [(newest, unnamed), (oldest, named)] = read.as_slice() else {
        panic!("{read:?}");
    };
    assert_eq!((newest.id, oldest.id), (sent, fired));
    assert_eq!(
        *named,
        RunNames {
            agent_name: unnamed.agent_name.clone(),
            automation_name: Some("daily".into()),
            session_title: Some("Release".into()),
            instance_name: named.instance_name.clone(),
            answer: Some("Two services".into()),
        }
    );
    assert!(unnamed.agent_name.is_some() && named.instance_name.is_some());
    assert_eq!((&unnamed.automation_name, &unnamed.answer), (&None, &None));
}
