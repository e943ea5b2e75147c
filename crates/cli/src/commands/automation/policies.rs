//! The options of an automation's policies.

use model::{
    approval::OnUnmatched,
    budget::Limit,
    policy::{CatchUp, OnCrash, Overlap, Policies},
    precheck::Precheck,
    schedule::{QuietHours, QuietWindow},
};

use crate::{
    commands::{
        budget,
        options::{format_period, parse_seconds},
    },
    error::{CliError, Exit},
};

/// The shell command that runs a line of `--precheck`.
const SHELL_COMMAND: [&str; 2] = ["sh", "-c"];

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Policies")]
pub(super) struct PolicyOptions {
    /// When an earlier run is still there: queue, skip, `cancel_running` or allow [default: queue; allow for
    /// fresh sessions]
    #[arg(long, value_name = "HOW")]
    overlap: Option<Overlap>,
    /// How many of its runs may wait [default: 100]
    #[arg(long, value_name = "N")]
    queue_limit: Option<u32>,
    /// Which instants missed while nothing ran are made up for: none, latest or all [default: latest]
    #[arg(long, value_name = "WHICH")]
    catch_up: Option<CatchUp>,
    /// How old a missed instant may be to be made up for [default: 1d]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    catch_up_window: Option<u32>,
    /// The spread over which fires are scattered [default: 0]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    jitter: Option<u32>,
    /// Hours in which nothing fires, such as 22:00-06:00, in the zone; may be given again
    #[arg(long, value_name = "WINDOW", value_parser = parse_quiet_window)]
    quiet_hours: Vec<QuietWindow>,
    /// The longest that a turn may take [default: 30m]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    timeout: Option<u32>,
    /// The longest that the agent may be silent [default: 10m]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    inactivity: Option<u32>,
    /// Attempts in all when the machinery fails [default: 3]
    #[arg(long, value_name = "N")]
    attempts: Option<u32>,
    /// When it cannot be known whether the prompt reached the agent: retry or fail [default: retry]
    #[arg(long, value_name = "HOW")]
    on_crash: Option<OnCrash>,
    /// Consecutive failures after which it pauses itself; 0: never [default: 5]
    #[arg(long, value_name = "N")]
    pause_after_failures: Option<u32>,
    /// What it may use, such as "50000 tokens/run", "20 USD/month" or "24 turns/day"; may be given again
    /// [default: no limit]
    #[arg(long, value_name = "LIMIT", value_parser = budget::parse_limit)]
    budget: Vec<Limit>,
    /// What no rule covers: deny, or ask a person [default: deny]
    #[arg(long, value_name = "HOW")]
    on_unmatched: Option<OnUnmatched>,
    /// The longest that such a request waits for a person [default: 10m]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    ask_timeout: Option<u32>,
    /// A line for the shell (sh -c) that is asked on the server before each turn that nobody spoke for: 0
    /// takes the turn, 1 skips it, anything else takes it and is recorded
    #[arg(long, value_name = "COMMAND", value_parser = parse_shell_line)]
    precheck: Option<Precheck>,
    /// The longest that the precheck may take [default: 1m]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    precheck_timeout: Option<u32>,
    /// Ask nothing before a turn, as by default
    #[arg(long, conflicts_with_all = ["precheck", "precheck_timeout"])]
    no_precheck: bool,
}

impl PolicyOptions {
    /// Sets the given policies and leaves the others. Given quiet hours replace all present ones; a given budget
    /// limit replaces the limit of the same kind.
    pub(super) fn apply(self, policies: &mut Policies) -> Result<(), CliError> {
        let set = |value: &mut u32, given: Option<u32>| *value = given.unwrap_or(*value);
        set(&mut policies.queue_limit, self.queue_limit);
        set(&mut policies.jitter_seconds, self.jitter);
        set(&mut policies.timeout_seconds, self.timeout);
        set(&mut policies.inactivity_seconds, self.inactivity);
        set(&mut policies.retry.attempts, self.attempts);
        set(
            &mut policies.pause_after_failures,
            self.pause_after_failures,
        );
        set(&mut policies.ask_seconds, self.ask_timeout);
        if let Some(unruled) = self.on_unmatched {
            policies.on_unmatched = unruled;
        }
        if self.overlap.is_some() {
            policies.overlap = self.overlap;
        }
        if !self.quiet_hours.is_empty() {
            policies.quiet_hours = validate_quiet_hours(self.quiet_hours)?;
        }
        if let Some(catch_up) = self.catch_up {
            policies.catch_up = catch_up;
        }
        if let Some(window) = self.catch_up_window {
            policies.catch_up_window_seconds = window.into();
        }
        if let Some(on_crash) = self.on_crash {
            policies.on_crash = on_crash;
        }
        if self.no_precheck {
            policies.precheck = None;
        }
        if let Some(mut precheck) = self.precheck {
            // A new command keeps the timeout of the previous one.
            if let Some(before) = &policies.precheck {
                precheck.timeout_seconds = before.timeout_seconds;
            }
            policies.precheck = Some(precheck);
        }
        match (self.precheck_timeout, &mut policies.precheck) {
            (Some(seconds), Some(precheck)) => precheck.timeout_seconds = seconds,
            (Some(_), None) => {
                let message = "take --precheck-timeout: there is no precheck";
                return Err(CliError::message(Exit::Usage, message)
                    .with_hint("--precheck says what is asked before each turn"));
            }
            (None, _) => {}
        }
        budget::set_limits(&mut policies.budget, self.budget)
    }
}

/// Parses a shell line into a precheck.
fn parse_shell_line(line: &str) -> Result<Precheck, String> {
    if line.trim().is_empty() {
        return Err("it is empty".into());
    }
    let command = SHELL_COMMAND
        .iter()
        .copied()
        .chain([line])
        .map(str::to_owned);
    Ok(Precheck::new(command.collect()))
}

/// Formats a precheck. Omits the shell of a shell line.
pub(super) fn format_precheck(precheck: &Precheck) -> String {
    let command = match &precheck.command[..] {
        [shell, option, line] if [shell, option] == SHELL_COMMAND => line.clone(),
        words => format!("{words:?}"),
    };
    format!(
        "{command} (within {})",
        format_period(precheck.timeout_seconds.into())
    )
}

/// Validates windows as quiet hours.
pub(super) fn validate_quiet_hours(windows: Vec<QuietWindow>) -> Result<QuietHours, CliError> {
    QuietHours::new(windows).map_err(|error| CliError::new(Exit::Usage, error))
}

pub(super) fn parse_quiet_window(text: &str) -> Result<QuietWindow, String> {
    text.parse()
        .map_err(|error: model::schedule::Error| format!("failed to {error}"))
}
