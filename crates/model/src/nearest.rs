//! Suggestions for misspelled names.

/// The longest text that is compared, in bytes. The comparison takes quadratic time.
const MAX_COMPARED_BYTES: usize = 200;

/// Returns the known name that is most similar to `given`, regardless of case. Returns `None` if more than one byte
/// in three differs, so that an error never suggests an unrelated name.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let lower = given.to_lowercase();
    names
        .into_iter()
        .map(|name| (distance(&lower, &name.to_lowercase()), name))
        .filter(|(differing, name)| *differing * 3 <= given.len().max(name.len()))
        .min()
        .map(|(_, name)| name)
}

/// Returns the edit distance of two texts in bytes: insertions, deletions, replacements and swaps of neighbors
/// (optimal string alignment).
pub(crate) fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (y, a) in one.iter().enumerate() {
        let mut row = vec![y + 1];
        for (x, b) in other.iter().enumerate() {
            let replaced = above[x] + usize::from(a != b);
            let mut least = replaced.min(above[x + 1] + 1).min(row[x] + 1);
            if x > 0 && y > 0 && *a == other[x - 1] && one[y - 1] == *b {
                least = least.min(before[x - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_is_suggested_only_if_similar() {
        let names = ["claude", "codex", "good", "daily news"];
        for (given, expected) in [
            ("cluade", Some("claude")),
            ("Claude", Some("claude")),
            ("codx", Some("codex")),
            ("godo", Some("good")),
            ("daily-news", Some("daily news")),
            ("gemini", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, names), expected, "{given:?}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
    }
}
