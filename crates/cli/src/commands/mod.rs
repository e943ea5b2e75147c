//! The commands, one a module. Each says what it takes and prints what the service answers.

pub(crate) mod automation;
pub(crate) mod demo;
pub(crate) mod harness;
mod options;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod session;
