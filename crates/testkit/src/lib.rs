//! Helpers for the tests of all crates: fake time, test databases, agents and their processes.
//!
//! - [`clock`]: a clock, an uptime and randomness that a test controls.
//! - [`databases`]: [`databases::TestDatabase`] is a new SQLite or PostgreSQL database for each test, with a pooler in
//!   front of it if the test needs one.
//! - [`invariants`]: SQL queries that find violations of the invariants in `docs/testing.md`.
//! - [`scripted`]: an ACP agent that plays a [`scripted::Script`] and records its prompts in a
//!   [`scripted::PromptLog`]. [`processes`] finds its processes.
//! - [`real_agents`]: pinned real agents, which use a [`model_server::ModelServer`]. [`acp_lines`] speaks to an agent
//!   in raw JSON lines.
//!
//! The binary `matins-testkit` runs the processes that the tests start. Read `scripted/mod.rs` first.

pub mod acp_lines;
pub mod clock;
pub mod databases;
pub mod goal_tasks;
pub mod invariants;
pub mod model_server;
pub mod processes;
pub mod real_agents;
pub mod scripted;
