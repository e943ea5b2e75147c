//! Patterns for a text search.

/// A text to search for, as patterns of `like`.
///
/// Letters are compared without case as far as the database knows their cases. SQLite only knows those of ASCII, so
/// the search also tries the text as it was written.
pub(crate) struct SearchPatterns {
    pub(crate) lower: Option<String>,
    pub(crate) as_written: Option<String>,
    /// The pattern for a part of an ID, with or without its prefix. `None` if the text cannot be part of an ID.
    pub(crate) id: Option<String>,
}

impl SearchPatterns {
    pub(crate) fn new(text: Option<&str>, prefix: &str) -> Self {
        let written = text.map(like_pattern);
        let lower = text.map(|text| like_pattern(&text.to_lowercase()));
        Self {
            lower,
            as_written: written,
            id: text.and_then(|text| id_pattern(text, prefix)),
        }
    }
}

fn like_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

fn id_pattern(text: &str, prefix: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let without_prefix = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'));
    let digits = without_prefix.unwrap_or(&text).replace('-', "");
    let is_hexadecimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    // A text with the ID's prefix matches from the beginning of the ID; one without matches anywhere.
    let wildcard = if without_prefix.is_some() { "" } else { "%" };
    is_hexadecimal.then(|| format!("{wildcard}{digits}%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_text_with_like_wildcards_is_escaped() {
        let patterns = SearchPatterns::new(Some(r"50%_Ä\"), "ses");
        assert_eq!(patterns.as_written.as_deref(), Some(r"%50\%\_Ä\\%"));
        assert_eq!(patterns.lower.as_deref(), Some(r"%50\%\_ä\\%"));
        assert_eq!(patterns.id, None);
    }

    #[test]
    fn id_pattern_accepts_part_of_id_with_and_without_prefix() {
        let id = |text| SearchPatterns::new(Some(text), "ses").id;
        assert_eq!(id("ses_0199AB"), Some("0199ab%".into()));
        assert_eq!(id("0199-ab"), Some("%0199ab%".into()));
        assert_eq!(id("ses_"), None);
        assert_eq!(id("report"), None);
        assert_eq!(SearchPatterns::new(None, "ses").id, None);
    }
}
