//! The only reader of the environment. The crate `config` declares the names of the settings' variables.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

/// Returns the default data folder: `$XDG_DATA_HOME/matins`, or `~/.local/share/matins` (XDG base directory
/// specification; a relative value counts as unset).
pub(crate) fn default_data_folder() -> Option<PathBuf> {
    let base =
        absolute_path("XDG_DATA_HOME").or_else(|| home().map(|home| home.join(".local/share")))?;
    Some(base.join("matins"))
}

/// Returns the default configuration file: `$XDG_CONFIG_HOME/matins/config.toml`, or `~/.config/matins/config.toml`.
pub(crate) fn default_config_file() -> Option<PathBuf> {
    config_folder().map(|folder| folder.join("config.toml"))
}

/// Returns the folder of the user's configuration and login: `$XDG_CONFIG_HOME/matins`, or `~/.config/matins`.
pub(crate) fn config_folder() -> Option<PathBuf> {
    let base =
        absolute_path("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))?;
    Some(base.join("matins"))
}

/// Returns the folder of what commands remember: `$XDG_STATE_HOME/matins`, or `~/.local/state/matins`.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let base =
        absolute_path("XDG_STATE_HOME").or_else(|| home().map(|home| home.join(".local/state")))?;
    Some(base.join("matins"))
}

/// Returns the token for a remote server if the environment holds one.
pub(crate) fn token() -> Option<String> {
    variable(config::TOKEN_VARIABLE)?.into_string().ok()
}

/// Returns the path of the configuration file if the environment names one.
pub(crate) fn config_file() -> Option<PathBuf> {
    variable(config::CONFIG_FILE_VARIABLE).map(PathBuf::from)
}

/// Returns the path of the file of the running turn whose agent this process serves.
pub(crate) fn run_file() -> Option<PathBuf> {
    variable(server::RUN_FILE_VARIABLE).map(PathBuf::from)
}

/// Returns the folder for temporary files: `$TMPDIR`, or `/tmp`.
pub(crate) fn temporary_folder() -> PathBuf {
    absolute_path("TMPDIR").unwrap_or_else(|| "/tmp".into())
}

/// Returns the home directory.
pub(crate) fn home() -> Option<PathBuf> {
    absolute_path("HOME")
}

/// Returns the value of `PATH`, empty if it is unset.
pub(crate) fn search_path() -> OsString {
    variable("PATH").unwrap_or_default()
}

/// Returns the variables whose names begin with `MATINS_`.
pub(crate) fn matins_variables() -> BTreeMap<String, OsString> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with("MATINS_"))
        .collect()
}

/// Returns the whole environment, whose variables agents may inherit. Omits variables that are not UTF-8.
pub(crate) fn agent_environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Returns the value of `TZ`. Unlike that of the other variables, an empty value has a meaning: UTC.
pub(crate) fn time_zone() -> Option<OsString> {
    raw_variable("TZ")
}

/// Returns the value of a variable if it is an absolute path.
fn absolute_path(name: &str) -> Option<PathBuf> {
    variable(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// Returns the value of a variable. An empty value counts as unset.
fn variable(name: &str) -> Option<OsString> {
    raw_variable(name).filter(|value| !value.is_empty())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one reader of the environment"
)]
fn raw_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
