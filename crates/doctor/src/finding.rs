//! The result of a check.

use serde::Serialize;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// All is in order.
    Ok,
    /// The user should look into it, but Matins works.
    Warning,
    /// A function of Matins does not work.
    Problem,
}

/// The result of a single check.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub check: String,
    /// The severity.
    pub level: Level,
    /// The observation.
    pub found: String,
    /// The next step for the user. `None` if there is nothing to do.
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
