//! Converts options into triggers.

use api_types::TriggerRequest;
use model::schedule::Period;

use crate::{
    error::{CliError, Exit},
    output::one_line,
};

/// Returns a trigger for the times of a cron expression.
pub(super) fn cron(expression: String) -> TriggerRequest {
    TriggerRequest::Cron {
        expression,
        zone: None,
    }
}

/// Returns a trigger for a fixed period.
pub(super) fn every(period: &str) -> Result<TriggerRequest, CliError> {
    let period: Period = period
        .parse()
        .map_err(|error: model::schedule::Error| CliError::new(Exit::Usage, error))?;
    Ok(TriggerRequest::Every {
        period: period.to_string(),
        anchor: None,
        zone: None,
    })
}

/// Returns a trigger for a single instant.
pub(super) fn at(at: String) -> TriggerRequest {
    TriggerRequest::At { at, zone: None }
}

/// `true` if a time zone has an effect on the trigger.
pub(super) const fn has_zone(trigger: &TriggerRequest) -> bool {
    matches!(
        trigger,
        TriggerRequest::Cron { .. } | TriggerRequest::Every { .. } | TriggerRequest::At { .. }
    )
}

/// Returns the error for a zone that has no effect, because no trigger has a schedule.
pub(super) fn zone_without_schedule(zone: &str) -> CliError {
    let message = format!(
        "`--zone {}` has no effect: the automation has no schedule, and quiet hours of a webhook are in UTC",
        one_line(zone)
    );
    CliError::message(Exit::Usage, message)
        .with_hint("leave out `--zone`; only a cron expression, `--every` and `--at` have a zone")
}

/// Returns the triggers of all given options, ordered by kind.
pub(super) fn from_options(
    crons: Vec<String>,
    everys: &[String],
    ats: Vec<String>,
) -> Result<Vec<TriggerRequest>, CliError> {
    let everys: Vec<_> = everys
        .iter()
        .map(|period| every(period))
        .collect::<Result<_, _>>()?;
    let crons = crons.into_iter().map(cron);
    let ats = ats.into_iter().map(at);
    Ok(crons.chain(everys).chain(ats).collect())
}
