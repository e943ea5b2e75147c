//! Finding the known name that somebody who wrote an unknown one may have meant.

/// The longest text that is compared, in bytes.
const MAX_BYTES: usize = 200;

/// The known name most like `given`, whatever the case; `None` where more than one letter in three
/// differs, so that nobody gets wrong advice.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > MAX_BYTES {
        return None;
    }
    let lower = given.to_lowercase();
    known
        .into_iter()
        .map(|name| (distance(&lower, &name.to_lowercase()), name))
        .filter(|(differing, name)| *differing * 3 <= given.len().max(name.len()))
        .min()
        .map(|(_, name)| name)
}

/// How many bytes must be put in, left out or replaced to make one text into the other
/// (Levenshtein).
pub(crate) fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, a) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        for (left, b) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[left + 1];
            row[left + 1] = replaced.min(row[left] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_only_where_it_is_near() {
        let known = ["claude", "codex", "goose", "daily news"];
        for (given, offered) in [
            ("cluade", Some("claude")),
            ("Claude", Some("claude")),
            ("codx", Some("codex")),
            ("daily-news", Some("daily news")),
            ("gemini", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, known), offered, "{given:?}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }
}
