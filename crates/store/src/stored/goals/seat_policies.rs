//! The policies of a seat, a part of the document `goals.team`.

use model::team::SeatPolicies;
use serde::{Deserialize, Serialize};

/// The policies of a seat, as a row holds them. A key that is absent has its default.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StoredSeatPolicies {
    timeout_seconds: u32,
    inactivity_seconds: u32,
}

impl Default for StoredSeatPolicies {
    fn default() -> Self {
        SeatPolicies::default().into()
    }
}

impl From<SeatPolicies> for StoredSeatPolicies {
    fn from(policies: SeatPolicies) -> Self {
        let SeatPolicies {
            timeout_seconds,
            inactivity_seconds,
        } = policies;
        Self {
            timeout_seconds,
            inactivity_seconds,
        }
    }
}

impl From<StoredSeatPolicies> for SeatPolicies {
    fn from(policies: StoredSeatPolicies) -> Self {
        Self {
            timeout_seconds: policies.timeout_seconds,
            inactivity_seconds: policies.inactivity_seconds,
        }
    }
}
