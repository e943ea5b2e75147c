//! Computes the next runs of an automation, with texts for people.

use api_types::UpcomingRun;
use model::{
    Timestamp,
    automation::AutomationState,
    cursor::CursorOrigin,
    entity::{Automation, Trigger},
    schedule::{self, QuietHours, Schedule, Spec, Zone},
};

/// The number of next runs in a response.
pub const MAX_UPCOMING_RUNS: usize = 5;

/// Returns the next instant after `now` at which an automation's triggers fire. Returns `None` if there is none or the
/// automation is paused. Lists of automations need no more of each, so the stored instants are used where they can be.
pub(crate) fn next_of_automation(
    automation: &Automation,
    triggers: &[Trigger],
    now: Timestamp,
) -> Result<Option<UpcomingRun>, schedule::Error> {
    if automation.state != AutomationState::Enabled {
        return Ok(None);
    }
    let mut next: Option<(Timestamp, &Spec)> = None;
    for trigger in triggers {
        if let Some(at) = next_of_trigger(trigger, now)?
            && next.is_none_or(|(earliest, _)| at < earliest)
        {
            next = Some((at, &trigger.spec));
        }
    }
    let until = automation.expires_at.unwrap_or(Timestamp::MAX);
    let Some((at, spec)) = next.filter(|(at, _)| *at < until) else {
        return Ok(None);
    };
    let quiet = &automation.policies.quiet_hours;
    Ok(Some(upcoming_run(at, &spec.zone()?, quiet)))
}

/// Returns the next instant after `now` at which the trigger of an enabled automation fires. Parses the schedule only
/// if the stored instant is over or of older zone rules, because a list has hundreds of triggers.
fn next_of_trigger(
    trigger: &Trigger,
    now: Timestamp,
) -> Result<Option<Timestamp>, schedule::Error> {
    let Some(stored) = trigger.next_scheduled_for else {
        return Ok(None);
    };
    let is_outdated = trigger
        .origin
        .as_ref()
        .is_some_and(CursorOrigin::is_outdated);
    if stored > now && !is_outdated {
        return Ok(Some(stored));
    }
    Ok(Schedule::parse(&trigger.spec)?.next_after(now))
}

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
                .map(|at| upcoming_run(at, &zone, quiet)),
        );
    }
    runs.sort_by_key(|run| run.at);
    runs.truncate(count);
    Ok(runs)
}

fn upcoming_run(at: Timestamp, zone: &Zone, quiet: &QuietHours) -> UpcomingRun {
    UpcomingRun {
        at,
        display: schedule::format_instant(at, zone),
        in_quiet_hours: quiet.covers(at, zone),
    }
}

#[cfg(test)]
mod tests {
    use model::{AutomationId, TriggerId, schedule::zone_rules_edition};
    use uuid::Uuid;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Returns a trigger at nine o'clock in Prague, with a stored next instant.
    fn daily(next: Option<&str>, zone_rules: &str) -> Trigger {
        let next = next.map(at);
        Trigger {
            id: TriggerId::from_uuid(Uuid::nil()),
            automation_id: AutomationId::from_uuid(Uuid::nil()),
            spec: Spec::Cron {
                expression: "0 9 * * *".into(),
                zone: "Europe/Prague".into(),
            },
            next_scheduled_for: next,
            next_fire_at: next,
            origin: Some(CursorOrigin {
                zone_rules: zone_rules.into(),
                decided_until: at("2026-11-23T08:00:00Z"),
                offset_seconds: 3600,
            }),
            last_scheduled_for: None,
            done_at: None,
        }
    }

    #[test]
    fn stored_instant_in_future_is_next_one() {
        let now = at("2026-11-24T07:00:00Z");
        let next = |trigger: &Trigger| next_of_trigger(trigger, now).unwrap();
        let current = zone_rules_edition();
        // No instant of the schedule, so that it can only be the stored one.
        let stored = "2026-11-24T07:30:00Z";
        assert_eq!(next(&daily(Some(stored), current)), Some(at(stored)));
        let of_schedule = Some(at("2026-11-24T08:00:00Z"));
        assert_eq!(next(&daily(Some(stored), "2020a")), of_schedule);
        let due = "2026-11-24T07:00:00Z";
        assert_eq!(next(&daily(Some(due), current)), of_schedule);
        assert_eq!(next(&daily(None, current)), None);
    }
}
