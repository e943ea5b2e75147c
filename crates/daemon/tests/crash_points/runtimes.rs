//! Folders of instances: a runtime is aborted at each point of the work on a file, and a dispatcher at each point of a
//! delivery. Another process goes on in the same folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent::GracePeriods;
use client::Client;
use daemon::{Host, dispatcher::deliver_due, scheduler, watchdog};
use model::{
    AutomationId, InstanceId, TokenId,
    access::{Role, secret::TokenSecret},
    agent::AgentConfig,
    policy::Policies,
    run::RunStatus,
    trigger_file::InstanceFolder,
};
use runtime::{RuntimeConfig, RuntimeStop};
use store::{NewInstance, NewToken};
use testkit::{
    clock::{FakeClock, FakeUptime, SeededEntropy},
    scripted::{Script, Step},
};
use tokio::{
    net::TcpListener,
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{
    checks::{check_history, open_runs},
    child::{ChildEnd, Job, Task},
    points::Shard,
    routes::routes,
    stage::{Database, TestBed, host, instant, open},
    turns::{
        POLL_INTERVAL, WAIT_TIMEOUT, check_against_agents, check_crashed_worker_is_fenced,
        check_no_processes_left, runs_of,
    },
};

/// Longer than any step of a shutdown takes.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_mins(1);

/// The cause of a run in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A trigger is due, and the server delivers its run.
    Schedule,
    /// Another program drops a file.
    ForeignFile,
}

/// Returns `true` for the points of a runtime and of its turns.
fn is_runtime_point(point: &str) -> bool {
    let of_runtime = ["runtime: ", "turn: ", "file: "];
    of_runtime.iter().any(|prefix| point.starts_with(prefix))
}

/// Returns `true` for the points of a delivery, outside and inside of the database.
fn is_delivery_point(point: &str) -> bool {
    point.starts_with("file: ") || point == "commit" || point == "committed"
}

/// Returns the trigger folder below the home of a test.
fn trigger_folder(home: &Path) -> PathBuf {
    home.join("triggers")
}

/// Returns the names of the files that a runtime may read, in order.
fn waiting_files(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(trigger_folder(home)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter(|name| name.strip_suffix(".json").is_some() && !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// Waits until a condition holds. The conditions are states of files and of rows, which have no signal across processes.
async fn wait_until(what: &str, condition: impl AsyncFn() -> bool) {
    let until = Instant::now() + WAIT_TIMEOUT;
    while !condition().await {
        assert!(Instant::now() < until, "waited in vain for {what}");
        sleep(POLL_INTERVAL).await;
    }
}

/// A runtime in this process.
struct RunningRuntime {
    stop: RuntimeStop,
    task: JoinHandle<()>,
}

impl RunningRuntime {
    /// Starts a runtime on the folder below `home`.
    fn start(host: &Host, home: &Path, client: Client) -> Self {
        let config = RuntimeConfig {
            folder: trigger_folder(home),
            session_folders: home.join("runtime-sessions"),
            client,
            guard: host.agent_runtime.guard.clone(),
            environment: BTreeMap::new(),
            grace: GracePeriods {
                cancel: SHUTDOWN_TIMEOUT,
                close: SHUTDOWN_TIMEOUT,
                eof: SHUTDOWN_TIMEOUT,
                term: SHUTDOWN_TIMEOUT,
            },
            machine_clock: Arc::clone(&host.clock),
            uptime: Arc::new(FakeUptime::new(Duration::from_hours(1))),
            entropy: Arc::clone(&host.entropy),
            hostname: "elsewhere".into(),
            version: "1.2.3".into(),
            turns: 2,
            waiting_turns: 2,
            allowed_agents: None,
            stop_deadline: SHUTDOWN_TIMEOUT,
            on_registered: Box::new(|_| {}),
            listen_for_tools: None,
        };
        let stop = RuntimeStop::default();
        let running = runtime::run(config, stop.clone());
        let task = tokio::spawn(async move { running.await.unwrap() });
        Self { stop, task }
    }

    async fn stop(self) {
        self.stop.stop.cancel();
        self.task.await.unwrap();
    }
}

/// Runs the job of a child: a runtime that ends when its folder is empty.
pub(crate) async fn run_until_folder_is_empty(
    job: &Job,
    address: &str,
    token: &str,
    arm: impl FnOnce(fn(&str) -> bool),
) {
    // The runtime does not use this database. The host only has the conditions of agents.
    let store = open(&job.url, &job.home).await;
    let (host, _clock) = host(&store, &job.home, instant(job.now));
    let client = Client::with_address(address, token, Arc::clone(&host.entropy)).unwrap();
    arm(is_runtime_point);
    let runtime = RunningRuntime::start(&host, &job.home, client);
    wait_until("an empty folder", async || {
        waiting_files(&job.home).is_empty()
    })
    .await;
    runtime.stop().await;
}

/// Runs the job of a child: one round of a dispatcher.
pub(crate) async fn deliver(job: &Job, arm: impl FnOnce(fn(&str) -> bool)) {
    let store = open(&job.url, &job.home).await;
    let (host, _clock) = host(&store, &job.home, instant(job.now));
    arm(is_delivery_point);
    deliver_due(&host).await.unwrap();
}

/// A server with an instance whose folder is below the home of a test.
struct FolderStage {
    stage: TestBed,
    host: Host,
    clock: Arc<FakeClock>,
    address: String,
    token: String,
}

impl FolderStage {
    async fn new(database: Database) -> Self {
        let mut stage = TestBed::new(database).await;
        let folder = trigger_folder(stage.home.path());
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let entropy = SeededEntropy::new(7);
        let now = stage.instant();
        let secret = TokenSecret::generate(&entropy);
        let instance = NewInstance {
            id: InstanceId::generate(now, &entropy),
            name: "elsewhere".into(),
            folder: InstanceFolder {
                path: folder.to_str().unwrap().into(),
                runtime_path: None,
            },
        };
        let token = NewToken {
            id: TokenId::generate(now, &entropy),
            name: "runtime".into(),
            role: Role::Runtime,
            scopes: None,
            hash: secret.hash(),
            secret_prefix: secret.display_prefix().into(),
            made_by: None,
            expires_at: None,
        };
        let added = stage
            .store
            .add_instance(stage.tenant, &instance, &token, now);
        added.await.unwrap();
        stage.placed_on = Some(instance.id);
        let (host, clock) = host(&stage.store, stage.home.path(), now);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let served = axum::serve(listener, routes(&host).into_make_service());
        tokio::spawn(served.into_future());
        Self {
            stage,
            host,
            clock,
            address,
            token: secret.reveal().to_owned(),
        }
    }

    fn home(&self) -> &Path {
        self.stage.home.path()
    }

    /// Advances the clock of the server, and lets the server do the work that is due.
    async fn advance(&mut self, duration: Duration) {
        let now = self.stage.advance(duration);
        self.clock.set(now);
        watchdog::tick(&self.host, now).await.unwrap();
        scheduler::tick(&self.host, now).await.unwrap();
        deliver_due(&self.host).await.unwrap();
    }

    fn job(&self, point: u64, task: Task) -> Job {
        Job {
            url: self.stage.url.clone(),
            home: self.stage.path(),
            point,
            now: self.stage.now,
            task,
        }
    }

    async fn is_over(&self, automation: AutomationId) -> bool {
        let has_fired = !runs_of(&self.stage.store, automation).await.is_empty();
        has_fired && open_runs(&self.stage.store).await.is_empty()
    }

    /// Lets another runtime go on until all runs are over and no file waits.
    async fn recover(&mut self, automation: AutomationId) {
        let client =
            Client::with_address(&self.address, &self.token, Arc::clone(&self.host.entropy));
        let runtime = RunningRuntime::start(&self.host, self.home(), client.unwrap());
        for _ in 0..20 {
            self.advance(Duration::from_secs(30)).await;
            let files = async || waiting_files(self.home()).is_empty();
            wait_until("an empty folder", files).await;
            if self.is_over(automation).await {
                runtime.stop().await;
                return;
            }
        }
        let open = open_runs(&self.stage.store).await;
        panic!("I3: not everything of {automation} is over: {open:#?}");
    }

    /// Drops a file that names an automation, as another program does.
    fn drop_file(&self, point: u64, automation: AutomationId) {
        let content =
            format!(r#"{{"schedule": "{automation}", "params": {{"ticket": "T-{point}"}}}}"#);
        let folder = trigger_folder(self.home());
        let draft = folder.join(".draft");
        fs::write(&draft, content).unwrap();
        fs::rename(draft, folder.join(format!("ticket-{point}.json"))).unwrap();
    }
}

/// Aborts a runtime at each point of the work on a file, until a runtime reaches the end.
pub(crate) async fn abort_runtime_at_each_point(database: Database, cause: Cause) {
    let mut stage = FolderStage::new(database).await;
    let mut ended_well = BTreeSet::new();
    let shard = Shard::of(database);
    for point in (1..).filter(|point| shard.has(*point)) {
        let script = Script::new(stage.home().join(format!("agent-{point}")))
            .prompt([Step::Thought("Hm.".into()), Step::Echo]);
        let automation = add_automation(&mut stage, point, &script).await;
        stage.advance(Duration::from_secs(1)).await;
        if cause == Cause::ForeignFile {
            // The scheduled run of the automation is over before its file comes.
            stage.recover(automation).await;
            let runs = runs_of(&stage.stage.store, automation).await;
            ended_well.extend(runs.iter().map(|run| run.id));
            stage.drop_file(point, automation);
        }
        let task = Task::Runtime(stage.address.clone(), stage.token.clone());
        let died = run_job(stage.job(point, task)).await;
        stage.recover(automation).await;
        let mut runs = runs_of(&stage.stage.store, automation).await;
        if cause == Cause::ForeignFile {
            runs.remove(0);
            let first = runs.iter().filter(|run| run.attempt == 1).count();
            assert_eq!(first, 1, "{:?}: {runs:#?}", died.points);
            ended_well.extend(succeeded(&runs));
        } else {
            ended_well.extend(check_against_agents(&script, &runs, &died));
        }
        check_history(&stage.stage.store, &ended_well).await;
        check_no_processes_left(&runs).await;
        if let [first, _, ..] = runs.as_slice() {
            check_crashed_worker_is_fenced(&stage.stage.store, first).await;
        }
        if !died.aborted {
            let count = died.points.len();
            println!(
                "a runtime, {cause:?} on {database:?}: {count} points: {:?}",
                died.points
            );
            let least = match cause {
                Cause::Schedule => 11,
                Cause::ForeignFile => 4,
            };
            assert!(count >= least, "{:?}", died.points);
            return;
        }
    }
}

/// Aborts a dispatcher at each point of a delivery, until a dispatcher reaches the end.
pub(crate) async fn abort_dispatcher_at_each_point(database: Database) {
    let mut stage = FolderStage::new(database).await;
    let mut ended_well = BTreeSet::new();
    let shard = Shard::of(database);
    for point in (1..).filter(|point| shard.has(*point)) {
        let script = Script::new(stage.home().join(format!("agent-{point}"))).prompt([Step::Echo]);
        let automation = add_automation(&mut stage, point, &script).await;
        let now = stage.stage.advance(Duration::from_secs(1));
        stage.clock.set(now);
        scheduler::tick(&stage.host, now).await.unwrap();
        let died = run_job(stage.job(point, Task::Deliver)).await;
        // A reader sees no part of a file, and the lease of the dead dispatcher keeps others away at most for a minute.
        for name in waiting_files(stage.home()) {
            let content = fs::read(trigger_folder(stage.home()).join(&name)).unwrap();
            delivery::Trigger::parse(&content).unwrap();
        }
        stage.advance(Duration::from_mins(2)).await;
        let files = waiting_files(stage.home());
        assert_eq!(files.len(), 1, "{:?}", died.points);
        let runs = runs_of(&stage.stage.store, automation).await;
        assert!(
            runs.len() == 1 && runs[0].state.waits_as_file(),
            "{:?}: {runs:#?}",
            died.points
        );
        stage.recover(automation).await;
        let runs = runs_of(&stage.stage.store, automation).await;
        assert_eq!(runs.len(), 1, "{:?}: {runs:#?}", died.points);
        ended_well.extend(check_against_agents(&script, &runs, &died));
        check_history(&stage.stage.store, &ended_well).await;
        if !died.aborted {
            let count = died.points.len();
            println!(
                "a delivery on {database:?}: {count} points: {:?}",
                died.points
            );
            assert!(count >= 9, "{:?}", died.points);
            return;
        }
    }
}

/// Adds an automation that is placed on the instance and due in one second.
async fn add_automation(stage: &mut FolderStage, point: u64, script: &Script) -> AutomationId {
    let config = AgentConfig::new(script.command().unwrap());
    let bed = &mut stage.stage;
    let name = format!("agent {point}");
    let agent = bed
        .store
        .put_agent(bed.tenant, &name, &config, None, bed.instant());
    let agent = agent.await.unwrap().id;
    bed.create_automation(agent, None, Policies::default())
        .await
}

async fn run_job(job: Job) -> ChildEnd {
    tokio::task::spawn_blocking(move || job.run())
        .await
        .unwrap()
}

fn succeeded(runs: &[model::entity::Run]) -> Vec<model::RunId> {
    let succeeded: Vec<_> = runs
        .iter()
        .filter(|run| run.status() == RunStatus::Succeeded)
        .map(|run| run.id)
        .collect();
    assert_eq!(succeeded.len(), 1, "I3: {runs:#?}");
    succeeded
}
