//! When an automation fires next, as people read it.

use model::{
    Timestamp,
    automation::AutomationState,
    entity::{Automation, Trigger},
    schedule::{self, Schedule},
};
use serde::Serialize;

/// How many of the next fires answers show.
pub const SHOWN_FIRES: usize = 5;

/// One of the next fires, before jitter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fire {
    /// The instant.
    pub at: Timestamp,
    /// The instant with its weekday, offset and zone.
    pub shown: String,
    /// Whether it falls into quiet hours, so that it will be skipped.
    pub quiet: bool,
}

/// The next fires of an automation's triggers after `now`, in order. A paused one has none.
pub(crate) fn next(
    automation: &Automation,
    triggers: &[Trigger],
    now: Timestamp,
) -> Result<Vec<Fire>, schedule::Error> {
    let mut fires = Vec::new();
    if automation.state != AutomationState::Enabled {
        return Ok(fires);
    }
    for trigger in triggers {
        let zone = trigger.spec.zone()?;
        let schedule = Schedule::parse(&trigger.spec)?;
        fires.extend(
            schedule
                .upcoming(now, SHOWN_FIRES)
                .into_iter()
                .map(|at| Fire {
                    at,
                    shown: schedule::describe_fire(at, &zone),
                    quiet: automation.policies.quiet_hours.covers(at, &zone),
                }),
        );
    }
    fires.sort_by_key(|fire| fire.at);
    fires.truncate(SHOWN_FIRES);
    Ok(fires)
}
