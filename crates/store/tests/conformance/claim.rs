//! Claiming: each run once, people's messages first, and only on the instance that has the agent's memory.

use std::{collections::BTreeSet, time::Duration};

use futures::future::join_all;
use model::{
    WorkerId,
    policy::SessionMode,
    run::RunStatus::{Deferred, Delivered, Queued},
    session::SessionEvent,
};

use crate::{
    fixtures::TestStore,
    stage::{Stage, instance, store_over},
};

pub(crate) use crate::placement::unclaimed_files::pause_takes_file_back;
pub(crate) use crate::sessions::seats::folder_of_seat_needs_no_other_directory;

pub(crate) async fn claim_from_empty_queue_returns_nothing(db: &TestStore) {
    let stage = Stage::setup(db).await;
    assert_eq!(stage.claim_all(10).await, []);
}

pub(crate) async fn claim_returns_attempt_and_input_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    let came = stage.now();
    stage.clock.advance(Duration::from_secs(7));
    let claim = async || {
        let worker = &stage.worker;
        let claimed = stage
            .store
            .claim(worker, stage.instance, 1, None, stage.now());
        claimed.await.unwrap().remove(0)
    };
    let first = claim().await;
    assert_eq!((first.run, first.attempt, first.input_at), (run, 1, came));

    // The next attempt has the same input.
    let stale = stage.clock.advance(Duration::from_hours(1));
    assert_eq!(
        stage.store.stall_stale_runs(stale, stale).await.unwrap(),
        [run]
    );
    let later = stage.clock.advance(Duration::from_hours(1));
    stage.store.promote_due(later).await.unwrap();
    let second = claim().await;
    assert_eq!((second.attempt, second.input_at), (2, came));
    assert_ne!(second.run, run);
}

pub(crate) async fn claimed_runs_of_worker_are_listed_until_begun(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        let session = stage.session().await;
        runs.push(stage.send_message(session, "hello").await.run_id);
    }
    let [running, claimed, waiting] = *runs.as_slice() else {
        panic!("{runs:?}");
    };
    stage.start(running).await;
    let own = stage
        .store
        .claim(&stage.worker, stage.instance, 1, Some(claimed), stage.now());
    assert_eq!(own.await.unwrap().len(), 1);
    let other = WorkerId::from_stored("host-2-bbbbbbbb".into());
    let others = stage
        .store
        .claim(&other, stage.instance, 1, Some(waiting), stage.now());
    assert_eq!(others.await.unwrap().len(), 1);
    let own = stage.store.runs_claimed_by(&stage.worker).await;
    let own: Vec<_> = own.unwrap().into_iter().map(|run| run.run).collect();
    assert_eq!(own, [claimed]);
}

pub(crate) async fn concurrent_claims_take_each_run_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut waiting = BTreeSet::new();
    for _ in 0..40 {
        let session = stage.session().await;
        waiting.insert(stage.send_message(session, "hello").await.run_id);
    }
    let stores: Vec<_> = (0..8).map(|_| store_over(&db.database)).collect();
    let claimers = stores.iter().enumerate().map(|(number, store)| {
        let worker = WorkerId::from_stored(format!("host-{number}-aaaaaaaa"));
        let stage = &stage;
        async move {
            let mut taken = Vec::new();
            loop {
                let claimed = store.claim(&worker, stage.instance, 3, None, stage.now());
                let claimed = claimed.await.unwrap();
                assert!(claimed.len() <= 3, "more than the limit");
                if claimed.is_empty() {
                    return taken;
                }
                for claimed in claimed {
                    assert_eq!(claimed.tenant, stage.tenant);
                    let run = stage.run(claimed.run).await;
                    assert_eq!(run.state.worker_id(), Some(&worker));
                    taken.push(claimed.run);
                }
            }
        }
    });
    let taken: Vec<_> = join_all(claimers).await.into_iter().flatten().collect();
    assert_eq!(taken.len(), 40);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), waiting);
}

pub(crate) async fn claim_prefers_people_and_keeps_input_order(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let fired = stage.fire(automation).await.run_id;
    let mut messages = Vec::new();
    for _ in 0..2 {
        let session = stage.session().await;
        messages.push(stage.send_message(session, "hello").await.run_id);
    }
    let mut order = Vec::new();
    while let Some(run) = stage.claim().await {
        order.push(run);
    }
    assert_eq!(order, [messages[0], messages[1], fired]);
}

pub(crate) async fn claim_takes_messages_of_seats_last(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let of_seat = stage.send_seat_message(session).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let fired = stage.fire(automation).await.run_id;
    let session = stage.session().await;
    let of_person = stage.send_message(session, "hello").await.run_id;
    let mut order = Vec::new();
    while let Some(run) = stage.claim().await {
        order.push(run);
    }
    assert_eq!(order, [of_person, fired, of_seat]);
    // A person behind such a message does not wait for the automations.
    let session = stage.session().await;
    let of_seat = stage.send_seat_message(session).await;
    let automation = stage.automation("second", SessionMode::Fresh).await;
    let fired = stage.fire(automation).await.run_id;
    let behind = stage.send_message(session, "hello").await.run_id;
    assert_eq!(stage.claim().await, Some(of_seat));
    assert_eq!(stage.claim().await, Some(fired));
    assert_eq!(stage.statuses([behind]).await, [Deferred]);
    // A pause takes the seat, and with it the priority, from a message that nobody has begun.
    let session = stage.session().await;
    let of_seat = stage.send_seat_message(session).await;
    let behind = stage.send_message(session, "hello").await.run_id;
    stage.move_on(session, SessionEvent::Pause).await;
    stage.move_on(session, SessionEvent::Resume).await;
    assert_eq!(stage.statuses([of_seat, behind]).await, [Deferred, Queued]);
}

pub(crate) async fn claim_of_named_run_claims_no_other(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, two) = (stage.session().await, stage.session().await);
    let first = stage.send_message(one, "hello").await.run_id;
    let second = stage.send_message(two, "hello").await.run_id;
    let claim = || {
        stage
            .store
            .claim(&stage.worker, stage.instance, 10, Some(second), stage.now())
    };
    let claimed = claim().await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].run, second);
    assert_eq!(stage.statuses([first, second]).await, [Queued, Delivered]);
    assert_eq!(claim().await.unwrap(), [], "the run is already claimed");
}

pub(crate) async fn deferred_run_cannot_be_claimed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    stage.send_message(session, "one").await;
    let waits = stage.send_message(session, "two").await.run_id;
    let claimed = stage
        .store
        .claim(&stage.worker, stage.instance, 1, Some(waits), stage.now());
    assert_eq!(claimed.await.unwrap(), []);
}

pub(crate) async fn run_is_claimed_only_on_instance_of_its_memory(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let elsewhere = instance(2);
    let registered =
        stage
            .store
            .register_instance(stage.tenant, elsewhere, "other host", stage.now());
    registered.await.unwrap();
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    let second = stage.send_message(session, "two").await.run_id;
    stage.start(first).await;
    stage.succeed(first).await;
    let claim = |instance_id| {
        stage
            .store
            .claim(&stage.worker, instance_id, 1, None, stage.now())
    };
    assert_eq!(claim(elsewhere).await.unwrap(), []);
    assert_eq!(
        stage.status(second).await,
        Queued,
        "the run stays in the queue"
    );
    let standing = stage.store.instances(stage.scope()).await.unwrap();
    let waiting: Vec<_> = standing.iter().map(|it| (it.id, it.queued_runs)).collect();
    assert!(waiting.contains(&(stage.instance, 1)), "{waiting:?}");
    assert!(waiting.contains(&(elsewhere, 0)), "{waiting:?}");
    assert_eq!(claim(stage.instance).await.unwrap().len(), 1);
    // A run without a memory may start on any instance.
    let fresh = stage.session().await;
    let free = stage.send_message(fresh, "hello").await.run_id;
    assert_eq!(claim(elsewhere).await.unwrap()[0].run, free);
}
