//! The `matins` command.

mod demo_agent;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(hide = true)]
    DemoAgent(demo_agent::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::DemoAgent(args) => demo_agent::run(args),
    }
}
