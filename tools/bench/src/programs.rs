//! The measured programs.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use agent::GuardProgram;
use anyhow::{Context as _, Result, ensure};

/// The subcommand with which this program acts as an agent.
pub(crate) const INSTANT_AGENT: &str = "instant-agent";

/// The paths of the programs.
pub(crate) struct Programs {
    /// The product, built in the profile `dist` or in the one of this program.
    pub(crate) matins: PathBuf,
    /// This program.
    xtask: PathBuf,
}

impl Programs {
    /// Builds the product, if it is not up to date.
    pub(crate) fn build() -> Result<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let xtask = env::current_exe()?;
        // Both programs are in the folder of one profile.
        let folder = xtask.parent().and_then(Path::file_name);
        let profile = folder
            .and_then(|name| name.to_str())
            .filter(|name| matches!(*name, "release" | "dist" | "quick"))
            .unwrap_or("dev");
        let status = Command::new(cargo)
            .args(["build", "--profile", profile, "--package", "matins"])
            .status()
            .context("cannot run cargo")?;
        ensure!(status.success(), "cargo cannot build matins: {status}");
        let matins = xtask.with_file_name("matins");
        ensure!(
            matins.is_file(),
            "the program `{}` does not exist: start the benchmarks with `cargo xtask bench`",
            matins.display()
        );
        Ok(Self { matins, xtask })
    }

    /// Returns the program of the guards.
    pub(crate) fn guard(&self) -> GuardProgram {
        GuardProgram {
            program: self.matins.clone(),
            args: vec!["guard".into()],
            worker: None,
        }
    }

    /// Returns the command of an agent that answers at once.
    pub(crate) fn instant_agent(&self) -> Vec<String> {
        let xtask = self.xtask.to_string_lossy().into_owned();
        vec![xtask, INSTANT_AGENT.into()]
    }

    /// Returns the command of an agent that answers at once, and appends the instant of each prompt to a file.
    pub(crate) fn timed_agent(&self, times: &Path) -> Vec<String> {
        let mut command = self.instant_agent();
        command.push("--prompt-times".into());
        command.push(times.to_string_lossy().into_owned());
        command
    }

    /// Returns the command of an agent that never answers a prompt.
    pub(crate) fn stalling_agent(&self) -> Vec<String> {
        let mut command = self.instant_agent();
        command.push("--stall".into());
        command
    }
}
