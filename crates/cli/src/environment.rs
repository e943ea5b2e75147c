//! The one place that reads the environment. The names of settings are declared in `config`.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

/// Where the data folder is unless somebody says so: `$XDG_DATA_HOME/matins`, else
/// `~/.local/share/matins` (XDG base directory specification; a relative value counts as unset).
pub(crate) fn default_data_folder() -> Option<PathBuf> {
    let base =
        absolute("XDG_DATA_HOME").or_else(|| home().map(|home| home.join(".local/share")))?;
    Some(base.join("matins"))
}

/// Where the configuration file is unless somebody says so: `$XDG_CONFIG_HOME/matins/config.toml`, else
/// `~/.config/matins/config.toml`.
pub(crate) fn default_config_file() -> Option<PathBuf> {
    config_folder().map(|folder| folder.join("config.toml"))
}

/// Where what people say once is kept: `$XDG_CONFIG_HOME/matins`, else `~/.config/matins`.
pub(crate) fn config_folder() -> Option<PathBuf> {
    let base = absolute("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))?;
    Some(base.join("matins"))
}

/// The token for a server elsewhere, where the environment holds one.
pub(crate) fn token() -> Option<String> {
    variable(config::TOKEN)?.into_string().ok()
}

/// The configuration file, where the environment names one.
pub(crate) fn config_file() -> Option<PathBuf> {
    variable(config::CONFIG_FILE).map(PathBuf::from)
}

/// The home directory.
pub(crate) fn home() -> Option<PathBuf> {
    absolute("HOME")
}

/// Where programs are looked for.
pub(crate) fn search_path() -> OsString {
    variable("PATH").unwrap_or_default()
}

/// The variables that are this program's by their names.
pub(crate) fn own() -> BTreeMap<String, OsString> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with("MATINS_"))
        .collect()
}

/// The whole environment, from which harnesses may pass variables on. What is not UTF-8 is left out.
pub(crate) fn for_agents() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn absolute(name: &str) -> Option<PathBuf> {
    variable(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one reader of the environment"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
