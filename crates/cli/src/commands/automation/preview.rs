//! `matins automation preview`.

use api_types::PreviewRequest;
use model::{policy::Policies, schedule::QuietWindow};

use super::{
    policies::{parse_quiet_window, validate_quiet_hours},
    show, triggers,
};
use crate::{
    app::App,
    error::{CliError, Exit},
    local_zone,
};

/// Show the next runs of a schedule, without creating anything
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A schedule without its option, which the error repeats with it
    #[arg(hide = true)]
    schedule: Option<String>,
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
    if let Some(schedule) = args.schedule {
        let message = format!("the schedule `{schedule}` has no option");
        let hint = format!(
            "name its kind, as in `--cron \"{schedule}\"`, `--every 10m` or `--at INSTANT`"
        );
        return Err(CliError::message(Exit::Usage, message).with_hint(hint));
    }
    let triggers = triggers::from_options(args.cron, &args.every, args.at)?;
    if triggers.is_empty() {
        let message = "there is no schedule: accepted are `--cron`, `--every` and `--at`";
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
    show::print_instants(app, &preview.upcoming_runs)
}
