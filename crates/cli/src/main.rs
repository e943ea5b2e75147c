//! The `matins` command: configuration, commands, start and stop.
//!
//! **Invariants:** the only `main`, the only reader of the environment, the only clock and source of
//! randomness. Commands are thin: what people may ask for is decided in `service`, and everything that
//! takes turns is reached through `engine`.

mod app;
mod args;
mod commands;
mod data_folder;
mod demo_agent;
mod engine;
mod environment;
mod failure;
mod follow;
mod logging;
mod output;
mod poke;
mod probe;
mod signals;
mod system;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    app::App,
    args::{Cli, Command},
    failure::{Exit, Failure},
    output::Output,
};

fn main() -> ExitCode {
    // A guard must come to its watch whatever its environment, which is the agent's, makes of the
    // command line's options.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == engine::GUARD) {
        return agent::guard::main(arguments);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    let output = Output {
        json: cli.global.json,
    };
    let exit = run(cli, output).unwrap_or_else(|failure| failure.report(output));
    exit.into()
}

/// Says what is wrong with the command line, in JSON where that was asked for.
fn refused(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|argument| argument == "--json");
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let message = text.trim().trim_start_matches("error: ");
        let failure = Failure::message(Exit::Usage, message);
        return failure.report(Output { json }).into();
    }
    error.print().ok();
    u8::try_from(error.exit_code()).unwrap_or(2).into()
}

fn run(cli: Cli, output: Output) -> Result<Exit, Failure> {
    if let Command::DemoAgent(args) = cli.command {
        demo_agent::run(args).map_err(|error| Failure::new(Exit::Failed, error))?;
        return Ok(Exit::Done);
    }
    logging::start(match cli.command {
        Command::Serve(_) => "info",
        _ => "warn",
    })?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|source| Failure::environment("start the runtime", source))?;
    let exit = runtime.block_on(command(cli, output));
    // A read of standard input that is still under way must not keep the process.
    runtime.shutdown_background();
    exit
}

async fn command(cli: Cli, output: Output) -> Result<Exit, Failure> {
    let Cli { global, command } = cli;
    if let Command::Demo(args) = command {
        return commands::demo::run(args, &global, output).await;
    }
    let app = App::open(&global, output).await?;
    let database = app.store.database().clone();
    let exit = match command {
        Command::Serve(args) => commands::serve::run(args, app).await,
        Command::Harness(args) => commands::harness::run(args, &app).await,
        Command::Automation(args) => commands::automation::run(args, &app).await,
        Command::Session(args) => commands::session::run(args, &app).await,
        Command::Run(args) => commands::run::run(args, &app).await,
        Command::Demo(_) | Command::DemoAgent(_) => Ok(Exit::Done),
    };
    // Folds SQLite's log into its file, so that a copy of that one file is a whole backup.
    database.close().await;
    exit
}
