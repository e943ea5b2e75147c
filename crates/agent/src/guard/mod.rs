//! The guard: a process between a worker and its agent that leaves no process of the agent alive.
//!
//! The product's binary starts itself again as `matins guard <lease in ms> <limits> <control group> <program>
//! <arguments>...` (see [`main`]). That process starts the agent as its child and then only watches. Its standard
//! input is a socket to the worker. The worker first sends the agent's three streams over the socket, and later the
//! leases, which say how long the tree may live. The guard keeps none of the streams open, so that end of file
//! reaches worker and agent as if there were no guard.
//!
//! **Invariants**
//! - The tree consists of all descendants of the guard. The guard is a child subreaper, so a process that forks twice
//!   or starts a session of its own remains its descendant.
//! - The whole tree gets SIGKILL at end of file on the socket (the worker is dead or has dropped the control), when
//!   the lease is over (the worker is frozen), and when the tree exceeds a limit, whether the kernel or only the
//!   guard enforces the limit. The lease counts on `CLOCK_BOOTTIME`, so that time in suspend counts.
//! - The guard ends only when it has no child left, and reports that as its last line. A guard that ends without this
//!   report was killed; the worker then sweeps by the marker in the environment.
//! - The guard has a session of its own and survives SIGINT, SIGTERM and SIGHUP, so that neither Ctrl-C nor a service
//!   manager that signals every process prevents the gentle shutdown.
//!
//! The module supports Linux only, because subreaper, `/proc`, pidfd and timerfd have no common counterpart
//! elsewhere.

#[cfg(not(target_os = "linux"))]
compile_error!("the guard needs Linux: subreaper, /proc, pidfd and timerfd");

mod ancestry;
pub(crate) mod cgroup;
mod kill;
pub(crate) mod launch;
mod limit_enforcer;
mod limits_argument;
mod main;
mod pipes;
mod process;
mod sweep;
mod wire;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

pub use ancestry::KnownProcess;
pub use main::main;
pub use sweep::{sweep, sweep_workers};

/// Returns the folder of the control group below which the kernel enforces the limits of memory, processes and
/// processor time. Otherwise returns the reason why only the guards enforce the limits.
///
/// The first call may move this process into another control group.
pub fn kernel_limits_cgroup() -> Result<&'static Path, &'static str> {
    cgroup::delegated_cgroup()
}

/// The environment variable that marks every process of a run.
pub const MARKER_VARIABLE: &str = "MATINS_RUN";

/// The environment variable that names the worker which started a process for a turn.
pub const WORKER_VARIABLE: &str = "MATINS_RUN_WORKER";

/// The command that starts a guard: a program and the arguments that lead to [`main`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardProgram {
    /// The absolute path of the program.
    pub program: PathBuf,
    /// The arguments before the guard's own arguments, such as `guard`.
    pub args: Vec<OsString>,
    /// The name of the worker that starts the guard. [`sweep_workers`] finds the worker's remaining processes by it
    /// when the worker has ended.
    pub worker: Option<String>,
}

impl GuardProgram {
    /// Returns the program that is running now, even if its file has been replaced since, so that worker and guard
    /// always have the same version.
    pub fn this_program(args: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            program: "/proc/self/exe".into(),
            args: args.into_iter().collect(),
            worker: None,
        }
    }
}
