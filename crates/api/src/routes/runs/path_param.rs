//! The path parameter that names a run.

/// The description of the path parameter.
pub(super) const RUN_PARAM_DESCRIPTION: &str = "The ID of the run or the beginning of its ID";
