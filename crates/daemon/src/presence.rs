//! Shows other servers which data folder this server serves, and stops this server if it may not go on.
//!
//! **Invariant:** at most one server serves a data folder with a given identity. A server that finds another one in
//! its place stops, because agents on two copies of a folder would not share their memories.

use std::time::Duration;

use model::{Timestamp, limits};
use store::{ServerHeartbeatReply, database::Dialect};
use tokio_util::sync::CancellationToken;

use crate::{Error, Host, loop_runner::LoopBody};

/// The presence loop of one server.
pub(crate) struct PresenceReporter {
    pub(crate) host: Host,
    /// Cancelled once the server is stopping.
    pub(crate) stop: CancellationToken,
    /// Stops the server when cancelled.
    pub(crate) stop_server: CancellationToken,
    /// Makes running turns end, so that a stop under way need not wait for them.
    pub(crate) requeue: CancellationToken,
}

impl PresenceReporter {
    /// Returns the interval at which the server shows itself. On SQLite it may be long, because only commands on the
    /// same machine read it.
    pub(crate) fn interval(host: &Host) -> Duration {
        match host.store.database().dialect() {
            Dialect::Postgres => limits::PRESENCE_INTERVAL.min(host.settings.heartbeat),
            Dialect::Sqlite => host.settings.watchdog,
        }
    }
}

impl PresenceReporter {
    /// Stops the server. If it is stopping already, requeues the running turns at once.
    fn stop_server(&self) {
        self.stop_server.cancel();
        if self.stop.is_cancelled() {
            self.requeue.cancel();
        }
    }
}

impl LoopBody for PresenceReporter {
    const NAME: &'static str = "presence";

    async fn tick(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let Host {
            store,
            instance,
            worker,
            ..
        } = &self.host;
        match store.renew_server_heartbeat(*instance, worker, now).await? {
            ServerHeartbeatReply::Continue => {}
            // The process was started without registering as the server of its data folder, so no row exists yet.
            ServerHeartbeatReply::Replaced if store.instance_server(*instance).await?.is_none() => {
                let version = env!("CARGO_PKG_VERSION");
                // A result of `false` means that another server was faster. The next tick then finds that server and
                // stops this one.
                store
                    .claim_instance(*instance, worker, None, version, now)
                    .await?;
            }
            ServerHeartbeatReply::Replaced => {
                tracing::error!(
                    %instance,
                    "another server serves a copy of this data folder, so this server stops: two servers with \
                     one identity would start agents without their memory. To make a copy an instance of its \
                     own, delete the file `instance.id` in the copy"
                );
                self.stop_server();
            }
            ServerHeartbeatReply::Outdated {
                required,
                supported,
            } => {
                tracing::error!(
                    "the database requires a program that supports schema version {required}, and this program \
                     supports version {supported}: this server stops"
                );
                self.stop_server();
            }
        }
        Ok(None)
    }
}
