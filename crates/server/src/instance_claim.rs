//! Registers this process in the database as the server of a data folder.
//!
//! The lock file keeps a second server away from the same folder. It does not protect against a copy of the folder on
//! another machine or disk: the server of the copy has the same instance ID, but it lacks the session files that were
//! written since, so it would start agents without their memory. Only the database can detect such a server.

use std::time::Duration;

use model::{WorkerId, limits};
use rustix::process::{Pid, test_kill_process};
use store::{InstanceServer, ServerHeartbeatReply};
use tokio::time::sleep;

use crate::{error::Error, local_instance::LocalInstance, system::hostname};

/// The interval at which the database is polled for a presence update of the other server.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The maximum wait for a presence update. It exceeds the interval at which a live server writes them.
const PRESENCE_TIMEOUT: Duration =
    limits::PRESENCE_INTERVAL.saturating_add(Duration::from_secs(10));

/// Registers `worker` as the server of the data folder.
///
/// # Errors
///
/// Returns [`Error::DuplicateInstance`] if another live server has registered the same instance, and
/// [`Error::ProgramOutdated`] if the schema of the database requires a newer version of this program.
pub(crate) async fn claim_instance(local: &LocalInstance, worker: &WorkerId) -> Result<(), Error> {
    let (store, instance) = (&local.store, local.instance);
    let before = store.instance_server(instance).await?;
    if let Some(before) = &before
        && before.is_online(local.clock.now())
        && !is_dead(&before.worker)
    {
        wait_for_previous_server(local, before).await?;
    }
    let version = env!("CARGO_PKG_VERSION");
    let (before, now) = (before.map(|before| before.worker), local.clock.now());
    // The update is conditional on the previous worker, so that of two servers that start at once only one succeeds.
    let claimed = store.claim_instance(instance, worker, before.as_ref(), version, now);
    if !claimed.await? {
        return Err(duplicate_instance("another server"));
    }
    match store.renew_server_heartbeat(instance, worker, now).await? {
        ServerHeartbeatReply::Continue => Ok(()),
        ServerHeartbeatReply::Replaced => Err(duplicate_instance("another server")),
        ServerHeartbeatReply::Outdated {
            required,
            supported,
        } => Err(Error::ProgramOutdated {
            needed_schema: required,
            supported_schema: supported,
        }),
    }
}

/// Waits for longer than the presence interval of a live server, because the previous server may have been killed
/// only a moment ago. Fails if the registration changes meanwhile.
async fn wait_for_previous_server(
    local: &LocalInstance,
    before: &InstanceServer,
) -> Result<(), Error> {
    tracing::warn!(
        worker = %before.worker,
        "{} served this data folder a moment ago; waiting {} s for a heartbeat of it",
        before.worker,
        PRESENCE_TIMEOUT.as_secs()
    );
    let started = tokio::time::Instant::now();
    while started.elapsed() < PRESENCE_TIMEOUT {
        sleep(POLL_INTERVAL).await;
        let now = local.store.instance_server(local.instance).await?;
        match now {
            // The previous server has stopped properly.
            Some(now) if now.stopped_at.is_some() => return Ok(()),
            // It has updated its presence, or another server has registered: in both cases a server is alive.
            Some(now) if now != *before => return Err(duplicate_instance(now.worker.as_str())),
            _ => {}
        }
    }
    Ok(())
}

/// `true` if the worker's process ran on this machine and is dead. A worker with the process ID of this process also
/// counts as dead, because a restarted container often assigns the same process ID again.
fn is_dead(worker: &WorkerId) -> bool {
    // A worker ID is `<host>-<pid>-<random>`, and the host name may contain hyphens.
    let Some((host, pid)) = worker
        .as_str()
        .rsplit_once('-')
        .and_then(|(name, _)| name.rsplit_once('-'))
    else {
        return false;
    };
    let pid = pid.parse().ok().and_then(Pid::from_raw);
    let lives = |pid: Pid| {
        pid != rustix::process::getpid() && test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
    };
    host == hostname() && !pid.is_some_and(lives)
}

fn duplicate_instance(worker: &str) -> Error {
    Error::DuplicateInstance {
        worker: worker.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_process_is_reported_dead() {
        let named = |host: &str, pid: u32| WorkerId::from_stored(format!("{host}-{pid}-00000001"));
        let (here, own) = (hostname(), std::process::id());
        assert!(is_dead(&named(&here, own)), "it was started anew");
        assert!(!is_dead(&named(&here, 1)), "it lives");
        // The kernel gives no such number.
        assert!(is_dead(&named(&here, 2_000_000_000)));
        assert!(!is_dead(&named("elsewhere", 2_000_000_000)));
        assert!(!is_dead(&WorkerId::from_stored("nonsense".into())));
    }
}
