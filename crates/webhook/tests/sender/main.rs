//! What is sent arrives signed, and nothing reaches an address that may not be reached.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod blocked_addresses;
mod delivery;
mod receiver;
