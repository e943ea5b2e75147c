//! The stretches of time in which a zone's offset stands still.
//!
//! Within one, wall clock and instants run in parallel, so that all the difficulty of clock changes
//! lies between one regime and the next.

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::Offset};

use super::Zone;

/// One such stretch, `[start, end)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Regime {
    start: Timestamp,
    end: Option<Timestamp>,
    offset: Offset,
    offset_before: Offset,
}

impl Regime {
    /// The regime in which `instant` lies.
    pub(super) fn containing(zone: &Zone, instant: Timestamp) -> Self {
        let zone = zone.jiff();
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

    /// The regime that follows; `None` after the last.
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

    /// The first instant.
    pub(super) fn start(&self) -> Timestamp {
        self.start
    }

    /// Whether `instant` is before the end.
    pub(super) fn reaches(&self, instant: Timestamp) -> bool {
        self.end.is_none_or(|end| instant < end)
    }

    /// Where the regime ends, or `instant` if that comes first.
    pub(super) fn end_or(&self, instant: Timestamp) -> Timestamp {
        self.end.map_or(instant, |end| end.min(instant))
    }

    /// What the wall clock shows at `instant`.
    pub(super) fn wall(&self, instant: Timestamp) -> DateTime {
        self.offset.to_datetime(instant)
    }

    /// When the wall clock of this regime shows `wall`; `None` beyond what can be written.
    pub(super) fn instant(&self, wall: DateTime) -> Option<Timestamp> {
        self.offset.to_timestamp(wall).ok()
    }

    /// What the wall clock shows at the start.
    pub(super) fn wall_start(&self) -> DateTime {
        self.wall(self.start)
    }

    /// What the wall clock would have shown at the start had nothing changed. Earlier than
    /// [`Self::wall_start`] where times were skipped, later where times repeat.
    pub(super) fn wall_start_unchanged(&self) -> DateTime {
        self.offset_before.to_datetime(self.start)
    }
}
