//! How a path names an automation.

/// What a path parameter that names an automation takes.
pub(super) const AUTOMATION_PARAM_DESCRIPTION: &str = "Its name, its id or the beginning of that";
