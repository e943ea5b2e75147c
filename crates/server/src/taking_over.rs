//! Beginning to serve a data folder that another server may serve.
//!
//! The folder's lock keeps a second server of the same folder away. It says nothing of a copy on another
//! machine or another disk, whose server would start agents without what they remembered meanwhile. Only the
//! database knows of that one.

use std::time::Duration;

use model::{WorkerId, limits};
use rustix::process::{Pid, test_kill_process};
use store::{Presence, Serving};
use tokio::time::sleep;

use crate::{error::Error, local::Local, system::hostname};

/// How often it is looked whether the other server shows itself.
const LOOK: Duration = Duration::from_millis(500);
/// How long one that lives may take to show itself.
const PATIENCE: Duration = limits::PRESENCE.saturating_add(Duration::from_secs(10));

/// Notes that this process serves the data folder from now on. Refused where another server does that serves a
/// copy of it, and where the schema is one with which this program cannot go on.
pub(crate) async fn take_over(local: &Local, worker: &WorkerId) -> Result<(), Error> {
    let (store, instance) = (&local.store, local.instance);
    let before = store.serving(instance).await?;
    if let Some(before) = &before
        && before.is_online(local.clock.now())
        && !is_gone(&before.worker)
    {
        wait_for_its_end(local, before).await?;
    }
    let version = env!("CARGO_PKG_VERSION");
    let (before, now) = (before.map(|before| before.worker), local.clock.now());
    let serves = store.serve(instance, worker, before.as_ref(), version, now);
    if !serves.await? {
        return Err(taken("another server"));
    }
    match store.show_presence(instance, worker, now).await? {
        Presence::Noted => Ok(()),
        Presence::Taken => Err(taken("another server")),
        Presence::Outdated { needed, known } => Err(Error::Outdated { needed, known }),
    }
}

/// Waits for longer than a server that lives takes to show itself. It may have been killed just now.
async fn wait_for_its_end(local: &Local, before: &Serving) -> Result<(), Error> {
    tracing::warn!(
        worker = %before.worker,
        "{} served this data folder a moment ago: looking for {} s whether it still does",
        before.worker,
        PATIENCE.as_secs()
    );
    let began = tokio::time::Instant::now();
    while began.elapsed() < PATIENCE {
        sleep(LOOK).await;
        let now = local.store.serving(local.instance).await?;
        match now {
            Some(now) if now.stopped_at.is_some() => return Ok(()),
            Some(now) if now != *before => return Err(taken(now.worker.as_str())),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a worker was a process of this machine that is gone, or this very process number: whoever is
/// started anew in a container gets the same.
fn is_gone(worker: &WorkerId) -> bool {
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

fn taken(by: &str) -> Error {
    Error::SameIdentity { by: by.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_machine_is_known_to_be_gone() {
        let named = |host: &str, pid: u32| WorkerId::from_stored(format!("{host}-{pid}-00000001"));
        let (here, own) = (hostname(), std::process::id());
        assert!(is_gone(&named(&here, own)), "it was started anew");
        assert!(!is_gone(&named(&here, 1)), "it lives");
        // The kernel gives no such number.
        assert!(is_gone(&named(&here, 2_000_000_000)));
        assert!(!is_gone(&named("elsewhere", 2_000_000_000)));
        assert!(!is_gone(&WorkerId::from_stored("nonsense".into())));
    }
}
