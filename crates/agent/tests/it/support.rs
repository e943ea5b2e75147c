//! Starts scripted agents, and checks that no process of them is left.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent::{
    Agent, Decision, Exit, GracePeriods, GuardProgram, Launch, Limits, OpenSession,
    PermissionRequest, Permissions, PromptError, StartError, Update, guard::MARKER_VARIABLE,
};
use futures::future::{BoxFuture, ready};
use model::{agent::ResourceLimits, outcome::StopReason};
use tempfile::TempDir;
use testkit::scripted::{Event, PromptLog, Script, program_path};
use tokio::sync::mpsc;

/// The longest wait of a test. It is reached only if something hangs.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A folder for one test. Its path is the marker of all processes of the test.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn cwd(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn script(&self) -> Script {
        Script::new(self.path("home"))
    }

    pub(crate) fn marker(&self) -> String {
        self.folder.path().to_str().unwrap().to_owned()
    }

    pub(crate) fn launch(&self, script: &Script) -> Launch {
        self.launch_command(script.command().unwrap())
    }

    pub(crate) fn launch_command(&self, command: Vec<String>) -> Launch {
        Launch {
            command,
            cwd: self.cwd().to_owned(),
            env: BTreeMap::new(),
            guard: guard_program(),
            marker: self.marker(),
            limits: Limits {
                start: TEST_TIMEOUT,
                restore: TEST_TIMEOUT,
                ..Limits::default()
            },
            lease: TEST_TIMEOUT * 10,
            resources: ResourceLimits::default(),
            authenticate: None,
        }
    }

    pub(crate) async fn start(&self, script: &Script) -> Agent {
        start(self.launch(script)).await.unwrap()
    }

    /// Starts an agent and creates a session.
    pub(crate) async fn open(&self, script: &Script) -> (Agent, OpenSession) {
        let agent = self.start(script).await;
        let opened = agent.new_session(self.cwd(), &[]).await.unwrap();
        (agent, opened)
    }

    /// Creates a session and takes one whole turn in it, with an agent that has ended since.
    pub(crate) async fn prompted_session(&self, script: &Script) -> OpenSession {
        let (agent, opened) = self.open(script).await;
        send_prompt(&agent, "first").await.0.unwrap();
        self.end(agent).await;
        opened
    }

    /// Shuts an agent down and checks that no process is left.
    pub(crate) async fn end(&self, agent: Agent) -> Exit {
        let exit = with_timeout(agent.shutdown(long_grace_periods())).await;
        assert_eq!(self.alive(), [] as [String; 0]);
        exit
    }

    /// Returns the command lines of all live processes with the marker of this world.
    pub(crate) fn alive(&self) -> Vec<String> {
        alive(&self.marker())
    }

    pub(crate) async fn wait_until_nothing_is_alive(&self) {
        eventually(|| self.alive().is_empty()).await;
    }
}

pub(crate) fn prompt_log(script: &Script) -> PromptLog {
    PromptLog::read(&script.prompt_log_path()).unwrap()
}

pub(crate) fn events(script: &Script) -> Vec<Event> {
    prompt_log(script).events().cloned().collect()
}

pub(crate) fn guard_program() -> GuardProgram {
    GuardProgram {
        program: program_path().unwrap(),
        args: vec!["guard".into()],
        worker: None,
    }
}

/// Returns grace periods that do not end on a slow machine.
pub(crate) fn long_grace_periods() -> GracePeriods {
    GracePeriods {
        cancel: TEST_TIMEOUT,
        close: TEST_TIMEOUT,
        eof: TEST_TIMEOUT,
        term: TEST_TIMEOUT,
    }
}

pub(crate) async fn start(launch: Launch) -> Result<Agent, StartError> {
    with_timeout(Agent::start(
        launch,
        Arc::new(AlwaysDecide(Decision::Allow)),
    ))
    .await
}

/// Sends a prompt and collects the updates up to the answer.
pub(crate) async fn send_prompt(
    agent: &Agent,
    text: &str,
) -> (Result<StopReason, PromptError>, Vec<Update>) {
    let (updates, mut received) = mpsc::channel(8);
    gather_during(agent.prompt(&[text], updates), &mut received).await
}

/// Collects the updates until a future completes.
pub(crate) async fn gather_during<T>(
    work: impl Future<Output = T>,
    received: &mut mpsc::Receiver<Update>,
) -> (T, Vec<Update>) {
    let mut work = std::pin::pin!(work);
    let mut told = Vec::new();
    let done = with_timeout(async {
        loop {
            tokio::select! {
                biased;
                Some(update) = received.recv() => told.push(update),
                done = &mut work => return done,
            }
        }
    });
    let done = done.await;
    while let Ok(update) = received.try_recv() {
        told.push(update);
    }
    (done, told)
}

/// Returns all pieces of the answer, joined.
pub(crate) fn text(told: &[Update]) -> String {
    let pieces = told.iter().filter_map(|update| match update {
        Update::Text(text) => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

pub(crate) struct AlwaysDecide(pub(crate) Decision);

impl Permissions for AlwaysDecide {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Decision> {
        Box::pin(ready(self.0))
    }
}

pub(crate) async fn with_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, work)
        .await
        .expect("this hangs")
}

/// Polls until a condition of the outside world holds.
pub(crate) async fn eventually(mut holds: impl FnMut() -> bool) {
    with_timeout(async {
        while !holds() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    })
    .await;
}

pub(crate) async fn wait_for_file(path: &Path) {
    eventually(|| path.exists()).await;
}

/// Returns the command lines of all live processes with this marker in their environment.
pub(crate) fn alive(marker: &str) -> Vec<String> {
    let assignment = format!("{MARKER_VARIABLE}={marker}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environ
            .split(|byte| *byte == 0)
            .any(|variable| variable == assignment.as_bytes())
        {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let pid = entry.file_name();
            found.push(format!(
                "{} {}",
                pid.display(),
                String::from_utf8_lossy(&line)
            ));
        }
    }
    found
}

/// Returns the ID of the only live process with this marker whose command line has this argument.
pub(crate) fn pid_of(marker: &str, argument: &str) -> rustix::process::Pid {
    let found = alive(marker);
    let has = |line: &&String| line.split(['\0', ' ']).nth(2) == Some(argument);
    let line = found
        .iter()
        .find(has)
        .unwrap_or_else(|| panic!("no {argument} in {found:?}"));
    let pid = line.split(' ').next().unwrap().parse().unwrap();
    rustix::process::Pid::from_raw(pid).unwrap()
}

/// Returns `true` if the process whose ID is in this file is alive. For a process without a marker.
pub(crate) fn is_alive(pid_file: &Path) -> bool {
    let pid = fs::read_to_string(pid_file).unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
    state.is_some_and(|state| state != b'Z')
}
