//! The path parameter that names a goal.

/// The description of the path parameter that names a goal.
pub(super) const GOAL_PARAM_DESCRIPTION: &str =
    "The ID of the session of the goal, the beginning of its ID, or its key";
