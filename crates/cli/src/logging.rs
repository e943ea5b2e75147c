//! Logs, on standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::{
    environment,
    failure::{Exit, Failure},
};

/// Starts logging: what the environment asks for, or `default`.
pub(crate) fn start(default: &str) -> Result<(), Failure> {
    let directives = environment::log_directives();
    let filter = EnvFilter::try_new(directives.as_deref().unwrap_or(default)).map_err(|error| {
        let given = directives.as_deref().unwrap_or(default);
        let what = format!("take the log directives {given:?} of {}", environment::LOG);
        Failure::new(Exit::Usage, anyhow::Error::new(error).context(what))
            .with_hint("accepted are levels and targets, such as info or daemon=debug,warn")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
    Ok(())
}
