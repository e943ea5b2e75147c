//! The real binary, started as people start it.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod alone;
mod automations;
mod configuration;
mod crashes;
mod demo;
mod doctor;
mod edits;
mod harnesses;
mod hostile;
mod runs;
mod serving;
mod sessions;
mod shells;
mod usage;
mod world;
