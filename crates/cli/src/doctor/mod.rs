//! Everything that a person would need to know, looked at without changing anything.
//!
//! Nothing here needs what it looks at: a broken configuration, a missing folder and a database that
//! cannot be opened are findings, and the looks that do not depend on them go on.

mod agents;
mod database;
mod fleet;
mod folder;
mod standing;
mod system;
mod wording;

use std::path::{Path, PathBuf};

use config::{Config, UnknownVariable};
use serde::Serialize;
use server::{DataFolder, SystemClock};

use crate::{
    args::Global,
    configuration::{self, ConfigPath, Loaded},
};

/// How grave something is that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// As it should be.
    Ok,
    /// Somebody should look at it.
    Warning,
    /// Something does not work.
    Problem,
}

/// What one look found.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) check: String,
    /// How grave it is.
    pub(crate) level: Level,
    /// What was found.
    pub(crate) found: String,
    /// What a person can do about it.
    pub(crate) remedy: Option<String>,
}

impl Finding {
    fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            check: check.into(),
            level: Level::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    fn warning(
        check: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Warning,
            remedy: Some(remedy.into()),
            ..Self::ok(check, found)
        }
    }

    fn problem(
        check: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Problem,
            ..Self::warning(check, found, remedy)
        }
    }
}

/// Looks at everything; with `start_agents`, starts the agents in use as well.
pub(crate) async fn examine(global: &Global, start_agents: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let config = configuration(global, &mut findings);
    findings.extend(system::look(&SystemClock));
    let path = configuration::data_folder(&config);
    let folder = folder::look(path.as_deref(), &mut findings);
    findings.extend(folder::disk(&places(&config, path.as_deref())));
    let opened = database::look(&config, path.as_deref(), folder.as_ref(), &mut findings).await;
    let clock = fleet::clock(opened.as_ref(), &mut findings).await;
    if let Some(opened) = &opened {
        findings.extend(fleet::look(opened, clock.now()).await);
    }
    let served = match &folder {
        Some(folder) => folder::served(folder).await,
        None => folder::Served::Nobody,
    };
    let standing = match &opened {
        Some(opened) => {
            let look = standing::look(opened, &config, folder.as_ref(), &served, &*clock).await;
            standing::told(look, &mut findings)
        }
        None => None,
    };
    findings.push(folder::serving(&served, standing.as_ref()));
    if let Some(standing) = &standing {
        findings.extend(agents::look(standing, start_agents, folder.as_ref()).await);
    }
    if let Some(opened) = opened {
        opened.database.close().await;
    }
    findings
}

/// The configuration, as far as it can be taken.
fn configuration(global: &Global, findings: &mut Vec<Finding>) -> Config {
    const CHECK: &str = "configuration";
    let found = ConfigPath::find(global);
    let file = found.as_ref().map_or(Ok(None), ConfigPath::read);
    let (file, unreadable) = match file {
        Ok(file) => (file, None),
        Err(failure) => (None, Some(failure)),
    };
    let told = match (&file, &found) {
        (Some(file), _) => format!("{}", file.path().display()),
        (None, Some(found)) => format!("no file at {}", found.path.display()),
        (None, None) => "no file".to_owned(),
    };
    let from_file = file.is_some();
    let path = file.as_ref().map(|file| file.path().to_owned());
    let Loaded {
        config,
        problems,
        unknown,
    } = Loaded::merge(global, file);
    if let Some(failure) = &unreadable {
        let remedy = "make it readable, or name another one with --config";
        findings.push(Finding::problem(CHECK, failure.told(), remedy));
    }
    for problem in &problems {
        let remedy = "mend it; docs/configuration.md says what is accepted";
        let found = format!("failed to {problem}; what follows does without it");
        findings.push(Finding::problem(CHECK, found, remedy));
    }
    if unreadable.is_none() && problems.is_empty() {
        findings.push(secret_in_the_open(&config, path).unwrap_or_else(|| {
            let and = if from_file {
                ""
            } else {
                ": defaults, flags and variables"
            };
            Finding::ok(CHECK, format!("{told}{and}"))
        }));
    }
    for UnknownVariable { name, near } in unknown {
        let remedy = near.map_or_else(
            || "unset it".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        let found = format!("{name} is no setting");
        findings.push(Finding::warning("environment", found, remedy));
    }
    config
}

/// Whether others can read a password in the file.
fn secret_in_the_open(config: &Config, path: Option<PathBuf>) -> Option<Finding> {
    let address = config.database.value.as_ref()?;
    let path = path?;
    let from_file = matches!(config.database.origin, config::Origin::File { .. });
    (from_file && address.has_secret() && folder::is_open_to_others(&path)).then(|| {
        let found = format!("others can read {}, which has a password", path.display());
        Finding::warning(
            "configuration",
            found,
            format!("chmod 600 {}", path.display()),
        )
    })
}

/// The folders that must have room.
fn places(config: &Config, folder: Option<&Path>) -> Vec<PathBuf> {
    let mut places: Vec<_> = folder.map(Path::to_owned).into_iter().collect();
    if let Ok(Some(store::Location::SqliteFile(file))) = server::location(config) {
        let file = std::path::absolute(&file).unwrap_or(file);
        places.extend(file.parent().map(Path::to_owned));
    }
    places
}

/// A data folder that is there and can be looked into.
type There = DataFolder;
