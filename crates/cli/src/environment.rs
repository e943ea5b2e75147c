//! Every name that is read from the environment, and the one place that reads it.

use std::{collections::BTreeMap, path::PathBuf};

/// The data folder.
pub(crate) const DATA: &str = "MATINS_DATA";
/// The database's address.
pub(crate) const DATABASE: &str = "MATINS_DATABASE";
/// What is logged: directives of `tracing-subscriber`, such as `info` or `daemon=debug`.
pub(crate) const LOG: &str = "MATINS_LOG";
/// How many turns run at once.
pub(crate) const WORKERS: &str = "MATINS_WORKERS";
/// The longest sleep of the scheduler, in seconds.
pub(crate) const TICK_SECONDS: &str = "MATINS_TICK_SECONDS";
/// The period of heartbeats, in seconds.
pub(crate) const HEARTBEAT_SECONDS: &str = "MATINS_HEARTBEAT_SECONDS";
/// The age at which a heartbeat is stale, in seconds.
pub(crate) const HEARTBEAT_STALE: &str = "MATINS_HEARTBEAT_STALE";
/// The period of the watchdog, in seconds.
pub(crate) const WATCHDOG_SECONDS: &str = "MATINS_WATCHDOG_SECONDS";
/// How long running turns may take to end when the server stops, in seconds.
pub(crate) const STOP_SECONDS: &str = "MATINS_STOP_SECONDS";

/// How long internal records of runs are kept, in days.
pub(crate) const RETAIN_RECORDS_DAYS: &str = "MATINS_RETAIN_RECORDS_DAYS";
/// How long the events of sessions are kept, in days.
pub(crate) const RETAIN_EVENTS_DAYS: &str = "MATINS_RETAIN_EVENTS_DAYS";

/// Where the data folder is unless somebody says so: `$XDG_DATA_HOME/matins`, else
/// `~/.local/share/matins` (XDG base directory specification; a relative value counts as unset).
pub(crate) fn default_data_folder() -> Option<PathBuf> {
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))?;
    Some(base.join("matins"))
}

/// The directives for what is logged, where they are set.
pub(crate) fn log_directives() -> Option<String> {
    variable(LOG).and_then(|value| value.into_string().ok())
}

/// The whole environment, from which harnesses may pass variables on. What is not UTF-8 is left out.
pub(crate) fn for_agents() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one reader of the environment"
)]
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
