//! A server with an instance in a folder, and the process of a runtime.

use std::{
    fs::{self, Permissions},
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use api_types::{AddedInstanceKind, InstanceRequest, SessionRequest};
use client::{Client, SocketAddress};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::{sleep, timeout},
};

use super::{
    fixture,
    idle_server::{ServerProcess, process_status_kib},
    programs::Programs,
    prompt_times::PromptTimes,
};

/// The name of the instance.
pub(crate) const INSTANCE: &str = "elsewhere";
/// The name of the agent, which answers at once.
const AGENT: &str = "instant";
/// The maximum time of a start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A server whose instance has a folder.
pub(crate) struct FolderServer {
    pub(crate) client: Client,
    _process: ServerProcess,
    pub(crate) prompts: PromptTimes,
    /// The command of the agent.
    pub(crate) agent: Vec<String>,
    /// The folder into which the server writes.
    pub(crate) delivered: PathBuf,
    home: PathBuf,
    address: String,
}

impl FolderServer {
    /// Starts a server on a new data folder below `home`, with an agent and an instance.
    pub(crate) async fn start(programs: &Programs, home: &Path) -> Result<Self> {
        // 1. Add the agent, which creates the data folder.
        let data = home.join("data");
        let times = home.join("prompts");
        let agent = programs.timed_agent(&times);
        let status = Command::new(&programs.matins)
            .args(["--data".as_ref(), data.as_os_str()])
            .args(["agent", "add", AGENT, "--"])
            .args(&agent)
            .stdout(Stdio::null())
            .status()
            .await?;
        ensure!(status.success(), "`matins agent add` ended with {status}");
        // 2. Start the server.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let process = ServerProcess::start_at(programs, &data, "error", address, &[]).await?;
        let socket = SocketAddress::for_path(&data.join("matins.sock"))?;
        let client = Client::with_socket(socket, fixture::system_entropy())?;
        // 3. Add the instance.
        let delivered = create_folder(&home.join("delivered"))?;
        let request = InstanceRequest {
            name: INSTANCE.into(),
            kind: AddedInstanceKind::Directory,
            folder: delivered.to_string_lossy().into_owned(),
            runtime_folder: None,
        };
        let added = client.add_instance(&request).await?;
        let secret = added.secret.context("the response has no token")?;
        fs::write(home.join("token"), secret)?;
        Ok(Self {
            client,
            _process: process,
            prompts: PromptTimes::new(times),
            agent,
            delivered,
            home: home.to_owned(),
            address: format!("http://{address}"),
        })
    }

    /// Creates a session, on the instance with the folder or on any other one.
    pub(crate) async fn create_session(&self, placed_on: Option<&str>) -> Result<String> {
        let request = SessionRequest {
            agent: Some(AGENT.into()),
            placed_on: placed_on.map(str::to_owned),
            ..SessionRequest::default()
        };
        Ok(self.client.create_session(&request).await?.id.to_string())
    }

    /// Starts a runtime on a folder.
    pub(crate) async fn start_runtime(
        &self,
        programs: &Programs,
        folder: &Path,
    ) -> Result<RuntimeProcess> {
        RuntimeProcess::start(programs, folder, &self.address, &self.home.join("token")).await
    }
}

/// Creates a folder for trigger files.
pub(crate) fn create_folder(path: &Path) -> Result<PathBuf> {
    fs::create_dir(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    Ok(path.to_owned())
}

/// Returns the names of the trigger files in a folder.
pub(crate) fn waiting_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.strip_suffix(".json").is_some() && !name.starts_with('.') {
            found.push(path);
        }
    }
    Ok(found)
}

/// A running runtime; killed when it is dropped.
pub(crate) struct RuntimeProcess(Child);

impl RuntimeProcess {
    async fn start(
        programs: &Programs,
        folder: &Path,
        address: &str,
        token: &Path,
    ) -> Result<Self> {
        let mut child = Command::new(&programs.matins)
            .args(["runtime", "--server", address])
            .args(["--folder".as_ref(), folder.as_os_str()])
            .args(["--token-file".as_ref(), token.as_os_str()])
            .env("MATINS_LOG", "error")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take();
        let output = output.context("the runtime has no standard output")?;
        let mut lines = BufReader::new(output).lines();
        let first = timeout(START_TIMEOUT, lines.next_line()).await??;
        first.context("the runtime ended during its start")?;
        Ok(Self(child))
    }

    fn pid(&self) -> Result<u32> {
        self.0.id().context("the runtime has ended")
    }

    /// Returns the resident memory in KiB.
    pub(crate) fn resident_kib(&self) -> Result<u64> {
        process_status_kib(self.pid()?, "VmRSS:")
    }

    /// Counts the times that a thread of the runtime wakes up, for a period. Returns the number in a second.
    pub(crate) async fn wake_ups_per_second(&self, period: Duration) -> Result<f64> {
        let (before, began) = (self.voluntary_switches()?, Instant::now());
        sleep(period).await;
        let after = self.voluntary_switches()?;
        // A thread that has ended meanwhile takes its count with it.
        let switches = after
            .iter()
            .map(|(thread, count)| count.saturating_sub(switches_of(&before, thread)));
        let switches = u32::try_from(switches.sum::<u64>())?;
        Ok(f64::from(switches) / began.elapsed().as_secs_f64())
    }

    /// Returns the voluntary context switches of each thread: each is the end of a wait.
    fn voluntary_switches(&self) -> Result<Vec<(PathBuf, u64)>> {
        let mut counts = Vec::new();
        for thread in fs::read_dir(format!("/proc/{}/task", self.pid()?))? {
            let thread = thread?.path();
            // A thread may end between the listing and the reading.
            let status = fs::read_to_string(thread.join("status")).unwrap_or_default();
            let line = status.lines();
            let mut count = line.filter_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            if let Some(count) = count.next() {
                counts.push((thread, count.trim().parse()?));
            }
        }
        Ok(counts)
    }
}

fn switches_of(counts: &[(PathBuf, u64)], thread: &Path) -> u64 {
    let found = counts.iter().find(|(other, _)| other == thread);
    found.map_or(0, |(_, count)| *count)
}
