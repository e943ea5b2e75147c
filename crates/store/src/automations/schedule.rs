//! The schedule of a trigger, and its next instant with the origin of that instant.

use model::{
    Timestamp, TriggerId,
    cursor::{self, CursorOrigin},
    entity::Trigger,
    occurrence::{self, ScheduledFire},
    policy::Policies,
    schedule::{Schedule, Spec},
};

use crate::error::Error;

/// The next instant of a trigger, with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) due: ScheduledFire,
    pub(crate) origin: Option<CursorOrigin>,
}

/// Parses the schedule of a stored specification.
pub(crate) fn parse_schedule(trigger: TriggerId, spec: &Spec) -> Result<Schedule, Error> {
    Schedule::parse(spec).map_err(|source| Error::InvalidSchedule { trigger, source })
}

/// Returns the first instant after `after` at which a trigger is due. Returns `None` if its schedule has ended.
pub(crate) fn next_due(
    trigger: TriggerId,
    spec: &Spec,
    policies: &Policies,
    after: Timestamp,
) -> Result<Option<Cursor>, Error> {
    let schedule = parse_schedule(trigger, spec)?;
    let due = occurrence::next_due(trigger, &schedule, policies, after);
    let origin = CursorOrigin::of(&schedule, after);
    Ok(due.map(|due| Cursor { due, origin }))
}

/// Returns the stored next instant of a trigger. If an older edition of the zone rules has computed it, computes it
/// again. Returns `None` if the trigger is not due again.
pub(crate) fn current_cursor(
    trigger: &Trigger,
    schedule: &Schedule,
    policies: &Policies,
) -> Option<Cursor> {
    let due = ScheduledFire {
        scheduled_for: trigger.next_scheduled_for?,
        fire_at: trigger.next_fire_at?,
    };
    let outdated = trigger.origin.as_ref().filter(|it| it.is_outdated());
    let recomputed = outdated.and_then(|it| cursor::recompute(trigger.id, schedule, policies, it));
    Some(match (recomputed, &trigger.origin) {
        (Some(due), Some(origin)) => Cursor {
            due,
            origin: Some(origin.clone().recomputed()),
        },
        (_, origin) => Cursor {
            due,
            origin: origin.clone(),
        },
    })
}
