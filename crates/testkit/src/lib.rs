//! Fake clock, scripted agent, test databases and scenarios for tests.

pub mod acp_lines;
pub mod clock;
pub mod databases;
pub mod invariants;
pub mod model_server;
pub mod processes;
pub mod real_agents;
pub mod scripted;
