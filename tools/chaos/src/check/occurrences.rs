//! I1: each due instant of a trigger has exactly one row, no other instant has one, and no row was committed before
//! its instant. A row with `missed_until` covers a range of instants.
//!
//! The check computes the due instants itself. It needs no calendar, because all schedules of the test have a period
//! of some seconds.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    super::history::{History, Run, Trigger, UnixMicros},
    verdict::Check,
};

const MICROS_PER_SECOND: UnixMicros = 1_000_000;
/// The tolerance around the creation of a trigger. An instant that near to the creation may have a row but needs
/// none.
const CREATION_TOLERANCE_MICROS: UnixMicros = MICROS_PER_SECOND;
/// The maximum time by which a row may precede its instant: the maximum clock uncertainty at which a server still
/// fires triggers.
const MAX_EARLY_MICROS: UnixMicros = 5 * MICROS_PER_SECOND;

/// The due instants of a trigger.
enum Cadence {
    /// The instants with a distance of `step` microseconds, one of which is `from`.
    Periodic { from: UnixMicros, step: UnixMicros },
    /// A single instant.
    At(UnixMicros),
}

impl Cadence {
    /// Parses the stored schedule of a trigger. Returns `None` if the trigger has no schedule (`manual`, `webhook`).
    ///
    /// # Errors
    ///
    /// Returns a message if the schedule is of a form that no automation of the test uses.
    fn parse(spec: &Value) -> Result<Option<Self>, String> {
        let unknown = || format!("this check cannot compute the schedule {spec}");
        let text = |name: &str| spec[name].as_str().ok_or_else(unknown);
        let instant = |text: &str| {
            let at: Timestamp = text.parse().map_err(|_| unknown())?;
            Ok::<_, String>(at.as_microsecond())
        };
        let seconds = |text: &str| match text.parse::<UnixMicros>() {
            Ok(seconds) if seconds > 0 => Ok(seconds),
            _ => Err(unknown()),
        };
        match spec["kind"].as_str() {
            Some("manual" | "webhook") => Ok(None),
            Some("at") => Ok(Some(Self::At(instant(text("at")?)?))),
            Some("every") => {
                let period: SignedDuration = text("period")?.parse().map_err(|_| unknown())?;
                let step = UnixMicros::try_from(period.as_micros()).ok();
                Ok(Some(Self::Periodic {
                    from: instant(text("anchor")?)?,
                    step: step.filter(|step| *step > 0).ok_or_else(unknown)?,
                }))
            }
            Some("cron") => {
                let expression = text("expression")?;
                let step = expression.strip_prefix("*/");
                let step = step.and_then(|rest| rest.strip_suffix(" * * * * *"));
                let step = seconds(step.ok_or_else(unknown)?)?;
                // `*/7` fires at seconds 0, 7, ..., 56 and 0 again: the last step of a minute is shorter. Such a
                // schedule is not periodic, so this check cannot compute it.
                if 60 % step != 0 {
                    return Err(unknown());
                }
                Ok(Some(Self::Periodic {
                    from: 0,
                    step: step * MICROS_PER_SECOND,
                }))
            }
            _ => Err(unknown()),
        }
    }

    /// `true` if the trigger is due at this instant.
    fn is_due(&self, at: UnixMicros) -> bool {
        match self {
            Self::Periodic { from, step } => (at - from).rem_euclid(*step) == 0,
            Self::At(once) => at == *once,
        }
    }

    /// Returns the due instants in `(after, until]`.
    fn due_instants(&self, after: UnixMicros, until: UnixMicros) -> Vec<UnixMicros> {
        match self {
            Self::Periodic { from, step } => {
                let first = after - (after - from).rem_euclid(*step) + step;
                let steps = std::iter::successors(Some(first), |at| Some(at + step));
                steps.take_while(|at| *at <= until).collect()
            }
            Self::At(once) => Some(*once)
                .filter(|at| *at > after && *at <= until)
                .into_iter()
                .collect(),
        }
    }
}

/// Checks I1 for all triggers, and that no two rows are the same attempt of one input.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new(
        "I1",
        "each due instant has exactly one row, not too early, and no other instant has one",
    );
    // 1. Group the first attempts by trigger. Retries repeat the instant of their first attempt.
    let mut rows: HashMap<&str, Vec<&Run>> = HashMap::new();
    let mut attempts: BTreeMap<(&str, i64), &Run> = BTreeMap::new();
    for run in &history.runs {
        if let Some(other) = attempts.insert((&run.input, run.attempt), run) {
            check.add_violation(format!("{} and {} are the same attempt", run.id, other.id));
        }
        match &run.trigger {
            Some(trigger) if run.attempt == 1 => rows.entry(trigger).or_default().push(run),
            _ => {}
        }
    }
    // 2. Compare the rows of each trigger with its schedule.
    let fired = first_commits(history);
    let (mut due, mut timed, mut dated) = (0, 0, 0);
    for trigger in &history.triggers {
        let rows = rows.remove(trigger.id.as_str()).unwrap_or_default();
        match Cadence::parse(&trigger.spec) {
            Ok(Some(cadence)) => {
                timed += 1;
                due += compare_rows(&mut check, history.due_until, trigger, &cadence, &rows);
                dated += check_not_early(&mut check, &fired, &rows);
            }
            Ok(None) => {}
            Err(unknown) => check.add_violation(unknown),
        }
    }
    // 3. All rows that are left belong to no known trigger.
    for trigger in rows.keys() {
        check.add_violation(format!("rows of the unknown trigger {trigger}"));
    }
    check.record_inspected("triggers with a schedule", timed);
    check.record_inspected("due instants", due);
    check.record_inspected("rows with a commit time", dated);
    check.record_inspected("attempts", attempts.len());
    check
}

/// Returns the commit of the first event of each run, by the database's clock, or on SQLite the instant in that event. This
/// is the instant from which the row exists.
fn first_commits(history: &History) -> HashMap<&str, UnixMicros> {
    let mut fired = HashMap::new();
    for event in history.events.iter().chain(&history.automation_events) {
        if let Some(at) = event.committed_at.filter(|_| event.kind == "run") {
            fired.entry(event.reference.as_str()).or_insert(at);
        }
    }
    fired
}

/// Checks that no row was committed before the last instant that it covers. Returns the number of rows with a known
/// commit.
fn check_not_early(check: &mut Check, fired: &HashMap<&str, UnixMicros>, rows: &[&Run]) -> usize {
    let mut dated = 0;
    for run in rows {
        let last = run.missed_until.or(run.scheduled_for);
        let (Some(last), Some(at)) = (last, fired.get(run.id.as_str())) else {
            continue;
        };
        dated += 1;
        if *at < last - MAX_EARLY_MICROS {
            check.add_violation(format!(
                "{} is for {}, but was committed at {}",
                run.format_attempt(),
                format_instant(last),
                format_instant(*at)
            ));
        }
    }
    dated
}

/// Compares the rows of a trigger with its due instants up to `until`. Returns the number of due instants.
fn compare_rows(
    check: &mut Check,
    until: UnixMicros,
    trigger: &Trigger,
    cadence: &Cadence,
    rows: &[&Run],
) -> usize {
    // 1. Each row covers only due instants, counts them correctly, and shares none with another row.
    let mut taken = HashSet::new();
    for run in rows {
        let Some(first) = run.scheduled_for else {
            check.add_violation(format!(
                "{} of {} has no scheduled instant",
                run.format_attempt(),
                trigger.id
            ));
            continue;
        };
        let last = run.missed_until.unwrap_or(first);
        if !cadence.is_due(first)
            || !cadence.is_due(last)
            || first < trigger.created_at - CREATION_TOLERANCE_MICROS
        {
            check.add_violation(format!(
                "{} is for {}, when {} was not due",
                run.format_attempt(),
                format_instant(first),
                trigger.id
            ));
        }
        let covered = cadence.due_instants(first - 1, last);
        if usize::try_from(run.occurrences) != Ok(covered.len()) {
            check.add_violation(format!(
                "{} counts {} instants instead of {}",
                run.format_attempt(),
                run.occurrences,
                covered.len()
            ));
        }
        for at in covered {
            if !taken.insert(at) {
                check.add_violation(format!(
                    "{} of {} has more than one row",
                    format_instant(at),
                    trigger.id
                ));
            }
        }
    }
    // 2. Each due instant is covered by a row.
    let due = cadence.due_instants(trigger.created_at + CREATION_TOLERANCE_MICROS, until);
    for at in &due {
        if !taken.contains(at) {
            check.add_violation(format!(
                "{} of {} ({}) has no row",
                format_instant(*at),
                trigger.id,
                trigger.automation
            ));
        }
    }
    due.len()
}

/// Formats an instant for reports.
fn format_instant(at: UnixMicros) -> String {
    Timestamp::from_microsecond(at).map_or_else(|_| at.to_string(), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::super::history::Event, *};

    /// Every two seconds from 10 s on, until 20 s: 12, 14, 16, 18, 20; 14 and 16 are one stretch.
    fn history() -> History {
        let run = |number: i64, status: &str| Run {
            id: format!("run_{number}"),
            input: format!("input {number}"),
            attempt: 1,
            status: status.into(),
            trigger: Some("t".into()),
            scheduled_for: Some(number * MICROS_PER_SECOND),
            occurrences: 1,
            ..Run::default()
        };
        let missed = Run {
            missed_until: Some(16 * MICROS_PER_SECOND),
            occurrences: 2,
            ..run(14, "missed")
        };
        let anchor = json!("1970-01-01T00:00:10Z");
        let event = |run: i64, at: UnixMicros| Event {
            kind: "run".into(),
            reference: format!("run_{run}"),
            committed_at: Some(at * MICROS_PER_SECOND),
            ..Event::default()
        };
        History {
            // A frozen process can commit a later event with the instant at which it was frozen.
            events: vec![event(12, 12), event(12, 3), event(20, 20)],
            automation_events: vec![event(14, 16), event(18, 19)],
            due_until: 21 * MICROS_PER_SECOND,
            triggers: vec![Trigger {
                id: "t".into(),
                spec: json!({ "kind": "every", "period": "2s", "anchor": anchor }),
                created_at: 10 * MICROS_PER_SECOND,
                ..Trigger::default()
            }],
            runs: vec![
                run(12, "succeeded"),
                missed,
                run(18, "skipped"),
                run(20, "failed"),
            ],
            ..History::default()
        }
    }

    fn violations_after(spoil: impl FnOnce(&mut History)) -> String {
        let mut history = history();
        spoil(&mut history);
        check(&history).violations.join("\n")
    }

    #[test]
    fn occurrence_check_accepts_valid_history() {
        let found = check(&history());
        assert!(found.holds(), "{found:?}");
        assert_eq!(found.inspected[1], ("due instants", 5));
    }

    #[test]
    fn occurrence_check_reports_instant_without_row() {
        let found = violations_after(|history| drop(history.runs.remove(2)));
        assert!(
            found.contains("1970-01-01T00:00:18Z of t () has no row"),
            "{found}"
        );
    }

    #[test]
    fn occurrence_check_reports_instant_with_two_rows() {
        let found = violations_after(|history| {
            let mut again = history.runs[0].clone();
            again.input = "another".into();
            history.runs.push(again);
        });
        assert!(found.contains("has more than one row"), "{found}");
        let found = violations_after(|history| {
            history.runs[0].scheduled_for = Some(14 * MICROS_PER_SECOND);
        });
        assert!(found.contains("has more than one row"), "{found}");
    }

    #[test]
    fn occurrence_check_reports_row_at_wrong_instant() {
        let found = violations_after(|history| {
            history.runs[0].scheduled_for = Some(13 * MICROS_PER_SECOND);
        });
        assert!(found.contains("was not due"), "{found}");
    }

    #[test]
    fn occurrence_check_reports_row_before_its_instant() {
        let found = violations_after(|history| {
            history.events[0].committed_at = Some(6 * MICROS_PER_SECOND);
        });
        assert!(
            found.contains("for 1970-01-01T00:00:12Z, but was committed at 1970-01-01T00:00:06Z"),
            "{found}"
        );
        // A stretch is over when its last instant was.
        let found = violations_after(|history| {
            history.automation_events[0].committed_at = Some(10 * MICROS_PER_SECOND);
        });
        assert!(found.contains("for 1970-01-01T00:00:16Z"), "{found}");
    }

    #[test]
    fn occurrence_check_reports_wrong_count_of_missed_range() {
        let found = violations_after(|history| history.runs[1].occurrences = 3);
        assert!(found.contains("counts 3 instants instead of 2"), "{found}");
    }

    #[test]
    fn occurrence_check_reports_duplicate_attempt() {
        let found =
            violations_after(|history| history.runs[3].input = history.runs[0].input.clone());
        assert!(found.contains("are the same attempt"), "{found}");
    }

    #[test]
    fn cadence_parse_refuses_unknown_schedules() {
        let read = |spec: Value| {
            Cadence::parse(&spec).map(|cadence| {
                cadence.map_or(0, |cadence| {
                    cadence.due_instants(0, 60 * MICROS_PER_SECOND).len()
                })
            })
        };
        let cron = |expression: &str| read(json!({ "kind": "cron", "expression": expression }));
        assert_eq!(cron("*/5 * * * * *"), Ok(12));
        assert!(cron("*/7 * * * * *").is_err());
        assert!(cron("0 9 * * *").is_err());
        let every = |period: &str| {
            read(json!({ "kind": "every", "period": period, "anchor": "1970-01-01T00:00:00Z" }))
        };
        assert_eq!(every("7s"), Ok(8));
        assert_eq!(every("1m"), Ok(1));
        assert_eq!(every("1m4s"), Ok(0));
        assert!(every("0s").is_err());
        assert!(every("a while").is_err());
        assert_eq!(
            read(json!({ "kind": "at", "at": "1970-01-01T00:00:59Z" })),
            Ok(1)
        );
        assert_eq!(read(json!({ "kind": "manual" })), Ok(0));
        assert!(read(json!({ "kind": "moon" })).is_err());
    }
}
