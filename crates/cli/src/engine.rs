//! Everything that takes turns: the loops of a server, and single turns without one.

use std::{pin::pin, sync::Arc, time::Duration};

use agent::Grace;
use daemon::{Daemon, Host, SignOfLife, Waker};
use model::{RunId, WorkerId, entity::Run, run::RunStatus};
use service::Waiting;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    app::App,
    data_folder::ServeLock,
    environment,
    failure::{Exit, Failure},
    poke::PokeServer,
    system::hostname,
};

/// The first argument of the processes that guard agents.
pub(crate) const GUARD: &str = "guard";
/// How often what stands before a run is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// What turns need.
fn host(app: &App) -> Result<Host, Failure> {
    let settings = app.settings.clone();
    let worker = WorkerId::generate(&hostname(), std::process::id(), &*app.entropy);
    let workers = app.folder.workers();
    let sign_of_life = SignOfLife::give(&workers, &worker).map_err(|source| {
        Failure::environment(format!("use the folder {}", workers.display()), source)
    })?;
    Ok(Host {
        store: app.store.clone(),
        clock: app.clock.clone(),
        entropy: app.entropy.clone(),
        instance: app.instance,
        worker,
        sign_of_life: Arc::new(sign_of_life),
        agents: turn::Agents {
            guard: app.guard.clone(),
            environment: environment::for_agents(),
            clock: app.clock.clone(),
            entropy: app.entropy.clone(),
            heartbeat: settings.heartbeat,
            lease: settings.lease(),
            grace: Grace::default(),
        },
        settings,
    })
}

/// The loops of this process, with the socket at which they are poked. One for each data folder.
pub(crate) struct Server {
    daemon: Daemon,
    pokes: PokeServer,
    lock: ServeLock,
}

impl Server {
    /// Takes the data folder and starts.
    pub(crate) fn start(app: &App) -> Result<Self, Failure> {
        let lock = app.folder.lock()?;
        let host = host(app)?;
        let waker = Waker::default();
        let poked = waker.clone();
        // Before any turn is claimed: without the socket there is no serving.
        let pokes =
            PokeServer::start(app.folder.path(), move || poked.wake()).map_err(|source| {
                let what = format!("listen in {}", app.folder.path().display());
                Failure::environment(what, source)
            })?;
        let daemon = Daemon::start_with(host, waker);
        Ok(Self {
            daemon,
            pokes,
            lock,
        })
    }

    /// Cancelled when a loop has died: nothing is fired or taken any more.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.daemon.ended()
    }

    /// What makes a stop hand running turns back at once.
    pub(crate) fn hurry(&self) -> CancellationToken {
        self.daemon.hurry()
    }

    /// Stops: turns that run may end until the deadline, and are then handed back.
    pub(crate) async fn stop(self) -> daemon::Stopped {
        // From here on nobody is told that somebody serves.
        drop(self.pokes);
        let stopped = self.daemon.stop().await;
        drop(self.lock);
        stopped
    }
}

/// Takes the turn of a run in this process, and before it those of the runs that it waits for and that
/// nobody else takes. Gives the last attempt at it, over or, when `stop` came first, as it stands.
pub(crate) async fn take_turn(
    app: &App,
    run: RunId,
    stop: CancellationToken,
) -> Result<Run, Failure> {
    let host = host(app)?;
    let mut taken = pin!(daemon::take_one(&host, run, stop.clone()));
    loop {
        let before = tokio::select! {
            biased;
            ended = &mut taken => return ended.map_err(failed),
            before = what_stands_before(app, run) => before?,
        };
        // Both go on: the one that waits may be called off, or taken by somebody else, meanwhile.
        let mut other = pin!(daemon::take_one(&host, before, stop.clone()));
        tokio::select! {
            ended = &mut taken => {
                // A turn that was begun is brought to its end.
                let other = other.await;
                return ended.and_then(|run| other.map(|_| run)).map_err(failed);
            }
            over = &mut other => {
                over.map_err(failed)?;
            }
        }
    }
}

/// Waits until the newest attempt at a run's input waits for another run that waits for a worker.
async fn what_stands_before(app: &App, run: RunId) -> Result<RunId, Failure> {
    loop {
        let run = app.service.run_by_id(run).await?;
        let run = app.service.latest_attempt(&run).await?;
        if let Some(Waiting::Run {
            run,
            status: RunStatus::Queued,
            ..
        }) = app.service.waits_for(&run).await?
        {
            return Ok(run);
        }
        sleep(LOOK).await;
    }
}

fn failed(error: daemon::Error) -> Failure {
    Failure::new(Exit::Environment, error)
}
