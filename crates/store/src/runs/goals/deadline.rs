//! The instants of deadlines.

use std::time::Duration;

use model::{Timestamp, goal::Deadline, team::TeamLimits};

/// The time for which a goal waits for seats that are offline.
const SEATS_TIMEOUT: Duration = Duration::from_mins(30);

/// Returns the instant of a deadline that is set now.
pub(super) fn deadline_after(deadline: Deadline, limits: &TeamLimits, now: Timestamp) -> Timestamp {
    now + match deadline {
        Deadline::Seats => SEATS_TIMEOUT,
        Deadline::GiveUp => Duration::from_hours(limits.give_up_after_hours.into()),
    }
}
