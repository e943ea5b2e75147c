//! Servers that share a PostgreSQL database and whose machines show different times.
//!
//! The database's clock is the real one, so the assertions compare it with the effects of the servers.

use std::{sync::Arc, time::Duration};

use agent::WorkerLock;
use daemon::{
    Daemon, FleetClock, Host, LoopSignals, Settings, scheduler, watchdog::HeartbeatMonitor,
};
use model::{
    Clock, InstanceId, RunId, SessionId, Timestamp, Uptime as _, WorkerId, policy::SessionMode,
    run::RunStatus, schedule::Spec, turn::HeartbeatReply,
};
use store::NewAutomation;
use testkit::{
    clock::{FakeClock, FakeUptime},
    scripted::Step,
};
use tokio::time::Instant;

use crate::{
    invariants,
    world::{Storage, World, automation, create_file, eventually, wait_for_file},
};

const MINUTE: Duration = Duration::from_mins(1);
/// A difference far above the uncertainty of a reading here, and far below the differences between the clocks.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(20);

/// One of several servers.
struct TestServer {
    host: Host,
    clock: Arc<FleetClock>,
    machine_clock: Arc<FakeClock>,
    uptime: Arc<FakeUptime>,
}

impl TestServer {
    /// Creates a server with its own data folder and clock.
    async fn new(world: &World, name: &str, shows: Timestamp) -> Self {
        let own = Arc::new(FakeClock::new(shows));
        // The machines were started at different times, so their uptimes differ.
        let uptime = Arc::new(FakeUptime::new(shows.since(Timestamp::UNIX_EPOCH) / 1000));
        let clock = Arc::new(FleetClock::new(
            Arc::<FakeClock>::clone(&own),
            Arc::<FakeUptime>::clone(&uptime),
        ));
        let mut host = world.host_with(|settings, _| {
            settings.heartbeat_stale = Settings::default().heartbeat_stale;
        });
        host.clock = Arc::<FleetClock>::clone(&clock);
        host.agent_runtime.clock = Arc::<FleetClock>::clone(&clock);
        host.instance = InstanceId::generate(shows, &*host.entropy);
        host.worker = WorkerId::generate(name, std::process::id(), &*host.entropy);
        let workers = world.path(name).join("workers");
        host.worker_lock = Arc::new(WorkerLock::acquire(&workers, &host.worker).unwrap());
        let registered = host
            .store
            .register_instance(world.tenant, host.instance, name, shows);
        registered.await.unwrap();
        Self {
            host,
            clock,
            machine_clock: own,
            uptime,
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Advances the uptime and the machine's clock.
    fn advance(&self, time: Duration) {
        self.uptime.advance(time);
        self.machine_clock.advance(time);
    }

    async fn fire_due(&self) -> u32 {
        let tick = scheduler::tick(&self.host, self.now()).await.unwrap();
        tick.started
    }

    async fn try_claim(&self, run: RunId) -> bool {
        let Host {
            store,
            worker,
            instance,
            ..
        } = &self.host;
        let claimed = store.claim(worker, *instance, 1, Some(run), self.now());
        claimed.await.unwrap().len() == 1
    }

    async fn renew_heartbeat(&self, run: RunId) {
        let Host { store, worker, .. } = &self.host;
        let beats = store.renew_heartbeats(worker, &[run], self.now()).await;
        assert_eq!(beats.unwrap(), [HeartbeatReply::Continue]);
    }
}

/// Returns two servers that know the database's clock, and whose machine clocks are ten minutes apart.
async fn two_servers(world: &World) -> [TestServer; 2] {
    let start = world.clock.now();
    let early = TestServer::new(world, "early", start).await;
    let late = TestServer::new(world, "late", start + 10 * MINUTE).await;
    for member in [&early, &late] {
        member.clock.read(&member.host.store).await.unwrap();
        assert!(member.host.time_is_known());
    }
    [early, late]
}

/// Creates an automation that is due once.
async fn create_automation_due_at(world: &World, at: Timestamp, now: Timestamp) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let new = NewAutomation {
        triggers: vec![Spec::At {
            at,
            zone: "UTC".into(),
        }],
        ..automation(agent, SessionMode::Fresh)
    };
    let made = world
        .store()
        .create_automation(world.tenant, None, &new, now);
    made.await.unwrap();
}

#[tokio::test]
async fn servers_with_skewed_clocks_fire_once_and_on_time() {
    let world = World::new(Storage::Postgres).await;
    let [early, late] = two_servers(&world).await;
    let apart = late
        .now()
        .since(early.now())
        .max(early.now().since(late.now()));
    assert!(apart < MAX_CLOCK_DIFFERENCE, "{apart:?}");
    let due = late.now().max(early.now()).ceil_second() + 30 * MINUTE;
    create_automation_due_at(&world, due, early.now()).await;

    // A server with an uncorrected clock would have fired by now.
    let until = due.since(late.now()).saturating_sub(MINUTE);
    for member in [&early, &late] {
        member.advance(until);
        assert_eq!(member.fire_due().await, 0);
    }
    assert!(world.runs().await.is_empty());
    for member in [&early, &late] {
        member.advance(MINUTE + MAX_CLOCK_DIFFERENCE);
    }
    let fired = Box::pin(futures::future::join(early.fire_due(), late.fire_due())).await;
    assert_eq!(fired.0 + fired.1, 1);
    let runs = world.runs().await;
    let [run] = runs.as_slice() else {
        panic!("{runs:#?}");
    };
    assert_eq!(run.scheduled_for, Some(due));
    assert_eq!(run.status(), RunStatus::Queued);
    let late_by = run.created_at.since(due);
    assert!(late_by <= 2 * MAX_CLOCK_DIFFERENCE, "{late_by:?}");
    for member in [&early, &late] {
        member.advance(MINUTE);
        assert_eq!(member.fire_due().await, 0);
    }
    assert_eq!(world.runs().await.len(), 1);
    invariants::check(&world).await;
}

#[tokio::test]
async fn servers_with_skewed_clocks_stall_only_silent_workers() {
    let world = World::new(Storage::Postgres).await;
    let members = two_servers(&world).await;
    let script = world.script();
    let agent = world.agent(&script).await;
    for (one, other) in [(0, 1), (1, 0)] {
        let (worker, watcher) = (&members[one], &members[other]);
        let session: SessionId = world.session(agent).await;
        let run = world.send_message(session, "hello").await;
        assert!(worker.try_claim(run).await);
        let (mut watch, mut at) = (HeartbeatMonitor::default(), Instant::now());
        // Longer than the staleness of a heartbeat, and longer than a new monitor distrusts the clock.
        for _ in 0..6 {
            worker.renew_heartbeat(run).await;
            let (host, now) = (&watcher.host, watcher.now());
            assert!(watch.tick(host, now, at).await.unwrap().is_empty());
            for it in &members {
                it.advance(MINUTE);
            }
            at += MINUTE;
        }
        // Setting the machine's own clock changes nothing.
        worker.renew_heartbeat(run).await;
        watcher.machine_clock.advance(60 * MINUTE);
        let (host, now) = (&watcher.host, watcher.now());
        assert!(watch.tick(host, now, at).await.unwrap().is_empty());
        assert_eq!(world.run(run).await.status(), RunStatus::Delivered);
        // A worker that sends no heartbeat for too long is given up on time.
        for (passes, given_up) in [
            (Duration::from_secs(160), vec![]),
            (2 * MAX_CLOCK_DIFFERENCE, vec![run]),
        ] {
            for it in &members {
                it.advance(passes);
            }
            at += passes;
            let (host, now) = (&watcher.host, watcher.now());
            assert_eq!(watch.tick(host, now, at).await.unwrap(), given_up);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_server_keeps_presence_and_clock_until_last_turn_ends() {
    let world = World::new(Storage::Postgres).await;
    let (began, goes_on) = (world.path("began"), world.path("goes on"));
    let script = world
        .script()
        .prompt([Step::Touch(began.clone()), Step::WaitFor(goes_on.clone())]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "hello").await;
    let mut member = TestServer::new(&world, "slow", world.clock.now()).await;
    // The server renews its presence at the heartbeat interval.
    member.host.settings.heartbeat = Duration::from_secs(1);
    member.clock.read(&member.host.store).await.unwrap();
    let daemon = Daemon::start_with_clock(
        member.host.clone(),
        LoopSignals::default(),
        Some(Arc::clone(&member.clock)),
    );
    wait_for_file(&began).await;
    let stop = tokio::spawn(daemon.stop());
    let serving = async || {
        let serving = world
            .store()
            .instance_server(member.host.instance)
            .await
            .unwrap();
        serving.filter(|serving| serving.stopped_at.is_none())
    };
    let seen = eventually("the server", serving).await.last_heartbeat_at;

    // By its uptime alone, the server would no longer know the time.
    member.advance(120 * MINUTE);
    assert!(!member.host.time_is_known());
    eventually("the time", async || {
        member.host.time_is_known().then_some(())
    })
    .await;
    eventually("a new heartbeat", async || {
        serving()
            .await
            .filter(|serving| serving.last_heartbeat_at > seen)
    })
    .await;
    assert!(!stop.is_finished());
    create_file(&goes_on);
    let stopped = stop.await.unwrap();
    assert_eq!((stopped.finished, stopped.requeued), (1, 0));
    assert_eq!(world.run(run).await.status(), RunStatus::Succeeded);
    assert!(
        serving().await.is_none(),
        "the stopped server has recorded its stop"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_with_wrong_clock_dates_turns_by_database_clock() {
    let world = World::new(Storage::Postgres).await;
    let script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "hello").await;
    // The machine's clock shows 1970 until the database's clock is read.
    let member = TestServer::new(&world, "lost", Timestamp::UNIX_EPOCH).await;
    assert!(!member.host.time_is_known());
    let reference = FleetClock::new(
        Arc::new(FakeClock::new(Timestamp::UNIX_EPOCH)),
        Arc::<FakeUptime>::clone(&member.uptime),
    );
    reference.read(world.store()).await.unwrap();
    let daemon = Daemon::start_with_clock(
        member.host.clone(),
        LoopSignals::default(),
        Some(Arc::clone(&member.clock)),
    );
    let run = world.wait_until_over(run).await;
    daemon.stop().await;
    assert_eq!(run.status(), RunStatus::Succeeded);
    assert!(member.host.time_is_known());
    // Only the database's time passes here.
    let began = reference.now();
    for at in [run.state.started_at(), run.state.ended_at()] {
        let off = at.unwrap().since(began).max(began.since(at.unwrap()));
        assert!(off < 10 * MINUTE, "{off:?} beside the database's clock");
    }
    for said in world.transcript(session).await.into_iter().skip(1) {
        let off = said
            .created_at
            .since(began)
            .max(began.since(said.created_at));
        assert!(off < 10 * MINUTE, "{said:#?}");
    }
    assert_eq!(member.uptime.uptime(), Duration::ZERO);
    invariants::check(&world).await;
}
