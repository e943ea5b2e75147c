//! The commands, one a module. Each says what it takes and prints what the service answers.

pub(crate) mod automation;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod harness;
pub(crate) mod man;
mod options;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod session;
