//! The accepted differences between the oracles and Matins, each with a name.
//!
//! `docs/reference/clock-oracles.md` gives the reason for each. A rule does not exempt a kind of input from the comparison. It
//! changes one aspect of the interpretation, and the answer of the oracle must equal the result of the brute-force
//! search with that interpretation.

use super::{
    brute_force::{self, InGap, InRepeat, Interpretation},
    cases::Case,
    clocks::{Clocks, DAY},
    oracle::Answer,
};

/// The number of compared fires.
pub(crate) const FIRES: usize = 2;

/// The number of fires among which those are searched that an oracle leaves out: more than a day has minutes.
const MANY_FIRES: usize = 1500;

/// One way in which an oracle differs.
pub(crate) struct Rule {
    /// The name of the rule, as in `docs/reference/clock-oracles.md`.
    pub(crate) name: &'static str,
    change: Change,
}

/// The difference in the interpretation of an expression.
enum Change {
    /// The oracle interprets the expression in this way.
    Reading(fn(&mut Interpretation)),
    /// The oracle may leave out the second pass of a time that repeats.
    MayLoseSecondPasses,
    /// The oracle goes from one wall time to the next, and only then computes the instant.
    ShownTimesOnly,
    /// The same, and the oracle may leave out times of a day that has a gap.
    MayLoseDaysWithGaps,
}

pub(crate) const CRONITER: [Rule; 5] = [
    Rule {
        name: "A range of one value is the whole field",
        change: Change::Reading(|reading| reading.meaning = reading.meaning.widened()),
    },
    Rule {
        name: "Every month has a workday near each day",
        change: Change::Reading(|reading| {
            reading.meaning = reading.meaning.with_near_days_in_every_month();
        }),
    },
    Rule {
        name: "Fixed times fire in both passes of a repeat",
        change: Change::Reading(|reading| reading.in_repeat = InRepeat::Both),
    },
    Rule {
        name: "The hour field alone says whether skipped times fire",
        change: Change::Reading(|reading| {
            reading.in_gap = if reading.meaning.hour.is_all() {
                InGap::Never
            } else {
                InGap::MinutesLater
            };
        }),
    },
    Rule {
        name: "A second pass is sometimes lost",
        change: Change::MayLoseSecondPasses,
    },
];

pub(crate) const SYSTEMD: [Rule; 3] = [
    Rule {
        name: "Skipped times never fire",
        change: Change::Reading(|reading| reading.in_gap = InGap::Never),
    },
    Rule {
        name: "A time that repeats fires once, in either pass",
        change: Change::ShownTimesOnly,
    },
    Rule {
        name: "A gap sometimes takes the rest of its day along",
        change: Change::MayLoseDaysWithGaps,
    },
];

/// Returns the indexes of the fewest `rules` that together reproduce `answer`.
pub(crate) fn explain(
    rules: &[Rule],
    case: &Case,
    clocks: &Clocks,
    answer: &Answer,
) -> Option<Vec<usize>> {
    let fires = answer.as_ref().ok()?;
    let mut choices: Vec<u32> = (1..1 << rules.len()).collect();
    choices.sort_by_key(|choice| choice.count_ones());
    choices
        .into_iter()
        .map(|choice| {
            let indexes = 0..rules.len();
            indexes
                .filter(|index| choice >> index & 1 == 1)
                .collect::<Vec<_>>()
        })
        .find(|chosen| {
            let changes = chosen.iter().map(|index| &rules[*index].change);
            reproduces(changes, case, clocks, fires)
        })
}

/// Returns `true` if an oracle with these differences returns `fires`.
fn reproduces<'a>(
    changes: impl Iterator<Item = &'a Change>,
    case: &Case,
    clocks: &Clocks,
    fires: &[i64],
) -> bool {
    let mut reading = Interpretation::of(&case.expression);
    let (mut may_lose_passes, mut shown_only, mut may_lose_days) = (false, false, false);
    for change in changes {
        match change {
            Change::Reading(change) => change(&mut reading),
            Change::MayLoseSecondPasses => may_lose_passes = true,
            Change::ShownTimesOnly => shown_only = true,
            Change::MayLoseDaysWithGaps => may_lose_days = true,
        }
    }
    let after = case.after;
    if may_lose_days {
        let shown = brute_force::wall_times(&reading.meaning, clocks, after, MANY_FIRES);
        // Before a gap, the oracle may also find no fire at all.
        let around = clocks.nearby(after.div_euclid(DAY));
        (fires.is_empty() && around.ends_of_gaps().any(|end| end > after))
            || omits_only(&wall_times_at(fires, clocks), &shown, |wall| {
                has_gap(*wall, clocks)
            })
    } else if shown_only {
        let shown = brute_force::wall_times(&reading.meaning, clocks, after, FIRES);
        shown == wall_times_at(fires, clocks)
    } else if may_lose_passes {
        let all = brute_force::fires(&reading, clocks, after, MANY_FIRES);
        omits_only(fires, &all, |at| is_second_pass(*at, clocks))
    } else {
        brute_force::fires(&reading, clocks, after, FIRES) == fires
    }
}

/// Returns `true` if `some` is the beginning of `all` without items for which `may_lack` returns `true`.
fn omits_only(some: &[i64], all: &[i64], may_lack: impl Fn(&i64) -> bool) -> bool {
    let mut all = all.iter();
    some.iter().all(|item| {
        let before = all.by_ref().take_while(|other| *other != item);
        before.into_iter().all(&may_lack)
    }) && some.len() == FIRES
}

fn wall_times_at(instants: &[i64], clocks: &Clocks) -> Vec<i64> {
    instants.iter().map(|at| clocks.wall_time(*at)).collect()
}

/// Returns `true` if a gap ends on the day of `wall`.
fn has_gap(wall: i64, clocks: &Clocks) -> bool {
    let day = wall.div_euclid(DAY);
    let around = clocks.nearby(day);
    around
        .ends_of_gaps()
        .any(|end| clocks.wall_time(end).div_euclid(DAY) == day)
}

fn is_second_pass(instant: i64, clocks: &Clocks) -> bool {
    let around = clocks.nearby(instant.div_euclid(DAY));
    around.instants_showing(clocks.wall_time(instant)).next() < Some(instant)
}
