//! The programs that are put to the test: the product, and the scripted agent.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

/// Where the programs are.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) matins: PathBuf,
    pub(crate) testkit: PathBuf,
}

impl Programs {
    /// Takes those in a folder; without one, builds them in the profile of this program.
    pub(crate) fn find(folder: Option<&Path>) -> Result<Self> {
        let own = env::current_exe()?;
        let folder = if let Some(folder) = folder {
            std::fs::canonicalize(folder)
                .with_context(|| format!("find the folder {}", folder.display()))?
        } else {
            build(&own)?;
            let beside = own.parent().context("no folder of this program")?;
            beside.to_owned()
        };
        let program = |name: &str| {
            let program = folder.join(name);
            ensure!(program.is_file(), "there is no {}", program.display());
            Ok(program)
        };
        Ok(Self {
            matins: program("matins")?,
            testkit: program("matins-testkit")?,
        })
    }
}

fn build(own: &Path) -> Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = own.parent().and_then(Path::file_name);
    let profile = match profile.and_then(|name| name.to_str()) {
        Some("release") => "release",
        _ => "dev",
    };
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--profile", profile])
        .args(["--package", "matins", "--package", "matins-testkit"])
        .status()
        .context("run cargo")?;
    ensure!(status.success(), "the programs cannot be built");
    Ok(())
}
