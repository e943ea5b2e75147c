//! Locates and opens the data folder of this machine.

use std::path::PathBuf;

use config::Config;
use server::Local;

use crate::{
    configuration, environment,
    failure::{Exit, Failure},
};

/// Returns the configured or default data folder.
pub(crate) fn data_folder(config: &Config) -> Result<PathBuf, Failure> {
    configuration::data_folder(config).ok_or_else(|| {
        let message = "find a data folder: HOME is not set";
        Failure::message(Exit::Environment, message).with_hint("name one with --data")
    })
}

/// Opens the data folder and the database, and creates both if they do not exist.
pub(crate) async fn open(config: &Config) -> Result<Local, Failure> {
    let folder = data_folder(config)?;
    Ok(Local::open(&folder, config, environment::agent_environment()).await?)
}
