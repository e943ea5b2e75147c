//! The `matins` command: loads the configuration, runs one command and reports its result.
//!
//! - `args::Cli` is the grammar of the command line; `global::Global` holds the options that every command takes.
//! - `configuration::LoadedConfig` merges the flags, the environment and the configuration file.
//! - `app::App` is the context of a command: a client of the API, connected to an `app::Target`.
//! - `follow` follows a run until it ends.
//! - `output::Output` prints results; `error::CliError` carries the exit code, the message and the hint of an error.
//!
//! Read `args.rs` first, then one module of `commands`.
//!
//! **Invariants:** this crate has the only `main`, is the only reader of the environment and is the only crate with a
//! terminal. Commands are thin: each calls the API, whether a remote server, the server of the data folder or this
//! process provides it. Commands take turns through the crate `server` alone.

mod app;
mod args;
mod commands;
mod configuration;
mod conversation;
mod data_folder;
mod environment;
mod error;
mod follow;
mod global;
mod last_look;
mod local_zone;
mod logging;
mod login;
mod output;
mod secret_file;
mod signals;

use std::{ffi::OsString, process::ExitCode, time::Duration};

use agent::guard::KnownProcess;
use clap::CommandFactory;
use config::Config;
use tokio::runtime::Builder;

use crate::{
    app::App,
    args::{ApiCommand, Cli, Command},
    configuration::LoadedConfig,
    error::{CliError, Exit},
    global::Global,
    output::Output,
};

/// The number of threads for the tasks of a runtime, which waits nearly all the time. Each thread keeps memory, and each
/// event may wake one more of them.
const RUNTIME_THREADS: usize = 2;
/// The time for which a thread for blocking work waits for more. It is longer than the time between two polls of a trigger
/// folder, so that these share one thread, and shorter than twice that time, so that all other threads end.
const RUNTIME_KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The allocator keeps large and small allocations on separate pages. The buffers of idle connections are mostly
/// untouched, so their pages then occupy no memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Handle a guard before clap sees anything: the guard runs with the agent's environment and must start whatever
    // that contains.
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == server::GUARD_ARGUMENT)
    {
        return agent::guard::main(arguments);
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::parse_arguments(&arguments) {
        Ok(cli) => cli,
        Err(error) => return report_invalid_command_line(&error),
    };
    let output = Output {
        json: cli.global.json,
    };
    let exit = run(cli, output).unwrap_or_else(|failure| failure.report(output));
    logging::end();
    exit.into()
}

/// Reports an invalid command line, in JSON if the arguments include `--json`. The arguments are searched directly,
/// because clap has not accepted them.
fn report_invalid_command_line(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|argument| argument == "--json");
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let text = text.trim().trim_start_matches("error: ");
        let (wrong, usage) = text.split_once("\n\n").unwrap_or((text, ""));
        let failure = CliError::message(Exit::Usage, format!("invalid command line: {wrong}"))
            .with_hint(usage.trim());
        return failure.report(Output { json }).into();
    }
    error.print().ok();
    u8::try_from(error.exit_code()).unwrap_or(2).into()
}

fn run(cli: Cli, output: Output) -> Result<Exit, CliError> {
    let Cli { global, command } = cli;
    if !matches!(command, Command::DemoAgent(_) | Command::Mcp(_)) {
        refuse_within_run()?;
    }
    match command {
        Command::Demo(args) => {
            commands::demo::refuse_other_places(&global.flags)?;
            let config = load_config(&global, "warn")?;
            block_on(commands::demo::run(args, &config, output))
        }
        Command::Serve(args) => {
            let config = load_config(&global, "info")?;
            block_on(commands::serve::run(args, &config, output))
        }
        Command::Runtime(args) => {
            let config = load_config(&global, "info")?;
            let mut builder = Builder::new_multi_thread();
            builder
                .worker_threads(RUNTIME_THREADS)
                .thread_keep_alive(RUNTIME_KEEP_ALIVE);
            block_on_with(builder, run_runtime(args, config, output))
        }
        Command::Login(args) => {
            let config = load_config(&global, "warn")?;
            block_on(commands::login::run(args, &config, output))
        }
        Command::Logout(_) => commands::login::logout(output),
        Command::Api(command) => {
            let config = load_config(&global, "warn")?;
            block_on(run_api_command(command, &config, output))
        }
        Command::Config(args) => commands::config::run(args, &global, output),
        Command::Team(args) => commands::team::run(args, output),
        Command::Doctor(args) => block_on(commands::doctor::run(args, &global, output)),
        Command::Completions(args) => commands::completions::run(&args, Cli::command(), output),
        Command::Man(args) => commands::man::run(args, Cli::command(), output),
        Command::DemoAgent(args) => commands::demo_agent::run(args),
        Command::Mcp(_) => commands::mcp::run(),
    }
}

/// Refuses a command that an agent runs, or another process of a turn. The data folder belongs to the user of the agent,
/// so that the command would act as an administrator.
fn refuse_within_run() -> Result<(), CliError> {
    let process = KnownProcess::with_id(std::process::id());
    match process.and_then(KnownProcess::run) {
        Ok(None) => Ok(()),
        Ok(Some(run)) => Err(CliError::message(
            Exit::NotAllowed,
            format!(
                "a process of the turn {} cannot use this command",
                output::one_line(&run)
            ),
        )
        .with_hint("a person runs it in a terminal of their own")),
        Err(source) => Err(CliError::environment(
            "cannot tell whether an agent runs this command",
            source,
        )),
    }
}

/// Loads the configuration and starts logging with it.
fn load_config(global: &Global, default_log: &str) -> Result<Config, CliError> {
    let LoadedConfig {
        config,
        unknown_variables: unknown,
        ..
    } = LoadedConfig::load(global)?.into_valid()?;
    logging::start(&config, default_log)?;
    configuration::warn_of_unknown_variables(&unknown);
    Ok(config)
}

fn block_on(command: impl Future<Output = Result<Exit, CliError>>) -> Result<Exit, CliError> {
    block_on_with(Builder::new_multi_thread(), command)
}

fn block_on_with(
    mut builder: Builder,
    command: impl Future<Output = Result<Exit, CliError>>,
) -> Result<Exit, CliError> {
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|source| CliError::environment("cannot start the runtime", source))?;
    let exit = runtime.block_on(command);
    // Do not wait for a pending read of standard input: it may never return, and would keep the process alive.
    runtime.shutdown_background();
    exit
}

/// Serves a folder in a task, so that the main thread waits until the end and no event wakes it beside a thread for tasks.
async fn run_runtime(
    args: commands::runtime::Args,
    config: Config,
    output: Output,
) -> Result<Exit, CliError> {
    let serving = tokio::spawn(async move { commands::runtime::run(args, &config, output).await });
    let ended = serving.await;
    ended.unwrap_or_else(|died| Err(CliError::environment("the runtime has panicked", died)))
}

async fn run_api_command(
    command: ApiCommand,
    config: &Config,
    output: Output,
) -> Result<Exit, CliError> {
    let app = App::connect(config, output).await?;
    let exit = match command {
        ApiCommand::Agent(args) => commands::agent::run(args, &app).await,
        ApiCommand::Automation(args) => commands::automation::run(args, &app).await,
        ApiCommand::Session(args) => commands::session::run(args, &app).await,
        ApiCommand::Goal(args) => commands::goal::run(args, &app).await,
        ApiCommand::Task(args) => commands::task::run(args, &app).await,
        ApiCommand::Run(args) => commands::run::run(args, &app).await,
        ApiCommand::Approval(args) => commands::approval::run(args, &app).await,
        ApiCommand::Memory(args) => commands::memory::run(args, &app).await,
        ApiCommand::Question(args) => commands::question::run(args, &app).await,
        ApiCommand::Artifact(args) => commands::artifact::run(args, &app).await,
        ApiCommand::Trace(args) => commands::trace::run(args, &app).await,
        ApiCommand::Token(args) => commands::token::run(args, &app).await,
        ApiCommand::Tenant(args) => commands::tenant::run(args, &app).await,
        ApiCommand::Endpoint(args) => commands::endpoint::run(args, &app).await,
        ApiCommand::Instance(args) => commands::instance::run(args, &app).await,
        ApiCommand::Status(args) => commands::status::run(args, &app).await,
        ApiCommand::SignIn(_) => commands::sign_in::run(&app).await,
        ApiCommand::Open(_) => commands::open::run(&app).await,
    };
    app.close().await;
    exit
}
