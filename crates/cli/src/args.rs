//! The command line as a whole.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, builder::NonEmptyStringValueParser, value_parser};
use daemon::Settings;
use model::limits;

use crate::{
    commands::{automation, demo, harness, run, serve, session},
    demo_agent, environment,
    failure::{EXIT_CODES, Exit, Failure},
};

/// How many heartbeats must fit into the age at which one is stale.
const BEATS_BEFORE_STALE: u64 = 3;

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
    Harness(harness::Args),
    Automation(automation::Args),
    Session(session::Args),
    Run(run::Args),
    #[command(hide = true)]
    DemoAgent(demo_agent::Args),
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The data folder [default: matins in the user's data directory]
    #[arg(long, global = true, env = environment::DATA, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The database: a SQLite file or postgres://... [default: matins.db in the data folder]
    #[arg(long, global = true, env = environment::DATABASE, value_name = "URL", hide_env_values = true,
          value_parser = NonEmptyStringValueParser::new())]
    pub(crate) database: Option<String>,
    /// Answer in JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) knobs: Knobs,
}

/// Knobs of the loops; whoever takes turns beside others should have the same.
#[derive(Debug, Args)]
#[command(next_help_heading = "Knobs")]
pub(crate) struct Knobs {
    /// How many turns run at once
    #[arg(long, global = true, hide_short_help = true, env = environment::WORKERS, value_name = "N",
          default_value_t = 4, value_parser = value_parser!(u32).range(1..=1000))]
    workers: u32,
    /// The longest sleep of the scheduler: a net below the wake-ups
    #[arg(long, global = true, hide_short_help = true, env = environment::TICK_SECONDS, value_name = "N",
          default_value_t = limits::TICK.as_secs(), value_parser = value_parser!(u64).range(1..=3600))]
    tick_seconds: u64,
    /// How often a running turn says that it lives
    #[arg(long, global = true, hide_short_help = true, env = environment::HEARTBEAT_SECONDS, value_name = "N",
          default_value_t = limits::HEARTBEAT.as_secs(), value_parser = value_parser!(u64).range(1..=3600))]
    heartbeat_seconds: u64,
    /// After how many seconds without a heartbeat a run is given up
    #[arg(long, global = true, hide_short_help = true, env = environment::HEARTBEAT_STALE, value_name = "N",
          default_value_t = limits::HEARTBEAT_STALE.as_secs(), value_parser = value_parser!(u64).range(3..=86_400))]
    heartbeat_stale: u64,
    /// How often lost runs are looked for
    #[arg(long, global = true, hide_short_help = true, env = environment::WATCHDOG_SECONDS, value_name = "N",
          default_value_t = limits::WATCHDOG.as_secs(), value_parser = value_parser!(u64).range(1..=3600))]
    watchdog_seconds: u64,
    /// How many days the record of a run (what was really sent, and errors in full) is kept; 0: for ever
    #[arg(long, global = true, hide_short_help = true, env = environment::RETAIN_RECORDS_DAYS, value_name = "N",
          default_value_t = days(limits::RETAIN_RECORDS), value_parser = value_parser!(u64).range(0..=36_500))]
    retain_records_days: u64,
    /// How many days the events of a session's log are kept; 0: for ever. Transcripts always are
    #[arg(long, global = true, hide_short_help = true, env = environment::RETAIN_EVENTS_DAYS, value_name = "N",
          default_value_t = days(limits::RETAIN_EVENTS), value_parser = value_parser!(u64).range(0..=36_500))]
    retain_events_days: u64,
}

/// The seconds of a day.
const DAY: u64 = 24 * 60 * 60;

const fn days(length: Duration) -> u64 {
    length.as_secs() / DAY
}

/// How long something is kept; 0 days: for ever.
fn retained(days: u64) -> Option<Duration> {
    (days > 0).then(|| Duration::from_secs(days * DAY))
}

impl Knobs {
    /// The settings of the loops; knobs that contradict each other are refused.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        if self.heartbeat_seconds * BEATS_BEFORE_STALE > self.heartbeat_stale {
            let message = format!(
                "take --heartbeat-seconds {} with --heartbeat-stale {}: at least \
                 {BEATS_BEFORE_STALE} heartbeats must fit before one is stale",
                self.heartbeat_seconds, self.heartbeat_stale
            );
            return Err(Failure::message(Exit::Usage, message));
        }
        Ok(Settings {
            workers: self.workers,
            tick: Duration::from_secs(self.tick_seconds),
            heartbeat: Duration::from_secs(self.heartbeat_seconds),
            heartbeat_stale: Duration::from_secs(self.heartbeat_stale),
            watchdog: Duration::from_secs(self.watchdog_seconds),
            retain_records: retained(self.retain_records_days),
            retain_events: retained(self.retain_events_days),
            ..Settings::default()
        })
    }
}
