//! The commands, one per module. Each module declares its arguments, calls the API and prints the response.

pub(crate) mod agent;
pub(crate) mod approval;
pub(crate) mod automation;
mod budget;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod demo_agent;
pub(crate) mod doctor;
pub(crate) mod endpoint;
mod first_token;
pub(crate) mod instance;
pub(crate) mod instant_arg;
pub(crate) mod login;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod open;
mod options;
pub(crate) mod run;
mod secret;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod sign_in;
pub(crate) mod status;
pub(crate) mod tenant;
pub(crate) mod token;
pub(crate) mod trace;
