//! The clocks of a zone, computed from the offset of one instant at a time.

use std::{cell::RefCell, collections::HashMap};

use jiff::{
    Timestamp,
    tz::{TimeZone, TimeZoneDatabase},
};

pub(crate) const DAY: i64 = 86_400;

/// The instants from `start` on that have the same offset, both in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OffsetPeriod {
    start: i64,
    offset: i64,
}

/// The clocks of one zone.
pub(crate) struct Clocks {
    zone: TimeZone,
    at_noon: RefCell<HashMap<i64, i64>>,
}

/// The offsets of the clocks in the days around one day.
pub(crate) struct NearbyClocks {
    periods: Vec<OffsetPeriod>,
}

impl Clocks {
    pub(crate) fn of(zone: &str) -> Self {
        Self {
            zone: TimeZoneDatabase::bundled().get(zone).unwrap(),
            at_noon: RefCell::default(),
        }
    }

    pub(crate) fn offset(&self, instant: i64) -> i64 {
        let instant = Timestamp::from_second(instant).unwrap();
        self.zone.to_offset(instant).seconds().into()
    }

    /// Returns the wall time at an instant.
    pub(crate) fn wall_time(&self, instant: i64) -> i64 {
        instant + self.offset(instant)
    }

    /// Returns the offset at noon UTC of a day, from a cache.
    fn at_noon(&self, day: i64) -> i64 {
        let mut cache = self.at_noon.borrow_mut();
        *cache
            .entry(day)
            .or_insert_with(|| self.offset(day * DAY + DAY / 2))
    }

    /// Returns the offsets from three days before to three days after. The binary search assumes that no zone has
    /// changed its clocks twice between two noons.
    pub(crate) fn nearby(&self, day: i64) -> NearbyClocks {
        let mut periods = vec![OffsetPeriod {
            start: i64::MIN,
            offset: self.at_noon(day - 3),
        }];
        for day in day - 3..day + 3 {
            let (before, after) = (self.at_noon(day), self.at_noon(day + 1));
            if before == after {
                continue;
            }
            let (mut old, mut new) = (day * DAY + DAY / 2, (day + 1) * DAY + DAY / 2);
            while new - old > 1 {
                let middle = i64::midpoint(old, new);
                if self.offset(middle) == before {
                    old = middle;
                } else {
                    new = middle;
                }
            }
            periods.push(OffsetPeriod {
                start: new,
                offset: after,
            });
        }
        NearbyClocks { periods }
    }
}

impl NearbyClocks {
    /// Returns the periods before and after each change.
    fn changes(&self) -> impl Iterator<Item = (OffsetPeriod, OffsetPeriod)> {
        self.periods.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// Returns the first instants after gaps.
    pub(crate) fn ends_of_gaps(&self) -> impl Iterator<Item = i64> {
        let gaps = self.changes().filter(|(old, new)| new.offset > old.offset);
        gaps.map(|(_, new)| new.start)
    }

    /// Returns the largest jump of the clocks, in seconds.
    pub(crate) fn largest_jump(&self) -> i64 {
        let jumps = self
            .changes()
            .map(|(old, new)| (new.offset - old.offset).abs());
        jumps.max().unwrap_or(0)
    }

    /// Returns the instants at which clocks show `wall`, in order: two in a repeat, none in a gap, otherwise one.
    pub(crate) fn instants_showing(&self, wall: i64) -> impl Iterator<Item = i64> {
        let ends = self.periods.iter().skip(1).map(|next| next.start);
        let ends = ends.chain([i64::MAX]);
        self.periods
            .iter()
            .zip(ends)
            .map(move |(period, end)| (wall - period.offset, period.start..end))
            .filter(|(instant, range)| range.contains(instant))
            .map(|(instant, _)| instant)
    }

    /// Returns the first instant after the gap in which `wall` lies, and the wall time at that instant.
    pub(crate) fn end_of_gap(&self, wall: i64) -> Option<(i64, i64)> {
        self.changes()
            .find(|(old, new)| (new.start + old.offset..new.start + new.offset).contains(&wall))
            .map(|(_, new)| (new.start, new.start + new.offset))
    }
}
