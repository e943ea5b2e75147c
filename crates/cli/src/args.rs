//! The grammar of the command line.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        agent, approval, artifact, automation, completions, config, demo, demo_agent, doctor,
        endpoint, goal, instance, login, man, mcp, memory, open, question, run, runtime, serve,
        session, sign_in, status, task, team, tenant, token, trace,
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
    Team(team::Args),
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
    Goal(goal::Args),
    Task(task::Args),
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

/// The grammar of the commands that run for long. The whole grammar takes more than a megabyte, most of it copies of the
/// global options for each command, and the process would keep that memory as long as it runs.
#[derive(Debug, Parser)]
#[command(name = "matins")]
struct LongRunningCli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: LongRunningCommand,
}

#[derive(Debug, Subcommand)]
enum LongRunningCommand {
    Serve(serve::Args),
    Runtime(runtime::Args),
    Mcp(mcp::Args),
}

impl Cli {
    /// Parses a command line, whose first argument is the name of the program.
    ///
    /// # Errors
    ///
    /// Returns an error if the command line is invalid, and if it requests help.
    pub(crate) fn parse_arguments(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let first = arguments.get(1).and_then(|argument| argument.to_str());
        if first.is_some_and(LongRunningCommand::has_subcommand)
            && let Ok(LongRunningCli { global, command }) =
                LongRunningCli::try_parse_from(arguments)
        {
            let command = match command {
                LongRunningCommand::Serve(args) => Command::Serve(args),
                LongRunningCommand::Runtime(args) => Command::Runtime(args),
                LongRunningCommand::Mcp(args) => Command::Mcp(args),
            };
            return Ok(Self { global, command });
        }
        // The errors and the help of the whole grammar name the other commands, too.
        Self::try_parse_from(arguments)
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        let words = iter::once("matins").chain(line.split(' '));
        words.map(OsString::from).collect()
    }

    fn assert_parsed_as_by_whole_grammar(line: &str) {
        let text = |parsed: Result<Cli, clap::Error>| match parsed {
            Ok(cli) => format!("{cli:?}"),
            Err(error) => error.render().to_string(),
        };
        let arguments = arguments(line);
        let whole = Cli::try_parse_from(&arguments);
        assert_eq!(
            text(Cli::parse_arguments(&arguments)),
            text(whole),
            "{line}"
        );
    }

    #[test]
    fn long_running_command_is_parsed_by_its_own_grammar() {
        for line in [
            "serve",
            "serve --listen 127.0.0.1:0 --json --log debug --data d",
            "runtime --folder f --server http://127.0.0.1:1 --token-file t --agents a,b --turns 7",
            "runtime --json --allow-http --folder=f --log-format=json",
            "mcp",
            "mcp run_0199a5f0000070008000000000000001",
        ] {
            LongRunningCli::try_parse_from(arguments(line)).unwrap();
            assert_parsed_as_by_whole_grammar(line);
        }
    }

    #[test]
    fn other_command_lines_are_parsed_by_the_whole_grammar() {
        for line in [
            "status",
            "--json serve",
            "serve --wrong",
            "serve --log-format xml",
            "serve --help",
            "runtime -h",
            "runtime",
            "runtime --folder f --turns 0",
            "runtimes --folder f",
            "mcp run more",
        ] {
            assert_parsed_as_by_whole_grammar(line);
        }
    }
}
