//! The grammar of the command line.

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        agent, approval, artifact, automation, completions, config, demo, demo_agent, doctor,
        endpoint, instance, login, man, mcp, memory, open, question, run, runtime, serve, session,
        sign_in, status, tenant, token, trace,
    },
    error::EXIT_CODES,
    global::Global,
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
    Runtime(runtime::Args),
    #[command(flatten)]
    Api(ApiCommand),
    Login(login::Args),
    Logout(login::LogoutArgs),
    Config(config::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    DemoAgent(demo_agent::Args),
    #[command(hide = true)]
    Mcp(mcp::Args),
}

/// Commands that call the API of a remote server, of the server of the data folder, or of this process.
#[derive(Debug, Subcommand)]
pub(crate) enum ApiCommand {
    Status(status::Args),
    #[command(alias = "harness")]
    Agent(agent::Args),
    Automation(automation::Args),
    Session(session::Args),
    Run(run::Args),
    Approval(approval::Args),
    Memory(memory::Args),
    Question(question::Args),
    Artifact(artifact::Args),
    Trace(trace::Args),
    Token(token::Args),
    Tenant(tenant::Args),
    Endpoint(endpoint::Args),
    Instance(instance::Args),
    SignIn(sign_in::Args),
    Open(open::Args),
}
