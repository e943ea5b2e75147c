//! The options that choose runs, for lists and for operations on many runs.

use api_types::RunFilterRequest;
use model::{Clock as _, run::RunStatus};
use server::SystemClock;

use crate::{app::App, commands::instant_arg::InstantArg, error::CliError};

/// The options that choose runs.
#[derive(Debug, clap::Args)]
#[group(id = "filter", multiple = true)]
pub(super) struct FilterArgs {
    /// Only runs of this session: its key, its ID or a prefix of its ID
    #[arg(long)]
    session: Option<String>,
    /// Only runs of this automation, including skipped and missed ones
    #[arg(long, value_name = "NAME")]
    automation: Option<String>,
    /// Only runs of this instance, also those that wait for it: its name or its ID
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Only runs with one of these statuses, separated by commas, such as failed,missed
    #[arg(long, value_delimiter = ',')]
    status: Vec<RunStatus>,
    /// Only runs with this reason, such as timeout
    #[arg(long)]
    reason: Option<String>,
    /// Only runs that were created since this time: 12h, 2026-11-19T22:41, or an instant with an offset
    #[arg(long, value_name = "TIME")]
    since: Option<InstantArg>,
    /// Only runs that were created before this time
    #[arg(long, value_name = "TIME")]
    until: Option<InstantArg>,
}

impl FilterArgs {
    /// Returns the filter of a request.
    ///
    /// # Errors
    ///
    /// Returns an error if an instant is out of range.
    pub(super) fn resolve(self, app: &App) -> Result<RunFilterRequest, CliError> {
        let now = SystemClock.now();
        let instant = |option, time: Option<InstantArg>| {
            time.map(|time| time.resolve(option, now, &app.time))
                .transpose()
        };
        Ok(RunFilterRequest {
            session: self.session,
            automation: self.automation,
            instance: self.instance,
            status: self.status,
            origin: None,
            reason: self.reason,
            from: instant("--since", self.since)?,
            to: instant("--until", self.until)?,
        })
    }
}
