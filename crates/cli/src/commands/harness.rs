//! `matins harness`: how agents are started.

use std::collections::BTreeMap;

use clap::Subcommand;
use model::harness::{Harness, HarnessConfig, Offers, RestoreBy};
use service::Checked;

use super::options::{RuleOptions, SettingOptions, pair};
use crate::{
    app::App,
    failure::{Exit, Failure},
    output::{ATTENTION, GOOD, excerpt, paint, table},
};

/// How many characters of a command a list shows.
const SHOWN_COMMAND: usize = 60;

/// Harnesses: how to start each agent
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the harnesses
    List,
    /// Start the agent of a harness and tell what it offers
    Check {
        /// The harness
        name: String,
    },
    /// Add a harness: any command line that speaks ACP; one of that name is replaced
    Add(Box<Add>),
}

#[derive(Debug, clap::Args)]
struct Add {
    /// The name of the harness
    name: String,
    /// A variable for the agent's environment
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    /// A variable that the agent gets from the server's environment, such as an API key
    #[arg(long = "pass-env", value_name = "NAME")]
    pass_env: Vec<String>,
    /// The way to sign in, where the agent asks for one; `harness check` lists them
    #[arg(long, value_name = "METHOD")]
    authenticate: Option<String>,
    /// How sessions are restored: auto, resume or load
    #[arg(long, value_name = "HOW", default_value_t = RestoreBy::Auto)]
    restore: RestoreBy,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    settings: SettingOptions,
    /// The agent's program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, Failure> {
    match args.command {
        Command::List => list(app).await?,
        Command::Check { name } => check(app, &name).await?,
        Command::Add(add) => self::add(app, *add).await?,
    }
    Ok(Exit::Done)
}

async fn list(app: &App) -> Result<(), Failure> {
    let harnesses = app.service.harnesses().await?;
    if app.output.json {
        return Ok(app.output.document(&harnesses)?);
    }
    let rows = harnesses.iter().map(|harness| {
        let offers = harness.offers.as_ref();
        [
            harness.name.clone(),
            offers.map_or_else(|| "not started yet".into(), |offers| known(harness, offers)),
            offers.and_then(version).unwrap_or_default(),
            excerpt(&harness.config.command.join(" "), SHOWN_COMMAND),
        ]
    });
    let shown = table(["NAME", "RESTORES", "AGENT", "COMMAND"], rows);
    Ok(app.output.line(&shown)?)
}

async fn check(app: &App, name: &str) -> Result<(), Failure> {
    let checked = app.service.check_harness(name).await?;
    if app.output.json {
        return Ok(app.output.document(&checked)?);
    }
    let Checked {
        harness,
        sign_in,
        can_restore,
        took,
    } = &checked;
    let offers = harness.offers.clone().unwrap_or_default();
    let agent = version(&offers).unwrap_or_else(|| "an agent that tells no name".into());
    let offered = [
        ("resume", offers.resume),
        ("load", offers.load),
        ("list", offers.list),
        ("close", offers.close),
    ];
    let offered: Vec<_> = offered
        .iter()
        .filter(|(_, offered)| *offered)
        .map(|(name, _)| *name)
        .collect();
    let sessions = if *can_restore {
        paint(GOOD, "can be restored, so every kind of automation works")
    } else {
        paint(
            ATTENTION,
            "cannot be restored: only automations with fresh sessions work",
        )
    };
    let sign_in: Vec<_> = sign_in
        .iter()
        .map(|method| {
            let terminal = if method.terminal {
                ", at a terminal"
            } else {
                ""
            };
            format!("{} ({}{terminal})", method.id, method.name)
        })
        .collect();
    let named = |names: &[String]| match names {
        [] => "none named".to_owned(),
        names => names.join(", "),
    };
    let offered: Vec<_> = offered.iter().map(|name| (*name).to_owned()).collect();
    app.output.line(&format!(
        "{name}: {agent}\n  sessions  {sessions}\n  offers    {offers}\n  sign-in   {sign_in}\n  \
         took      {took:.1} s",
        name = harness.name,
        offers = named(&offered),
        sign_in = named(&sign_in),
        took = took.as_secs_f64(),
    ))?;
    Ok(())
}

async fn add(app: &App, add: Add) -> Result<(), Failure> {
    let mut config = HarnessConfig::new(add.command);
    config.env = add.env.into_iter().collect::<BTreeMap<_, _>>();
    config.pass_env = add.pass_env;
    config.authenticate = add.authenticate;
    config.restore = add.restore;
    config.permissions = add.rules.rules();
    let settings = add.settings.settings();
    config.mode = settings.mode;
    config.settings = settings.values;
    let harness = app.service.add_harness(&add.name, &config).await?;
    if app.output.json {
        return Ok(app.output.document(&harness)?);
    }
    app.output.line(&format!(
        "Added the harness {name}. See what its agent offers: matins harness check {name}",
        name = harness.name
    ))?;
    Ok(())
}

fn known(harness: &Harness, offers: &Offers) -> String {
    let restores = match (offers.can_restore(harness.config.restore), offers.resume) {
        (false, _) => "no",
        (true, true) if harness.config.restore != RestoreBy::Load => "by resume",
        (true, _) => "by load",
    };
    restores.into()
}

fn version(offers: &Offers) -> Option<String> {
    let name = offers.name.as_deref()?;
    let version = offers.version.as_deref().unwrap_or("");
    Some(excerpt(&format!("{name} {version}"), SHOWN_COMMAND))
}
