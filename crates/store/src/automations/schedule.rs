//! The schedule of a trigger.

use model::{
    TriggerId,
    schedule::{Schedule, Spec},
};

use crate::error::Error;

/// Parses the schedule of a stored specification.
pub(crate) fn parse_schedule(trigger: TriggerId, spec: &Spec) -> Result<Schedule, Error> {
    Schedule::parse(spec).map_err(|source| Error::InvalidSchedule { trigger, source })
}
