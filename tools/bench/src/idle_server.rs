//! Measures an idle server: the time of its start, its memory, and its database statements.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use model::schedule::Spec;
use store::{Location, Store};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::{sleep, timeout},
};

use super::{due::new_automation, fixture, programs::Programs, statistics::median};

/// The number of measured starts.
const START_SAMPLES: usize = 9;
/// The time before the memory is read and before the statements are counted, so that the work of the start is over.
const SETTLE_PAUSE: Duration = Duration::from_secs(5);
/// The time for which the statements are counted.
const COUNT_PERIOD: Duration = Duration::from_mins(1);
/// The maximum time of a start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The result of the benchmark.
pub(crate) struct IdleServerMeasurement {
    pub(crate) schedules: u32,
    /// The median time from the start of the process to its line with the address.
    pub(crate) start_time: Duration,
    /// The resident memory, in KiB.
    pub(crate) resident_kib: u64,
    /// The number of statements in a minute.
    pub(crate) statements_per_minute: usize,
}

impl IdleServerMeasurement {
    /// Returns the resident memory in MB.
    pub(crate) fn resident_mb(&self) -> f64 {
        f64::from(u32::try_from(self.resident_kib).unwrap_or(u32::MAX)) * 1024.0 / 1e6
    }
}

/// Creates a data folder with `schedules` schedules that are not due, and measures a server on it.
pub(crate) async fn measure(
    programs: &Programs,
    folder: &Path,
    schedules: u32,
) -> Result<IdleServerMeasurement> {
    create_schedules(programs, folder, schedules).await?;
    let mut starts = Vec::with_capacity(START_SAMPLES);
    let mut resident = 0;
    for start in 0..START_SAMPLES {
        let started = Instant::now();
        let server = ServerProcess::start(programs, folder, "error").await?;
        starts.push(started.elapsed());
        if start + 1 == START_SAMPLES {
            sleep(SETTLE_PAUSE).await;
            resident = server.resident_kib()?;
        }
        server.stop().await?;
    }
    let mut server = ServerProcess::start(programs, folder, "sqlx::query=debug").await?;
    sleep(SETTLE_PAUSE).await;
    server.count_statements(Duration::ZERO).await?;
    let statements = server.count_statements(COUNT_PERIOD).await?;
    server.stop().await?;
    Ok(IdleServerMeasurement {
        schedules,
        start_time: median(starts),
        resident_kib: resident,
        statements_per_minute: statements,
    })
}

/// Lets the product create its data folder, then adds automations by way of the store.
async fn create_schedules(programs: &Programs, folder: &Path, schedules: u32) -> Result<()> {
    let status = Command::new(&programs.matins)
        .args(["--data".as_ref(), folder.as_os_str()])
        .args(["automation", "list"])
        .stdout(Stdio::null())
        .status()
        .await?;
    anyhow::ensure!(
        status.success(),
        "`matins automation list` ended with {status}"
    );
    let entropy = fixture::system_entropy();
    let location = Location::SqliteFile(folder.join("matins.db"));
    let store = Store::new(
        store::open(&location).await?,
        entropy,
        folder.join("sessions"),
    );
    let tenant = store.ensure_tenant("default", fixture::now()).await?;
    let agents = store.agents(store::Scope::Tenant(tenant)).await?;
    let agent = agents.first().context("the data folder has no agent")?.id;
    let yearly = Spec::Cron {
        expression: "0 9 1 1 *".into(),
        zone: "Europe/Prague".into(),
    };
    for number in 0..schedules {
        let new = new_automation(number, agent, yearly.clone());
        store
            .create_automation(tenant, None, &new, fixture::now())
            .await?;
    }
    store.database().close().await;
    Ok(())
}

/// A running server; killed when it is dropped.
pub(crate) struct ServerProcess {
    child: Child,
    statement_lines: tokio::sync::mpsc::UnboundedReceiver<()>,
}

/// A free port of this machine, so that the benchmark conflicts with no other program.
pub(crate) const ANY_LOCAL_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

impl ServerProcess {
    /// Starts a server on a free port, and waits until it prints its address.
    async fn start(programs: &Programs, folder: &Path, log: &str) -> Result<Self> {
        Self::start_at(programs, folder, log, ANY_LOCAL_PORT, &[]).await
    }

    /// Starts a server on an address with further options, and waits until it prints the address.
    pub(crate) async fn start_at(
        programs: &Programs,
        folder: &Path,
        log: &str,
        address: SocketAddr,
        options: &[&str],
    ) -> Result<Self> {
        let mut child = Command::new(&programs.matins)
            .args(["--data".as_ref(), folder.as_os_str()])
            .args(["serve", "--listen", &address.to_string()])
            .args(options)
            .env("MATINS_LOG", log)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child
            .stdout
            .take()
            .context("the server has no standard output")?;
        let stderr = child
            .stderr
            .take()
            .context("the server has no standard error")?;
        let mut output = BufReader::new(stdout).lines();
        let first = timeout(START_TIMEOUT, output.next_line()).await??;
        first.context("the server ended during its start")?;
        let (sender, lines) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut log = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = log.next_line().await {
                if line.contains("sqlx::query") && sender.send(()).is_err() {
                    break;
                }
            }
        });
        // Read the remaining output, because a full pipe would block the server.
        tokio::spawn(async move { while let Ok(Some(_)) = output.next_line().await {} });
        Ok(Self {
            child,
            statement_lines: lines,
        })
    }

    /// Waits for `period`, and returns the number of statements that the server has logged since the last call.
    async fn count_statements(&mut self, period: Duration) -> Result<usize> {
        sleep(period).await;
        let mut count = 0;
        while self.statement_lines.try_recv().is_ok() {
            count += 1;
        }
        Ok(count)
    }

    /// Returns the ID of the process.
    pub(crate) fn pid(&self) -> Result<u32> {
        self.child.id().context("the server has ended")
    }

    /// Returns the resident memory of the server, in KiB.
    pub(crate) fn resident_kib(&self) -> Result<u64> {
        process_status_kib(self.pid()?, "VmRSS:")
    }

    /// Kills the server and waits for its end.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await?;
        Ok(())
    }
}

/// Returns a figure in KiB from the status of a process, by the beginning of its line.
pub(crate) fn process_status_kib(process: u32, line: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    let kib = found.and_then(|rest| rest.split_whitespace().next());
    let kib = kib.with_context(|| format!("`/proc/<pid>/status` has no `{line}`"))?;
    Ok(kib.parse()?)
}

/// Returns the options that name a database, or none for the file of the data folder.
pub(crate) fn database_options(url: Option<&str>) -> Vec<&str> {
    url.into_iter()
        .flat_map(|url| ["--database", url])
        .collect()
}
