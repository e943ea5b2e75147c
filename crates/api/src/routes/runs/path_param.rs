//! How a path names a run.

/// What a path parameter that names a run takes.
pub(super) const RUN_PARAM_DESCRIPTION: &str = "Its id or the beginning of that";
