//! How a path names a run.

/// What a path parameter that names a run takes.
pub(super) const NAMED: &str = "Its id or the beginning of that";
