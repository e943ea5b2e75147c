//! The programs that are put to the test: the product, and the scripted agent.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context as _, Result, ensure};

/// Where the programs are.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) matins: PathBuf,
    /// The product in an earlier version.
    pub(crate) earlier: Option<PathBuf>,
    pub(crate) testkit: PathBuf,
    /// Whether servers are started with this version alone from now on.
    upgraded: AtomicBool,
}

impl Programs {
    /// Takes those in a folder; without one, builds them in the profile of this program.
    pub(crate) fn find(folder: Option<&Path>, earlier: Option<&Path>) -> Result<Self> {
        let own = env::current_exe()?;
        let folder = if let Some(folder) = folder {
            std::fs::canonicalize(folder)
                .with_context(|| format!("find the folder {}", folder.display()))?
        } else {
            build(&own)?;
            let beside = own.parent().context("no folder of this program")?;
            beside.to_owned()
        };
        let program = |program: PathBuf| {
            ensure!(program.is_file(), "there is no {}", program.display());
            Ok(program)
        };
        let earlier = earlier.map(|earlier| program(std::path::absolute(earlier)?));
        Ok(Self {
            matins: program(folder.join("matins"))?,
            earlier: earlier.transpose()?,
            testkit: program(folder.join("matins-testkit"))?,
            upgraded: AtomicBool::new(false),
        })
    }

    /// The product for the `nth` start of a server: by turns an earlier version, if there is one, and this one.
    pub(crate) fn matins(&self, nth: usize) -> &Path {
        let earlier = self.earlier.as_ref();
        let upgraded = self.upgraded.load(Ordering::Relaxed);
        let earlier = earlier.filter(|_| nth.is_multiple_of(2) && !upgraded);
        earlier.unwrap_or(&self.matins)
    }
}

impl Programs {
    /// Starts no server with the earlier version any more.
    pub(crate) fn use_this_version_alone(&self) {
        self.upgraded.store(true, Ordering::Relaxed);
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
