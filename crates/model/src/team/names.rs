//! The names of teams, roles and checks.

use crate::seat::{is_plain_name, is_reserved_name};

/// The accepted forms of names.
pub(super) const ACCEPTED_NAMES: &str = "accepted are 1 to 40 lower-case letters, digits and hyphens, the first a letter \
                                         and the last no hyphen";
/// The accepted forms of roles.
pub(super) const ACCEPTED_ROLES: &str = "accepted are 1 to 40 lower-case letters, digits and hyphens, the first a letter \
                                         and the last no hyphen, except `all` and `person`";

/// Returns `true` if a text can be the name of a role.
pub(super) fn is_role(text: &str) -> bool {
    is_plain_name(text) && !is_reserved_name(text)
}
