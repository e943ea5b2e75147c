//! What a check finds.

use serde::Serialize;

/// How grave something is that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Somebody should look at it.
    Warning,
    /// Something does not work.
    Problem,
}

/// What one look found.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: String,
    /// How grave it is.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What a person can do about it.
    pub remedy: Option<String>,
}

impl Finding {
    pub(crate) fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            check: check.into(),
            level: Level::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    pub(crate) fn warning(
        check: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Warning,
            remedy: Some(remedy.into()),
            ..Self::ok(check, found)
        }
    }

    pub(crate) fn problem(
        check: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Problem,
            ..Self::warning(check, found, remedy)
        }
    }
}
