//! Showing that this server is there: whose data folder it serves, and with which version.

use std::time::Duration;

use model::{Timestamp, limits};
use store::{Presence as Shown, database::Dialect};
use tokio_util::sync::CancellationToken;

use crate::{Error, Host, runner::Look};

/// How this server shows itself to others.
pub(crate) struct Presence {
    pub(crate) host: Host,
    /// Whether the server stops already.
    pub(crate) stop: CancellationToken,
    /// Ends the server: it may not go on.
    pub(crate) end: CancellationToken,
    /// Has what runs handed back, where the server stops and waits for it.
    pub(crate) hand_back: CancellationToken,
}

impl Presence {
    /// How often a server shows itself. On SQLite nobody looks but whoever asks on the same machine.
    pub(crate) fn period(host: &Host) -> Duration {
        match host.store.database().dialect() {
            Dialect::Postgres => limits::PRESENCE.min(host.settings.heartbeat),
            Dialect::Sqlite => host.settings.watchdog,
        }
    }
}

impl Presence {
    /// Ends the server; at once, if it is about to.
    fn end(&self) {
        self.end.cancel();
        if self.stop.is_cancelled() {
            self.hand_back.cancel();
        }
    }
}

impl Look for Presence {
    const NAME: &'static str = "presence";

    async fn look(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let Host {
            store,
            instance,
            worker,
            ..
        } = &self.host;
        match store.show_presence(*instance, worker, now).await? {
            Shown::Noted => {}
            // Whoever started it without a word of whose folder it serves.
            Shown::Taken if store.serving(*instance).await?.is_none() => {
                let version = env!("CARGO_PKG_VERSION");
                store.serve(*instance, worker, None, version, now).await?;
            }
            Shown::Taken => {
                tracing::error!(
                    %instance,
                    "another server serves a copy of this data folder, and two with one identity would start \
                     agents without their memory: this one stops. A copy becomes an instance of its own \
                     without its file `instance.id`"
                );
                self.end();
            }
            Shown::Outdated { needed, known } => {
                tracing::error!(
                    "the database's schema needs a program that knows version {needed}, this one knows \
                     {known}: it stops"
                );
                self.end();
            }
        }
        Ok(None)
    }
}
