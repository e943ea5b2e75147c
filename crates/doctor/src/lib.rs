//! The checks of `matins doctor`. They inspect the configuration, the machine, the data folder, the database and the
//! agents, and change nothing, except that a probe starts agents if the caller requests it.
//!
//! **Invariants:** returns findings and prints nothing. No check requires its subject to be in order: an invalid
//! configuration, a missing folder and a database that cannot be opened become findings, and the checks that do not
//! depend on them continue.

mod agents;
mod configuration;
mod database;
mod database_server;
mod finding;
mod folder;
mod formatting;
mod server_status;
mod stored_state;
mod system;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use config::Config;
use server::SystemClock;

pub use configuration::{ConfigurationFile, LoadedConfiguration};
pub use finding::{Finding, Level};

use server_status::ServerStatus;

/// The inputs of the checks: the configuration and the surroundings of the process.
#[derive(Debug, Clone)]
pub struct DoctorInput {
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
pub async fn examine(subject: &DoctorInput, start_agents: bool) -> Vec<Finding> {
    let mut findings = configuration::check_configuration(&subject.configuration);
    let config = &subject.configuration.config;
    findings.extend(system::check_system(&SystemClock));
    let path = subject.data_folder.as_deref();
    let folder = folder::check_data_folder(path, &mut findings);
    findings.extend(folder::check_disks(&checked_disk_folders(config, path)));
    let opened = database::check_database(config, path, folder.as_ref(), &mut findings).await;
    // Read the clock of the database first, because the checks of transactions and heartbeats compare its instants.
    let clock = database_server::database_clock(opened.as_ref(), &mut findings).await;
    if let Some(opened) = &opened {
        findings.extend(database_server::check_database_server(opened, clock.now()).await);
    }
    let served = match &folder {
        Some(folder) => server_status::find_server(folder).await,
        None => ServerStatus::Absent,
    };
    let standing = match &opened {
        Some(opened) => {
            let look =
                stored_state::check_stored_state(opened, config, folder.as_ref(), &served, &*clock)
                    .await;
            stored_state::collect_findings(look, &mut findings)
        }
        None => None,
    };
    let shared = standing.as_ref().is_some_and(|it| it.has_other_instances);
    let enabled = standing
        .as_ref()
        .map_or(0, |it| it.enabled_automations.len());
    findings.push(server_status::server_finding(&served, shared, enabled));
    if let Some(standing) = &standing {
        let start_in = folder.as_ref().filter(|_| start_agents);
        let in_use = standing.agents_in_use();
        let (environment, search_path) = (&subject.environment, &subject.search_path);
        findings.extend(agents::check_agents(&in_use, start_in, environment, search_path).await);
    }
    if let Some(opened) = opened {
        opened.database.close().await;
    }
    findings
}

/// Returns the folders whose disks must have free space: the data folder and the folder of the SQLite file.
fn checked_disk_folders(config: &Config, folder: Option<&Path>) -> Vec<PathBuf> {
    let mut places: Vec<_> = folder.map(Path::to_owned).into_iter().collect();
    if let Ok(Some(store::Location::SqliteFile(file))) = server::database_location(config) {
        let file = std::path::absolute(&file).unwrap_or(file);
        places.extend(file.parent().map(Path::to_owned));
    }
    places
}
