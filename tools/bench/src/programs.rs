//! The programs that are measured.

use std::{env, path::PathBuf, process::Command};

use agent::GuardProgram;
use anyhow::{Context as _, Result, ensure};

/// The argument that makes this program an agent.
pub(crate) const INSTANT_AGENT: &str = "instant-agent";

/// Where the programs are.
pub(crate) struct Programs {
    /// The product, as it is shipped.
    pub(crate) matins: PathBuf,
    /// This program.
    xtask: PathBuf,
}

impl Programs {
    /// Builds what is not there.
    pub(crate) fn build() -> Result<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--release", "--package", "matins"])
            .status()
            .context("run cargo")?;
        ensure!(status.success(), "matins cannot be built");
        let xtask = env::current_exe()?;
        // Both are of the release profile, so they lie in one folder.
        let matins = xtask.with_file_name("matins");
        ensure!(
            matins.is_file(),
            "there is no {}: run this with cargo xtask",
            matins.display()
        );
        Ok(Self { matins, xtask })
    }

    /// How the product starts guards.
    pub(crate) fn guard(&self) -> GuardProgram {
        GuardProgram {
            program: self.matins.clone(),
            args: vec!["guard".into()],
            worker: None,
        }
    }

    /// The command of an agent that answers at once.
    pub(crate) fn instant_agent(&self) -> Vec<String> {
        let xtask = self.xtask.to_string_lossy().into_owned();
        vec![xtask, INSTANT_AGENT.into()]
    }
}
