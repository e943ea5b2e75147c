//! The names and the directories of the seats of a session.

use std::collections::BTreeMap;

use crate::{limits, text_enum::text_enum};

/// The role and the name of the seat of a session that has only one.
pub const ONLY_SEAT: &str = "agent";

/// The names that address other receivers than a seat.
const RESERVED_NAMES: [&str; 2] = ["all", "person"];

text_enum! {
    /// The directory of a seat.
    SeatDirectory, "a directory of a seat" {
        /// The directory of the session, with other seats.
        Shared = "shared",
        /// A directory of the seat alone.
        Own = "own",
    }
}

/// Returns `true` if a text is a plain name: 1 to 40 lower-case letters, digits and hyphens, of which the first is a letter
/// and the last is no hyphen. Roles and seats have plain names, because a name is also that of the seat's folder.
pub fn is_plain_name(text: &str) -> bool {
    let is_plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    text.len() <= limits::SEAT_NAME_CHARS
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
        && text.chars().all(is_plain)
}

/// Returns `true` if a name addresses another receiver than a seat, so that no seat can have it.
pub fn is_reserved_name(name: &str) -> bool {
    RESERVED_NAMES.contains(&name)
}

/// Returns the names of seats without a given name, from their roles in order: the role itself, or the role with a number if
/// several of the seats have it. For example, the roles `planner`, `worker` and `worker` give `planner`, `worker-1` and
/// `worker-2`.
pub fn names_of_roles<'a>(roles: &[&'a str]) -> Vec<String> {
    let mut numbers: BTreeMap<&'a str, usize> = BTreeMap::new();
    let name = |role: &'a str| {
        if roles.iter().filter(|other| **other == role).count() == 1 {
            return role.to_owned();
        }
        let number = numbers.entry(role).or_default();
        *number += 1;
        format!("{role}-{number}")
    };
    roles.iter().copied().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_name_is_lower_case_word() {
        let longest = "x".repeat(limits::SEAT_NAME_CHARS);
        assert!(is_plain_name(ONLY_SEAT) && !is_reserved_name(ONLY_SEAT));
        for plain in ["a", "worker", "worker-1", "q4-plan", &longest] {
            assert!(is_plain_name(plain), "{plain}");
        }
        let long = format!("{longest}x");
        for other in [
            "", "-", "1a", "-a", "a-", "Worker", "a b", "a_b", "a/b", "..", "a.b", "é", "a\n",
            &long,
        ] {
            assert!(!is_plain_name(other), "{other:?}");
        }
    }

    #[test]
    fn only_roles_with_several_seats_are_numbered() {
        let roles = ["planner", "worker", "judge", "worker"];
        let names = ["planner", "worker-1", "judge", "worker-2"];
        assert_eq!(names_of_roles(&roles), names);
        assert!(names_of_roles(&[]).is_empty());
    }
}
