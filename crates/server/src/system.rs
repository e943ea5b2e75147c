//! The clock, the uptime and the randomness of the system. All other code receives them as parameters.

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

/// The time since the system booted, including the time in suspend. Unlike the clock, it cannot be set.
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
        reason = "ids without randomness would collide, so the process must not continue"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            panic!("the system provides no randomness: {error}");
        }
    }
}

/// Returns the host name of this machine, which is part of the names of workers and instances. Returns `localhost` if
/// the system has none.
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
