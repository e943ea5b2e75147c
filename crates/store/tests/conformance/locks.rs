//! Row locks on PostgreSQL: the transitions that wait for them, and those that skip locked rows.

use model::{
    RunId, SeatId, SessionId, approval::ApprovalStatus, run::RunStatus, session::SessionEvent,
    turn::WriteOutcome,
};
use store::{Scope, database::Tx, params};

use crate::{
    fixtures::{TestStore, statement},
    memory::entry,
    stage::{Stage, answer},
    tool_calls::start_message,
};

/// Begins a transaction that locks one row.
pub(crate) async fn lock_row(db: &TestStore, table: &str, id: uuid::Uuid) -> Tx {
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    let sql = format!("select id from {table} where id = $1 for update");
    tx.fetch_one(statement(&sql), params![id]).await.unwrap();
    tx
}

/// Waits until this many transactions wait for a lock.
pub(crate) async fn wait_for_waiters(db: &TestStore, count: i64) {
    let sql = "select count(*) as n from pg_stat_activity \
        where datname = current_database() and wait_event_type = 'Lock'";
    loop {
        let rows = db.run(Scope::System, sql, params![]).await.unwrap();
        if rows[0].get::<i64>("n").unwrap() == count {
            return;
        }
    }
}

/// Begins a transaction in which the stage's worker claims a run.
pub(crate) async fn claim_without_commit(db: &TestStore, stage: &Stage, run: RunId) -> Tx {
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    let (worker, now) = (&stage.worker, stage.now());
    let sql = "update agent_runs set status = 'delivered', worker_id = $2, claimed_at = $3 where id = $1 and status = 'queued'";
    let claimed = tx.execute(statement(sql), params![run, worker, now]).await;
    assert_eq!(claimed.unwrap(), 1, "{run} is not queued");
    let sql = "insert into run_heartbeats (run_id, tenant_id, worker_id, beat_at) values ($1, $2, $3, $4)";
    let beat = params![run, stage.tenant, worker, now];
    tx.execute(statement(sql), beat).await.unwrap();
    tx
}

/// Runs `doing` against a locked seat until it waits, and checks that it has locked nothing that comes after the seat.
async fn assert_waits_for_seat<T>(
    db: &TestStore,
    seat: SeatId,
    session: SessionId,
    doing: impl Future<Output = T>,
) -> T {
    let held = lock_row(db, "agent_definitions", seat.uuid()).await;
    let look = async {
        let sql = "select count(*) as n from pg_stat_activity \
            where datname = current_database() and wait_event_type = 'Lock'";
        loop {
            let rows = db.run(Scope::System, sql, params![]).await.unwrap();
            if rows[0].get::<i64>("n").unwrap() > 0 {
                break;
            }
        }
        let sql = "select id from agent_sessions where id = $1 for update nowait";
        let free = db.run(Scope::System, sql, params![session]).await;
        free.unwrap();
        held
    };
    let mut doing = std::pin::pin!(doing);
    tokio::select! {
        biased;
        _ = &mut doing => panic!("the transition did not wait for the seat"),
        // The release comes after the look. Otherwise a fast transition could end before the look has.
        held = look => held.commit().await.unwrap(),
    }
    doing.await
}

pub(crate) async fn transitions_of_seat_lock_seat_first(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let seat = stage.seat(session).await;
    let (store, scope) = (&stage.store, stage.scope());
    let run = assert_waits_for_seat(db, seat, session, stage.send_message(session, "hello")).await;
    let run = run.run_id;
    stage.start(run).await;
    let approval = Box::pin(assert_waits_for_seat(
        db,
        seat,
        session,
        stage.request_approval(run),
    ))
    .await;
    let withdrawn = store.withdraw_approvals(run, &stage.worker, stage.now());
    let withdrawn = Box::pin(assert_waits_for_seat(db, seat, session, withdrawn)).await;
    assert_eq!(withdrawn.unwrap(), WriteOutcome::Committed);
    assert_eq!(stage.approval_status(approval).await, ApprovalStatus::Void);
    let answer = answer("Done.");
    let end = stage.finish(run, &answer);
    let end = assert_waits_for_seat(db, seat, session, end).await;
    assert_eq!(end, WriteOutcome::Committed);
    assert_eq!(stage.status(run).await, RunStatus::Succeeded);
    for event in [SessionEvent::Pause, SessionEvent::Resume] {
        let moved = store.transition_session(scope, session, event, None, stage.now());
        let moved = Box::pin(assert_waits_for_seat(db, seat, session, moved)).await;
        moved.unwrap();
    }
    let caller = start_message(&stage, session).await;
    let new = entry("build", "green");
    let remembered = store.remember(&caller, &new, stage.now());
    let remembered = Box::pin(assert_waits_for_seat(db, seat, session, remembered)).await;
    assert_eq!(remembered.unwrap().version, 1);
}

pub(crate) async fn claim_skips_locked_runs(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, two) = (stage.session().await, stage.session().await);
    let first = stage.send_message(one, "hello").await.run_id;
    let second = stage.send_message(two, "hello").await.run_id;
    let held = lock_row(db, "agent_runs", first.uuid()).await;
    assert_eq!(stage.claim_all(10).await, [second]);
    held.commit().await.unwrap();
    assert_eq!(stage.claim_all(10).await, [first]);
}
