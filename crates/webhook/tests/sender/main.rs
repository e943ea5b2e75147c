//! Tests that webhooks arrive signed, and that no request reaches a forbidden address.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod blocked_addresses;
mod delivery;
mod receiver;
