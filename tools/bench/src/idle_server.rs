//! What a server costs that has nothing to do: its start, its memory, its questions to the database.

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

/// How often the start is measured.
const START_SAMPLES: usize = 9;
/// How long the server settles before its memory is read, and before its questions are counted.
const SETTLE_PAUSE: Duration = Duration::from_secs(5);
/// For how long its questions are counted.
const COUNT_PERIOD: Duration = Duration::from_mins(1);
/// The longest that a start may take.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// What was measured.
pub(crate) struct IdleServerMeasurement {
    pub(crate) schedules: u32,
    /// The median from the start of the process to its line that it serves.
    pub(crate) start_time: Duration,
    /// Resident memory, in KiB.
    pub(crate) resident_kib: u64,
    /// Statements in a minute.
    pub(crate) statements_per_minute: usize,
}

impl IdleServerMeasurement {
    /// Resident memory in MB.
    pub(crate) fn resident_mb(&self) -> f64 {
        f64::from(u32::try_from(self.resident_kib).unwrap_or(u32::MAX)) * 1024.0 / 1e6
    }
}

/// Makes a folder with idle schedules, and serves it.
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

/// Has the product make its folder, and fills it.
async fn create_schedules(programs: &Programs, folder: &Path, schedules: u32) -> Result<()> {
    let made = Command::new(&programs.matins)
        .args(["--data".as_ref(), folder.as_os_str()])
        .args(["automation", "list"])
        .stdout(Stdio::null())
        .status()
        .await?;
    anyhow::ensure!(made.success(), "matins automation list: {made}");
    let entropy = fixture::system_entropy();
    let location = Location::SqliteFile(folder.join("matins.db"));
    let store = Store::new(
        store::open(&location).await?,
        entropy,
        folder.join("sessions"),
    );
    let tenant = store.ensure_tenant("default", fixture::now()).await?;
    let agents = store.agents(store::Scope::Tenant(tenant)).await?;
    let agent = agents.first().context("there is no agent")?.id;
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

/// A server that runs.
pub(crate) struct ServerProcess {
    child: Child,
    statement_lines: tokio::sync::mpsc::UnboundedReceiver<()>,
}

/// Any address of this machine, whatever else runs on it.
const ANY_LOCAL_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

impl ServerProcess {
    /// Starts it, and waits until it says that it serves.
    async fn start(programs: &Programs, folder: &Path, log: &str) -> Result<Self> {
        Self::start_at(programs, folder, log, ANY_LOCAL_PORT).await
    }

    /// Starts it at an address, and waits until it says that it serves.
    pub(crate) async fn start_at(
        programs: &Programs,
        folder: &Path,
        log: &str,
        address: SocketAddr,
    ) -> Result<Self> {
        let mut child = Command::new(&programs.matins)
            .args(["--data".as_ref(), folder.as_os_str()])
            .args(["serve", "--listen", &address.to_string()])
            .env("MATINS_LOG", log)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("no standard output")?;
        let stderr = child.stderr.take().context("no standard error")?;
        let mut said = BufReader::new(stdout).lines();
        let first = timeout(START_TIMEOUT, said.next_line()).await??;
        first.context("the server ended at once")?;
        let (sender, lines) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut logged = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = logged.next_line().await {
                if line.contains("sqlx::query") && sender.send(()).is_err() {
                    break;
                }
            }
        });
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        Ok(Self {
            child,
            statement_lines: lines,
        })
    }

    /// How many statements it has logged since the last question, and for so long.
    async fn count_statements(&mut self, period: Duration) -> Result<usize> {
        sleep(period).await;
        let mut count = 0;
        while self.statement_lines.try_recv().is_ok() {
            count += 1;
        }
        Ok(count)
    }

    /// Its resident memory, in KiB.
    pub(crate) fn resident_kib(&self) -> Result<u64> {
        let pid = self.child.id().context("the server is gone")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.split_whitespace().next());
        Ok(kib.context("no VmRSS")?.parse()?)
    }

    /// Kills it.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await?;
        Ok(())
    }
}
