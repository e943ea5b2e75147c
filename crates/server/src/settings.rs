//! What the configuration means to the database and to the loops.

use config::{Config, Problem};
use daemon::Settings;
use store::{InvalidLocation, Location};

use crate::error::with_sources;

/// Returns where the named database is; `None` for the one in the data folder.
pub fn location(config: &Config) -> Result<Option<Location>, Problem> {
    let (database, direct) = (&config.database, &config.database_direct);
    // An address may hold a password, so it is not repeated; nor does the error.
    let refused = |name, origin, error: InvalidLocation| {
        Problem::value(name, None, origin, with_sources(&error))
    };
    let Some(address) = &database.value else {
        // What is in the data folder is a file.
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

/// Returns the settings of the loops.
pub fn loop_settings(config: &Config) -> Settings {
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
    fn the_defaults_are_those_of_the_loops() {
        let (config, problems) = config::resolve(&Sources::default());
        assert_eq!(problems, []);
        assert_eq!(loop_settings(&config), Settings::default());
    }
}
