//! A runtime as the server of its instance: registration, presence, the claim of runs, and dead workers.

use std::{sync::Arc, time::Duration};

use model::{Clock as _, InstanceId, RunId, WorkerId, limits, run::RunStatus};
use runtime::{Claim, Registered, ServerClock, ServerLink};
use testkit::clock::FakeUptime;
use tokio::time::timeout;

use crate::{
    wire::{Faults, TestRuntime},
    world::{Storage, TEST_TIMEOUT, World},
};

fn worker(name: &str) -> WorkerId {
    WorkerId::from_stored(format!("{name}-1-00000001"))
}

fn link(world: &World, runtime: &TestRuntime, worker: &WorkerId) -> ServerLink {
    let uptime = Arc::new(FakeUptime::new(Duration::from_hours(1)));
    let clock = ServerClock::new(Arc::clone(&world.host.clock), uptime);
    ServerLink::new(runtime.client(world, worker), Arc::new(clock))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runtime_serves_its_instance_until_another_one_replaces_it() {
    let world = World::new(Storage::SqliteOverApi).await;
    let runtime = TestRuntime::new(&world, Faults::of([])).await;
    let [first, second] = ["first", "second"].map(worker);
    let one = link(&world, &runtime, &first);
    let Registered::Accepted(registration) = one.register("1.2.3", &[]).await.unwrap() else {
        panic!("it is in use");
    };
    assert_eq!(registration.instance_name, "test");
    assert_eq!(registration.lease(), world.host.settings.lease());
    assert!(registration.lease() < world.host.settings.heartbeat_stale);
    // A lost reply is no other runtime.
    let again = one.register("1.2.3", &[]).await.unwrap();
    assert!(matches!(again, Registered::Accepted(_)), "{again:?}");
    let server = async || world.store().instance_server(world.host.instance).await;
    let served = server().await.unwrap().unwrap();
    assert_eq!(
        (served.worker, served.version.as_str()),
        (first.clone(), "1.2.3")
    );

    // A second one is refused while the first is online, and not if it is known to be dead.
    let other = link(&world, &runtime, &second);
    let Registered::InUse { worker, offline_at } = other.register("1.2.4", &[]).await.unwrap()
    else {
        panic!("two runtimes serve one instance");
    };
    assert_eq!(worker, first.as_str());
    assert_eq!(offline_at, world.clock.now() + limits::SERVER_OFFLINE_AFTER);
    let replacing = other.register("1.2.4", std::slice::from_ref(&first)).await;
    assert!(matches!(replacing.unwrap(), Registered::Accepted(_)));
    let replaced = one
        .presence(Vec::new(), Duration::from_secs(20))
        .await
        .unwrap();
    assert!(replaced.is_replaced);
    let present = other.presence(Vec::new(), Duration::ZERO).await.unwrap();
    assert!(!present.is_replaced);

    // A stop makes room at once, and one that did not stop is offline after a while.
    other.stop().await.unwrap();
    assert!(server().await.unwrap().unwrap().stopped_at.is_some());
    let back = one.register("1.2.3", &[]).await.unwrap();
    assert!(matches!(back, Registered::Accepted(_)));
    world
        .clock
        .advance(limits::SERVER_OFFLINE_AFTER + Duration::from_secs(1));
    let last = other.register("1.2.4", &[]).await.unwrap();
    assert!(matches!(last, Registered::Accepted(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presence_returns_at_once_when_run_is_cancelled_or_lost() {
    let world = World::new(Storage::SqliteOverApi).await;
    let runtime = TestRuntime::new(&world, Faults::of([])).await;
    let own = worker("own");
    let link = link(&world, &runtime, &own);
    link.register("1", &[]).await.unwrap();
    let agent = world.agent(&world.script()).await;
    let mut runs = Vec::new();
    for _ in 0..2 {
        let session = world.session(agent).await;
        let run = world.send_message(session, "One").await;
        let claimed = link.claim(run).await.unwrap();
        assert!(matches!(claimed, Claim::Claimed(_)), "{claimed:?}");
        runs.push(run);
    }
    let undisturbed = link.presence(runs.clone(), Duration::ZERO).await.unwrap();
    assert_eq!(undisturbed.disturbed, []);
    // The wait is longer than the test may take.
    let presence =
        |runs: Vec<RunId>| timeout(TEST_TIMEOUT, link.presence(runs, Duration::from_secs(20)));
    let (waited, status) = tokio::join!(presence(runs.clone()), world.cancel(runs[0], "enough"));
    assert_eq!(status, RunStatus::Delivered);
    assert_eq!(waited.unwrap().unwrap().disturbed, runs[..1]);
    // A run that the caller has noticed does not end the next wait.
    let stall = async {
        let now = world.clock.now();
        world.store().stall_run(runs[1], &own, now).await
    };
    let (waited, stalled) = tokio::join!(presence(runs[1..].to_vec()), stall);
    assert!(stalled.unwrap());
    assert_eq!(waited.unwrap().unwrap().disturbed, runs[1..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claim_tells_whether_run_is_claimed_over_or_waits() {
    let world = World::new(Storage::SqliteOverApi).await;
    let runtime = TestRuntime::new(&world, Faults::of([])).await;
    let [own, other] = ["own", "other"].map(worker);
    let [link, second] = [&own, &other].map(|worker| link(&world, &runtime, worker));
    let session = world.session(world.agent(&world.script()).await).await;
    let run = world.send_message(session, "One").await;
    let next = world.send_message(session, "Two").await;
    let Claim::Claimed(claimed) = link.claim(run).await.unwrap() else {
        panic!("it is not claimed");
    };
    assert_eq!((claimed.run, claimed.attempt), (run, 1));
    assert_eq!(claimed.directory, None);
    // A repetition after a lost reply. The lease counts from it, so that the heartbeat does as well.
    let later = world.clock.advance(Duration::from_hours(1));
    assert_eq!(link.claim(run).await.unwrap(), Claim::Claimed(claimed));
    assert_eq!(world.store().oldest_heartbeat().await.unwrap(), Some(later));
    assert_eq!(second.claim(run).await.unwrap(), Claim::NotNow);
    assert_eq!(
        link.claim(next).await.unwrap(),
        Claim::Over,
        "it is deferred, and gets another file once its seat is free"
    );

    // The worker dies. Its run ends, and the next attempt is another run.
    let runs = second.give_up(std::slice::from_ref(&other)).await.unwrap();
    assert_eq!(runs, []);
    let runs = second.give_up(std::slice::from_ref(&own)).await.unwrap();
    assert_eq!(runs, [run]);
    assert_eq!(world.run(run).await.status(), RunStatus::Stalled);
    assert_eq!(link.claim(run).await.unwrap(), Claim::Over);
    let unknown = RunId::generate(world.clock.now(), &*world.host.entropy);
    assert_eq!(link.claim(unknown).await.unwrap(), Claim::Over);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_other_instance_are_not_given_up() {
    let world = World::new(Storage::SqliteOverApi).await;
    let (store, now) = (world.store(), world.clock.now());
    let session = world.session(world.agent(&world.script()).await).await;
    let run = world.send_message(session, "One").await;
    let (own, instance) = (worker("own"), world.host.instance);
    let claimed = store.claim(&own, instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let elsewhere = InstanceId::generate(now, &*world.host.entropy);
    store
        .register_instance(world.tenant, elsewhere, "elsewhere", now)
        .await
        .unwrap();
    let runtime = TestRuntime::of_instance(&world, elsewhere, Faults::of([])).await;
    let link = link(&world, &runtime, &worker("other"));
    assert_eq!(link.give_up(&[own]).await.unwrap(), []);
    // Its file is not removed, because another instance has to take the run.
    assert_eq!(link.claim(run).await.unwrap(), Claim::NotOfInstance);
    assert_eq!(world.run(run).await.status(), RunStatus::Delivered);
}
