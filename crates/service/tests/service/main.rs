//! The requests of people, against a real database in a file.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod access;
mod agents;
mod artifacts;
mod automations;
mod edits;
mod endpoints;
mod export;
mod goal_edits;
mod goal_tools;
mod id_forms;
mod notification_bodies;
mod preview;
mod replay;
mod run_batches;
mod sessions;
mod trace_events;
mod turns;
mod unified;
mod webhooks;
mod world;
