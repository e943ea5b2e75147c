//! The enforcement of the limits of an agent's processes.
//!
//! In a control group, the kernel counts and enforces, and the guard reads the result. Without a group, the guard
//! polls the process table once a second: the tree may exceed a limit for that long, and then the guard kills it. It skips
//! the table while the whole machine has no more threads than the tree may have, and nothing else is limited. The
//! guard does not use `RLIMIT_NPROC`, because it counts all processes of the user and does not apply to root. It does
//! not use `RLIMIT_AS` and `RLIMIT_DATA`, because they count address space, of which some runtimes reserve far more
//! than they use.

use std::{
    fs, io,
    time::{Duration, Instant},
};

use model::agent::ResourceLimits;
use rustix::process::{Resource, Rlimit, getpid, getrlimit, setrlimit};

use super::{cgroup::Cgroup, process::ProcessTable};
use crate::exit::{ExceededLimit, ResourceUsage};

/// The soft limit of open files for an agent that sets none: the default of Linux.
const DEFAULT_OPEN_FILES: u64 = 1024;
/// The period of polling.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The limits of one agent, and the group that enforces them, if any.
pub(super) struct LimitEnforcer {
    limits: ResourceLimits,
    cgroup: Option<Cgroup>,
    next_poll: Option<Instant>,
}

impl LimitEnforcer {
    pub(super) fn new(limits: ResourceLimits, cgroup: Option<Cgroup>) -> Self {
        let polled_limits = [limits.memory_bytes, limits.processes, limits.cpu_seconds];
        let needs_poll = polled_limits.iter().any(Option::is_some);
        Self {
            limits,
            cgroup,
            next_poll: needs_poll.then(|| Instant::now() + POLL_INTERVAL),
        }
    }

    /// Starts the agent, so that the limits hold from its first instant.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        set_process_limits(self.limits)?;
        match &self.cgroup {
            Some(cgroup) => cgroup.start_inside(start),
            None => start(),
        }
    }

    /// Returns the instant of the next poll. Returns `None` if no limit needs polling.
    pub(super) fn next_poll(&self) -> Option<Instant> {
        self.next_poll
    }

    /// Polls if the next poll is due. Returns the limit that the tree exceeds, if any.
    pub(super) fn poll_if_due(&mut self) -> Option<ExceededLimit> {
        let next = self.next_poll.as_mut()?;
        let now = Instant::now();
        if now < *next {
            return None;
        }
        *next = now + POLL_INTERVAL;
        self.exceeded_limit()
    }

    /// Returns the limit that the control group exceeded, if any. Returns `None` without a group.
    pub(super) fn limit_exceeded_in_cgroup(&self) -> Option<ExceededLimit> {
        self.cgroup.as_ref()?.exceeded_limit()
    }

    /// Returns the limit that the tree exceeds, if any.
    fn exceeded_limit(&self) -> Option<ExceededLimit> {
        if self.cgroup.is_some() {
            return self.limit_exceeded_in_cgroup();
        }
        // Reading the process table takes time for each process of the machine, and each agent has a guard that polls.
        if is_surely_within(self.limits, read_machine_threads()) {
            return None;
        }
        let limit = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        let used = usage_by_process_table(limit(self.limits.memory_bytes));
        if used.memory_bytes > limit(self.limits.memory_bytes) {
            Some(ExceededLimit::Memory)
        } else if used.processes > limit(self.limits.processes) {
            Some(ExceededLimit::Processes)
        } else if used.cpu_time > Duration::from_secs(limit(self.limits.cpu_seconds)) {
            Some(ExceededLimit::Cpu)
        } else {
            None
        }
    }

    pub(super) fn resource_usage(&self) -> ResourceUsage {
        match &self.cgroup {
            Some(cgroup) => cgroup.resource_usage(),
            None => usage_by_process_table(0),
        }
    }

    /// Kills all processes in the agent's control group, if it has one.
    pub(super) fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            // An error is ignored, because the guard kills the descendants in any case.
            cgroup.kill().ok();
        }
    }
}

impl Drop for LimitEnforcer {
    fn drop(&mut self) {
        if let Some(cgroup) = &self.cgroup {
            // A group that cannot be removed now is removed at the start of the next worker.
            cgroup.remove().ok();
        }
    }
}

/// Returns `true` if no tree on a machine with this number of threads can exceed the limits. `None` if the number is unknown.
fn is_surely_within(limits: ResourceLimits, machine_threads: Option<u64>) -> bool {
    limits.memory_bytes.is_none()
        && limits.cpu_seconds.is_none()
        && machine_threads
            .is_some_and(|threads| limits.processes.is_none_or(|limit| threads <= limit))
}

/// Returns the number of threads of all processes of the machine. Returns `None` if the kernel does not report it.
fn read_machine_threads() -> Option<u64> {
    parse_machine_threads(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// Returns the second number of the fourth field, `runnable/all` (`proc_loadavg(5)`). Emulated kernels may report 0.
fn parse_machine_threads(loadavg: &str) -> Option<u64> {
    let (_, all) = loadavg.split_ascii_whitespace().nth(3)?.split_once('/')?;
    all.parse().ok().filter(|all| *all > 0)
}

/// Returns the resources that the tree uses. Returns zeros if the table cannot be read, because the next poll reads
/// it again.
fn usage_by_process_table(exact_above: u64) -> ResourceUsage {
    let table = ProcessTable::read().map(|table| table.resource_usage_below(getpid(), exact_above));
    table.unwrap_or_default()
}

/// Sets the limits of each single process. The guard sets them for itself, because the agent inherits them; the guard
/// needs less than any useful limit.
fn set_process_limits(limits: ResourceLimits) -> io::Result<()> {
    let process_limits = [
        // A core dump would contain the agent's whole memory with its secrets.
        (Resource::Core, Some(0)),
        (Resource::Nofile, limits.open_files),
        (Resource::Fsize, limits.file_bytes),
    ];
    for (resource, limit) in process_limits {
        let Some(limit) = limit else { continue };
        let maximum = getrlimit(resource).maximum.unwrap_or(u64::MAX).min(limit);
        let new = Rlimit {
            current: Some(maximum),
            maximum: Some(maximum),
        };
        setrlimit(resource, new)?;
    }
    if limits.open_files.is_none() {
        lower_open_files()?;
    }
    Ok(())
}

/// Lowers the soft limit of open files, which the server raised for its own connections. Programs that use `select`,
/// or that close every possible descriptor, misbehave with a high limit. A program that needs more may raise its soft
/// limit again.
fn lower_open_files() -> io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current > DEFAULT_OPEN_FILES) {
        let current = Some(DEFAULT_OPEN_FILES);
        setrlimit(Resource::Nofile, Rlimit { current, maximum })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_with_fewer_threads_than_process_limit_needs_no_process_table() {
        let limits = ResourceLimits {
            processes: Some(100),
            ..ResourceLimits::default()
        };
        assert!(is_surely_within(limits, Some(100)));
        assert!(!is_surely_within(limits, Some(101)));
        assert!(!is_surely_within(limits, None));
        let memory = ResourceLimits {
            memory_bytes: Some(1 << 30),
            ..limits
        };
        let cpu = ResourceLimits {
            cpu_seconds: Some(60),
            ..limits
        };
        for polled in [memory, cpu] {
            assert!(!is_surely_within(polled, Some(1)));
        }
    }

    #[test]
    fn threads_of_machine_are_read_from_load_average() {
        let read = "0.20 0.18 0.12 1/80 11206\n";
        assert_eq!(parse_machine_threads(read), Some(80));
        for unknown in ["0.00 0.00 0.00 0/0 0\n", "0.20 0.18 0.12\n", ""] {
            assert_eq!(parse_machine_threads(unknown), None, "{unknown:?}");
        }
    }
}
