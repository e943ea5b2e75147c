//! An independent calculation of due instants: by counting, without the schedules of the model.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use model::{
    AutomationId, TriggerId,
    policy::{CatchUp, Policies},
    schedule::Spec,
};

use crate::{
    rng::Rng,
    time::{HOUR, MINUTE, SECOND, instant},
};

const DAY: i64 = 24 * HOUR;

/// The instants of a trigger: at a phase of each period, at equal distances from its start, or once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rhythm {
    Always { phase: i64, period: i64 },
    From { begin: i64, period: i64 },
    Single(i64),
}

impl Rhythm {
    /// Returns the instants in `(after, until]`.
    fn instants(self, after: i64, until: i64) -> Vec<i64> {
        match self {
            Self::Single(at) => (after < at && at <= until)
                .then_some(at)
                .into_iter()
                .collect(),
            Self::From { begin, period } => {
                let always = Self::Always {
                    phase: begin,
                    period,
                };
                let mut instants = always.instants(after, until);
                instants.retain(|at| *at >= begin);
                instants
            }
            Self::Always { phase, period } => {
                let mut at = phase + (after - phase).div_euclid(period) * period + period;
                let mut instants = Vec::new();
                while at <= until {
                    instants.push(at);
                    at += period;
                }
                instants
            }
        }
    }

    fn contains(self, at: i64) -> bool {
        self.instants(at - 1, at) == [at]
    }
}

/// Returns a random schedule with its rhythm.
pub(crate) fn random_schedule(chance: &mut Rng, now: i64) -> anyhow::Result<(Spec, Rhythm)> {
    // A zone with rules, whose clocks show UTC.
    let zone = String::from("Africa/Abidjan");
    Ok(match chance.below(6) {
        0 => {
            let minute = chance.below(60);
            let expression = format!("{minute} * * * *");
            let rhythm = Rhythm::Always {
                phase: minute * MINUTE,
                period: HOUR,
            };
            (Spec::Cron { expression, zone }, rhythm)
        }
        1 => {
            let (hour, minute) = (chance.below(24), chance.below(60));
            let expression = format!("{minute} {hour} * * *");
            let rhythm = Rhythm::Always {
                phase: hour * HOUR + minute * MINUTE,
                period: DAY,
            };
            (Spec::Cron { expression, zone }, rhythm)
        }
        2 => {
            let step = chance.choose([10, 15, 20, 30]);
            let expression = format!("*/{step} * * * *");
            let rhythm = Rhythm::Always {
                phase: 0,
                period: step * MINUTE,
            };
            (Spec::Cron { expression, zone }, rhythm)
        }
        3 => {
            let ahead = chance.between(1, 6 * HOUR);
            let spec = Spec::At {
                at: instant(now + ahead),
                zone,
            };
            (spec, Rhythm::Single(now + ahead))
        }
        _ => {
            let seconds = chance.between(400, 7200);
            let back = chance.below(HOUR);
            let spec = Spec::Every {
                period: format!("{seconds}s").parse()?,
                anchor: instant(now - back),
                zone,
            };
            let rhythm = Rhythm::From {
                begin: now - back,
                period: seconds * SECOND,
            };
            (spec, rhythm)
        }
    })
}

/// A span of time in which a trigger was active.
#[derive(Debug)]
struct ActivePeriod {
    /// Instants after this one are due.
    from: i64,
    /// The scheduler has handled all instants up to this one.
    until: i64,
    open: bool,
}

/// One trigger.
#[derive(Debug)]
struct Trigger {
    automation: AutomationId,
    rhythm: Rhythm,
    policies: Policies,
    /// The quiet hours of the day, `[start, end)`.
    quiet_hours: Option<(i64, i64)>,
    active_periods: Vec<ActivePeriod>,
}

/// The row of an occurrence, or of a range of missed ones.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) trigger: TriggerId,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) count: i64,
    pub(crate) status: String,
    pub(crate) reason: Option<String>,
    pub(crate) created_at: i64,
}

/// All triggers that fire by time.
#[derive(Default)]
pub(crate) struct Schedules {
    triggers: BTreeMap<TriggerId, Trigger>,
    /// Rows that were deleted together with their session.
    deleted: Vec<Row>,
    /// `true` if the clock was ever set back.
    pub(crate) was_clock_set_back: bool,
}

impl Schedules {
    pub(crate) fn add(
        &mut self,
        id: TriggerId,
        automation: AutomationId,
        rhythm: Rhythm,
        policies: Policies,
        quiet: Option<(i64, i64)>,
        now: i64,
    ) {
        let span = ActivePeriod {
            from: now,
            until: now,
            open: true,
        };
        let trigger = Trigger {
            automation,
            rhythm,
            policies,
            quiet_hours: quiet,
            active_periods: vec![span],
        };
        self.triggers.insert(id, trigger);
    }

    /// Records that a scheduler has handled all due instants.
    pub(crate) fn record_scheduler_tick(&mut self, now: i64) {
        for trigger in self.triggers.values_mut() {
            for span in trigger.active_periods.iter_mut().filter(|span| span.open) {
                span.until = span.until.max(now);
            }
        }
    }

    /// Deactivates an automation's triggers. The instants that were due by `now` have their rows.
    pub(crate) fn deactivate(&mut self, automation: AutomationId, now: i64) {
        for trigger in self.triggers_of(automation) {
            for span in trigger.active_periods.iter_mut().filter(|span| span.open) {
                span.until = span.until.max(now);
                span.open = false;
            }
        }
    }

    /// Activates an automation's triggers from `now` on.
    pub(crate) fn activate(&mut self, automation: AutomationId, now: i64) {
        for trigger in self.triggers_of(automation) {
            trigger.active_periods.push(ActivePeriod {
                from: now,
                until: now,
                open: true,
            });
        }
    }

    fn triggers_of(&mut self, automation: AutomationId) -> impl Iterator<Item = &mut Trigger> {
        self.triggers
            .values_mut()
            .filter(move |trigger| trigger.automation == automation)
    }

    /// Records the rows that were deleted together with their session.
    pub(crate) fn record_deleted_rows(&mut self, rows: Vec<Row>) {
        self.deleted.extend(rows);
    }

    /// Checks that each due instant has exactly one row, that no other instant has one, and that the policies decided
    /// correctly (I1).
    pub(crate) fn check_rows(&self, rows: Vec<Row>) -> anyhow::Result<()> {
        let mut of_trigger: BTreeMap<TriggerId, Vec<Row>> = BTreeMap::new();
        for row in rows.into_iter().chain(self.deleted.iter().cloned()) {
            of_trigger.entry(row.trigger).or_default().push(row);
        }
        for (id, trigger) in &self.triggers {
            let rows = of_trigger.remove(id).unwrap_or_default();
            trigger
                .check(&rows, self.was_clock_set_back)
                .with_context(|| format!("{id}: {trigger:?}"))?;
        }
        // The other rows were fired on demand.
        for (id, rows) in of_trigger {
            let mut instants: Vec<i64> = rows.iter().map(|row| row.first).collect();
            instants.sort_unstable();
            instants.dedup();
            ensure!(
                instants.len() == rows.len(),
                "I1: two occurrences of {id} have one instant"
            );
        }
        Ok(())
    }
}

impl Trigger {
    fn jitter(&self) -> i64 {
        i64::from(self.policies.jitter_seconds) * SECOND
    }

    fn check(&self, rows: &[Row], was_clock_set_back: bool) -> anyhow::Result<()> {
        let mut covered: BTreeMap<i64, u32> = BTreeMap::new();
        for row in rows {
            let instants = self.rhythm.instants(row.first - 1, row.last);
            ensure!(
                self.rhythm.contains(row.first) && self.rhythm.contains(row.last),
                "I1: a row is for an instant that the schedule does not name: {row:?}"
            );
            ensure!(
                i64::try_from(instants.len())? == row.count,
                "I1: a row counts wrongly, there are {}: {row:?}",
                instants.len()
            );
            for at in instants {
                let was_due = |span: &ActivePeriod| span.from < at && at <= span.until;
                ensure!(
                    self.active_periods.iter().any(was_due),
                    "I1: the instant {at} was not due: {row:?}"
                );
                *covered.entry(at).or_default() += 1;
                self.check_policies(at, row)?;
            }
        }
        // After a clock was set back, a range of missed instants may cover one that has a row.
        let missed = |at: i64| {
            rows.iter()
                .any(|row| row.status == "missed" && row.first <= at && at <= row.last)
        };
        for (at, times) in &covered {
            ensure!(
                *times == 1 || (was_clock_set_back && missed(*at)),
                "I1: the instant {at} has {times} rows: {rows:?}"
            );
        }
        for span in &self.active_periods {
            for at in self.rhythm.instants(span.from, span.until) {
                // With jitter, the instant may not be due yet.
                let come = at + self.jitter() <= span.until;
                ensure!(
                    !come || covered.contains_key(&at),
                    "I1: the instant {at} was due and has no row, in {span:?}"
                );
            }
        }
        Ok(())
    }

    /// Checks the status of an instant. Skips instants for which jitter allows both results.
    fn check_policies(&self, at: i64, row: &Row) -> anyhow::Result<()> {
        let grace = MINUTE;
        let window = i64::try_from(self.policies.catch_up_window_seconds)? * SECOND;
        let late = row.created_at - at;
        let surely_late = late - self.jitter();
        let newest = self.rhythm.instants(at, row.created_at).is_empty();
        if row.status == "missed" {
            if row.reason.as_deref() != Some("the system was down") {
                return Ok(());
            }
            let wanted = match self.policies.catch_up {
                CatchUp::None => newest && late <= grace,
                CatchUp::Latest => newest && (late <= grace || late <= window),
                CatchUp::All => late <= window || (newest && late <= grace),
            };
            ensure!(
                !wanted,
                "I1: an instant was missed but had to be caught up: {at} in {row:?}"
            );
            return Ok(());
        }
        ensure!(
            late >= 0 || self.jitter() > 0,
            "I1: an occurrence was fired before it was due: {row:?}"
        );
        let newest = newest || self.jitter() > 0;
        let wanted = surely_late <= grace && newest
            || match self.policies.catch_up {
                CatchUp::None => false,
                CatchUp::Latest => newest && surely_late <= window,
                CatchUp::All => surely_late <= window,
            };
        ensure!(
            wanted,
            "I1: an instant was caught up against the policy: {row:?}"
        );
        if let Some((start, end)) = self.quiet_hours {
            let of_day = at.rem_euclid(DAY);
            let quiet = if start < end {
                start <= of_day && of_day < end
            } else {
                start <= of_day || of_day < end
            };
            ensure!(
                !quiet || row.status == "skipped",
                "I1: an occurrence in quiet hours became a run: {row:?}"
            );
            let said = row.reason.as_deref() == Some("quiet hours") && row.status == "skipped";
            ensure!(
                !said || quiet,
                "I1: an occurrence was skipped for quiet hours that are not: {row:?}"
            );
        }
        Ok(())
    }
}
