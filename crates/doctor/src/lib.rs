//! The checks of `matins doctor`. They inspect the configuration, the machine, the data folder, the database and the
//! agents, and change nothing, except that a probe starts agents if the caller requests it.
//!
//! **Invariants:** returns findings and prints nothing. No check requires its subject to be in order: an invalid
//! configuration, a missing folder and a database that cannot be opened become findings, and the checks that do not
//! depend on them continue.

mod agents;
mod configuration;
mod database;
mod finding;
mod fleet;
mod folder;
mod served;
mod standing;
mod system;
mod wording;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use config::Config;
use server::SystemClock;

pub use configuration::{ConfigurationFile, LoadedConfiguration};
pub use finding::{Finding, Level};

use served::Served;

/// The inputs of the checks: the configuration and the surroundings of the process.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The configuration without its invalid values, with the problems found in it.
    pub configuration: LoadedConfiguration,
    /// The path of the data folder. `None` if no folder is configured and there is no home directory.
    pub data_folder: Option<PathBuf>,
    /// The environment from which agents may pass variables on to agents.
    pub environment: BTreeMap<String, String>,
    /// The value of `PATH`, in which the programs of agents are searched.
    pub search_path: OsString,
}

/// Runs all checks. If `start_agents` is `true`, also starts each agent that an enabled automation uses.
pub async fn examine(subject: &Subject, start_agents: bool) -> Vec<Finding> {
    let mut findings = configuration::look(&subject.configuration);
    let config = &subject.configuration.config;
    findings.extend(system::look(&SystemClock));
    let path = subject.data_folder.as_deref();
    let folder = folder::look(path, &mut findings);
    findings.extend(folder::disk(&places(config, path)));
    let opened = database::look(config, path, folder.as_ref(), &mut findings).await;
    // Read the clock of the database first, because the checks of transactions and heartbeats compare its instants.
    let clock = fleet::clock(opened.as_ref(), &mut findings).await;
    if let Some(opened) = &opened {
        findings.extend(fleet::look(opened, clock.now()).await);
    }
    let served = match &folder {
        Some(folder) => served::look(folder).await,
        None => Served::Nobody,
    };
    let standing = match &opened {
        Some(opened) => {
            let look = standing::look(opened, config, folder.as_ref(), &served, &*clock).await;
            standing::told(look, &mut findings)
        }
        None => None,
    };
    let shared = standing.as_ref().is_some_and(|it| it.shared);
    let enabled = standing.as_ref().map_or(0, |it| it.enabled.len());
    findings.push(served::finding(&served, shared, enabled));
    if let Some(standing) = &standing {
        let start_in = folder.as_ref().filter(|_| start_agents);
        let in_use = standing.in_use();
        let (environment, search_path) = (&subject.environment, &subject.search_path);
        findings.extend(agents::look(&in_use, start_in, environment, search_path).await);
    }
    if let Some(opened) = opened {
        opened.database.close().await;
    }
    findings
}

/// Returns the folders whose disks must have free space: the data folder and the folder of the SQLite file.
fn places(config: &Config, folder: Option<&Path>) -> Vec<PathBuf> {
    let mut places: Vec<_> = folder.map(Path::to_owned).into_iter().collect();
    if let Ok(Some(store::Location::SqliteFile(file))) = server::location(config) {
        let file = std::path::absolute(&file).unwrap_or(file);
        places.extend(file.parent().map(Path::to_owned));
    }
    places
}
