//! Locates and opens the data folder of this machine.

use std::path::PathBuf;

use config::Config;
use server::LocalInstance;

use crate::{
    configuration, environment,
    error::{CliError, Exit},
};

/// Returns the configured or default data folder.
pub(crate) fn data_folder_path(config: &Config) -> Result<PathBuf, CliError> {
    configuration::data_folder(config).ok_or_else(|| {
        let message = "there is no data folder: HOME is not set";
        CliError::message(Exit::Environment, message).with_hint("name one with `--data`")
    })
}

/// Opens the data folder and the database, and creates both if they do not exist.
pub(crate) async fn open(config: &Config) -> Result<LocalInstance, CliError> {
    let folder = data_folder_path(config)?;
    Ok(LocalInstance::open(&folder, config, environment::agent_environment()).await?)
}
