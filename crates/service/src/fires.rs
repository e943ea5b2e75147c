//! When an automation fires next, as people read it.

use model::{
    Timestamp,
    automation::AutomationState,
    entity::{Automation, Trigger},
    schedule::{self, QuietHours, Schedule, Spec},
};
use wire::Fire;

/// How many of the next fires answers show.
pub const SHOWN_FIRES: usize = 5;

/// The next fires of an automation's triggers after `now`, in order. A paused one has none.
pub(crate) fn next(
    automation: &Automation,
    triggers: &[Trigger],
    now: Timestamp,
) -> Result<Vec<Fire>, schedule::Error> {
    if automation.state != AutomationState::Enabled {
        return Ok(Vec::new());
    }
    let specs = triggers.iter().map(|trigger| &trigger.spec);
    of(specs, &automation.policies.quiet_hours, now, SHOWN_FIRES)
}

/// The next fires of triggers after `now`, in order.
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
            shown: schedule::describe_fire(at, &zone),
            quiet: quiet.covers(at, &zone),
        }));
    }
    fires.sort_by_key(|fire| fire.at);
    fires.truncate(count);
    Ok(fires)
}
