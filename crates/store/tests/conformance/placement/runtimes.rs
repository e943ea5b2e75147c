//! The runs of runtimes.

use model::{
    RunId, WorkerId,
    run::RunStatus::{Running, Stalled},
};
use store::{OpenError, Scope, params};

use crate::{
    fixtures::TestStore,
    stage::{Stage, instance, unique},
};

impl Stage {
    /// Begins the turn of a new session.
    async fn running(&self) -> RunId {
        let run = self.send_message(self.session().await, "hello").await;
        self.start(run.run_id).await;
        run.run_id
    }
}

pub(crate) async fn run_belongs_to_its_instance_and_tenant_alone(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (store, run) = (&stage.store, stage.running().await);
    let other = store.ensure_tenant("other", stage.now()).await.unwrap();
    let unknown = RunId::from_uuid(uuid::Uuid::from_u128(unique().into()));
    for (tenant, place, run, expected) in [
        (stage.tenant, stage.instance, run, true),
        (stage.tenant, instance(7), run, false),
        (other, stage.instance, run, false),
        (stage.tenant, stage.instance, unknown, false),
    ] {
        let found = store.is_run_of_instance(tenant, place, run).await.unwrap();
        assert_eq!(found, expected, "{tenant} {place} {run}");
    }
    // Another instance may have to take the run, until it is over.
    let is_elsewhere = async |place, run| store.is_open_on_other_instance(place, run).await;
    assert!(is_elsewhere(instance(7), run).await.unwrap());
    assert!(!is_elsewhere(stage.instance, run).await.unwrap());
    assert!(!is_elsewhere(instance(7), unknown).await.unwrap());
    stage.succeed(run).await;
    assert!(!is_elsewhere(instance(7), run).await.unwrap());
}

pub(crate) async fn cancelled_and_lost_runs_are_disturbed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let [first, second, third] = [
        stage.running().await,
        stage.running().await,
        stage.running().await,
    ];
    let disturbed = async |runs: &[RunId]| {
        let found = stage
            .store
            .disturbed_runs(stage.tenant, &stage.worker, runs);
        found.await.unwrap()
    };
    assert_eq!(disturbed(&[]).await, []);
    assert_eq!(disturbed(&[first, second, third]).await, []);
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), second, "enough", stage.now());
    cancelled.await.unwrap();
    stage.succeed(third).await;
    assert_eq!(disturbed(&[first, second, third]).await, [second, third]);
    let other = WorkerId::from_stored("other-1-00000001".into());
    let (store, runs) = (&stage.store, [first]);
    let lost = store.disturbed_runs(stage.tenant, &other, &runs);
    assert_eq!(lost.await.unwrap(), runs);
}

pub(crate) async fn runs_of_dead_worker_are_stalled_on_its_instance_alone(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let run = stage.running().await;
    let store = &stage.store;
    let other = store.ensure_tenant("other", stage.now()).await.unwrap();
    let stranger = WorkerId::from_stored("other-1-00000001".into());
    for (tenant, place, worker) in [
        (stage.tenant, instance(7), &stage.worker),
        (other, stage.instance, &stage.worker),
        (stage.tenant, stage.instance, &stranger),
    ] {
        let stalled = store.stall_runs_of_worker(tenant, place, worker, stage.now());
        assert_eq!(stalled.await.unwrap(), []);
        assert_eq!(stage.status(run).await, Running);
    }
    let (tenant, place) = (stage.tenant, stage.instance);
    let stalled = store.stall_runs_of_worker(tenant, place, &stage.worker, stage.now());
    assert_eq!(stalled.await.unwrap(), [run]);
    assert_eq!(stage.status(run).await, Stalled);
}

/// A runtime does not use the schema, so that it blocks no migration, with whatever version it has registered.
pub(crate) async fn runtime_blocks_no_migration(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let worker = WorkerId::from_stored("pod-1-00000001".into());
    let served = stage
        .store
        .claim_instance(there, &worker, None, "0.0.9", stage.now());
    assert!(served.await.unwrap());
    let run = async |sql: &str| drop(db.run(Scope::System, sql, params![]).await.unwrap());
    run("update servers set schema_version = 8, seen_at = clock_timestamp()").await;
    run("delete from schema_versions where version >= 9").await;
    let repeated = store::open(&db.location()).await.unwrap_err();
    assert!(
        matches!(repeated, OpenError::Database(_)),
        "the tables already exist: {repeated:?}"
    );
    // A server of the same version does block it.
    run("update instances set kind = 'host'").await;
    let refused = store::open(&db.location()).await.unwrap_err();
    assert!(
        matches!(&refused, OpenError::OldServers { servers, .. } if servers == worker.as_str()),
        "{refused:?}"
    );
}
