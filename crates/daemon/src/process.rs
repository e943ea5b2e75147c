//! Whether a worker of this machine still lives.

use std::{fs, io};

use model::WorkerId;

/// Whether `worker` was a process of the same machine as `own` that is gone. A process id that was
/// given to another process since counts as alive: the stale heartbeat tells in the end.
pub fn is_gone(worker: &WorkerId, own: &WorkerId) -> bool {
    let (Some((host, pid)), Some((own_host, own_pid))) = (parts(worker), parts(own)) else {
        return false;
    };
    if host != own_host {
        return false;
    }
    if pid == own_pid {
        // The same number, and yet not us: an earlier process had it.
        return worker != own;
    }
    has_ended(pid)
}

/// Whether a process has ended: it is not there, or only waits for its parent to take note (states
/// `Z` and `X` of proc(5)), which in a container may be never.
fn has_ended(pid: u32) -> bool {
    let stat = match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat,
        Err(error) => return error.kind() == io::ErrorKind::NotFound,
    };
    // The name before the state may hold anything, closing brackets included.
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|state| state.starts_with(['Z', 'X']))
}

/// The host and the process of `<hostname>-<pid>-<random8>`; hostnames may hold hyphens.
fn parts(worker: &WorkerId) -> Option<(&str, u32)> {
    let (rest, _random) = worker.as_str().rsplit_once('-')?;
    let (host, pid) = rest.rsplit_once('-')?;
    Some((host, pid.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(name: &str) -> WorkerId {
        WorkerId::from_stored(name.into())
    }

    #[test]
    fn a_process_that_nobody_has_taken_note_of_has_ended() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        // Waits for its end without taking note of it.
        let pid = rustix::process::Pid::from_child(&child);
        let options =
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
        assert!(has_ended(child.id()));
        child.wait().unwrap();
        assert!(!has_ended(std::process::id()));
    }

    #[test]
    fn only_a_missing_process_of_this_machine_is_gone() {
        let pid = std::process::id();
        let own = worker(&format!("a-host-{pid}-00000001"));
        // No process of Linux has so high a number.
        assert!(is_gone(&worker("a-host-4294967295-00000002"), &own));
        assert!(is_gone(&worker(&format!("a-host-{pid}-00000002")), &own));
        assert!(!is_gone(&own, &own));
        assert!(!is_gone(&worker("other-4294967295-00000002"), &own));
        assert!(!is_gone(&worker("nonsense"), &own));
        assert!(!is_gone(&worker("a-host-1-00000002"), &own));
    }
}
