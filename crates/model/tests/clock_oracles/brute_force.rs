//! Finds the first fires by trying each day and each time of a calendar.

use std::collections::BTreeSet;

use super::{
    clocks::{Clocks, DAY},
    meaning::{Day, Meaning},
};

/// The calendar repeats after 400 years.
const LONGEST_SEARCH_DAYS: i64 = 146_097;

/// The treatment of a time that clocks skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InGap {
    /// The time fires at the first instant after the gap.
    AtItsEnd,
    /// The first skipped time fires as many whole minutes later as move it out of the gap. Fires between the end of
    /// the gap and that instant are lost.
    MinutesLater,
    /// The time does not fire.
    Never,
}

/// The treatment of a time that clocks show twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InRepeat {
    /// The time fires in the first pass.
    First,
    /// The time fires in both passes.
    Both,
}

/// An interpretation of an expression.
#[derive(Debug, Clone)]
pub(crate) struct Interpretation {
    pub(crate) meaning: Meaning,
    pub(crate) in_gap: InGap,
    pub(crate) in_repeat: InRepeat,
}

impl Interpretation {
    /// Returns the interpretation of SPEC, which depends on whether the times follow the wall clock or are fixed.
    pub(crate) fn of(expression: &str) -> Self {
        let meaning = Meaning::read(expression);
        let (in_gap, in_repeat) = if meaning.follows_wall_clock() {
            (InGap::Never, InRepeat::Both)
        } else {
            (InGap::AtItsEnd, InRepeat::First)
        };
        Self {
            meaning,
            in_gap,
            in_repeat,
        }
    }
}

/// Returns the first `count` fires after `after`, or fewer if 400 years have no more.
pub(crate) fn fires(
    reading: &Interpretation,
    clocks: &Clocks,
    after: i64,
    count: usize,
) -> Vec<i64> {
    let times = reading.meaning.times();
    let mut found = BTreeSet::new();
    let mut last_gap = None;
    let mut lost = 0..0;
    // Clocks that jump show times out of order, so the search begins earlier and ends later by the largest jump.
    let shown = clocks.wall_time(after);
    let begin = shown - 2 * clocks.nearby(shown.div_euclid(DAY)).largest_jump();
    let first = begin.div_euclid(DAY);
    'search: for day in first..first + LONGEST_SEARCH_DAYS {
        if !reading.meaning.has_day(Day::of(day)) {
            continue;
        }
        let around = clocks.nearby(day);
        for wall in times.iter().map(|time| day * DAY + time) {
            if wall < begin {
                continue;
            }
            if let Some(last) = found.iter().nth(count - 1)
                && wall > clocks.wall_time(*last) + around.largest_jump()
            {
                break 'search;
            }
            let passes = match reading.in_repeat {
                InRepeat::First => 1,
                InRepeat::Both => 2,
            };
            let counts = |at: &i64| *at > after && !lost.contains(at);
            found.extend(around.instants_showing(wall).take(passes).filter(counts));
            let Some((end, wall_at_end)) = around.end_of_gap(wall) else {
                continue;
            };
            let after_gap = match reading.in_gap {
                InGap::AtItsEnd => Some(end),
                InGap::MinutesLater if last_gap != Some(end) => {
                    let at = end + (wall - wall_at_end).rem_euclid(60);
                    lost = end..at;
                    Some(at)
                }
                InGap::MinutesLater | InGap::Never => None,
            };
            last_gap = Some(end);
            found.extend(after_gap.filter(|at| *at > after));
        }
    }
    found.into_iter().take(count).collect()
}

/// Returns the first `count` wall times that clocks show at some instant, and that are later than the wall time at
/// `after`. The function ignores repeats, as an oracle does that knows only wall clocks.
pub(crate) fn wall_times(meaning: &Meaning, clocks: &Clocks, after: i64, count: usize) -> Vec<i64> {
    let times = meaning.times();
    let shown = clocks.wall_time(after);
    let first = shown.div_euclid(DAY);
    (first..first + LONGEST_SEARCH_DAYS)
        .filter(|day| meaning.has_day(Day::of(*day)))
        .flat_map(|day| times.iter().map(move |time| day * DAY + time))
        .filter(|wall| *wall > shown)
        .filter(|wall| {
            clocks
                .nearby(wall.div_euclid(DAY))
                .instants_showing(*wall)
                .next()
                .is_some()
        })
        .take(count)
        .collect()
}
