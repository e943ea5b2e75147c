//! Deleting a session: the conditions that block it, the rows that go with it, and the fence of its workers.

use futures::future::join3;
use model::{
    SessionId,
    outcome::FailureKind,
    policy::{Overlap, SessionMode},
    run::RunStatus::{Cancelled, Queued, Skipped},
    turn::{HeartbeatReply, StartReply, WriteOutcome},
};
use store::{Error, Scope, SessionDeletion, params};

use crate::{
    fixtures::TestStore,
    locks::{lock_row, wait_for_waiters},
    stage::{Stage, answer, failed, hourly, instance},
    tool_calls::{cron, make, start_message},
};

pub(crate) use crate::placement::unclaimed_files::deletion_counts_no_turn_for_file;

/// Fails if the deletion was blocked.
fn assert_deleted(deletion: &SessionDeletion) {
    assert!(
        matches!(deletion, SessionDeletion::Deleted { .. }),
        "{deletion:?}"
    );
}

pub(crate) async fn bound_automation_blocks_session_deletion(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let bound = stage.bound_automation("standup", "web:1").await;
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    let SessionDeletion::BlockedBy(blocking) = deleted.await.unwrap() else {
        panic!("the session was deleted");
    };
    let blocking: Vec<_> = blocking.iter().map(|automation| automation.id).collect();
    assert_eq!(blocking, [bound]);
    let listed = stage.store.automations_bound_to(stage.tenant, "web:1");
    assert_eq!(listed.await.unwrap().readable.len(), 1);
    stage.store.session(stage.scope(), session).await.unwrap();

    let deleted = stage
        .store
        .delete_session(stage.tenant, session, true, stage.now());
    let SessionDeletion::Deleted {
        automations,
        cancelled_turns: turns,
    } = deleted.await.unwrap()
    else {
        panic!("the session still exists");
    };
    assert_eq!((automations[0].id, automations.len(), turns), (bound, 1, 0));
    let missing = stage.store.automation(stage.scope(), bound).await;
    assert!(
        matches!(missing, Err(Error::NotFound { .. })),
        "{missing:?}"
    );
    let missing = stage.store.session(stage.scope(), session).await;
    assert!(
        matches!(missing, Err(Error::NotFound { .. })),
        "{missing:?}"
    );
}

pub(crate) async fn system_automations_do_not_block_session_deletion(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let job = stage.bound_automation("tidy", "web:1").await;
    let sql = "update automations set kind = 'system' where id = $1";
    db.run(Scope::System, sql, params![job]).await.unwrap();
    let unified = stage.bound_automation("digest", "unified:default").await;
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, true, stage.now());
    assert_deleted(&deleted.await.unwrap());
    for automation in [job, unified] {
        let stays = stage.store.automation(stage.scope(), automation).await;
        stays.unwrap();
    }
    // The next occurrence of the automation is skipped with the reason.
    let fired = stage.fire(job).await;
    assert_eq!(fired.status, Skipped);
}

pub(crate) async fn continuous_automation_is_unlinked_from_deleted_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("watch", SessionMode::Continuous).await;
    let first = stage.fire(automation).await.run_id;
    let session = stage.run(first).await.session_id.unwrap();
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    assert_deleted(&deleted.await.unwrap());
    let found = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(found.unwrap().current_session_id, None);
    let next = stage.fire(automation).await;
    assert_eq!(next.status, Queued);
    assert_ne!(stage.run(next.run_id).await.session_id, Some(session));
}

pub(crate) async fn session_deletion_starts_next_run_of_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_overlap(SessionMode::Fresh, Overlap::Queue)
        .await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    stage.start(first).await;
    let session = stage.run(first).await.session_id.unwrap();
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    assert_deleted(&deleted.await.unwrap());
    assert_eq!(stage.status(second).await, Queued);
    // The worker of the first run finds itself fenced and writes nothing.
    let end = failed(FailureKind::AgentExited, true);
    assert_eq!(stage.finish(first, &end).await, WriteOutcome::Fenced);
}

pub(crate) async fn session_deletion_removes_seats_and_memory(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    assert_eq!(seats[0].instance_id, Some(instance(1)));
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    deleted.await.unwrap();
    for table in ["agent_definitions", "agent_runs", "agent_messages"] {
        assert_eq!(db.count(Scope::System, table).await, 0, "{table}");
    }
}

pub(crate) async fn session_and_bound_automations_are_deleted_atomically(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let other = stage.keyed_session(Some("web:2")).await;
    let bound = stage
        .bound_automation_with_triggers("standup", "web:1", &[hourly()])
        .await;
    let elsewhere = stage.bound_automation("digest", "web:2").await;
    // A run of the automation also waits in another session, to which the automation was bound before.
    let busy = stage.send_message(other, "hello").await.run_id;
    stage.rebind(bound, "web:2").await;
    let waits = stage.fire(bound).await.run_id;
    stage.rebind(bound, "web:1").await;
    let deletion = stage
        .store
        .delete_session(stage.tenant, session, true, stage.now());
    let SessionDeletion::Deleted { automations, .. } = deletion.await.unwrap() else {
        panic!("the session still exists");
    };
    assert_eq!(automations.len(), 1);
    assert_eq!(automations[0].id, bound);
    assert_eq!(stage.statuses([busy, waits]).await, [Queued, Cancelled]);
    let stays = stage.store.automation(stage.scope(), elsewhere).await;
    stays.unwrap();
    // The automation is never due again.
    stage.advance_seconds(2 * 60 * 60);
    assert_eq!(stage.fire_due().await, store::FireReport::default());
}

pub(crate) async fn unreadable_bound_automation_blocks_session_deletion(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let broken = stage.bound_automation("broken", "web:1").await;
    stage.bound_automation("sound", "web:1").await;
    let sql = "update automations set policies = $1 where id = $2";
    let policies = serde_json::json!({ "overlap": "a corrupt word" });
    db.run(Scope::System, sql, params![&policies, broken])
        .await
        .unwrap();
    let deletion = stage
        .store
        .delete_session(stage.tenant, session, true, stage.now());
    // The dependent rows cannot be read, so nothing is deleted.
    deletion.await.unwrap_err();
    stage.store.session(stage.scope(), session).await.unwrap();
    let listed = stage.store.automations(stage.scope()).await.unwrap();
    assert_eq!((listed.readable.len(), listed.corrupt.len()), (1, 1));
}

pub(crate) async fn worker_of_deleted_session_is_fenced(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for is_running in [false, true] {
        let session = stage.session().await;
        let run = stage.send_message(session, "hello").await.run_id;
        if is_running {
            stage.start(run).await;
        } else {
            assert_eq!(stage.claim().await, Some(run));
        }
        let deletion = stage
            .store
            .delete_session(stage.tenant, session, false, stage.now());
        let deletion = deletion.await.unwrap();
        let turns = match deletion {
            SessionDeletion::Deleted {
                cancelled_turns: turns,
                ..
            } => turns,
            SessionDeletion::BlockedBy(_) => panic!("no automation is bound to the session"),
        };
        assert_eq!(turns, 1);
        assert!(matches!(stage.begin(run).await, StartReply::Fenced));
        assert_eq!(stage.heartbeat(run).await, HeartbeatReply::Fenced);
        let live = stage
            .store
            .append_live_text(run, &stage.worker, 0, "text", stage.now());
        assert_eq!(live.await.unwrap(), WriteOutcome::Fenced);
        assert_eq!(
            stage.finish(run, &answer("Done.")).await,
            WriteOutcome::Fenced
        );
        stage.advance_seconds(60 * 60);
        assert!(stage.stall().await.is_empty());
    }
}

/// Checks that a deletion was blocked by the one automation of an agent, and that both still exist.
async fn assert_blocked_by_agent(stage: &Stage, session: SessionId, deletion: &SessionDeletion) {
    let SessionDeletion::BlockedBy(blocking) = deletion else {
        panic!("the session was deleted, and its automation was not");
    };
    assert_eq!(blocking.len(), 1);
    stage.store.session(stage.scope(), session).await.unwrap();
    stage
        .store
        .automation(stage.scope(), blocking[0].id)
        .await
        .unwrap();
}

pub(crate) async fn automation_that_agent_makes_blocks_or_loses_to_deletion(db: &TestStore) {
    let stage = Stage::setup(db).await;
    // 1. The automation comes first.
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    make(&stage, &caller, &cron(&stage, "mail")).await.unwrap();
    let delete = |with_automations| {
        let now = stage.now();
        stage
            .store
            .delete_session(stage.tenant, session, with_automations, now)
    };
    assert_blocked_by_agent(&stage, session, &delete(false).await.unwrap()).await;
    let SessionDeletion::Deleted { automations, .. } = delete(true).await.unwrap() else {
        panic!("the session still exists");
    };
    assert_eq!(automations.len(), 1);
    // 2. The deletion comes first.
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    assert_deleted(&deleted.await.unwrap());
    let made = make(&stage, &caller, &cron(&stage, "news")).await;
    assert!(matches!(made, Err(Error::RunOver { .. })), "{made:?}");
    let left = stage.store.automations(stage.scope()).await.unwrap();
    assert_eq!(left.readable.len(), 0);
}

pub(crate) async fn deletion_that_races_with_automation_of_agent_leaves_no_orphan(db: &TestStore) {
    let stage = Stage::setup(db).await;
    // 1. The agent's call holds the lock of the seat and waits for the session, and the deletion has found no automation.
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let held = lock_row(db, "agent_sessions", session.uuid()).await;
    let new = cron(&stage, "mail");
    let making = make(&stage, &caller, &new);
    let deleting = async {
        wait_for_waiters(db, 1).await;
        let now = stage.now();
        stage
            .store
            .delete_session(stage.tenant, session, false, now)
            .await
    };
    let releasing = async {
        wait_for_waiters(db, 2).await;
        held.commit().await.unwrap();
    };
    let (made, deleted, ()) = Box::pin(join3(making, deleting, releasing)).await;
    made.unwrap();
    assert_blocked_by_agent(&stage, session, &deleted.unwrap()).await;
    // 2. The deletion holds the lock of the seat and waits for the session, and the agent's call has begun.
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let held = lock_row(db, "agent_sessions", session.uuid()).await;
    let deleting = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    let new = cron(&stage, "news");
    let making = async {
        wait_for_waiters(db, 1).await;
        make(&stage, &caller, &new).await
    };
    let releasing = async {
        wait_for_waiters(db, 2).await;
        held.commit().await.unwrap();
    };
    let (deleted, made, ()) = Box::pin(join3(deleting, making, releasing)).await;
    assert_deleted(&deleted.unwrap());
    assert!(matches!(made, Err(Error::RunOver { .. })), "{made:?}");
}
