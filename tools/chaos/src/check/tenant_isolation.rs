//! I9: a request for an object of another tenant has the same response as a request for an object that does not
//! exist.

use super::{super::history::History, verdict::Check};

/// Checks I9: both responses of each probe are 404 and equal except for the requested ID.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new(
        "I9",
        "objects of another tenant respond like objects that do not exist",
    );
    for probe in &history.probes {
        if probe.existing.0 != 404 || probe.existing != probe.missing {
            check.add_violation(format!(
                "{}: {} {} instead of {} {}",
                probe.path, probe.existing.0, probe.existing.1, probe.missing.0, probe.missing.1
            ));
        }
    }
    check.record_inspected("probes of strangers", history.probes.len());
    check
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::super::history::Probe, *};

    #[test]
    fn isolation_check_reports_differing_response() {
        let probe = |there: (u16, &str), nowhere: (u16, &str)| History {
            probes: vec![Probe {
                path: "/runs".into(),
                existing: (there.0, json!(there.1)),
                missing: (nowhere.0, json!(nowhere.1)),
            }],
            ..History::default()
        };
        assert!(check(&probe((404, "none"), (404, "none"))).holds());
        for (there, nowhere) in [
            ((403, "no"), (404, "none")),
            ((404, "not yours"), (404, "none")),
            ((200, "run"), (200, "run")),
        ] {
            assert!(!check(&probe(there, nowhere)).holds());
        }
    }
}
