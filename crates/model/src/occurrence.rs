//! The decision of a poll of one trigger: the due instants that become runs or skips, those that are missed, and the
//! next due instant.
//!
//! **Invariant:** every due instant ends up in exactly one of [`Plan::occurrences`], [`Plan::missed`] and a later
//! plan.

use std::time::Duration;

use crate::{
    ids::TriggerId,
    limits,
    policy::{CatchUp, Policies},
    schedule::{self, MissedRange, Schedule},
    time::Timestamp,
};

/// The resolution of [`Timestamp`].
const TIMESTAMP_RESOLUTION: Duration = Duration::from_micros(1);

/// An instant of a schedule, with the instant at which it fires after jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledFire {
    /// The nominal instant of the schedule, which identifies the occurrence.
    pub scheduled_for: Timestamp,
    /// The instant at which the trigger fires: the nominal instant, delayed by jitter.
    pub fire_at: Timestamp,
}

/// The result of a poll of one trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The nominal instants that become runs or skips, oldest first.
    pub occurrences: Vec<Timestamp>,
    /// The nominal instants that have passed and are not caught up.
    pub missed: Option<MissedRange>,
    /// The instant at which the trigger is due next. `None` if the schedule has ended.
    pub next: Option<ScheduledFire>,
    /// The due instant of the cursor if the schedule does not have it, for example because other zone rules computed
    /// it. It counts as an occurrence of its own.
    pub off_schedule: Option<Timestamp>,
}

impl Plan {
    /// Returns the latest instant that the plan decides. Returns `None` if it decides none.
    pub fn decided_until(&self) -> Option<Timestamp> {
        let missed = self.missed.map(|range| range.last);
        self.occurrences.last().copied().max(missed)
    }
}

/// Returns an instant of `schedule` with the instant at which it fires.
fn scheduled_fire(
    trigger: TriggerId,
    schedule: &Schedule,
    policies: &Policies,
    at: Timestamp,
) -> ScheduledFire {
    let spread = Duration::from_secs(policies.jitter_seconds.into());
    let fire_at = if spread.is_zero() {
        at
    } else {
        schedule::jitter(trigger, at, spread, schedule.next_after(at))
    };
    ScheduledFire {
        scheduled_for: at,
        fire_at,
    }
}

/// Returns the first instant of `schedule` strictly after `after`, with the instant at which it fires.
pub fn next_due(
    trigger: TriggerId,
    schedule: &Schedule,
    policies: &Policies,
    after: Timestamp,
) -> Option<ScheduledFire> {
    schedule
        .next_after(after)
        .map(|at| scheduled_fire(trigger, schedule, policies, at))
}

/// Decides which instants of a trigger run and which are missed. `cursor` is the earliest instant that no earlier
/// plan has covered.
///
/// The latest due instant is on time if it is at most [`limits::FIRE_GRACE`] late, and then runs under every policy.
/// All other instants are subject to `catch_up` and its window. A cursor that is no instant of the schedule, because
/// other zone rules computed it or a person has edited its row, counts as an occurrence of its own, and the schedule
/// continues after it. A plan has at most [`limits::OCCURRENCES_PER_FIRE`]
/// occurrences. If more are due, [`Plan::next`] is already due, and the next poll continues there. Missed instants
/// are counted by arithmetic and never listed, so that a long outage needs little memory.
pub fn plan(
    trigger: TriggerId,
    schedule: &Schedule,
    policies: &Policies,
    cursor: ScheduledFire,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan {
        occurrences: Vec::new(),
        missed: None,
        next: Some(cursor),
        off_schedule: None,
    };
    if cursor.fire_at > now {
        return plan;
    }
    let first = cursor.scheduled_for;
    let is_on_schedule = schedule.next_after(just_before(first)) == Some(first);
    plan.off_schedule = (!is_on_schedule).then_some(first);
    // 1. Find the latest instant that has fired.
    // The newest nominal instant may still wait for its jitter. The instant before it has fired, because jitter stays
    // below the distance to the next nominal instant, so two candidates suffice.
    let newest = schedule::due_instants(schedule, first, now, 2).instants;
    let fired = newest.iter().rev().find(|at| {
        **at == first || scheduled_fire(trigger, schedule, policies, **at).fire_at <= now
    });
    let latest = fired.copied().unwrap_or(first);
    plan.next = next_due(trigger, schedule, policies, latest);

    // 2. Decide where execution starts. All instants before `from` are missed.
    let late = now.since(scheduled_fire(trigger, schedule, policies, latest).fire_at);
    let window = Duration::from_secs(policies.catch_up_window_seconds);
    let on_time = late <= limits::FIRE_GRACE;
    let latest_runs = on_time || (policies.catch_up != CatchUp::None && late <= window);
    // If the latest instant does not run, `from` lies after it, so that all due instants are missed.
    let from = match policies.catch_up {
        _ if !latest_runs => latest + TIMESTAMP_RESOLUTION,
        CatchUp::None | CatchUp::Latest => latest,
        CatchUp::All => now.saturating_sub(window).clamp(first, latest),
    };
    // 3. Split the due instants at `from`.
    if from > first {
        let scheduled = missed_range(schedule, first, just_before(from));
        plan.missed = with_first(plan.off_schedule, scheduled);
    }
    let off_schedule = plan.off_schedule.filter(|at| *at >= from);
    let scheduled = schedule.fires_after(just_before(from));
    let mut due = off_schedule
        .into_iter()
        .chain(scheduled)
        .take_while(|at| *at <= latest);
    plan.occurrences
        .extend(due.by_ref().take(limits::OCCURRENCES_PER_FIRE));
    // More instants are due than one plan may have. `next` goes back to the first of the rest, so that no instant is
    // lost.
    if let Some(rest) = due.next() {
        plan.next = Some(scheduled_fire(trigger, schedule, policies, rest));
    }
    plan
}

/// Returns the due instants of a trigger that is about to be stopped, as one range.
///
/// Pausing, editing or deleting an automation stops its triggers. The caller records the range as missed, so that no
/// due instant disappears.
pub fn backlog(
    trigger: TriggerId,
    schedule: &Schedule,
    policies: &Policies,
    cursor: ScheduledFire,
    now: Timestamp,
) -> Option<MissedRange> {
    // With `CatchUp::None`, a plan has at most one occurrence: the latest instant, if it is on time.
    let policies = Policies {
        catch_up: CatchUp::None,
        ..policies.clone()
    };
    let plan = plan(trigger, schedule, &policies, cursor, now);
    let on_time = plan.occurrences.first().map(|at| MissedRange {
        first: *at,
        last: *at,
        count: 1,
    });
    match (plan.missed, on_time) {
        (Some(missed), Some(on_time)) => Some(MissedRange {
            first: missed.first,
            last: on_time.last,
            count: missed.count + 1,
        }),
        (missed, on_time) => missed.or(on_time),
    }
}

/// Returns the instant before `at`, to turn "strictly after" into "at or after".
fn just_before(at: Timestamp) -> Timestamp {
    at.saturating_sub(TIMESTAMP_RESOLUTION)
}

/// Adds an instant in front of a range.
fn with_first(first: Option<Timestamp>, range: Option<MissedRange>) -> Option<MissedRange> {
    let Some(first) = first else {
        return range;
    };
    Some(range.map_or(MissedRange::of(first), |range| MissedRange {
        first,
        last: range.last,
        count: range.count + 1,
    }))
}

/// Returns the instants of `schedule` in `[first, last]` as one range. Returns `None` if there are none.
fn missed_range(schedule: &Schedule, first: Timestamp, last: Timestamp) -> Option<MissedRange> {
    let due = schedule::due_instants(schedule, first, last, 1);
    let newest = *due.instants.last()?;
    Some(match due.earlier {
        None => MissedRange {
            first: newest,
            last: newest,
            count: 1,
        },
        Some(earlier) => MissedRange {
            first: earlier.first,
            last: newest,
            count: earlier.count + 1,
        },
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::schedule::Spec;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn every(period: &str) -> Schedule {
        let period = period.parse().unwrap();
        let anchor = at("2026-01-01T00:00:00Z");
        Schedule::parse(&Spec::Every {
            period,
            anchor,
            zone: "UTC".into(),
        })
        .unwrap()
    }

    fn with(catch_up: CatchUp) -> Policies {
        Policies {
            catch_up,
            ..Policies::default()
        }
    }

    fn poll(schedule: &Schedule, policies: &Policies, cursor: &str, now: &str) -> Plan {
        let trigger = TriggerId::from_uuid(Uuid::nil());
        let cursor = scheduled_fire(trigger, schedule, policies, at(cursor));
        plan(trigger, schedule, policies, cursor, at(now))
    }

    #[test]
    fn on_time_instant_runs_under_every_policy() {
        for catch_up in CatchUp::ALL {
            let plan = poll(
                &every("1h"),
                &with(*catch_up),
                "2026-01-01T09:00:00Z",
                "2026-01-01T09:00:13Z",
            );
            assert_eq!(plan.occurrences, [at("2026-01-01T09:00:00Z")], "{catch_up}");
            assert_eq!(plan.missed, None);
            assert_eq!(plan.next.unwrap().scheduled_for, at("2026-01-01T10:00:00Z"));
        }
    }

    #[test]
    fn trigger_before_its_instant_has_no_backlog() {
        let plan = poll(
            &every("1h"),
            &with(CatchUp::All),
            "2026-01-01T09:00:00Z",
            "2026-01-01T08:59:59Z",
        );
        assert_eq!((plan.occurrences.len(), plan.missed), (0, None));
        assert_eq!(plan.next.unwrap().scheduled_for, at("2026-01-01T09:00:00Z"));
    }

    #[test]
    fn catch_up_policy_decides_after_three_hours_down() {
        let plan = |policy| {
            poll(
                &every("1h"),
                &with(policy),
                "2026-01-01T09:00:00Z",
                "2026-01-01T11:30:00Z",
            )
        };
        let hours = [9, 10, 11].map(|hour| at(&format!("2026-01-01T{hour:02}:00:00Z")));

        let none = plan(CatchUp::None);
        assert_eq!(none.occurrences, []);
        assert_eq!(
            none.missed,
            Some(MissedRange {
                first: hours[0],
                last: hours[2],
                count: 3
            })
        );

        let latest = plan(CatchUp::Latest);
        assert_eq!(latest.occurrences, hours[2..]);
        assert_eq!(
            latest.missed,
            Some(MissedRange {
                first: hours[0],
                last: hours[1],
                count: 2
            })
        );

        let all = plan(CatchUp::All);
        assert_eq!((all.occurrences.as_slice(), all.missed), (&hours[..], None));
        for plan in [none, latest, all] {
            assert_eq!(plan.next.unwrap().scheduled_for, at("2026-01-01T12:00:00Z"));
        }
    }

    #[test]
    fn instant_older_than_catch_up_window_is_missed() {
        let policies = Policies {
            catch_up_window_seconds: 3600,
            ..with(CatchUp::All)
        };
        let plan = poll(
            &every("1h"),
            &policies,
            "2026-01-01T09:00:00Z",
            "2026-01-01T11:30:00Z",
        );
        assert_eq!(plan.occurrences, [at("2026-01-01T11:00:00Z")]);
        assert_eq!(plan.missed.unwrap().count, 2);
        let policies = Policies {
            catch_up_window_seconds: 60,
            ..with(CatchUp::Latest)
        };
        let plan = poll(
            &every("1h"),
            &policies,
            "2026-01-01T09:00:00Z",
            "2026-01-01T11:30:00Z",
        );
        assert_eq!((plan.occurrences.len(), plan.missed.unwrap().count), (0, 3));
    }

    #[test]
    fn backlog_of_400_days_of_seconds_is_one_range_and_one_run() {
        let plan = poll(
            &every("1s"),
            &with(CatchUp::Latest),
            "2026-01-01T00:00:00Z",
            "2027-02-05T00:00:00Z",
        );
        assert_eq!(plan.occurrences, [at("2027-02-05T00:00:00Z")]);
        assert_eq!(plan.missed.unwrap().count, 400 * 24 * 60 * 60);
    }

    #[test]
    fn long_backlog_is_split_without_gaps_or_repeats() {
        let schedule = every("1m");
        let policies = with(CatchUp::All);
        let (mut cursor, mut seen) = ("2026-01-01T00:00:00Z".to_owned(), Vec::new());
        loop {
            let plan = poll(&schedule, &policies, &cursor, "2026-01-01T04:00:00Z");
            assert!(plan.occurrences.len() <= limits::OCCURRENCES_PER_FIRE);
            assert_eq!(plan.missed, None);
            seen.extend(plan.occurrences);
            let next = plan.next.unwrap();
            if next.fire_at > at("2026-01-01T04:00:00Z") {
                break;
            }
            cursor = next.scheduled_for.to_string();
        }
        let all = schedule.upcoming(at("2025-12-31T23:59:59Z"), 241);
        assert_eq!(seen, all);
    }

    #[test]
    fn instant_delayed_by_jitter_is_next_and_not_due() {
        let policies = Policies {
            jitter_seconds: 3500,
            ..with(CatchUp::All)
        };
        let schedule = every("1h");
        let trigger = TriggerId::from_uuid(Uuid::nil());
        let nine = scheduled_fire(trigger, &schedule, &policies, at("2026-01-01T09:00:00Z"));
        assert!(nine.fire_at > nine.scheduled_for);
        let eight = scheduled_fire(trigger, &schedule, &policies, at("2026-01-01T08:00:00Z"));
        let plan = plan(trigger, &schedule, &policies, eight, nine.scheduled_for);
        assert_eq!(plan.occurrences, [at("2026-01-01T08:00:00Z")]);
        assert_eq!(plan.next, Some(nine));
    }

    #[test]
    fn stopped_trigger_backlog_is_one_missed_range() {
        let backlog_at = |now: &str| {
            let schedule = every("1h");
            let trigger = TriggerId::from_uuid(Uuid::nil());
            let policies = with(CatchUp::All);
            let cursor = scheduled_fire(trigger, &schedule, &policies, at("2026-01-01T09:00:00Z"));
            backlog(trigger, &schedule, &policies, cursor, at(now))
        };
        assert_eq!(backlog_at("2026-01-01T08:59:59Z"), None);
        let range = |last: &str, count| MissedRange {
            first: at("2026-01-01T09:00:00Z"),
            last: at(last),
            count,
        };
        let single = range("2026-01-01T09:00:00Z", 1);
        assert_eq!(backlog_at("2026-01-01T09:00:01Z"), Some(single));
        let late = range("2026-01-01T11:00:00Z", 3);
        assert_eq!(backlog_at("2026-01-01T11:00:01Z"), Some(late));
        assert_eq!(backlog_at("2026-01-01T11:30:00Z"), Some(late));
    }

    #[test]
    fn stored_instant_off_schedule_runs_or_is_missed_and_schedule_continues() {
        let stored = "2026-01-01T09:17:00Z";
        let decide = |catch_up, now: &str| {
            let plan = poll(&every("1h"), &with(catch_up), stored, now);
            let missed = plan
                .missed
                .map(|range| (range.first, range.last, range.count));
            assert_eq!(plan.off_schedule, Some(at(stored)), "{now}");
            (plan.occurrences, missed, plan.next.unwrap().scheduled_for)
        };
        let (nine, ten) = (at(stored), at("2026-01-01T10:00:00Z"));
        let eleven = at("2026-01-01T11:00:00Z");
        for catch_up in CatchUp::ALL {
            // On time.
            let (runs, missed, next) = decide(*catch_up, "2026-01-01T09:17:20Z");
            assert_eq!((runs, missed, next), (vec![nine], None, ten), "{catch_up}");
        }
        // Late, before the next instant of the schedule.
        let late = "2026-01-01T09:40:00Z";
        assert_eq!(
            decide(CatchUp::None, late),
            (vec![], Some((nine, nine, 1)), ten)
        );
        assert_eq!(decide(CatchUp::Latest, late), (vec![nine], None, ten));
        // Late, after the next instant of the schedule.
        let late = "2026-01-01T10:30:00Z";
        assert_eq!(
            decide(CatchUp::None, late),
            (vec![], Some((nine, ten, 2)), eleven)
        );
        assert_eq!(
            decide(CatchUp::Latest, late),
            (vec![ten], Some((nine, nine, 1)), eleven)
        );
        assert_eq!(decide(CatchUp::All, late), (vec![nine, ten], None, eleven));
    }

    #[test]
    fn stopped_trigger_backlog_has_stored_instant_off_schedule() {
        let schedule = every("1h");
        let trigger = TriggerId::from_uuid(Uuid::nil());
        let policies = with(CatchUp::All);
        let cursor = scheduled_fire(trigger, &schedule, &policies, at("2026-01-01T09:17:00Z"));
        let backlog_at = |now: &str| backlog(trigger, &schedule, &policies, cursor, at(now));
        let range = |last: &str, count| MissedRange {
            first: at("2026-01-01T09:17:00Z"),
            last: at(last),
            count,
        };
        let stored = range("2026-01-01T09:17:00Z", 1);
        assert_eq!(backlog_at("2026-01-01T09:17:20Z"), Some(stored));
        assert_eq!(backlog_at("2026-01-01T09:40:00Z"), Some(stored));
        let both = range("2026-01-01T10:00:00Z", 2);
        assert_eq!(backlog_at("2026-01-01T10:30:00Z"), Some(both));
    }

    #[test]
    fn single_instant_trigger_ends_after_its_fire() {
        let spec = Spec::At {
            at: at("2026-01-01T09:00:00Z"),
            zone: "UTC".into(),
        };
        let schedule = Schedule::parse(&spec).unwrap();
        let plan = poll(
            &schedule,
            &with(CatchUp::Latest),
            "2026-01-01T09:00:00Z",
            "2026-01-01T09:00:01Z",
        );
        assert_eq!((plan.occurrences.len(), plan.next), (1, None));
    }
}
