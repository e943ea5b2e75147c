//! Gives up runs whose worker is lost, so that their inputs are taken up again.

use std::time::Duration;

use model::{RunId, Timestamp};
use tokio::time::Instant;

use crate::{Error, Host, Settings, Waker, runner::Look};

/// How much more than the time that has passed the clock may advance between two looks.
const CLOCK_DRIFT: Duration = Duration::from_secs(1);

/// One look: runs whose heartbeat is stale, and those whose worker was a process of this instance that
/// is gone; and approvals whose time is over. While the time is not known, only what needs none. Gives the
/// runs that were given up.
pub async fn tick(host: &Host, now: Timestamp) -> Result<Vec<RunId>, Error> {
    if !host.knows_the_time() {
        return give_up_gone(host, now).await;
    }
    let stale_before = now.saturating_sub(host.settings.heartbeat_stale);
    // First those of whom it is known where to look for what they have left.
    let mut given_up = give_up_gone(host, now).await?;
    let stale = host.store.stall(stale_before, now).await?;
    host.metrics.stalled(stale.len());
    given_up.extend(stale);
    // Whoever asked may be gone or frozen. Those who wait for what was given up must be woken in any case.
    if let Err(error) = host.store.expire_overdue(now).await {
        let error: &(dyn std::error::Error + 'static) = &error;
        tracing::error!(error, "failed to deny what nobody has decided in time");
        host.metrics.failed(Watchdog::NAME);
    }
    Ok(given_up)
}

/// Gives up the runs whose worker was a process of this instance that is gone.
async fn give_up_gone(host: &Host, now: Timestamp) -> Result<Vec<RunId>, Error> {
    let mut stalled = Vec::new();
    let executing = host.store.executing_on(host.instance).await?;
    let workers: Vec<_> = executing.iter().map(|(_, worker)| worker.clone()).collect();
    for (run, worker) in executing {
        if !host.sign_of_life.is_gone(&worker) {
            continue;
        }
        sweep(run).await;
        if host.store.stall_run(run, &worker, now).await? {
            host.metrics.stalled(1);
            stalled.push(run);
        }
    }
    if let Err(error) = host.sign_of_life.tidy(&workers).await {
        let error: &(dyn std::error::Error + 'static) = &error;
        tracing::error!(error, "failed to tidy up after workers that are gone");
    }
    Ok(stalled)
}

/// Kills what a lost worker's agent has left. Its guard has done so unless it was killed as well, and
/// nothing of the old attempt may be alive when the next one starts.
async fn sweep(run: RunId) {
    let swept = tokio::task::spawn_blocking(move || agent::guard::sweep(&run.to_string())).await;
    match swept {
        Ok(Ok(0)) => {}
        Ok(Ok(killed)) => tracing::warn!(%run, killed, "killed {killed} processes left by {run}"),
        Ok(Err(error)) => tracing::error!(%run, %error, "failed to kill what {run} has left"),
        Err(error) => tracing::error!(%run, %error, "failed to look for what {run} has left"),
    }
}

/// Looks at heartbeats, and knows when the clock cannot be trusted with their age.
///
/// A clock that was set forward (on PostgreSQL the database's: the machine's own does not matter there), or a
/// machine that slept, makes every heartbeat look stale at once.
/// Those who live renew theirs within a period, and the agents of those who do not, because they are
/// frozen, are killed when their leases are over. So for as long as a lease only the dead are given up
/// who are known to be dead. Who has just begun to look cannot know what the clock did before, and
/// waits as long.
///
/// While the time is not known at all, what the clock shows is no look at it: the next one that is compares
/// with the last one that was. So a first reading of the database's clock, which puts another time in the place
/// of the machine's, is a beginning and no leap, and the wait begins with it.
///
/// Not for other crates: public for the simulation, which has clocks of its own.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Watch {
    /// What the clock showed at the last look, and when that was.
    last: Option<(Timestamp, Instant)>,
    /// Until when heartbeats may look older than they are.
    doubtful_until: Option<Instant>,
    /// Whether the last look found no heartbeat.
    idle: bool,
}

impl Watch {
    /// One look, when the clock shows `now` and the process's own time is `at`. Gives the runs that
    /// were given up.
    pub async fn look(
        &mut self,
        host: &Host,
        now: Timestamp,
        at: Instant,
    ) -> Result<Vec<RunId>, Error> {
        if !host.knows_the_time() {
            self.idle = false;
            let given_up = tick(host, now).await?;
            return Ok(told(given_up));
        }
        let leapt = match self.last.replace((now, at)) {
            Some((shown, then)) => now.since(shown).saturating_sub(at - then),
            None => Duration::MAX,
        };
        if leapt > CLOCK_DRIFT {
            if leapt < Duration::MAX {
                tracing::warn!("the clock leapt by {leapt:?}: waiting for heartbeats");
            }
            self.doubtful_until = Some(at + host.settings.lease());
        }
        // Whatever a worker has has a heartbeat: without any there is nothing to give up.
        self.idle = host.store.oldest_heartbeat().await?.is_none();
        if self.idle {
            if !self.doubts(at) {
                self.doubtful_until = None;
            }
            return Ok(Vec::new());
        }
        let given_up = if self.doubts(at) {
            give_up_gone(host, now).await?
        } else {
            self.doubtful_until = None;
            tick(host, now).await?
        };
        Ok(told(given_up))
    }

    /// Whether heartbeats may look older than they are.
    fn doubts(&self, at: Instant) -> bool {
        self.doubtful_until.is_some_and(|until| at < until)
    }
}

fn told(given_up: Vec<RunId>) -> Vec<RunId> {
    for run in &given_up {
        tracing::warn!(%run, "gave up {run}: its worker is lost");
    }
    given_up
}

/// The watchdog of one server. It looks at its own period, and when the oldest heartbeat can have
/// become stale.
pub(crate) struct Watchdog {
    pub(crate) host: Host,
    pub(crate) waker: Waker,
    pub(crate) watch: Watch,
}

impl Look for Watchdog {
    const NAME: &'static str = "watchdog";

    async fn look(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        if !self
            .watch
            .look(&self.host, now, Instant::now())
            .await?
            .is_empty()
        {
            self.waker.scheduler.notify_one();
            self.waker.pool.notify_one();
        }
        let Settings {
            heartbeat,
            heartbeat_stale,
            ..
        } = self.host.settings;
        if self.watch.idle {
            return Ok(None);
        }
        if !self.host.knows_the_time() {
            return Ok(Some(now + heartbeat));
        }
        if self.watch.doubtful_until.is_some() {
            self.waker.beats.notify_one();
            return Ok(Some(now + heartbeat + CLOCK_DRIFT));
        }
        let oldest = self.host.store.oldest_heartbeat().await?;
        // One that is exactly as old as it may be is not stale yet.
        Ok(oldest.map(|at| at + heartbeat_stale + Duration::from_micros(1)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{collections::BTreeMap, path::Path, sync::Arc};

    use agent::{Grace, GuardProgram};
    use model::{
        ApprovalId, Clock as _, Entropy, InstanceId, SessionId, WorkerId,
        approval::{ApprovalStatus, Question},
        entity::SeatSettings,
        harness::HarnessConfig,
        run::RunStatus,
        session::{SessionKind, SessionType},
        turn::{Beat, Begin, Settled},
    };
    use store::{Location, NewSession, Scope, Store, database::Statement, params};
    use testkit::clock::{FakeClock, SeededEntropy};
    use turn::Agents;

    use super::*;
    use crate::SignOfLife;

    /// So short that a lease is over by the second look.
    const STALE: Duration = Duration::from_micros(4);

    /// A server that takes no turns.
    pub(crate) async fn host(clock: &Arc<FakeClock>, workers: &Path) -> Host {
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(1));
        let database = store::open(&Location::SqliteMemory).await.unwrap();
        let settings = Settings {
            heartbeat_stale: STALE,
            ..Settings::default()
        };
        let worker = WorkerId::generate("test", std::process::id(), &*entropy);
        Host {
            store: Store::new(database, Arc::clone(&entropy), workers.join("sessions")),
            clock: Arc::<FakeClock>::clone(clock),
            instance: InstanceId::generate(clock.now(), &*entropy),
            sign_of_life: Arc::new(SignOfLife::give(workers, &worker).unwrap()),
            worker,
            agents: Agents {
                guard: GuardProgram {
                    program: "/nowhere/guard".into(),
                    args: Vec::new(),
                    worker: None,
                },
                environment: BTreeMap::new(),
                clock: Arc::<FakeClock>::clone(clock),
                entropy: Arc::clone(&entropy),
                heartbeat: settings.heartbeat,
                lease: settings.lease(),
                grace: Grace::default(),
            },
            entropy,
            settings,
            metrics: telemetry::Metrics::new("test"),
        }
    }

    /// Has the server claim a person's words.
    pub(crate) async fn claimed(host: &Host) -> RunId {
        let run = queued(host).await;
        let claimed = host
            .store
            .claim(&host.worker, host.instance, 1, Some(run), host.now());
        assert_eq!(claimed.await.unwrap().len(), 1);
        run
    }

    /// Says something to a session that nobody has taken up yet.
    pub(crate) async fn queued(host: &Host) -> RunId {
        let (store, now) = (&host.store, host.now());
        let tenant = store.ensure_tenant("default", now).await.unwrap();
        let registered = store.register_host(tenant, host.instance, "test", now);
        registered.await.unwrap();
        let config = HarnessConfig::new(vec!["agent".into()]);
        let harness = store.put_harness(tenant, "agent", &config, None, now);
        let id = SessionId::generate(now, &*host.entropy);
        let session = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: None,
            title: None,
            draft: false,
            channel: None,
            cwd: store.working_directory(None, id),
            schedule_id: None,
            harness: harness.await.unwrap().id,
            settings: SeatSettings::default(),
        };
        store.create_session(tenant, &session, now).await.unwrap();
        store.say(tenant, id, "hello", now).await.unwrap().run_id
    }

    /// Has the server begin a turn that asks for a permission.
    async fn asked(host: &Host, title: &str, patience: Duration) -> (RunId, ApprovalId) {
        let run = claimed(host).await;
        let (store, now) = (&host.store, host.now());
        let begun = store.begin(run, &host.worker, host.instance, now);
        assert!(matches!(begun.await.unwrap(), Begin::Started(_)));
        let id = ApprovalId::generate(now, &*host.entropy);
        let question = Question::new("execute", title, "call-1", None);
        let asked = store.ask(run, &host.worker, id, &question, now + patience, now);
        assert_eq!(asked.await.unwrap(), Settled::Written);
        (run, id)
    }

    #[tokio::test]
    async fn an_approval_that_cannot_be_written_holds_up_nothing() {
        const BREAK: &str = "create trigger break_one before update on approvals \
            when old.title = 'broken' begin select raise(abort, 'it is broken'); end";
        static STATEMENT: Statement = Statement::new("a test's statement", BREAK, BREAK);
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(FakeClock::at("2026-11-23T08:00:00Z"));
        let host = host(&clock, folder.path()).await;
        let store = &host.store;
        // The one that is broken comes first.
        let (first, broken) = asked(&host, "broken", Duration::from_secs(1)).await;
        let (second, overdue) = asked(&host, "ls", Duration::from_secs(2)).await;
        let lost = claimed(&host).await;
        let now = clock.advance(Duration::from_secs(3));
        let live = [first, second];
        let beats = store.heartbeat(&host.worker, &live, now);
        assert_eq!(beats.await.unwrap(), [Beat::GoOn, Beat::GoOn]);
        let mut tx = store.database().begin(Scope::System).await.unwrap();
        tx.execute(&STATEMENT, params![]).await.unwrap();
        tx.commit().await.unwrap();

        assert!(store.expire_overdue(now).await.is_err());
        let state = async |id| store.approval(Scope::System, id).await.unwrap().status();
        assert_eq!(state(broken).await, ApprovalStatus::Pending);
        assert_eq!(state(overdue).await, ApprovalStatus::Expired);
        // And whoever is woken for what was given up is told of it.
        assert_eq!(tick(&host, now).await.unwrap(), [lost]);
    }

    #[tokio::test]
    async fn it_looks_again_when_the_oldest_heartbeat_can_be_stale() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(FakeClock::at("2026-11-23T08:00:00Z"));
        let host = host(&clock, folder.path()).await;
        let run = claimed(&host).await;
        let mut watchdog = Watchdog {
            host: host.clone(),
            waker: Waker::default(),
            watch: Watch::default(),
        };
        let beat = clock.now();
        // Who has just begun to look knows nothing of the clock for as long as a lease.
        watchdog.look(beat).await.unwrap();
        let stale = beat + STALE + Duration::from_micros(1);
        assert_eq!(watchdog.look(beat).await.unwrap(), Some(stale));
        clock.set(stale);
        watchdog.look(stale).await.unwrap();
        let run = host.store.run(Scope::System, run).await.unwrap();
        assert_eq!(run.status(), RunStatus::Stalled);
    }
}
