//! What is sent arrives signed, and nothing reaches an address that may not be reached.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod arrives;
mod receiver;
mod stays_out;
