//! The instants of deadlines.

use std::time::Duration;

use model::{Timestamp, goal::Deadline};

/// The time for which a goal waits for seats that are offline.
const SEATS_TIMEOUT: Duration = Duration::from_mins(30);
/// The time after which a stuck goal fails.
const GIVE_UP_AFTER: Duration = Duration::from_hours(24);

/// Returns the instant of a deadline that is set now.
pub(super) fn deadline_after(deadline: Deadline, now: Timestamp) -> Timestamp {
    now + match deadline {
        Deadline::Seats => SEATS_TIMEOUT,
        Deadline::GiveUp => GIVE_UP_AFTER,
    }
}
