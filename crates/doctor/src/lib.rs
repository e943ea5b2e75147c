//! The checks of `matins doctor`. They inspect the configuration, the machine, the data folder, the database and the
//! agents, and change nothing, except that a probe starts agents if the caller requests it.
//!
//! [`examine`] runs all checks on a [`DoctorInput`] and returns one [`Finding`] for each observation, with its
//! [`Level`] and the next step. Each module contains the checks of one subject:
//!
//! - `configuration`, `system`, `folder`: the settings, the machine and the data folder.
//! - `database`, `database_server`: the database and its PostgreSQL server.
//! - `server_status`, `stored_state`, `names`, `permission_rules`, `zone_rules`, `agents`: the server of the folder,
//!   the rows of the database, the names and the permission rules in them, the editions of the servers' zone rules, and
//!   the agents.
//!
//! Read [`examine`] first, then `finding.rs`.
//!
//! **Invariants:** returns findings and prints nothing. No check requires its subject to be in order: an invalid
//! configuration, a missing folder and a database that cannot be opened become findings, and the checks that do not
//! depend on them continue.

mod agents;
mod budgets;
mod configuration;
mod database;
mod database_server;
mod finding;
mod folder;
mod formatting;
mod names;
mod permission_rules;
mod server_status;
mod stored_state;
mod system;
mod zone_rules;

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

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
    /// The environment whose variables agents may inherit.
    pub environment: BTreeMap<String, String>,
    /// The value of `PATH`, in which the programs of agents are searched.
    pub search_path: OsString,
}

/// Runs all checks. If `start_agents` is `true`, also starts each agent that an enabled automation uses.
#[boxed]
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
    let server = match &folder {
        Some(folder) => server_status::find_server(folder).await,
        None => ServerStatus::Absent,
    };
    let state = match &opened {
        Some(opened) => {
            let checked =
                stored_state::check_stored_state(opened, config, folder.as_ref(), &server, &*clock)
                    .await;
            stored_state::collect_findings(checked, &mut findings)
        }
        None => None,
    };
    let shared = state.as_ref().is_some_and(|it| it.has_other_instances);
    let enabled = state.as_ref().map_or(0, |it| it.enabled_automations.len());
    findings.push(server_status::server_finding(&server, shared, enabled));
    if let Some(state) = &state {
        let start_in = folder.as_ref().filter(|_| start_agents);
        let in_use = state.agents_in_use();
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
    let mut folders: Vec<_> = folder.map(Path::to_owned).into_iter().collect();
    if let Ok(Some(store::Location::SqliteFile(file))) = server::database_location(config) {
        let file = std::path::absolute(&file).unwrap_or(file);
        folders.extend(file.parent().map(Path::to_owned));
    }
    folders
}
