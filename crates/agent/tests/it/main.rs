//! Tests the client against the scripted agent, and the guard against processes that try to escape. Needs the program
//! `matins-testkit`: run `cargo build -p matins-testkit` first.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may fail loudly, as tests do"
)]

mod commands;
mod guard;
mod misbehaving;
mod permissions;
mod prompts;
mod restore;
mod settings;
mod shutdown;
mod start;
mod support;
