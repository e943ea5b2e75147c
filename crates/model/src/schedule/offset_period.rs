//! Offset periods: the ranges of time in which the offset of a time zone stays the same.
//!
//! Within a period, wall clock and instants run in parallel. All the difficulty of clock changes lies between one
//! period and the next.

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::Offset};

use super::Zone;

/// A period, `[start, end)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct OffsetPeriod {
    start: Timestamp,
    end: Option<Timestamp>,
    offset: Offset,
    offset_before: Offset,
}

impl OffsetPeriod {
    /// Returns the period that contains `instant`.
    pub(super) fn containing(zone: &Zone, instant: Timestamp) -> Self {
        let zone = zone.jiff();
        // `preceding` is exclusive, so a change at `instant` itself is only found from the nanosecond after it.
        let just_after = instant
            .checked_add(SignedDuration::from_nanos(1))
            .unwrap_or(instant);
        let start = zone
            .preceding(just_after)
            .next()
            .map_or(Timestamp::MIN, |change| change.timestamp());
        let just_before = start
            .checked_sub(SignedDuration::from_nanos(1))
            .unwrap_or(start);
        Self {
            start,
            end: zone
                .following(instant)
                .next()
                .map(|change| change.timestamp()),
            offset: zone.to_offset(instant),
            offset_before: zone.to_offset(just_before),
        }
    }

    /// Returns the next period. Returns `None` after the last.
    pub(super) fn next(&self, zone: &Zone) -> Option<Self> {
        let start = self.end?;
        let zone = zone.jiff();
        Some(Self {
            start,
            end: zone
                .following(start)
                .next()
                .map(|change| change.timestamp()),
            offset: zone.to_offset(start),
            offset_before: self.offset,
        })
    }

    /// Returns the first instant.
    pub(super) fn start(&self) -> Timestamp {
        self.start
    }

    /// Returns `true` if `instant` is before the end.
    pub(super) fn reaches(&self, instant: Timestamp) -> bool {
        self.end.is_none_or(|end| instant < end)
    }

    /// Returns the end of the period or `instant`, whichever is earlier.
    pub(super) fn end_or(&self, instant: Timestamp) -> Timestamp {
        self.end.map_or(instant, |end| end.min(instant))
    }

    /// Returns the wall time at `instant`.
    pub(super) fn wall(&self, instant: Timestamp) -> DateTime {
        self.offset.to_datetime(instant)
    }

    /// Returns the instant at which the wall clock of this period shows `wall`. Returns `None` if that instant is
    /// outside of the supported range.
    pub(super) fn instant(&self, wall: DateTime) -> Option<Timestamp> {
        self.offset.to_timestamp(wall).ok()
    }

    /// Returns the wall time at the start.
    pub(super) fn wall_start(&self) -> DateTime {
        self.wall(self.start)
    }

    /// Returns the wall time that the start would have without the clock change: earlier than
    /// [`Self::wall_start`] if the clocks went forward, and later if the clocks went back.
    pub(super) fn wall_start_unchanged(&self) -> DateTime {
        self.offset_before.to_datetime(self.start)
    }
}
