//! Patterns for a text search.

/// A text to search for, as patterns of `like`.
///
/// Letters are compared without case as far as the database knows their cases. SQLite only knows those of ASCII, so
/// the search also tries the text as it was written.
pub(crate) struct Wanted {
    pub(crate) lower: Option<String>,
    pub(crate) written: Option<String>,
    /// The pattern for a part of an ID, with or without its prefix. `None` if the text cannot be part of an ID.
    pub(crate) id: Option<String>,
}

impl Wanted {
    pub(crate) fn new(text: Option<&str>, prefix: &str) -> Self {
        let written = text.map(pattern);
        let lower = text.map(|text| pattern(&text.to_lowercase()));
        Self {
            lower,
            written,
            id: text.and_then(|text| piece_of_id(text, prefix)),
        }
    }
}

fn pattern(text: &str) -> String {
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

fn piece_of_id(text: &str, prefix: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let shown = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'));
    let digits = shown.unwrap_or(&text).replace('-', "");
    let found = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    // A text with the ID's prefix matches from the beginning of the ID; one without matches anywhere.
    let anywhere = if shown.is_some() { "" } else { "%" };
    found.then(|| format!("{anywhere}{digits}%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_a_pattern_is_looked_for_as_it_is() {
        let wanted = Wanted::new(Some(r"50%_Ä\"), "ses");
        assert_eq!(wanted.written.as_deref(), Some(r"%50\%\_Ä\\%"));
        assert_eq!(wanted.lower.as_deref(), Some(r"%50\%\_ä\\%"));
        assert_eq!(wanted.id, None);
    }

    #[test]
    fn a_piece_of_an_id_is_known_with_its_prefix_and_without() {
        let id = |text| Wanted::new(Some(text), "ses").id;
        assert_eq!(id("ses_0199AB"), Some("0199ab%".into()));
        assert_eq!(id("0199-ab"), Some("%0199ab%".into()));
        assert_eq!(id("ses_"), None);
        assert_eq!(id("report"), None);
        assert_eq!(Wanted::new(None, "ses").id, None);
    }
}
