//! Holding an agent's processes to their limits.
//!
//! In a control group the kernel counts and refuses, and the guard reads what came of it. Without one
//! the guard looks at the process table once a second: a limit may be passed for that long, and then
//! the tree dies. `RLIMIT_NPROC` is not used, for it counts all processes of the user and none of
//! root's; nor are `RLIMIT_AS` and `RLIMIT_DATA`, for they count addresses, of which some runtimes
//! reserve far more than they use.

use std::{
    io,
    time::{Duration, Instant},
};

use model::harness::ResourceLimits;
use rustix::process::{Resource, Rlimit, getpid, getrlimit, setrlimit};

use super::{cgroup::Cgroup, process::Table};
use crate::exit::{Excess, Used};

/// How many files a process may have open unless it asks for more: what Linux gives.
const USUAL_OPEN_FILES: u64 = 1024;
/// How often is looked.
const LOOK: Duration = Duration::from_secs(1);

/// The limits of one agent, and who holds it to them.
pub(super) struct Bounds {
    limits: ResourceLimits,
    cgroup: Option<Cgroup>,
    next_look: Option<Instant>,
}

impl Bounds {
    pub(super) fn new(limits: ResourceLimits, cgroup: Option<Cgroup>) -> Self {
        let looked_at = [limits.memory_bytes, limits.processes, limits.cpu_seconds];
        let look = looked_at.iter().any(Option::is_some);
        Self {
            limits,
            cgroup,
            next_look: look.then(|| Instant::now() + LOOK),
        }
    }

    /// Starts the agent so that it is held from its first instant.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        hold_each(self.limits)?;
        match &self.cgroup {
            Some(cgroup) => cgroup.within(start),
            None => start(),
        }
    }

    /// When to look next, if ever.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.next_look
    }

    /// Looks if it is time to.
    pub(super) fn look_when_due(&mut self) -> Option<Excess> {
        let next = self.next_look.as_mut()?;
        let now = Instant::now();
        if now < *next {
            return None;
        }
        *next = now + LOOK;
        self.excess()
    }

    /// What was used too much of, if the kernel held the agent to its limits and kept account.
    pub(super) fn excess_in_group(&self) -> Option<Excess> {
        self.cgroup.as_ref()?.excess()
    }

    /// What is used too much of, if anything.
    fn excess(&self) -> Option<Excess> {
        if self.cgroup.is_some() {
            return self.excess_in_group();
        }
        let limit = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        let used = used_by_table(limit(self.limits.memory_bytes));
        if used.memory > limit(self.limits.memory_bytes) {
            Some(Excess::Memory)
        } else if used.processes > limit(self.limits.processes) {
            Some(Excess::Processes)
        } else if used.cpu > Duration::from_secs(limit(self.limits.cpu_seconds)) {
            Some(Excess::Cpu)
        } else {
            None
        }
    }

    pub(super) fn used(&self) -> Used {
        match &self.cgroup {
            Some(cgroup) => cgroup.used(),
            None => used_by_table(0),
        }
    }

    /// Kills what is in the agent's group, where it has one.
    pub(super) fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            // The sweep of descendants follows in any case.
            cgroup.kill().ok();
        }
    }
}

impl Drop for Bounds {
    fn drop(&mut self) {
        if let Some(cgroup) = &self.cgroup {
            // One that stays is removed by the next worker.
            cgroup.remove().ok();
        }
    }
}

/// A table that cannot be read shows nothing; the next look shows more.
fn used_by_table(closer: u64) -> Used {
    let table = Table::read().map(|table| table.used_below(getpid(), closer));
    table.unwrap_or_default()
}

/// Limits of each process, which what is started inherits. The guard itself needs less than any.
fn hold_each(limits: ResourceLimits) -> io::Result<()> {
    let each = [
        // A core holds all that the agent's memory holds, secrets too.
        (Resource::Core, Some(0)),
        (Resource::Nofile, limits.open_files),
        (Resource::Fsize, limits.file_bytes),
    ];
    for (resource, limit) in each {
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

/// Takes back what a server raised for its own connections: programs that use `select`, or close every
/// descriptor that there might be, go wrong with many. Those that need more may raise their own again.
fn lower_open_files() -> io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current > USUAL_OPEN_FILES) {
        let current = Some(USUAL_OPEN_FILES);
        setrlimit(Resource::Nofile, Rlimit { current, maximum })?;
    }
    Ok(())
}
