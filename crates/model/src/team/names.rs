//! The names of teams, roles, checks and seats.

/// The longest name, in characters.
pub(super) const NAME_CHARS: usize = 40;

/// The names that address other receivers of messages than a seat.
const RESERVED_NAMES: [&str; 2] = ["all", "person"];

/// The accepted forms of names.
pub(super) const ACCEPTED_NAMES: &str = "accepted are 1 to 40 lower-case letters, digits and hyphens, the first a letter \
                                         and the last no hyphen";
/// The accepted forms of roles.
pub(super) const ACCEPTED_ROLES: &str = "accepted are 1 to 40 lower-case letters, digits and hyphens, the first a letter \
                                         and the last no hyphen, except `all` and `person`";

/// Returns `true` if a text is a name. The name of a seat is also that of its folder.
pub(super) fn is_name(text: &str) -> bool {
    let accepted =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    text.len() <= NAME_CHARS
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
        && text.chars().all(accepted)
}

/// Returns `true` if a text can be the name of a role.
pub(super) fn is_role(text: &str) -> bool {
    is_name(text) && !RESERVED_NAMES.contains(&text)
}

/// Returns the names of the seats of a role: the role itself, or the role with a number if there are several seats.
pub(super) fn seat_names(role: &str, count: u32) -> impl Iterator<Item = String> + '_ {
    let name = move |number| {
        if count == 1 {
            role.to_owned()
        } else {
            format!("{role}-{number}")
        }
    };
    (1..=count).map(name)
}
