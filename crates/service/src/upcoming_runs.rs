//! Computes the next runs of an automation, with texts for people.

use api_types::UpcomingRun;
use model::{
    Timestamp,
    automation::AutomationState,
    entity::{Automation, Trigger},
    schedule::{self, QuietHours, Schedule, Spec},
};

/// The number of next runs in a response.
pub const MAX_UPCOMING_RUNS: usize = 5;

/// Returns the next `count` instants after `now` at which an automation's triggers fire, in order. Returns none if the
/// automation is paused.
pub(crate) fn upcoming_of_automation(
    automation: &Automation,
    triggers: &[Trigger],
    now: Timestamp,
    count: usize,
) -> Result<Vec<UpcomingRun>, schedule::Error> {
    if automation.state != AutomationState::Enabled {
        return Ok(Vec::new());
    }
    let specs = triggers.iter().map(|trigger| &trigger.spec);
    let quiet = &automation.policies.quiet_hours;
    let until = automation.expires_at.unwrap_or(Timestamp::MAX);
    upcoming_of_triggers(specs, quiet, now, until, count)
}

/// Returns the next `count` instants after `now` and before `until` at which triggers fire, in order.
pub(crate) fn upcoming_of_triggers<'a>(
    specs: impl Iterator<Item = &'a Spec>,
    quiet: &QuietHours,
    now: Timestamp,
    until: Timestamp,
    count: usize,
) -> Result<Vec<UpcomingRun>, schedule::Error> {
    let mut runs = Vec::new();
    for spec in specs {
        let zone = spec.zone()?;
        let schedule = Schedule::parse(spec)?;
        runs.extend(
            schedule
                .fires_after(now)
                .take_while(|at| *at < until)
                .take(count)
                .map(|at| UpcomingRun {
                    at,
                    display: schedule::format_instant(at, &zone),
                    in_quiet_hours: quiet.covers(at, &zone),
                }),
        );
    }
    runs.sort_by_key(|run| run.at);
    runs.truncate(count);
    Ok(runs)
}
