//! Triggers, as options say them.

use api_types::TriggerRequest;
use model::schedule::Period;

use crate::failure::{Exit, Failure};

/// Fires at the times of a cron expression.
pub(super) fn cron(expression: String) -> TriggerRequest {
    TriggerRequest::Cron {
        expression,
        zone: None,
    }
}

/// Fires at equal distances.
pub(super) fn every(period: &str) -> Result<TriggerRequest, Failure> {
    let period: Period = period
        .parse()
        .map_err(|error: model::schedule::Error| Failure::new(Exit::Usage, error))?;
    Ok(TriggerRequest::Every {
        period: period.to_string(),
        anchor: None,
        zone: None,
    })
}

/// Fires once.
pub(super) fn at(at: String) -> TriggerRequest {
    TriggerRequest::At { at, zone: None }
}

/// All that are given, those of one kind after those of another.
pub(super) fn all(
    crons: Vec<String>,
    everys: &[String],
    ats: Vec<String>,
) -> Result<Vec<TriggerRequest>, Failure> {
    let everys: Vec<_> = everys
        .iter()
        .map(|period| every(period))
        .collect::<Result<_, _>>()?;
    let crons = crons.into_iter().map(cron);
    let ats = ats.into_iter().map(at);
    Ok(crons.chain(everys).chain(ats).collect())
}
