//! The path parameter that names an automation.

/// The description of the path parameter.
pub(super) const AUTOMATION_PARAM_DESCRIPTION: &str =
    "The name of the automation, its ID, or the beginning of its ID";
