//! Several servers of one database: the server of each data folder, and the shares of the tenants.

use std::{collections::BTreeSet, time::Duration};

use model::{
    RunId, WorkerId, limits,
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus::{Deferred, Failed, Queued},
    turn::StartReply,
};
use store::{
    Error, OpenError, Scope,
    ServerHeartbeatReply::{Continue, Outdated, Replaced},
    params,
};

use crate::{
    fixtures::{TestStore, statement},
    locks::lock_row,
    stage::{
        Stage, hourly, instance,
        servers::{
            claim, last_server, online_server, presence, queue, serve, serve_after, two_tenants,
        },
        store_over,
    },
};

pub(crate) use crate::placement::dispatchers::files_of_earlier_servers_are_looked_for_again;

pub(crate) async fn claim_shares_slots_between_tenants(db: &TestStore) {
    let stages = two_tenants(db).await;
    queue(&stages[0], 12).await;
    queue(&stages[1], 4).await;
    assert_eq!(
        claim(&stages, 4).await,
        [2, 2],
        "equal shares, not the oldest four"
    );
    // No run has ended, so both tenants have equally many running.
    assert_eq!(claim(&stages, 2).await, [1, 1]);
    assert_eq!(
        claim(&stages, 6).await,
        [5, 1],
        "an unused share goes to the other tenant"
    );
    // The tenant with fewer running runs is served first.
    queue(&stages[1], 9).await;
    assert_eq!(claim(&stages, 4).await, [0, 4]);
    assert_eq!(claim(&stages, 20).await, [4, 5]);
}

pub(crate) async fn claim_with_one_slot_alternates_tenants(db: &TestStore) {
    let stages = two_tenants(db).await;
    queue(&stages[0], 6).await;
    queue(&stages[1], 3).await;
    let mut order = Vec::new();
    let stage = &stages[0];
    loop {
        let claimed = stage
            .store
            .claim(&stage.worker, stage.instance, 1, None, stage.now());
        let Some(claimed) = claimed.await.unwrap().pop() else {
            break;
        };
        assert!(matches!(
            stage.begin(claimed.run).await,
            StartReply::Started(_)
        ));
        stage.succeed(claimed.run).await;
        order.push(usize::from(claimed.tenant == stages[1].tenant));
    }
    assert_eq!(order.len(), 9);
    assert_eq!(order.iter().sum::<usize>(), 3);
    for pair in order[..6].windows(2) {
        assert_ne!(pair[0], pair[1], "{order:?}");
    }
}

pub(crate) async fn pinned_and_unpinned_runs_of_tenant_keep_input_order(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let remembered = stage.session().await;
    let first = stage.send_message(remembered, "hello").await.run_id;
    stage.start(first).await;
    stage.succeed(first).await;
    let mut expected = Vec::new();
    for _ in 0..2 {
        let fresh = stage.session().await;
        expected.push(stage.send_message(fresh, "hello").await.run_id);
    }
    expected.insert(1, stage.send_message(remembered, "and then?").await.run_id);
    expected.swap(1, 2);
    let automation = stage.automation("report", SessionMode::Fresh).await;
    expected.push(stage.fire(automation).await.run_id);
    let mut order = Vec::new();
    while let Some(run) = stage.claim().await {
        order.push(run);
    }
    assert_eq!(order, expected);
}

pub(crate) async fn claim_skips_runs_pinned_to_other_instances(db: &TestStore) {
    let mut stages = two_tenants(db).await;
    let places = [instance(11), instance(12), instance(13)];
    // The runs of each tenant that each instance may claim, in their order. The last list may run on any instance.
    let mut waiting: [[Vec<RunId>; 4]; 2] = Default::default();
    // The two tenants have different orders, because the order of instances is not that of inputs.
    let orders = [[0, 1, 2], [2, 0, 1]];
    for ((stage, waiting), order) in stages.iter_mut().zip(&mut waiting).zip(orders) {
        for nth in order {
            let instance_id = places[nth];
            let name = format!("host {instance_id}");
            let host = stage
                .store
                .register_instance(stage.tenant, instance_id, &name, stage.now());
            host.await.unwrap();
            stage.instance = instance_id;
            for _ in 0..2 {
                let session = stage.session().await;
                let first = stage.send_message(session, "one").await.run_id;
                stage.start(first).await;
                stage.succeed(first).await;
                waiting[nth].push(stage.send_message(session, "two").await.run_id);
            }
        }
        let session = stage.session().await;
        waiting[3].push(stage.send_message(session, "anywhere").await.run_id);
    }
    let stage = &stages[0];
    let claim = async |instance_id, limit| {
        let claimed = stage
            .store
            .claim(&stage.worker, instance_id, limit, None, stage.now());
        let claimed = claimed.await.unwrap();
        claimed
            .iter()
            .map(|claim| claim.run)
            .collect::<BTreeSet<_>>()
    };
    let of = |parts: [&[RunId]; 2]| parts.concat().into_iter().collect::<BTreeSet<_>>();
    let [one, other] = &waiting;
    // Although all pinned runs sort after this instance, it finds the runs without a pin.
    let free = of([&one[3], &other[3]]);
    assert_eq!(claim(instance(10), 9).await, free);
    // The oldest run of each tenant, then all that are left, and none of other instances.
    let oldest = |index: usize| of([&one[index][..1], &other[index][..1]]);
    assert_eq!(claim(places[1], 2).await, oldest(1));
    assert_eq!(claim(places[0], 2).await, oldest(0));
    let left = of([&one[1][1..], &other[1][1..]]);
    assert_eq!(claim(places[1], 9).await, left);
    assert_eq!(claim(places[1], 9).await, BTreeSet::new());
    assert_eq!(claim(places[2], 9).await, of([&one[2], &other[2]]));
    let last = of([&one[0][1..], &other[0][1..]]);
    assert_eq!(claim(places[0], 9).await, last);
}

pub(crate) async fn tenant_with_many_due_triggers_does_not_delay_others(db: &TestStore) {
    let stages = two_tenants(db).await;
    let mut new = stages[0].new_automation("flood", SessionMode::Fresh);
    let share = limits::TRIGGERS_PER_FIRE as usize / 2;
    new.triggers = vec![hourly(); share + 1];
    stages[0].create(&new).await;
    let mut new = stages[1].new_automation("one", SessionMode::Fresh);
    new.triggers = vec![hourly()];
    let other = stages[1].create(&new).await;
    stages[0].advance_seconds(3600);
    let fired = stages[0].fire_due().await;
    assert_eq!(
        fired.triggers as usize,
        share + 1,
        "half of one claim, and the other tenant's runs"
    );
    assert!(fired.has_more);
    assert_eq!(stages[1].runs_of(other).await.len(), 1);
    let fired = stages[0].fire_due().await;
    assert_eq!(fired.triggers, 1);
    assert!(!fired.has_more);
}

pub(crate) async fn claim_fills_slot_past_locked_run(db: &TestStore) {
    let stages = two_tenants(db).await;
    let mut runs = Vec::new();
    for stage in &stages {
        let session = stage.session().await;
        runs.push(stage.send_message(session, "hello").await.run_id);
    }
    // Another server is about to claim the run for which this server's slot is meant.
    let held = lock_row(db, "agent_runs", runs[0].uuid()).await;
    assert_eq!(claim(&stages, 1).await, [0, 1]);
    assert_eq!(claim(&stages, 1).await, [0, 0]);
    held.commit().await.unwrap();
    assert_eq!(claim(&stages, 1).await, [1, 0]);
}

pub(crate) async fn fire_due_skips_while_other_scheduler_holds_lock(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("hourly", SessionMode::Fresh);
    new.triggers = vec![hourly()];
    let automation = stage.create(&new).await;
    stage.advance_seconds(3600);
    let mut other = db.database.begin(Scope::System).await.unwrap();
    let lock = "select pg_advisory_xact_lock(30787925258625899)";
    other.fetch_all(statement(lock), params![]).await.unwrap();
    assert_eq!(stage.fire_due().await.triggers, 0);
    assert_eq!(stage.runs_of(automation).await, []);
    other.commit().await.unwrap();
    assert_eq!(stage.fire_due().await.triggers, 1);
    assert_eq!(stage.runs_of(automation).await.len(), 1);
}

pub(crate) async fn first_turn_registers_instance_for_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let other = stage
        .store
        .ensure_tenant("other", stage.now())
        .await
        .unwrap();
    let config = model::agent::AgentConfig::new(vec!["agent".into()]);
    let agent = stage
        .store
        .put_agent(other, "agent", &config, None, stage.now());
    let stranger = Stage {
        tenant: other,
        agent: agent.await.unwrap().id,
        store: store_over(&db.database),
        clock: testkit::clock::FakeClock::at(crate::stage::STAGE_START),
        instance: stage.instance,
        worker: stage.worker.clone(),
    };
    assert_eq!(
        stranger.store.instances(stranger.scope()).await.unwrap(),
        []
    );
    let session = stranger.session().await;
    let run = stranger.send_message(session, "hello").await.run_id;
    stranger.start(run).await;
    stranger.succeed(run).await;
    let known = stranger.store.instances(stranger.scope()).await.unwrap();
    assert_eq!(known.len(), 1);
    assert_eq!((known[0].id, &*known[0].name), (stage.instance, "host"));
}

pub(crate) async fn server_is_online_until_stop_or_missing_presence(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let all = stage.store.instances(stage.scope()).await.unwrap();
    assert_eq!(all[0].server, None);
    let first = serve(&stage, "host-1-00000001").await;
    assert_eq!(
        online_server(&stage).await,
        (true, "host-1-00000001".into())
    );
    stage.clock.advance(limits::SERVER_OFFLINE_AFTER);
    assert!(
        online_server(&stage).await.0,
        "the last heartbeat is just recent enough"
    );
    stage.advance_seconds(1);
    assert!(!online_server(&stage).await.0);
    assert_eq!(presence(&stage, &first).await, Continue);
    assert!(online_server(&stage).await.0);
    // A server that was only cut off, and whose instance was removed meanwhile, restores it.
    stage
        .clock
        .advance(limits::SERVER_OFFLINE_AFTER + Duration::from_secs(1));
    let given_up = stage
        .store
        .remove_instance(stage.tenant, stage.instance, stage.now());
    given_up.await.unwrap();
    assert_eq!(stage.store.instances(stage.scope()).await.unwrap(), []);
    let removed = stage.store.served_instance(stage.tenant, stage.instance);
    assert_eq!(removed.await.unwrap(), None);
    assert_eq!(presence(&stage, &first).await, Continue);
    assert!(online_server(&stage).await.0);
    let stopped = stage
        .store
        .record_server_stop(stage.instance, &first, stage.now());
    stopped.await.unwrap();
    assert!(!online_server(&stage).await.0);
    let before = last_server(&stage).await;
    assert_eq!(
        (&before.worker, before.stopped_at),
        (&first, Some(stage.now()))
    );
    assert!(serve_after(&stage, &first, Some(&before.worker)).await);
    assert!(online_server(&stage).await.0);
}

pub(crate) async fn older_server_with_same_identity_loses_instance(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let older = serve(&stage, "host-1-00000001").await;
    let newer = serve(&stage, "copy-1-00000002").await;
    assert_eq!(presence(&stage, &older).await, Replaced);
    assert_eq!(presence(&stage, &newer).await, Continue);
    // When it stops, it does not end the registration of the other server.
    let stopped = stage
        .store
        .record_server_stop(stage.instance, &older, stage.now());
    stopped.await.unwrap();
    assert_eq!(
        online_server(&stage).await,
        (true, "copy-1-00000002".into())
    );
}

pub(crate) async fn concurrent_servers_with_same_identity_have_one_winner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let names = ["host-1-00000001", "copy-1-00000002"];
    let workers = names.map(|name| WorkerId::from_stored(name.into()));
    let mut before = None;
    // First without a previous server, then with one.
    for _ in 0..2 {
        let [one, other] = &workers;
        let begin = |worker| serve_after(&stage, worker, before.as_ref());
        let (one, other) = tokio::join!(begin(one), begin(other));
        assert!(one != other, "{one} {other}");
        let serving = last_server(&stage).await;
        assert_eq!(serving.worker, workers[usize::from(other)]);
        before = Some(serve(&stage, "host-1-00000003").await);
    }
}

#[expect(clippy::too_many_lines, reason = "one story of one instance")]
pub(crate) async fn runs_pinned_to_removed_instance_fail(db: &TestStore) {
    let stage = Stage::setup(db).await;
    serve(&stage, "host-1-00000001").await;
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    stage.start(first).await;
    stage.succeed(first).await;
    let waits = stage.send_message(session, "two").await.run_id;
    let behind = stage.send_message(session, "three").await.run_id;
    let free = stage.session().await;
    let free = stage.send_message(free, "anywhere").await.run_id;
    let remove = || {
        stage
            .store
            .remove_instance(stage.tenant, stage.instance, stage.now())
    };
    let refused = remove().await.unwrap_err();
    assert!(
        matches!(refused, Error::InstanceInUse { .. }),
        "{refused:?}"
    );
    assert_eq!(
        stage
            .store
            .end_waits_for_removed_instances(stage.now())
            .await
            .unwrap(),
        0
    );
    assert!(
        !stage
            .store
            .scheduler_status(stage.now())
            .await
            .unwrap()
            .has_removed_instance
    );
    assert_eq!(stage.statuses([waits, behind]).await, [Queued, Deferred]);

    stage
        .clock
        .advance(limits::SERVER_OFFLINE_AFTER + Duration::from_secs(1));
    assert_eq!(remove().await.unwrap(), "host");
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert!(status.has_removed_instance);
    let marks = stage.marks_of_sessions().await;
    assert_eq!(marks, [None, Some("host".to_owned())]);
    assert_eq!(
        stage
            .store
            .end_waits_for_removed_instances(stage.now())
            .await
            .unwrap(),
        2
    );
    assert!(
        !stage
            .store
            .scheduler_status(stage.now())
            .await
            .unwrap()
            .has_removed_instance
    );
    assert_eq!(
        stage.statuses([waits, behind, free]).await,
        [Failed, Failed, Queued]
    );
    let run = stage.run(waits).await;
    assert_eq!(run.state.reason(), Some(FailureKind::InstanceGone.as_str()));
    let transcript = stage.transcript(session).await;
    assert!(
        transcript
            .last()
            .unwrap()
            .contains("an instance that was removed"),
        "{transcript:?}"
    );
    assert_eq!(stage.store.instances(stage.scope()).await.unwrap(), []);
    let missing = remove().await.unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing:?}");
    // Later messages fail too, because no turn starts without its memory.
    let later = stage.send_message(session, "four").await.run_id;
    let elsewhere = stage
        .store
        .claim(&stage.worker, instance(2), 10, Some(later), stage.now());
    assert_eq!(elsewhere.await.unwrap(), []);
    assert_eq!(
        stage
            .store
            .end_waits_for_removed_instances(stage.now())
            .await
            .unwrap(),
        1
    );

    // A server serves its folder again, which brings the agents' memory back.
    serve(&stage, "host-1-00000003").await;
    let back = stage.send_message(session, "five").await.run_id;
    assert_eq!(
        stage
            .store
            .end_waits_for_removed_instances(stage.now())
            .await
            .unwrap(),
        0
    );
    stage.start(back).await;
    stage.succeed(back).await;
}

pub(crate) async fn instance_removal_is_limited_to_its_tenant(db: &TestStore) {
    let [one, other] = two_tenants(db).await;
    let removed = other
        .store
        .remove_instance(other.tenant, other.instance, other.now());
    removed.await.unwrap();
    assert_eq!(other.store.instances(other.scope()).await.unwrap(), []);
    assert_eq!(one.store.instances(one.scope()).await.unwrap().len(), 1);
    let unknown = one
        .store
        .remove_instance(one.tenant, instance(7), one.now());
    let unknown = unknown.await.unwrap_err();
    assert!(matches!(unknown, Error::NotFound { .. }), "{unknown:?}");
}

pub(crate) async fn later_schema_is_used_if_marked_compatible(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let worker = serve(&stage, "host-1-00000001").await;
    let migrate = async |version: i64, works_with: i64| {
        let sql =
            "insert into schema_versions (version, name, works_with) values ($1, 'later', $2)";
        let params = params![version, works_with];
        db.run(Scope::System, sql, params).await.unwrap();
    };
    migrate(998, 9).await;
    assert_eq!(presence(&stage, &worker).await, Continue);
    store::open(&db.location()).await.unwrap().close().await;
    migrate(999, 999).await;
    let outdated = presence(&stage, &worker).await;
    assert!(
        matches!(outdated, Outdated { required: 999, .. }),
        "{outdated:?}"
    );
    let refused = store::open(&db.location()).await.unwrap_err();
    assert!(
        matches!(refused, OpenError::Newer { found: 999, .. }),
        "{refused:?}"
    );
}

pub(crate) async fn migration_is_refused_while_old_servers_run(db: &TestStore) {
    let run = async |sql: &str| drop(db.run(Scope::System, sql, params![]).await.unwrap());
    run("delete from schema_versions where version >= 9").await;
    run("insert into servers (instance_id, worker_id, version, schema_version, started_at, seen_at) \
         values (gen_random_uuid(), 'host-1-0ld00001', '0.0.9', 8, clock_timestamp(), clock_timestamp())")
    .await;
    let refused = store::open(&db.location()).await.unwrap_err();
    let OpenError::OldServers {
        servers,
        needed: 10,
        ..
    } = &refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(servers, "host-1-0ld00001");
    // A server that has stopped, or that was not seen for long, does not block a migration.
    run("update servers set stopped_at = seen_at").await;
    let repeated = store::open(&db.location()).await.unwrap_err();
    assert!(
        matches!(repeated, OpenError::Database(_)),
        "the tables already exist: {repeated:?}"
    );
    run("update servers set stopped_at = null, seen_at = seen_at - interval '10 minutes'").await;
    let repeated = store::open(&db.location()).await.unwrap_err();
    assert!(matches!(repeated, OpenError::Database(_)), "{repeated:?}");
}
