//! The options of an automation's policies.

use model::{
    approval::OnUnmatched,
    budget::Limit,
    policy::{CatchUp, OnCrash, Overlap, Policies, RunReports},
    precheck::Precheck,
    schedule::{QuietHours, QuietWindow},
    tools::{AgentCron, ToolAccess},
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
    // The help is no doc comment, because Clippy demands backticks around `cancel_running`.
    #[arg(
        long,
        value_name = "POLICY",
        help = "The handling of a due run while an earlier run has not ended: queue, skip, cancel_running or \
                allow [default: queue; allow for fresh sessions]"
    )]
    overlap: Option<Overlap>,
    /// The maximum number of queued runs [default: 100]
    #[arg(long, value_name = "N")]
    queue_limit: Option<u32>,
    /// The instants to catch up on after a time without a server: none, latest or all [default: latest]
    #[arg(long, value_name = "POLICY")]
    catch_up: Option<CatchUp>,
    /// The maximum age of a missed instant to catch up on [default: 1d]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    catch_up_window: Option<u32>,
    /// The maximum delay of a run, to spread runs that are due at the same time [default: 0]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    jitter: Option<u32>,
    /// Hours in which due runs are skipped, such as 22:00-06:00, in the zone of the schedule and in UTC for a webhook;
    /// may be repeated
    #[arg(long, alias = "quiet", value_name = "WINDOW", value_parser = parse_quiet_window)]
    quiet_hours: Vec<QuietWindow>,
    /// The maximum duration of a turn [default: 30m]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    timeout: Option<u32>,
    /// The maximum time without output of the agent [default: 10m]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    inactivity: Option<u32>,
    /// The maximum number of attempts if a run fails for a technical reason [default: 3]
    #[arg(long, value_name = "N")]
    attempts: Option<u32>,
    /// The handling of a run if it is unknown whether the prompt reached the agent: retry or fail [default: retry]
    #[arg(long, value_name = "POLICY")]
    on_crash: Option<OnCrash>,
    /// The number of consecutive failures after which the automation pauses itself; 0 means never [default: 5]
    #[arg(long, value_name = "N")]
    pause_after_failures: Option<u32>,
    /// A limit of usage, such as "50000 tokens/run", "20 USD/month", "24 turns/day" or "90 minutes/day"; may be
    /// repeated
    /// [default: no limit]
    #[arg(long, value_name = "LIMIT", value_parser = budget::parse_limit, allow_hyphen_values = true)]
    budget: Vec<Limit>,
    /// The handling of a permission request that no rule matches: deny or ask (a person decides) [default: deny]
    #[arg(long, alias = "unruled", value_name = "DECISION")]
    on_unmatched: Option<OnUnmatched>,
    /// The maximum time that such a request waits for a person [default: 10m]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    ask_timeout: Option<u32>,
    /// A shell line (sh -c) that the server runs before each turn that no person requested: exit code 0 takes
    /// the turn, 1 skips it, any other code takes it and is recorded
    #[arg(long, value_name = "COMMAND", value_parser = parse_shell_line)]
    precheck: Option<Precheck>,
    /// The maximum duration of the precheck [default: 1m]
    #[arg(long, value_name = "PERIOD", value_parser = parse_seconds)]
    precheck_timeout: Option<u32>,
    /// The tools of Matins that the agent gets, at most those of its configuration: all, read or none [default: all]
    #[arg(long, value_name = "TOOLS")]
    tools: Option<ToolAccess>,
    /// The handling of automations that the agent makes in these turns: allow, ask (a person accepts each) or deny
    /// [default: deny]
    #[arg(long, value_name = "DECISION")]
    agent_cron: Option<AgentCron>,
    /// Begin prompts with a report of the session's runs that ended without success since the last turn that succeeded:
    /// on or off [default: on]
    #[arg(long, value_name = "SWITCH")]
    run_reports: Option<RunReports>,
    /// Run no precheck before a turn, which is the default
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
        if let Some(on_unmatched) = self.on_unmatched {
            policies.on_unmatched = on_unmatched;
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
        policies.tools = self.tools.unwrap_or(policies.tools);
        policies.agent_cron = self.agent_cron.unwrap_or(policies.agent_cron);
        policies.run_reports = self.run_reports.unwrap_or(policies.run_reports);
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
                let message = "`--precheck-timeout` cannot be set: there is no precheck";
                return Err(CliError::message(Exit::Usage, message)
                    .with_hint("`--precheck` sets the command that runs before each turn"));
            }
            (None, _) => {}
        }
        budget::set_limits(&mut policies.budget, self.budget)
    }
}

/// Parses a shell line into a precheck.
fn parse_shell_line(line: &str) -> Result<Precheck, String> {
    if line.trim().is_empty() {
        return Err("the command is empty".into());
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
        .map_err(|error: model::schedule::Error| error.to_string())
}
