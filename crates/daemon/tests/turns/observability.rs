//! The observability of a server: its metrics, and a span for each turn.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use daemon::{Daemon, LoopSignals, WorkerTurnStore};
use model::{
    Clock as _,
    agent::AgentConfig,
    outcome::{FailureKind, Outcome, RunFailure},
    policy::{CatchUp, SessionMode},
    run::RunStatus,
    turn::{StartReply, TurnResult, WriteOutcome},
};
use store::Store;
use tokio_util::sync::CancellationToken;
use tracing::instrument::WithSubscriber as _;
use tracing_subscriber::fmt::format::FmtSpan;
use turn::TurnStore as _;

use crate::world::{World, at, automation, eventually, on_demand};

/// The metrics of a world's host, as lines.
struct MetricLines(String);

impl MetricLines {
    fn collect(world: &World) -> Self {
        Self(world.host.metrics.encode(None).unwrap())
    }

    #[track_caller]
    fn assert_lines(&self, lines: &[&str]) {
        for line in lines {
            assert!(self.0.lines().any(|it| it == *line), "{line}\n{}", self.0);
        }
    }
}

pub(crate) async fn metrics_count_and_time_fires_claims_and_turns(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world
        .create_automation(&automation(agent, SessionMode::Fresh))
        .await;
    MetricLines::collect(world).assert_lines(&[
        "matins_occurrences_total 0",
        "matins_fire_lag_seconds_count 0",
        "matins_claim_latency_seconds_count 0",
    ]);

    let said = world.send_message(session, "Hello").await;
    world.clock.advance(Duration::from_secs(7));
    let daemon = world.daemon();
    world.wait_until_over(said).await;
    // The tick is three seconds after the instant.
    world.clock.set(at("2026-11-23T08:00:03Z"));
    daemon.signals().wake();
    let fired = eventually("the run that is fired", async || {
        world.runs().await.into_iter().nth(1)
    })
    .await;
    world.wait_until_over(fired.id).await;
    daemon.stop().await;

    MetricLines::collect(world).assert_lines(&[
        "matins_occurrences_total 1",
        "matins_missed_total 0",
        "matins_fire_lag_seconds_bucket{le=\"2.5\"} 0",
        "matins_fire_lag_seconds_bucket{le=\"5.0\"} 1",
        "matins_fire_lag_seconds_sum 3.0",
        "matins_claim_latency_seconds_count 2",
        // An occurrence waits from its instant on.
        "matins_queue_wait_seconds_bucket{le=\"2.5\"} 0",
        "matins_queue_wait_seconds_bucket{le=\"5.0\"} 1",
        "matins_queue_wait_seconds_bucket{le=\"10.0\"} 2",
        "matins_turn_seconds_count{outcome=\"succeeded\"} 2",
        "matins_runs_ended_total{outcome=\"succeeded\",origin=\"person\"} 1",
        "matins_runs_ended_total{outcome=\"succeeded\",origin=\"occurrence\"} 1",
        "matins_stalls_total 0",
        "matins_sweep_faults_total 0",
    ]);
}

pub(crate) async fn metrics_count_missed_instants_without_lag(world: &World) {
    let agent = world.agent(&world.script()).await;
    let mut new = automation(agent, SessionMode::Fresh);
    new.policies.catch_up = CatchUp::None;
    world.create_automation(&new).await;
    world.clock.set(at("2026-11-25T12:00:00Z"));
    world.fire_due().await;
    MetricLines::collect(world).assert_lines(&[
        "matins_missed_total 3",
        "matins_occurrences_total 0",
        "matins_fire_lag_seconds_count 0",
    ]);
}

pub(crate) async fn metrics_count_each_attempt_and_queue_wait_of_first_only(world: &World) {
    let config = AgentConfig::new(vec!["/nowhere/agent".into()]);
    let agent = world.agent_with(&config).await;
    let session = world.session(agent).await;
    let said = world.send_message(session, "Hello").await;
    let taken = daemon::take_standalone_turn(&world.host, said, CancellationToken::new());
    let backoffs = async {
        for number in 1..3 {
            let next = eventually("the next attempt", async || {
                world.attempts(said).await.into_iter().nth(number)
            });
            world.clock.set(next.await.state.not_before().unwrap());
        }
    };
    let (taken, ()) = tokio::join!(taken, backoffs);
    assert_eq!(taken.unwrap().attempt, 3);
    MetricLines::collect(world).assert_lines(&[
        "matins_runs_ended_total{outcome=\"failed\",origin=\"person\"} 3",
        "matins_turn_seconds_count{outcome=\"failed\"} 3",
        "matins_claim_latency_seconds_count 3",
        "matins_queue_wait_seconds_count 1",
    ]);
}

pub(crate) async fn metrics_count_failure_after_cancel_as_cancelled(world: &World) {
    let agent = world.agent(&world.script()).await;
    let id = world.create_automation(&on_demand(agent)).await;
    let run = world.fire(id).await;
    let (worker, instance) = (&world.host.worker, world.host.instance);
    let claimed = world
        .store()
        .claim(worker, instance, 1, Some(run), world.clock.now());
    assert_eq!(claimed.await.unwrap().len(), 1);
    let ledger = WorkerTurnStore::new(world.host.clone());
    let begun = ledger.begin(run, [7; 32]).await.unwrap();
    assert!(matches!(begun, StartReply::Started(_)), "{begun:?}");
    // The agent dies before its worker has read the cancellation.
    world.cancel(run, "not wanted").await;
    let died = Outcome::Failed(RunFailure {
        kind: FailureKind::AgentExited,
        prompted: true,
        message: "it died".into(),
    });
    let settled = ledger
        .finish(run, TurnResult::with_outcome(died))
        .await
        .unwrap();
    assert_eq!(settled, WriteOutcome::Committed);
    assert_eq!(world.run(run).await.status(), RunStatus::Cancelled);
    MetricLines::collect(world).assert_lines(&[
        "matins_runs_ended_total{outcome=\"cancelled\",origin=\"occurrence\"} 1",
        "matins_turn_seconds_count{outcome=\"cancelled\"} 1",
    ]);
    assert!(!MetricLines::collect(world).0.contains("\"failed\""));
}

pub(crate) async fn metrics_count_stalled_run_once_and_not_as_turn(world: &World) {
    let agent = world.agent(&world.script()).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "Hello").await;
    let (worker, instance) = (&world.host.worker, world.host.instance);
    let claimed = world
        .store()
        .claim(worker, instance, 1, Some(run), world.clock.now());
    assert_eq!(claimed.await.unwrap().len(), 1);
    let ledger = WorkerTurnStore::new(world.host.clone());
    let begun = ledger.begin(run, [7; 32]).await.unwrap();
    assert!(matches!(begun, StartReply::Started(_)), "{begun:?}");
    let now = world.clock.advance(Duration::from_hours(24));
    for given_up in [vec![run], vec![]] {
        let tick = daemon::watchdog::tick(&world.host, now).await.unwrap();
        assert_eq!(tick, given_up);
    }
    // Later writes of that worker change nothing and are not counted.
    let done = TurnResult::with_outcome(Outcome::Cancelled("too late".into()));
    let settled = ledger.finish(run, done).await.unwrap();
    assert_eq!(settled, WriteOutcome::Fenced);
    MetricLines::collect(world).assert_lines(&["matins_stalls_total 1"]);
    assert!(!MetricLines::collect(world).0.contains("outcome="));
}

pub(crate) async fn metrics_count_loop_errors_by_loop_name(world: &World) {
    let address = format!("sqlite://{}", world.path("away.db").display());
    let away = store::open(&address.parse().unwrap()).await.unwrap();
    away.clone().close().await;
    let mut host = world.host.clone();
    host.store = Store::new(away, Arc::clone(&host.entropy), world.path("sessions"));
    let daemon = Daemon::start_with_signals(host, LoopSignals::default());
    for name in [
        "scheduler",
        "watchdog",
        "housekeeping",
        "notifier",
        "workers",
    ] {
        let failed = format!("matins_loop_errors_total{{of=\"{name}\"}}");
        eventually(&failed, async || {
            MetricLines::collect(world)
                .0
                .contains(&failed)
                .then_some(())
        })
        .await;
    }
    daemon.stop().await;
}

/// A subscriber that collects the output about spans.
#[derive(Clone, Default)]
struct SpanLog(Arc<Mutex<Vec<u8>>>);

impl io::Write for SpanLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) async fn turn_span_has_only_ids(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "a secret of mine").await;
    let spans = SpanLog::default();
    let kept = spans.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(move || kept.clone())
        .with_ansi(false)
        .finish();
    let taken = daemon::take_standalone_turn(&world.host, run, CancellationToken::new());
    let taken = taken.with_subscriber(subscriber).await.unwrap();
    assert_eq!(taken.status(), RunStatus::Succeeded);
    let told = String::from_utf8(spans.0.lock().unwrap().clone()).unwrap();
    let worker = &world.host.worker;
    let span = format!("turn{{run={run} worker={worker} session={session}}}: daemon::turns: close");
    let closed: Vec<_> = told.lines().filter(|line| line.contains(&span)).collect();
    assert_eq!(closed.len(), 1, "{told}");
    assert!(!closed[0].contains("secret"), "{told}");
}
