//! `matins agent`: manages the configured agents.

mod add;
mod check;
mod offers;
mod own_tools;
mod show;

use api_types::{AgentView, CheckDepth};
use clap::Subcommand;

pub(crate) use own_tools::format_own_tools;

use self::offers::{MAX_COMMAND_CHARS, format_agent_version, format_restore_method};
use crate::{
    app::App,
    error::{CliError, Exit},
    output::{excerpt, table},
};

/// Manage agents: the programs that take turns, and how to start them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the agents: whether each is installed, signed in and able to restore sessions
    #[command(visible_alias = "ls")]
    List,
    /// Show the configuration of an agent, with the rules that answer its requests
    ///
    /// Does not start the agent: `matins agent check` does that.
    Show {
        /// The name of the agent
        name: String,
    },
    /// Start an agent and show its features, its limits and the missing steps of its setup
    Check {
        /// The name of the agent
        name: String,
        /// Also take a short turn and restore its session in a second process; this costs a call of the model
        #[arg(long)]
        restore: bool,
    },
    /// Add an agent: any command line that speaks ACP; replaces an agent of the same name
    #[command(visible_alias = "create")]
    Add(Box<add::AddArgs>),
    /// Remove an agent that no automation and no open session uses
    ///
    /// Closed sessions keep their transcripts. An agent that Matins knows from the start stays removed, until
    /// `matins agent add` adds it again.
    #[command(visible_alias = "rm")]
    Remove {
        /// The name of the agent
        name: String,
    },
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::List => list(app).await?,
        Command::Show { name } => show::show(app, &name).await?,
        Command::Check { name, restore } => {
            let depth = if restore {
                CheckDepth::Restore
            } else {
                CheckDepth::Session
            };
            return check::check(app, &name, depth).await;
        }
        Command::Add(add) => add::add(app, *add).await?,
        Command::Remove { name } => {
            let removed = app.client.remove_agent(&name).await?;
            if app.output.json {
                app.output.document(&removed)?;
            } else {
                let name = excerpt(&removed.name, 80);
                app.output.line(&format!("Removed {name}."))?;
            }
        }
    }
    Ok(Exit::Done)
}

async fn list(app: &App) -> Result<(), CliError> {
    let listed = app.client.agents().await?.items;
    if app.output.json {
        return Ok(app.output.document(&listed)?);
    }
    let rows = listed.iter().map(
        |AgentView {
             agent,
             installation: presence,
         }| {
            let offers = agent.offers.as_ref();
            let signed_in = match (&presence.signed_in_by, &presence.sign_in) {
                (Some(by), _) => by.clone(),
                (None, Some(_)) => "not detected".to_owned(),
                (None, None) => String::new(),
            };
            [
                agent.name.clone(),
                if presence.program.is_some() {
                    "yes"
                } else {
                    "no"
                }
                .to_owned(),
                signed_in,
                offers.map_or_else(
                    || "not started yet".into(),
                    |offers| format_restore_method(agent, offers),
                ),
                offers.and_then(format_agent_version).unwrap_or_default(),
                excerpt(&agent.config.command.join(" "), MAX_COMMAND_CHARS),
            ]
        },
    );
    let head = [
        "NAME",
        "INSTALLED",
        "SIGN-IN",
        "RESTORES",
        "VERSION",
        "COMMAND",
    ];
    app.output.line(&table(head, rows))?;
    app.output.aside(
        "`matins agent check NAME` starts an agent and shows how to install it and how to sign in.",
    );
    Ok(())
}
