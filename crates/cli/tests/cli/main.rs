//! The real binary, started as people start it.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod alone;
mod automations;
mod configuration;
mod crashes;
mod demo;
mod doctor;
mod harnesses;
mod serving;
mod shells;
mod usage;
mod world;
