//! Where an automation's turns are to go, as people write it.

use std::{fmt, str::FromStr};

use model::policy::SessionMode;

use crate::Error;

/// Where an automation's turns are to go: `fresh`, `continuous`, or `bound:` and a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionTarget {
    /// A new session for each run.
    Fresh,
    /// The automation's own session.
    Continuous,
    /// An existing session, by its key, its id or the beginning of that.
    Bound(String),
}

impl SessionTarget {
    /// The session mode that it means.
    pub const fn mode(&self) -> SessionMode {
        match self {
            Self::Fresh => SessionMode::Fresh,
            Self::Continuous => SessionMode::Continuous,
            Self::Bound(_) => SessionMode::Bound,
        }
    }
}

impl FromStr for SessionTarget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match (text, text.strip_prefix("bound:")) {
            ("fresh", _) => Ok(Self::Fresh),
            ("continuous", _) => Ok(Self::Continuous),
            (_, Some(session)) if !session.is_empty() => Ok(Self::Bound(session.to_owned())),
            _ => Err(Error::invalid(
                "session",
                text,
                "accepted are fresh, continuous, or bound: and the key or the id of a session",
            )),
        }
    }
}

impl fmt::Display for SessionTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound(session) => write!(f, "bound:{session}"),
            target => f.write_str(target.mode().as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_written() {
        for text in ["fresh", "continuous", "bound:web:7", "bound:ses_0199"] {
            assert_eq!(text.parse::<SessionTarget>().unwrap().to_string(), text);
        }
        for text in ["", "bound", "bound:", "Fresh", "new"] {
            let error = text.parse::<SessionTarget>().unwrap_err().to_string();
            assert!(error.contains("fresh, continuous, or bound:"), "{error}");
        }
    }
}
