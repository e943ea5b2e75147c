//! The real binary, started as people start it.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod alone;
mod automations;
mod crashes;
mod demo;
mod harnesses;
mod hostile;
mod serving;
mod usage;
mod world;
