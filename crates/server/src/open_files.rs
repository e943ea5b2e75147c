//! The limit of open files. Each connection of a server is an open file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open files to the hard limit. Most login sessions start with a limit of 1024, which a
/// thousand viewers of the live log use up. Guards lower the limit again for the agents that inherit it.
pub fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
}
