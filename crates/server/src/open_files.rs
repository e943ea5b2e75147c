//! How many files a server may have open: each of its connections is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Takes as many as the system gives for the asking: most sessions begin with 1024, which a thousand
/// viewers use up. What agents inherit, their guards lower again.
pub fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "failed to raise the limit of open files");
    }
}
