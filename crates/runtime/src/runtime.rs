//! A whole runtime: locks its folder, registers at the server, takes the turns of the files, and stops.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent::{GracePeriods, GuardProgram};
use client::Client;
use model::{Clock, Entropy, Uptime, WorkerId};
use runtime_api::presence::Registration;
use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;
use trigger_folder::{FolderWatcher, TriggerFolder};
use turn::{AgentRuntime, ListenForTools};

use crate::{
    ServerClock, ServerLink, TurnContext,
    api_server::ApiServer,
    boxed,
    file_worker::{FileWorker, STOP_TIMEOUT},
    folder_loop::FolderLoop,
    locks::{Locks, LocksError},
    running_turns::RunningTurns,
    server_link::Registered,
    tool_forwarder::ToolForwarder,
    tool_request::Retries,
    turn_slots::TurnSlots,
};

/// The longest wait of the server for a cancellation, in one request.
const PRESENCE_WAIT: Duration = Duration::from_secs(20);
/// The pauses before a request is tried again while the server is away. Each is twice the one before.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_mins(1)];
/// The pause before another registration while another runtime serves the instance.
const REGISTER_PAUSE: Duration = Duration::from_secs(1);
/// The time for which another runtime may still seem to serve the instance, because it has stopped without notice.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(150);

/// The conditions of a runtime.
pub struct RuntimeConfig {
    /// The trigger folder.
    pub folder: PathBuf,
    /// The folder below which sessions have folders of their own. It must be an absolute path.
    pub session_folders: PathBuf,
    /// The client, with the token of the instance.
    pub client: Client,
    /// The command that starts guards.
    pub guard: GuardProgram,
    /// The environment, from which agents may pass on variables.
    pub environment: BTreeMap<String, String>,
    /// The limits of the steps of a shutdown of an agent.
    pub grace: GracePeriods,
    /// The machine's own clock.
    pub machine_clock: Arc<dyn Clock>,
    /// The uptime of the machine.
    pub uptime: Arc<dyn Uptime>,
    /// The source of the randomness in IDs.
    pub entropy: Arc<dyn Entropy>,
    /// The name of this machine.
    pub hostname: String,
    /// The version of this program.
    pub version: String,
    /// The highest number of turns at once.
    pub turns: usize,
    /// The highest number of turns that lend their slots to others while they wait for a person.
    pub waiting_turns: usize,
    /// The names of the agents that may start. `None` allows all.
    pub allowed_agents: Option<Vec<String>>,
    /// The time that running turns get to end after a stop.
    pub stop_deadline: Duration,
    /// Opens the socket of the agents' tools. `None`: agents get no tools.
    pub listen_for_tools: Option<ListenForTools>,
    /// Called with the name of the instance, once the runtime serves it.
    pub on_registered: Box<dyn FnOnce(&str) + Send + Sync>,
}

/// The requests to stop a runtime. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct RuntimeStop {
    /// Cancelled to begin no more turns, and to let the running ones end until the deadline.
    pub stop: CancellationToken,
    /// Cancelled to end the running turns at once. Their runs are requeued.
    pub requeue: CancellationToken,
}

/// The reason why a runtime does not start or has to stop.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The folder cannot be locked.
    #[error(transparent)]
    Locks(#[from] LocksError),
    /// The leftover processes of dead workers cannot be killed.
    #[error("cannot kill the leftover processes of dead workers")]
    Leftovers(#[source] std::io::Error),
    /// The socket of the tools cannot be opened.
    #[error("cannot open a socket for the tools of agents")]
    Tools(#[source] std::io::Error),
    /// The server refuses this runtime: its token, or the version of its protocol.
    #[error("the server refuses this runtime")]
    Refused(#[source] client::Error),
    /// Another runtime serves the instance.
    #[error("another runtime serves this instance: worker `{worker}`")]
    InUse {
        /// The worker of the other runtime.
        worker: String,
    },
    /// Another runtime has taken the place of this one.
    #[error("another runtime serves this instance now, with the same token")]
    Replaced,
}

/// Serves a folder until `stop` is cancelled.
///
/// # Errors
///
/// Returns an error if another runtime serves the folder or the instance, or if the server refuses the token or the
/// version of the protocol, also after the token was replaced. While the server is away, waits for it.
#[boxed]
pub async fn run(mut config: RuntimeConfig, stop: RuntimeStop) -> Result<(), RuntimeError> {
    // 1. Lock the folder, and kill the agents that dead workers have left.
    let worker = WorkerId::generate(&config.hostname, std::process::id(), &*config.entropy);
    let locking = lock(&config.folder, worker.clone());
    // The folder may hang.
    let Some(locked) = stop.stop.run_until_cancelled(locking).await else {
        return Ok(());
    };
    let (locks, dead) = locked?;
    // 2. Serve.
    let clock = ServerClock::new(
        Arc::clone(&config.machine_clock),
        Arc::clone(&config.uptime),
    );
    let clock = Arc::new(clock);
    let link = ServerLink::new(config.client.runtime(worker), Arc::clone(&clock));
    let served = serve_instance(&mut config, &stop, &link, clock, Arc::clone(&locks), &dead).await;
    // 3. Release the locks. To close a file of a network volume may hang.
    let released = tokio::task::spawn_blocking(move || drop(locks));
    tokio::time::timeout(STOP_TIMEOUT, released).await.ok();
    // 4. Record the stop, so that the server sees at once that the folder is free.
    if served? {
        match tokio::time::timeout(STOP_TIMEOUT, link.stop()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => log_warning("record the stop of this runtime", &error),
            Err(error) => log_warning("record the stop of this runtime", &error),
        }
    }
    Ok(())
}

/// Locks the folder, and kills the agents that dead workers have left. Returns the locks and the dead workers.
async fn lock(
    folder: &Path,
    worker: WorkerId,
) -> Result<(Arc<Locks>, Vec<WorkerId>), RuntimeError> {
    let locks = Locks::acquire(folder, worker).await?;
    let dead = locks.with_worker(|worker| async move {
        worker.kill_leftovers().await?;
        worker.dead_workers()
    });
    let dead = dead.await.map_err(RuntimeError::Leftovers)?;
    Ok((Arc::new(locks), dead))
}

/// Registers the runtime and serves its folder. Returns `false` if it is stopped before it is registered.
async fn serve_instance(
    config: &mut RuntimeConfig,
    stop: &RuntimeStop,
    link: &ServerLink,
    clock: Arc<ServerClock>,
    locks: Arc<Locks>,
    dead: &[WorkerId],
) -> Result<bool, RuntimeError> {
    // 1. Register, and give up the runs of the dead workers at once.
    let tools = match config.listen_for_tools.take() {
        Some(listen) => {
            let server = ToolForwarder {
                client: link.client().clone(),
                retries: Retries::DEFAULT,
            };
            let listening = listen(link.client().worker(), dead, Arc::new(server));
            Some(listening.map_err(RuntimeError::Tools)?)
        }
        None => None,
    };
    let Some(registration) = register(link, &config.version, dead, &stop.stop).await? else {
        return Ok(false);
    };
    #[cfg(feature = "failpoints")]
    failpoint::reached("runtime: registered");
    let on_registered = std::mem::replace(&mut config.on_registered, Box::new(|_| {}));
    on_registered(&registration.instance_name);
    let giving_up = give_up(link, &locks, dead);
    stop.stop.run_until_cancelled(giving_up).await;
    #[cfg(feature = "failpoints")]
    failpoint::reached("runtime: gave up");
    // 2. Serve. The socket of the tools stays open until all turns have ended.
    let agents = AgentRuntime {
        guard: config.guard.clone(),
        environment: config.environment.clone(),
        clock,
        entropy: Arc::clone(&config.entropy),
        heartbeat: registration.heartbeat(),
        lease: registration.lease(),
        grace: config.grace,
        tools: tools.as_ref().map(|listening| listening.grants.clone()),
    };
    serve(config, stop, link.clone(), agents, locks).await?;
    Ok(true)
}

/// Registers the runtime. Returns `None` if it is stopped before.
async fn register(
    link: &ServerLink,
    version: &str,
    dead: &[WorkerId],
    stop: &CancellationToken,
) -> Result<Option<Registration>, RuntimeError> {
    let mut pause = RETRY_PAUSES[0];
    let began = tokio::time::Instant::now();
    loop {
        let registering = link.register(version, dead);
        // The server may not answer. If it registers this runtime nevertheless, the next one waits until it counts as offline.
        let Some(registered) = stop.run_until_cancelled(registering).await else {
            return Ok(None);
        };
        let retry_in = match registered {
            Ok(Registered::Accepted(registration)) => return Ok(Some(registration)),
            Ok(Registered::InUse { worker, .. }) if began.elapsed() >= TAKEOVER_TIMEOUT => {
                return Err(RuntimeError::InUse { worker });
            }
            Ok(Registered::InUse { worker, offline_at }) => {
                tracing::warn!(
                    "worker `{worker}` served this instance a moment ago: waiting until it counts as offline at \
                     {offline_at}"
                );
                REGISTER_PAUSE
            }
            Err(error) if error.is_transient() => {
                log_warning("register at the server, will retry", &error);
                let retry_in = pause;
                pause = (pause * 2).min(RETRY_PAUSES[1]);
                retry_in
            }
            Err(error) => return Err(RuntimeError::Refused(error)),
        };
        tokio::select! {
            () = stop.cancelled() => return Ok(None),
            () = sleep(retry_in) => {}
        }
    }
}

/// Gives up the runs of dead workers. An error is only logged, because the server notices their stale heartbeats.
async fn give_up(link: &ServerLink, locks: &Locks, dead: &[WorkerId]) {
    if dead.is_empty() {
        let removed = locks.with_worker(|worker| async move { worker.remove_abandoned_files() });
        if let Err(error) = removed.await {
            log_warning("remove the lock files of workers of other machines", &error);
        }
        return;
    }
    match link.give_up(dead).await {
        Ok(runs) => {
            for run in runs {
                tracing::warn!(%run, "{run} was lost with a runtime that died: another attempt follows");
            }
            let removed =
                locks.with_worker(|worker| async move { worker.remove_stale_files(&[]).await });
            if let Err(error) = removed.await {
                log_warning("remove the lock files of dead workers", &error);
            }
        }
        Err(error) => log_warning("report the dead workers of this folder", &error),
    }
}

async fn serve(
    config: &RuntimeConfig,
    stop: &RuntimeStop,
    link: ServerLink,
    agents: AgentRuntime,
    locks: Arc<Locks>,
) -> Result<(), RuntimeError> {
    let heartbeat = agents.heartbeat;
    let context = TurnContext {
        client: link.client().clone(),
        clock: Arc::clone(&agents.clock),
        entropy: Arc::clone(&config.entropy),
        session_folders: config.session_folders.clone(),
        lease: agents.lease,
    };
    let running = RunningTurns::default();
    // A runtime that was replaced or refused stops like one that was told to, but at once.
    let (stopping, requeue) = (stop.stop.child_token(), stop.requeue.child_token());
    let (refusals, mut refused) = mpsc::channel(1);
    let worker = FileWorker {
        folder: TriggerFolder::new(&config.folder),
        locks: Arc::clone(&locks),
        server: Arc::new(ApiServer {
            link: link.clone(),
            context,
            agents,
            locks,
            allowed_agents: config.allowed_agents.clone(),
            refusals,
            stop: stopping.clone(),
        }),
        turns: TurnSlots::new(config.turns, config.waiting_turns),
        running: running.clone(),
        answers: watch::Sender::new(0),
        incomplete: std::sync::Mutex::default(),
        stop_timeout: STOP_TIMEOUT,
        stop: stopping.clone(),
        requeue: requeue.clone(),
    };
    let answers = worker.answers.clone();
    let mut files = std::pin::pin!(FolderLoop::new(worker).run(FolderWatcher::new(&config.folder)));
    let presence = renew_presence(&link, &running, &answers, heartbeat);
    let deadline = async {
        stopping.cancelled().await;
        sleep(config.stop_deadline).await;
        requeue.cancel();
        std::future::pending::<Infallible>().await
    };
    let final_error = tokio::select! {
        () = &mut files => return Ok(()),
        error = presence => error,
        Some(error) = refused.recv() => RuntimeError::Refused(error),
        never = deadline => match never {},
    };
    log_stop(&final_error);
    stopping.cancel();
    requeue.cancel();
    files.await;
    Err(final_error)
}

/// Renews the presence of the runtime, and makes turns send their heartbeats when they are cancelled. Returns the reason if
/// the runtime must stop: another one serves the instance, or the server refuses the token.
async fn renew_presence(
    link: &ServerLink,
    running: &RunningTurns,
    answers: &watch::Sender<u64>,
    period: Duration,
) -> RuntimeError {
    let wait = PRESENCE_WAIT.min(period);
    let mut pause = RETRY_PAUSES[0];
    loop {
        let renewed = tokio::select! {
            renewed = link.presence(running.undisturbed(), wait) => renewed,
            // A turn has begun, of whose cancellation the server must tell as well.
            () = running.changed() => continue,
        };
        match renewed {
            Ok(presence) if presence.is_replaced => return RuntimeError::Replaced,
            Ok(presence) => {
                pause = RETRY_PAUSES[0];
                answers.send_modify(|count| *count += 1);
                running.disturb(&presence.disturbed);
            }
            Err(error) if error.is_refusal_of_token() => return RuntimeError::Refused(error),
            Err(error) => {
                log_warning("renew the presence of this runtime, will retry", &error);
                sleep(pause).await;
                pause = (pause * 2).min(wait);
            }
        }
    }
}

fn log_warning(what: &str, error: &(dyn std::error::Error + 'static)) {
    tracing::warn!(error, "cannot {what}");
}

fn log_stop(error: &(dyn std::error::Error + 'static)) {
    tracing::error!(error, "this runtime stops, and its turns end");
}
