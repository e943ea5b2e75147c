//! The policies of a seat, a part of the document `goals.team`.

use model::{approval::OnUnmatched, team::SeatPolicies};
use serde::{Deserialize, Serialize};

use crate::stored::{Document as _, StoredPermissions};

/// The policies of a seat, as a row holds them. A key that is absent has its default.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StoredSeatPolicies {
    timeout_seconds: u32,
    inactivity_seconds: u32,
    on_unmatched: OnUnmatched,
    ask_seconds: u32,
    permissions: StoredPermissions,
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
            on_unmatched,
            ask_seconds,
            permissions,
        } = policies;
        Self {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched,
            ask_seconds,
            permissions: StoredPermissions::of(&permissions),
        }
    }
}

impl From<StoredSeatPolicies> for SeatPolicies {
    fn from(policies: StoredSeatPolicies) -> Self {
        Self {
            timeout_seconds: policies.timeout_seconds,
            inactivity_seconds: policies.inactivity_seconds,
            on_unmatched: policies.on_unmatched,
            ask_seconds: policies.ask_seconds,
            permissions: policies.permissions.into_rules(),
        }
    }
}
