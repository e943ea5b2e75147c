//! `matins automation add`.

use std::path::PathBuf;

use api_types::{AutomationRequest, AutomationView, SessionTarget, TriggerRequest};
use model::{limits::CONTENT_BYTES, policy::Policies};

use super::{policies::PolicyOptions, triggers};
use crate::{
    app::App,
    commands::options::{
        RuleOptions, SettingOptions, absolute_directory, parse_session_target, text_or_stdin,
    },
    error::{CliError, Exit},
    local_zone::{self, ChosenZone},
    output::one_line,
};

/// Add an automation
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "matins automation add [OPTIONS] <CRON> <PROMPT>\n       \
                      matins automation add [OPTIONS] --every <PERIOD> <PROMPT>\n       \
                      matins automation add [OPTIONS] --at <INSTANT> <PROMPT>\n       \
                      matins automation add [OPTIONS] --webhook <PROMPT>\n       \
                      matins automation add [OPTIONS] --on-demand <PROMPT>",
    after_help = "Examples:\n  \
        matins automation add \"0 9 * * 1-5\" --zone Europe/Prague --session continuous \\\n      \
        --agent claude --dir ~/project \"Look at the new issues\"\n  \
        matins automation add --every 10m --agent demo \"What did I ask you before?\"\n  \
        matins automation add --at 2027-01-01T09:00 --agent codex \"Say hello to the new year\""
)]
pub(super) struct Args {
    /// A cron expression (five fields, six with seconds, or a shorthand such as @daily), unless --every, --at,
    /// --webhook or --on-demand is given; then the prompt, or - to read it from standard input
    #[arg(required = true, num_args = 1..=2, value_names = ["CRON", "PROMPT"])]
    cron_and_prompt: Vec<String>,
    /// Run at a fixed period, such as 90s, 10m, 1h30m or 2d
    #[arg(long, value_name = "PERIOD", conflicts_with_all = ["at", "webhook", "on_demand"])]
    every: Option<String>,
    /// Run once, at an instant such as 2027-01-01T09:00 in the zone, or with an offset or a zone of its own
    #[arg(long, value_name = "INSTANT", conflicts_with_all = ["webhook", "on_demand"])]
    at: Option<String>,
    /// Run when a signed request arrives; `matins automation webhook NAME` shows its path and its secret
    #[arg(long, conflicts_with = "on_demand")]
    webhook: bool,
    /// Run only on request
    #[arg(long)]
    on_demand: bool,
    /// The time zone of the schedule and of its quiet hours, or local for that of TZ, else of this machine; not with
    /// --webhook, whose quiet hours are in UTC, or --on-demand [default: the setting `default_zone`, else local]
    #[arg(long, value_name = "IANA")]
    zone: Option<String>,
    /// The name [default: the first words of the prompt]
    #[arg(long)]
    name: Option<String>,
    /// The session of its turns: fresh (a new one each time), continuous (one of its own), or bound:SESSION with
    /// the key or the ID of a session
    #[arg(long, default_value = "fresh", value_parser = parse_session_target)]
    session: SessionTarget,
    /// The agent that takes the turns; `matins agent list` shows the agents
    #[arg(long, alias = "harness", value_name = "NAME")]
    agent: Option<String>,
    /// Refused, because an automation cannot run a team yet
    #[arg(long, value_name = "NAME|FILE", hide = true)]
    team: Option<String>,
    /// The working directory of the agent [default: a new folder for each session]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The instance on which the turns run; `matins instance list` shows the instances [default: any for a new session]
    #[arg(long, value_name = "INSTANCE")]
    on: Option<String>,
    #[command(flatten)]
    policies: PolicyOptions,
    #[command(flatten)]
    settings: SettingOptions,
    #[command(flatten)]
    rules: RuleOptions,
}

/// Adds the automation. Returns it with the zone of its schedule. The zone is `None` if the schedule has none.
pub(super) async fn run(
    args: Args,
    app: &App,
) -> Result<(AutomationView, Option<ChosenZone>), CliError> {
    if let Some(team) = args.team {
        let message = format!(
            "invalid `--team {}`: an automation cannot run a team yet",
            one_line(&team)
        );
        let hint = "`matins goal start TEXT --team NAME` lets a team work on a goal";
        return Err(CliError::message(Exit::Usage, message).with_hint(hint));
    }
    let (triggers, prompt) = parse_triggers(
        args.cron_and_prompt,
        args.every,
        args.at,
        args.webhook,
        args.on_demand,
    )?;
    // Only a bound session has an agent already.
    if args.agent.is_none() && !matches!(args.session, SessionTarget::Bound(_)) {
        return Err(CliError::message(Exit::Usage, "`--agent` is missing")
            .with_hint("`matins agent list` lists all agents"));
    }
    let has_schedule = triggers.iter().any(triggers::has_zone);
    let zone = match args.zone.as_deref() {
        None if !has_schedule => None,
        Some(zone) if !has_schedule => return Err(triggers::zone_without_schedule(zone)),
        given => Some(local_zone::choose(given, &app.config)?),
    };
    let mut policies = Policies::default();
    args.policies.apply(&mut policies)?;
    let request = AutomationRequest {
        name: args.name,
        prompt: text_or_stdin(prompt, CONTENT_BYTES)?,
        triggers,
        zone: zone.as_ref().map(|zone| zone.name.clone()),
        session: args.session,
        agent: args.agent,
        cwd: absolute_directory(app, args.dir)?,
        placed_on: args.on,
        policies: policies.into(),
        settings: args.settings.settings().into(),
        permissions: args.rules.rules().into(),
    };
    let added = app.client.create_automation(&request).await?;
    Ok((added, zone))
}

/// Separates the schedule from the prompt. Two arguments are a cron expression and a prompt; a single argument is the
/// prompt, and an option gives the schedule.
fn parse_triggers(
    given: Vec<String>,
    every: Option<String>,
    at: Option<String>,
    webhook: bool,
    on_demand: bool,
) -> Result<(Vec<TriggerRequest>, String), CliError> {
    let option = match (every, at) {
        (Some(every), _) => Some(("--every", vec![triggers::every(&every)?])),
        (None, Some(at)) => Some(("--at", vec![triggers::at(at)])),
        (None, None) if webhook => Some(("--webhook", vec![TriggerRequest::Webhook {}])),
        (None, None) => on_demand.then(|| ("--on-demand", Vec::new())),
    };
    let mut given = given.into_iter();
    let refused = |message: String| {
        Err(CliError::message(Exit::Usage, message)
            .with_hint("`matins automation add --help` shows all forms"))
    };
    match (option, given.next(), given.next()) {
        (None, Some(cron), Some(prompt)) => Ok((vec![triggers::cron(cron)], prompt)),
        (Some((_, triggers)), Some(prompt), None) => Ok((triggers, prompt)),
        (Some((option, _)), Some(cron), Some(_)) => refused(format!(
            "the cron expression `{cron}` cannot be used with `{option}`: give one schedule"
        )),
        (None, Some(only), None) if looks_like_cron(&only) => refused(format!(
            "there is no prompt after the cron expression `{only}`"
        )),
        _ => refused(
            "there is no schedule: accepted are a cron expression before the prompt, --every, --at, \
             --webhook or --on-demand"
                .into(),
        ),
    }
}

/// `true` if a text is probably a cron expression, to name the missing prompt in the error.
fn looks_like_cron(text: &str) -> bool {
    let fields = text.split_whitespace().count();
    text.starts_with('@')
        || ((5..=6).contains(&fields)
            && text.starts_with(|first: char| first.is_ascii_digit() || first == '*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_example(
        given: &[&str],
        every: Option<&str>,
    ) -> Result<(Vec<TriggerRequest>, String), CliError> {
        let given = given.iter().map(|&text| text.to_owned()).collect();
        parse_triggers(given, every.map(str::to_owned), None, false, false)
    }

    #[test]
    fn two_arguments_are_cron_and_prompt_and_one_is_prompt() {
        let (given, prompt) = parse_example(&["@daily", "Work"], None).unwrap();
        assert_eq!(given, [triggers::cron("@daily".into())]);
        assert_eq!(prompt, "Work");
        let (given, prompt) = parse_example(&["Work"], Some("10m")).unwrap();
        assert_eq!(given, [triggers::every("10m").unwrap()]);
        assert_eq!(prompt, "Work");
    }

    #[test]
    fn missing_schedule_or_prompt_and_two_schedules_are_refused() {
        for (given, every) in [
            (&["Work"][..], None),
            (&["0 9 * * *"][..], None),
            (&["0 9 * * *", "Work"][..], Some("10m")),
        ] {
            assert_eq!(parse_example(given, every).unwrap_err().exit(), Exit::Usage);
        }
    }
}
