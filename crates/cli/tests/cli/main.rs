//! The real binary, started as people start it.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod access;
mod agent_schedules;
mod agents;
mod api_conformance;
mod approvals;
mod artifacts;
mod automation_edits;
mod automations;
mod browser;
mod budgets;
mod clients;
mod command_names;
mod completions_and_man;
mod configuration;
mod crashes;
mod default_zone;
mod demo;
mod directories;
mod doctor;
mod flooding_agents;
mod folder_instances;
mod guide;
mod held_turn;
mod hostile_text;
mod memory;
mod notifications;
mod open;
mod prechecks;
mod questions;
mod remote;
mod run_secrets;
mod runs;
mod runtime;
mod serve;
mod server_access;
mod sessions;
mod shared_database;
mod standalone;
mod starting_server;
mod status;
mod test_installation;
mod tools;
mod traces;
mod usage;
