//! Patterns in which `*` matches any run of characters.

/// Returns `true` if `text` matches a pattern in which `*` matches any run of characters.
///
/// Takes at most time proportional to the product of both lengths, because the title comes from an untrusted agent:
/// naive backtracking can take exponential time.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read) = (0, 0);
    let mut star = None;
    while read < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, read));
            at += 1;
        } else if pattern.get(at) == Some(&text[read]) {
            at += 1;
            read += 1;
        } else if let Some((star_at, star_read)) = star {
            // Mismatch: the last star matches one more byte. Earlier stars need no second try, because matching more
            // with them only leaves less text for the rest of the pattern.
            at = star_at + 1;
            read = star_read + 1;
            star = Some((star_at, read));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_any_run_of_characters() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*c", "abbbc", true),
            ("a*c", "abbbd", false),
            ("*ab*ab", "ab-ab-ab", true),
            ("naïve*", "naïve é", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern:?} {text:?}");
        }
    }
}
