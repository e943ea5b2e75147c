//! A fence that marks a text in a prompt, so that the agent does not take it for the words of a person.

use sha2::{Digest, Sha256};

use super::hex::hex;

/// Returns an untrusted payload between two lines with the same mark. The mark does not occur in the payload.
///
/// The mark is a digest of the payload, so that the author of a payload cannot forge the closing line, and so
/// that the same payload always gives the same prompt.
pub fn fenced(payload: &str) -> String {
    fenced_as("untrusted", payload)
}

/// Returns a payload between two lines with a label and the same mark, as [`fenced`] does.
pub(super) fn fenced_as(label: &str, payload: &str) -> String {
    let mark = mark_absent_from(payload, |attempt| {
        let digest = Sha256::new()
            .chain_update(attempt.to_string())
            .chain_update(payload)
            .finalize();
        hex(&digest[..16])
    });
    format!("<<< {label} {mark}\n{payload}\n{label} {mark} >>>")
}

/// Returns the first mark that the payload does not contain. A text of n bytes contains at most n marks, all of one
/// length, so that one of n + 1 different marks is absent.
fn mark_absent_from(payload: &str, mark: impl Fn(usize) -> String) -> String {
    (0..=payload.len())
        .map(mark)
        .find(|mark| !payload.contains(mark.as_str()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fence_mark_in_payload_is_skipped() {
        let mark = mark_absent_from("a0 b1 c3", |attempt| {
            ["a0", "b1", "c2", "c3"][attempt].into()
        });
        assert_eq!(mark, "c2");
    }

    #[test]
    fn payload_with_copied_fence_does_not_close_its_fence() {
        let first = fenced("{}");
        let second = fenced(&first);
        let mark = second.lines().next().unwrap();
        assert_eq!(second.matches(&mark["<<< ".len()..]).count(), 2);
    }

    proptest! {
        #[test]
        fn fence_keeps_payload_whole_and_closes_once(payload in any::<String>()) {
            let fenced = fenced(&payload);
            let (opening, rest) = fenced.split_once('\n').unwrap();
            let mark = opening.strip_prefix("<<< ").unwrap();
            let closing = format!("\n{mark} >>>");
            prop_assert_eq!(rest.strip_suffix(&closing), Some(payload.as_str()));
            prop_assert_eq!(fenced.matches(mark).count(), 2);
        }
    }
}
