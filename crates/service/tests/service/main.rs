//! What people ask for, against a real database in a file.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod automations;
mod harnesses;
mod sessions;
mod world;
