//! Logs, on standard error.

use std::io::{self, IsTerminal};

use config::{Config, LogFormat, Problem};
use tracing_subscriber::EnvFilter;

use crate::failure::{Exit, Failure};

/// Starts logging: what is configured, or `default`.
pub(crate) fn start(config: &Config, default: &str) -> Result<(), Failure> {
    let filter = filter(config, default).map_err(|problem| Failure::new(Exit::Usage, problem))?;
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    match config.log_format.value {
        LogFormat::Text => logs.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => logs.json().init(),
    }
    Ok(())
}

/// What is logged.
pub(crate) fn filter(config: &Config, default: &str) -> Result<EnvFilter, Problem> {
    let given = &config.log;
    let directives = given.value.as_deref();
    EnvFilter::try_new(directives.unwrap_or(default)).map_err(|error| {
        let reason =
            format!("{error}; accepted are levels and targets, such as info or daemon=debug,warn");
        Problem::value("log.directives", directives, &given.origin, reason)
    })
}
