//! The real binary, started as people start it.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod access;
mod agents;
mod alone;
mod approvals;
mod automations;
mod browser;
mod budgets;
mod checked;
mod clients;
mod configuration;
mod crashes;
mod demo;
mod doctor;
mod edits;
mod elsewhere;
mod fleet;
mod hostile;
mod notifications;
mod prechecks;
mod reached;
mod runs;
mod serving;
mod sessions;
mod shells;
mod traces;
mod usage;
mod world;
