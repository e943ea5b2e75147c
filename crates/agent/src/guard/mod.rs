//! A process that stands between a worker and its agent and leaves nothing alive.
//!
//! The product's binary starts itself again as `matins guard <lease in ms> <limits> <control group>
//! <program> <arguments>...` (see [`main`]); that process starts the agent as its child and does nothing but watch. Its standard input
//! is a socket to the worker, over which the worker first hands the agent's three streams, then says
//! how long the tree may live. The guard itself keeps none of the streams, so end of file works as
//! if it were not there.
//!
//! **Invariants**
//! - The tree is all descendants of the guard. It is a child subreaper, so what forks twice or
//!   starts a session of its own stays its descendant.
//! - At end of file on the socket (the worker is dead or has let go), and when the lease is over
//!   (the worker is frozen), the whole tree gets SIGKILL; so it does when it uses more than its limits
//!   allow, be they held by the kernel or only by the guard's looking. The lease is counted on
//!   `CLOCK_BOOTTIME`, so that time in suspend counts.
//! - The guard ends only when it has no child left, and says so last. A guard that ends without
//!   having said it was killed: the worker then sweeps by the marker in the environment.
//! - It has a session of its own and survives SIGINT, SIGTERM and SIGHUP, so neither Ctrl-C nor a
//!   service manager that signals everybody takes the gentle shutdown away.
//!
//! Linux only: subreaper, `/proc`, pidfd and timerfd have no common counterpart elsewhere.

#[cfg(not(target_os = "linux"))]
compile_error!("the guard needs Linux: subreaper, /proc, pidfd and timerfd");

mod bounds;
pub(crate) mod cgroup;
mod kill;
pub(crate) mod launch;
mod limits;
mod main;
mod pipes;
mod process;
mod sweep;
mod wire;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

pub use main::main;
pub use sweep::{sweep, sweep_workers};

/// Who holds agents to the limits of memory, processes and processor time here: the kernel, in control
/// groups below the folder that is answered, or only their guards, for the reason that is answered.
///
/// The first call may move this process into another control group of its own.
pub fn limits_held_by_kernel() -> Result<&'static Path, &'static str> {
    cgroup::delegated()
}

/// The variable that marks every process of a run.
pub const MARKER_VARIABLE: &str = "MATINS_RUN";

/// The variable that tells which worker has started a process for a turn.
pub const WORKER_VARIABLE: &str = "MATINS_RUN_WORKER";

/// How to start a guard: the program and the arguments that lead to [`main`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardProgram {
    /// An absolute path.
    pub program: PathBuf,
    /// What stands before the guard's own arguments, such as `guard`.
    pub args: Vec<OsString>,
    /// The mark of the worker that starts it, by which what is left is found when the worker is gone.
    pub worker: Option<String>,
}

impl GuardProgram {
    /// The program that is running, also where its file has been replaced since: worker and guards
    /// are always of one version.
    pub fn this_program(args: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            program: "/proc/self/exe".into(),
            args: args.into_iter().collect(),
            worker: None,
        }
    }
}
