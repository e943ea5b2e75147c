//! What people ask for, against a real database in a file.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod automations;
mod edits;
mod harnesses;
mod sessions;
mod world;
