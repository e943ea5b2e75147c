//! `matins automation preview`.

use api_types::{ClockChange, DryRunRequest, PreviewRequest};
use model::{
    approval::OnUnmatched,
    policy::{Policies, SessionMode},
    schedule::QuietWindow,
};

use super::{
    policies::{parse_quiet_window, validate_quiet_hours},
    show, triggers,
};
use crate::{
    app::App,
    commands::budget,
    error::{CliError, Exit},
    local_zone,
    output::{ATTENTION, clean, field_row, paint},
};

/// Show what the next run of an automation would be, or the next runs of a schedule, without creating anything
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The automation: its name, its ID or a prefix of its ID
    #[arg(value_name = "NAME")]
    automation: Option<String>,
    /// The times of a cron expression; may be repeated
    #[arg(long, value_name = "CRON")]
    cron: Vec<String>,
    /// A fixed period, such as 10m; may be repeated
    #[arg(long, value_name = "PERIOD")]
    every: Vec<String>,
    /// A single instant; may be repeated
    #[arg(long, value_name = "INSTANT")]
    at: Vec<String>,
    /// The time zone of the schedule, or local for that of TZ, else of this machine [default: the setting
    /// `default_zone`, else local]
    #[arg(long, value_name = "IANA")]
    zone: Option<String>,
    /// Hours in which due runs are skipped, such as 22:00-06:00, in the zone; may be repeated
    #[arg(long, alias = "quiet", value_name = "WINDOW", value_parser = parse_quiet_window)]
    quiet_hours: Vec<QuietWindow>,
    /// The number of runs to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    count: u32,
}

pub(super) async fn run(args: Args, app: &App) -> Result<(), CliError> {
    let triggers = triggers::from_options(args.cron, &args.every, args.at)?;
    if let Some(automation) = args.automation {
        if !triggers.is_empty() {
            let message = format!("both the automation `{automation}` and a schedule are given");
            return Err(CliError::message(Exit::Usage, message));
        }
        return dry_run(app, automation).await;
    }
    if triggers.is_empty() {
        let message = "there is nothing to show: accepted are the name of an automation, `--cron`, `--every` and `--at`";
        return Err(CliError::message(Exit::Usage, message));
    }
    let policies = Policies {
        quiet_hours: validate_quiet_hours(args.quiet_hours)?,
        ..Policies::default()
    };
    let zone = local_zone::choose(args.zone.as_deref(), &app.config)?;
    let request = PreviewRequest {
        triggers,
        zone: Some(zone.name.clone()),
        policies: policies.into(),
        count: args.count,
    };
    let preview = app.client.preview_runs(&request).await?;
    if app.output.json {
        return Ok(app.output.document(&preview)?);
    }
    zone.print(app.output)?;
    show::print_instants(app, &preview.upcoming_runs)?;
    print_clock_changes(app, &preview.clock_changes)
}

fn print_clock_changes(app: &App, changes: &[ClockChange]) -> Result<(), CliError> {
    for change in changes {
        app.output
            .line(&format!("  {}", paint(ATTENTION, &change.text)))?;
    }
    Ok(())
}

/// Prints what the next run of an automation would be.
async fn dry_run(app: &App, automation: String) -> Result<(), CliError> {
    let request = DryRunRequest {
        automation: Some(automation.clone()),
        definition: None,
    };
    let dry = app.client.dry_run(&request).await.map_err(|error| {
        // A schedule without its option looks like a name.
        if automation.split_whitespace().count() < 5 && !automation.starts_with('@') {
            return CliError::from(error);
        }
        let message = format!("the schedule `{automation}` has no option");
        let hint = format!(
            "name its kind, as in `--cron \"{automation}\"`, `--every 10m` or `--at INSTANT`"
        );
        CliError::message(Exit::Usage, message).with_hint(hint)
    })?;
    if app.output.json {
        return Ok(app.output.document(&dry)?);
    }
    let session = match (&dry.session, dry.session_mode) {
        (Some(session), _) => {
            let title = session.title.as_deref().map(|title| format!(" ({title})"));
            format!("{}{}", session.id, title.unwrap_or_default())
        }
        (None, SessionMode::Continuous) => "a new one, which the later runs continue".to_owned(),
        (None, _) => "a new one".to_owned(),
    };
    let rules = dry.permissions.0.iter().map(|rule| {
        let title = rule.title.as_deref().map(|title| format!(":{title}"));
        format!(
            "{} {}{}",
            rule.verdict,
            rule.tool,
            title.unwrap_or_default()
        )
    });
    let mut rules: Vec<_> = rules.collect();
    rules.push(match dry.on_unmatched {
        OnUnmatched::Deny => "everything else is denied".to_owned(),
        OnUnmatched::RequestApproval => "everything else asks a person".to_owned(),
    });
    let budget = dry.usage.as_ref().and_then(|usage| {
        let limits = budget::format_limits(&usage.budget.clone().into())?;
        let used = budget::format_usage(usage).unwrap_or_else(|| "nothing used this month".into());
        Some(format!("{limits}\n{used}"))
    });
    let fields = [
        ("agent", Some(dry.agent.clone())),
        ("session", Some(session)),
        (
            "directory",
            Some(
                dry.cwd
                    .clone()
                    .unwrap_or_else(|| "a folder of the session".into()),
            ),
        ),
        ("permissions", Some(rules.join("\n"))),
        ("budget", budget),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            app.output.line(&field_row(name, &value))?;
        }
    }
    if !dry.upcoming_runs.is_empty() {
        app.output.line("Next runs")?;
        show::print_instants(app, &dry.upcoming_runs)?;
        print_clock_changes(app, &dry.clock_changes)?;
    }
    let heading = format!(
        "\nPrompt ({} version {})",
        dry.prompt_ref.id, dry.prompt_ref.version
    );
    app.output.line(&heading)?;
    Ok(app.output.line(&clean(&dry.prompt))?)
}
