//! The real binary, started as people start it.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod alone;
mod automations;
mod crashes;
mod demo;
mod edits;
mod harnesses;
mod runs;
mod serving;
mod sessions;
mod usage;
mod world;
