//! Words of enums, of which a newer side may send others than this version knows.

use std::{fmt::Display, str::FromStr};

use serde::{Deserialize, Serialize};

/// The word of an enum of the domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Word(String);

impl Word {
    pub(crate) fn of(value: impl Display) -> Self {
        Self(value.to_string())
    }

    /// Returns the value of the word, and `substitute` if this version does not know the word.
    pub(crate) fn or<T: FromStr>(&self, substitute: T) -> T {
        self.0.parse().unwrap_or(substitute)
    }

    /// Returns the value of the word. Returns `None` if this version does not know the word.
    pub(crate) fn recognized<T: FromStr>(&self) -> Option<T> {
        self.0.parse().ok()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}
