//! Converts the configuration into the location of the database and the settings of the daemon.

use config::{Config, ConfigProblem};
use daemon::Settings;
use store::{InvalidLocation, Location};

use crate::error::with_sources;

/// Returns the location of the configured database. Returns `None` if the configuration names none, so that the
/// caller uses the file in the data folder.
///
/// # Errors
///
/// Returns a [`ConfigProblem`] if `database` or `database_direct` is invalid, or if `database_direct` is set without a
/// PostgreSQL server in `database`.
pub fn database_location(config: &Config) -> Result<Option<Location>, ConfigProblem> {
    let (database, direct) = (&config.database, &config.database_direct);
    // Neither this message nor the error contains the address, because an address may hold a password.
    let refused = |name, origin, error: InvalidLocation| {
        ConfigProblem::value(name, None, origin, with_sources(&error))
    };
    let Some(address) = &database.value else {
        // Without `database` the database is a file, and a file has no direct address.
        let refused = |_| {
            refused(
                "database_direct",
                &direct.origin,
                InvalidLocation::DirectOfFile,
            )
        };
        return direct
            .value
            .as_ref()
            .map_or(Ok(None), |direct| Err(refused(direct)));
    };
    let location: Location = address
        .reveal()
        .parse()
        .map_err(|error| refused("database", &database.origin, error))?;
    match &direct.value {
        None => Ok(Some(location)),
        Some(address) => location
            .with_direct(address.reveal())
            .map(Some)
            .map_err(|error| refused("database_direct", &direct.origin, error)),
    }
}

/// Returns the settings of the daemon.
pub fn daemon_settings(config: &Config) -> Settings {
    Settings {
        workers: config.workers.value,
        waiting_turns: config.waiting_turns.value,
        tick: config.tick.value,
        heartbeat: config.heartbeat.value,
        heartbeat_stale: config.heartbeat_stale.value,
        watchdog: config.watchdog.value,
        stop_deadline: config.stop_deadline.value,
        retain_records: config.retain_records.value,
        retain_events: config.retain_events.value,
        webhook_allow: config.webhook_allow.value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use config::Sources;

    use super::*;

    #[test]
    fn configuration_defaults_equal_daemon_defaults() {
        let (config, problems) = config::resolve(&Sources::default());
        assert_eq!(problems, []);
        assert_eq!(daemon_settings(&config), Settings::default());
    }
}
