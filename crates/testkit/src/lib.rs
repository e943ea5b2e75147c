//! Fake clock, scripted agent, test databases and scenarios for tests.

pub mod scripted;
