//! `matins automation edit`.

use std::path::PathBuf;

use api_types::{AutomationRequest, AutomationView, PermissionRulesRequest, SessionTarget};
use clap::ValueEnum;
use model::{entity::SeatSettings, limits::CONTENT_BYTES, policy::Policies, schedule::Zone};

use super::{policies::PolicyOptions, trigger_removals::TriggerRemovals, triggers};
use crate::{
    app::App,
    commands::options::{
        RuleOptions, SettingOptions, absolute_directory, parse_session_target, text_or_stdin,
    },
    error::{CliError, Exit},
    local_zone::{self, ChosenZone},
};

/// Change an automation; everything that no option names stays as it is
///
/// Triggers that stay keep their cadence; new triggers count from now. Queued runs keep their prompt and their
/// session. Limits and rules apply to every turn that starts later.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
        matins automation edit standup --cron \"30 8 * * 1-5\" --prompt \"Look at the new issues\"\n  \
        matins automation edit standup --add --every 2h --quiet-hours 22:00-06:00\n  \
        matins automation edit standup --clear quiet-hours --clear dir\n  \
        matins automation edit standup --agent claude --reset")]
pub(super) struct Args {
    /// The automation: its name, its ID or a prefix of its ID
    automation: String,
    /// Run at the times of a cron expression, instead of the present schedule; may be repeated
    #[arg(long, value_name = "CRON")]
    cron: Vec<String>,
    /// Run at a fixed period, such as 10m, instead of the present schedule; may be repeated
    #[arg(long, value_name = "PERIOD")]
    every: Vec<String>,
    /// Run once at this instant, instead of the present schedule; may be repeated
    #[arg(long, value_name = "INSTANT")]
    at: Vec<String>,
    /// Run only on request: remove all other triggers
    #[arg(long, conflicts_with_all = ["cron", "every", "at", "add", "remove_trigger"])]
    on_demand: bool,
    /// Add the given triggers to the present ones instead of replacing them
    #[arg(long)]
    add: bool,
    /// Remove a trigger: its ID, a prefix of its ID, or its schedule if no other trigger has the same;
    /// `matins automation show` lists them; may be repeated
    #[arg(long, value_name = "TRIGGER")]
    remove_trigger: Vec<String>,
    /// The time zone of all schedules and of their quiet hours, including those that stay, or local for that of TZ,
    /// else of this machine; quiet hours of a webhook stay in UTC [default: their present zone; without one, as for
    /// `automation add`]
    #[arg(long, value_name = "IANA")]
    zone: Option<String>,
    /// The new prompt, or - to read it from standard input
    #[arg(long)]
    prompt: Option<String>,
    /// The new name
    #[arg(long)]
    name: Option<String>,
    /// The session of its turns: fresh (a new one each time), continuous (one of its own), or bound:SESSION with
    /// the key or the ID of a session
    #[arg(long, value_parser = parse_session_target)]
    session: Option<SessionTarget>,
    /// The agent that takes the turns; a session that continues keeps the agent that it has
    #[arg(long, alias = "harness", value_name = "NAME")]
    agent: Option<String>,
    /// The working directory of the agent; a session that continues keeps the directory that it has
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The instance on which the turns run; a session that continues keeps the instance that it has
    #[arg(long, value_name = "INSTANCE")]
    on: Option<String>,
    /// Detach the automation from its session: the next run creates a new session
    #[arg(long)]
    reset: bool,
    /// Reset a part to its default, before the other options apply; may be repeated
    #[arg(long, value_name = "PART")]
    clear: Vec<Clear>,
    #[command(flatten)]
    policies: PolicyOptions,
    #[command(flatten)]
    settings: SettingOptions,
    #[command(flatten)]
    rules: RuleOptions,
}

/// The parts of an automation that `--clear` resets to their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Clear {
    Dir,
    On,
    Overlap,
    QueueLimit,
    CatchUp,
    CatchUpWindow,
    Jitter,
    #[value(alias = "quiet")]
    QuietHours,
    Timeout,
    Inactivity,
    Attempts,
    OnCrash,
    PauseAfterFailures,
    /// All limits of its budget.
    Budget,
    #[value(alias = "unruled")]
    OnUnmatched,
    AskTimeout,
    Precheck,
    Tools,
    AgentCron,
    RunReports,
    Mode,
    /// All settings of the agent.
    Set,
    /// All rules, --allow and --deny.
    Rules,
}

impl Clear {
    fn apply(self, request: &mut AutomationRequest, policies: &mut Policies) {
        let default = Policies::default();
        match self {
            Self::Dir => request.cwd = None,
            Self::On => request.placed_on = None,
            Self::Overlap => policies.overlap = default.overlap,
            Self::QueueLimit => policies.queue_limit = default.queue_limit,
            Self::CatchUp => policies.catch_up = default.catch_up,
            Self::CatchUpWindow => {
                policies.catch_up_window_seconds = default.catch_up_window_seconds;
            }
            Self::Jitter => policies.jitter_seconds = default.jitter_seconds,
            Self::QuietHours => policies.quiet_hours = default.quiet_hours,
            Self::Timeout => policies.timeout_seconds = default.timeout_seconds,
            Self::Inactivity => policies.inactivity_seconds = default.inactivity_seconds,
            Self::Attempts => policies.retry.attempts = default.retry.attempts,
            Self::OnCrash => policies.on_crash = default.on_crash,
            Self::PauseAfterFailures => {
                policies.pause_after_failures = default.pause_after_failures;
            }
            Self::Budget => policies.budget = default.budget,
            Self::OnUnmatched => policies.on_unmatched = default.on_unmatched,
            Self::AskTimeout => policies.ask_seconds = default.ask_seconds,
            Self::Precheck => policies.precheck = default.precheck,
            Self::Tools => policies.tools = default.tools,
            Self::AgentCron => policies.agent_cron = default.agent_cron,
            Self::RunReports => policies.run_reports = default.run_reports,
            Self::Mode => request.settings.mode = None,
            Self::Set => request.settings.values.clear(),
            Self::Rules => request.permissions = PermissionRulesRequest::default(),
        }
    }
}

/// The result of an edit.
pub(super) struct Edited {
    /// The automation in its new state.
    pub(super) view: AutomationView,
    /// `true` if the edit changed anything.
    pub(super) is_changed: bool,
    /// The zone that the edit has chosen. `None` if the triggers keep theirs.
    pub(super) zone: Option<ChosenZone>,
}

/// Changes the automation.
pub(super) async fn run(args: Args, app: &App) -> Result<Edited, CliError> {
    let seen = app.client.automation(&args.automation).await?;
    let before = seen.value.request();
    let reset = args.reset;
    let id = seen.value.automation.id.to_string();
    let removals = TriggerRemovals::find(&args.remove_trigger, &seen.value)?;
    let (request, zone) = edited_request(app, args, &seen.value, &removals)?;
    // The tag makes the API refuse the edit if another client has changed the automation since it was read.
    let mut edited = app
        .client
        .replace_automation(&id, &request, reset, seen.tag.as_deref())
        .await?;
    for trigger in &removals.by_id {
        // The tag is outdated by now. The ID alone suffices, because it names one trigger whatever else has changed.
        let trigger = trigger.to_string();
        edited = app.client.remove_trigger(&id, &trigger, None).await?;
    }
    Ok(Edited {
        is_changed: edited.request() != before || reset,
        view: edited,
        zone,
    })
}

/// Builds the request for the edited automation from its present state and the options. Also returns the zone if it
/// is not the present one.
fn edited_request(
    app: &App,
    args: Args,
    seen: &AutomationView,
    removals: &TriggerRemovals<'_>,
) -> Result<(AutomationRequest, Option<ChosenZone>), CliError> {
    let mut request = seen.request();
    let mut policies = Policies::from(request.policies.clone());
    for clear in args.clear {
        clear.apply(&mut request, &mut policies);
    }
    if let Some(target) = args.session {
        if matches!(target, SessionTarget::Bound(_)) && target != request.session {
            // The new session determines its agent and directory, so do not keep those of the automation.
            request.agent = None;
            request.cwd = None;
            request.placed_on = None;
        }
        request.session = target;
    }
    if args.agent.is_some() {
        request.agent = args.agent;
    }
    if let Some(dir) = absolute_directory(app, args.dir)? {
        request.cwd = Some(dir);
    }
    if args.on.is_some() {
        request.placed_on = args.on;
    }
    if args.name.is_some() {
        request.name = args.name;
    }
    if let Some(prompt) = args.prompt {
        request.prompt = text_or_stdin(prompt, CONTENT_BYTES)?;
    }
    args.policies.apply(&mut policies)?;
    request.policies = policies.into();
    let SeatSettings { mode, values } = args.settings.settings();
    if mode.is_some() {
        request.settings.mode = mode;
    }
    request.settings.values.extend(values);
    if !args.rules.is_empty() {
        request.permissions = args.rules.rules().into();
    }

    // Triggers: a new schedule replaces the present triggers unless `--add` keeps them.
    let given = triggers::from_options(args.cron, &args.every, args.at)?;
    if args.add && given.is_empty() {
        let message = "`--add` requires a new trigger: accepted are `--cron`, `--every` and `--at`";
        return Err(CliError::message(Exit::Usage, message));
    }
    if !args.remove_trigger.is_empty() && !args.add && !given.is_empty() {
        let message = "`--remove-trigger` cannot be used with a new schedule, which replaces all \
                       triggers unless `--add` keeps them";
        return Err(CliError::message(Exit::Usage, message));
    }
    if args.on_demand || !(given.is_empty() || args.add) {
        request.triggers.clear();
    }
    removals.apply(&mut request);
    // `in_zone` also changes the zones of the kept triggers. The given ones name no zone and use that of the request.
    let needs_zone = request.zone.is_none() && !given.is_empty();
    let has_schedule = !given.is_empty() || request.triggers.iter().any(triggers::has_zone);
    let zone = match args.zone.as_deref() {
        None if !needs_zone => None,
        Some(zone) if !has_schedule => return Err(triggers::zone_without_schedule(zone)),
        named => {
            let chosen = local_zone::choose(named, &app.config)?;
            let zone = Zone::parse(&chosen.name);
            request.in_zone(&zone.map_err(|error| CliError::new(Exit::Usage, error))?);
            Some(chosen)
        }
    };
    request.triggers.extend(given);
    Ok((request, zone))
}
