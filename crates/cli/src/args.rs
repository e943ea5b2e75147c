//! The command line as a whole.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{
    commands::{
        approval, automation, completions, config, demo, demo_agent, doctor, endpoint, harness,
        instance, login, man, run, serve, session, sign_in, tenant, token, trace,
    },
    configuration::Flags,
    failure::EXIT_CODES,
};

/// Runs AI agents on time, inside sessions that remember.
#[derive(Debug, Parser)]
#[command(name = "matins", version, about, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Serve(serve::Args),
    #[command(flatten)]
    Asking(Asking),
    Login(login::Args),
    Logout(login::LogoutArgs),
    Config(config::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    DemoAgent(demo_agent::Args),
}

/// Commands that ask the API, wherever it is.
#[derive(Debug, Subcommand)]
pub(crate) enum Asking {
    Harness(harness::Args),
    Automation(automation::Args),
    Session(session::Args),
    Run(run::Args),
    Approval(approval::Args),
    Trace(trace::Args),
    Token(token::Args),
    Tenant(tenant::Args),
    Endpoint(endpoint::Args),
    Instance(instance::Args),
    SignIn(sign_in::Args),
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The configuration file
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath,
          help = format!("The configuration file [default: matins/config.toml in the user's \
                          configuration directory] [env: {}]", ::config::CONFIG_FILE))]
    pub(crate) config: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}
