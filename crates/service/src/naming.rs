//! Validates the names and texts of requests.

use model::{is_one_line, limits};

use crate::Error;

/// The length of the longest name that is derived from a prompt, in characters.
const MAX_DERIVED_NAME_CHARS: usize = 40;

/// The words that stand in paths of the API where the name of an automation can stand. An automation of such a name could
/// be addressed by its ID alone.
const RESERVED_NAMES: [&str; 2] = ["dry-run", "preview"];

/// Returns a valid name: one line that is not empty and not too long.
pub(crate) fn validate_name(field: &'static str, given: &str) -> Result<String, Error> {
    let accepted = format!(
        "accepted are 1 to {} bytes on one line, without spaces at the ends",
        limits::NAME_BYTES
    );
    if given.len() <= limits::NAME_BYTES && is_one_line(given) {
        Ok(given.to_owned())
    } else {
        Err(Error::invalid(field, given, accepted))
    }
}

/// Returns a valid name of an object. Refuses a name in the form of an ID, because an ID finds another object than the
/// one of that name. An edit may keep the name `before`, which may be older than this rule.
pub(crate) fn validate_new_name(
    field: &'static str,
    given: &str,
    before: Option<&str>,
) -> Result<String, Error> {
    let name = validate_name(field, given)?;
    if before != Some(given) && model::has_id_form(given) {
        let problem = "it has the form of an ID; accepted are names that are neither a UUID, with or without the kind \
                       of an ID before it, nor such a kind with the first digits of an ID, such as `ses_01a222ad`";
        return Err(Error::invalid(field, given, problem));
    }
    Ok(name)
}

/// Returns a valid name of an automation: a name as by [`validate_new_name`] that is not reserved either.
pub(crate) fn validate_new_automation_name(
    given: &str,
    before: Option<&str>,
) -> Result<String, Error> {
    if before != Some(given) && RESERVED_NAMES.contains(&given) {
        let problem = "it is reserved; accepted are names other than `dry-run` and `preview`";
        return Err(Error::invalid("name", given, problem));
    }
    validate_new_name("name", given, before)
}

/// Checks that a prompt or a message is not empty and not too long.
pub(crate) fn validate_content(field: &'static str, given: &str) -> Result<(), Error> {
    if given.trim().is_empty() {
        return Err(Error::invalid(field, given, "it is empty"));
    }
    if given.len() > limits::CONTENT_BYTES {
        let problem = format!(
            "it has {} bytes, accepted are up to {}",
            given.len(),
            limits::CONTENT_BYTES
        );
        return Err(Error::invalid(field, given, problem));
    }
    Ok(())
}

/// Returns a name derived from the first words of a prompt, such as `check-the-build`.
pub(crate) fn derive_name(prompt: &str) -> String {
    let lower = prompt.to_lowercase();
    let mut name = String::new();
    for word in lower.split(|letter: char| !letter.is_alphanumeric()) {
        let length = name.chars().count() + word.chars().count() + 1;
        if !name.is_empty() && length > MAX_DERIVED_NAME_CHARS {
            break;
        }
        if !name.is_empty() && !word.is_empty() {
            name.push('-');
        }
        name.extend(word.chars().take(MAX_DERIVED_NAME_CHARS));
    }
    if name.is_empty() || model::has_id_form(&name) || RESERVED_NAMES.contains(&name.as_str()) {
        "automation".into()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_derived_from_first_words_of_prompt() {
        for (prompt, name) in [
            ("Check the build, please!", "check-the-build-please"),
            ("  ...  ", "automation"),
            ("Zkontroluj žluťoučkého koně", "zkontroluj-žluťoučkého-koně"),
            (
                "Look at every issue that was opened since yesterday",
                "look-at-every-issue-that-was-opened",
            ),
        ] {
            assert_eq!(derive_name(prompt), name);
        }
        let long = derive_name(&"x".repeat(1000));
        assert_eq!(long.len(), MAX_DERIVED_NAME_CHARS);
    }

    #[test]
    fn name_with_control_characters_or_outer_spaces_is_refused() {
        for given in ["", " ", " a", "a\n", "a\tb", &"x".repeat(201)] {
            let error = validate_name("name", given).unwrap_err().to_string();
            assert!(error.contains("1 to 200 bytes"), "{given:?}: {error}");
        }
        assert_eq!(validate_name("name", "daily news").unwrap(), "daily news");
    }

    #[test]
    fn reserved_name_is_refused_unless_it_is_kept() {
        let error = validate_new_automation_name("preview", None).unwrap_err();
        assert!(error.to_string().contains("reserved"), "{error}");
        let kept = validate_new_automation_name("dry-run", Some("dry-run"));
        assert_eq!(kept.unwrap(), "dry-run");
        assert_eq!(derive_name("Preview"), "automation");
    }

    #[test]
    fn empty_or_oversized_content_is_refused() {
        assert!(validate_content("prompt", " \n").is_err());
        assert!(validate_content("prompt", &"x".repeat(limits::CONTENT_BYTES)).is_ok());
        assert!(validate_content("prompt", &"x".repeat(limits::CONTENT_BYTES + 1)).is_err());
    }
}
