//! Works out the next runs of an automation, with texts for people.

use api_types::Fire;
use model::{
    Timestamp,
    automation::AutomationState,
    entity::{Automation, Trigger},
    schedule::{self, QuietHours, Schedule, Spec},
};

/// The number of next runs in a response.
pub const MAX_UPCOMING_RUNS: usize = 5;

/// Returns the next instants after `now` at which an automation's triggers fire, in order. Returns none if the
/// automation is paused.
pub(crate) fn next(
    automation: &Automation,
    triggers: &[Trigger],
    now: Timestamp,
) -> Result<Vec<Fire>, schedule::Error> {
    if automation.state != AutomationState::Enabled {
        return Ok(Vec::new());
    }
    let specs = triggers.iter().map(|trigger| &trigger.spec);
    of(
        specs,
        &automation.policies.quiet_hours,
        now,
        MAX_UPCOMING_RUNS,
    )
}

/// Returns the next `count` instants after `now` at which triggers fire, in order.
pub(crate) fn of<'a>(
    specs: impl Iterator<Item = &'a Spec>,
    quiet: &QuietHours,
    now: Timestamp,
    count: usize,
) -> Result<Vec<Fire>, schedule::Error> {
    let mut fires = Vec::new();
    for spec in specs {
        let zone = spec.zone()?;
        let schedule = Schedule::parse(spec)?;
        fires.extend(schedule.upcoming(now, count).into_iter().map(|at| Fire {
            at,
            shown: schedule::format_instant(at, &zone),
            quiet: quiet.covers(at, &zone),
        }));
    }
    fires.sort_by_key(|fire| fire.at);
    fires.truncate(count);
    Ok(fires)
}
