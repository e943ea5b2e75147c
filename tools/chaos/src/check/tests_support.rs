//! Helpers of the tests of the checks.

use serde_json::json;

use super::super::history::Event;

/// Returns an event of the session `ses`.
pub(super) fn event(seq: i64, kind: &str, reference: &str, status: Option<&str>) -> Event {
    Event {
        log: "ses".into(),
        seq,
        kind: kind.into(),
        reference: reference.into(),
        body: json!({ "status": status }),
        ..Event::default()
    }
}
