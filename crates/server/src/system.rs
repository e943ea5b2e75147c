//! Time and randomness of the system, which everything else takes as parameters.

use std::time::Duration;

use model::{Clock, Entropy, Timestamp, Uptime};

/// The system's clock.
#[derive(Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one clock of the product")]
    fn now(&self) -> Timestamp {
        Timestamp::from_jiff(jiff::Timestamp::now())
    }
}

/// The time since the system was started, its sleep included. Nobody can set it.
#[derive(Debug)]
pub struct SystemUptime;

impl Uptime for SystemUptime {
    fn uptime(&self) -> Duration {
        agent::uptime()
    }
}

/// The system's randomness.
#[derive(Debug)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    #[expect(
        clippy::panic,
        reason = "ids without randomness would collide; nothing can go on"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            panic!("the system gives no randomness: {error}");
        }
    }
}

/// This machine's name, as workers and instances are named after it.
pub fn hostname() -> String {
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    if name.is_empty() {
        "localhost".into()
    } else {
        name
    }
}
