//! The programs under test: the product in one or two versions, and the scripted agent.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context as _, Result, ensure};

/// The paths of the programs.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) matins: PathBuf,
    /// The product in an earlier version, for a test of a rolling upgrade.
    pub(crate) earlier: Option<PathBuf>,
    /// The program that runs the scripted agent.
    pub(crate) testkit: PathBuf,
    /// `true` once servers are started only with this version.
    upgraded: AtomicBool,
}

impl Programs {
    /// Returns the programs in `folder`. Without a folder, builds them in the profile of the running program.
    ///
    /// # Errors
    ///
    /// Returns an error if a program does not exist or cannot be built.
    pub(crate) fn find(folder: Option<&Path>, earlier: Option<&Path>) -> Result<Self> {
        let own = env::current_exe()?;
        let folder = if let Some(folder) = folder {
            std::fs::canonicalize(folder).with_context(|| {
                format!(
                    "cannot find the folder `{}` of `--programs`",
                    folder.display()
                )
            })?
        } else {
            build(&own)?;
            let beside = own
                .parent()
                .context("the path of this program has no folder")?;
            beside.to_owned()
        };
        let program = |program: PathBuf| {
            ensure!(
                program.is_file(),
                "the program `{}` does not exist",
                program.display()
            );
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

    /// Returns the product for the `nth` start of a server. If there is an earlier version, even starts use it until
    /// the upgrade ends.
    pub(crate) fn matins_for_start(&self, nth: usize) -> &Path {
        let earlier = self.earlier.as_ref();
        let upgraded = self.upgraded.load(Ordering::Relaxed);
        let earlier = earlier.filter(|_| nth.is_multiple_of(2) && !upgraded);
        earlier.unwrap_or(&self.matins)
    }

    /// Ends the rolling upgrade: all later starts use this version.
    pub(crate) fn end_upgrade(&self) {
        self.upgraded.store(true, Ordering::Relaxed);
    }
}

/// Builds the programs with cargo, in the profile of the program at `own`.
fn build(own: &Path) -> Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = own.parent().and_then(Path::file_name);
    let profile = profile
        .and_then(|name| name.to_str())
        .filter(|name| matches!(*name, "release" | "dist" | "quick"))
        .unwrap_or("dev");
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--profile", profile])
        .args(["--package", "matins", "--package", "matins-testkit"])
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "cargo cannot build the programs: {status}"
    );
    Ok(())
}
