//! The session in which the turns of an automation run, in its textual form.

use std::{borrow::Cow, fmt, str::FromStr};

use model::policy::SessionMode;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The session in which the turns of an automation run: `fresh`, `continuous`, or `bound:` and a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SessionTarget {
    /// A new session for each run.
    #[default]
    Fresh,
    /// A session of the automation's own, which the first run creates and all later runs continue.
    Continuous,
    /// An existing session, by its key, its ID or a prefix of its ID. If empty, the session that the source of the
    /// request implies.
    Bound(String),
}

/// The error for a text that names no session target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid session `{}`: expected fresh, continuous, or bound: and the key or the ID of a session",
    .given.escape_debug()
)]
pub struct InvalidSessionTarget {
    given: String,
}

impl SessionTarget {
    /// Returns the session mode.
    pub const fn mode(&self) -> SessionMode {
        match self {
            Self::Fresh => SessionMode::Fresh,
            Self::Continuous => SessionMode::Continuous,
            Self::Bound(_) => SessionMode::Bound,
        }
    }
}

impl FromStr for SessionTarget {
    type Err = InvalidSessionTarget;

    fn from_str(text: &str) -> Result<Self, InvalidSessionTarget> {
        match (text, text.strip_prefix("bound:")) {
            ("fresh", _) => Ok(Self::Fresh),
            ("continuous", _) => Ok(Self::Continuous),
            ("bound", _) => Ok(Self::Bound(String::new())),
            (_, Some(session)) if !session.is_empty() => Ok(Self::Bound(session.to_owned())),
            _ => Err(InvalidSessionTarget {
                given: text.chars().take(80).collect(),
            }),
        }
    }
}

impl fmt::Display for SessionTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound(session) if !session.is_empty() => write!(f, "bound:{session}"),
            target => f.write_str(target.mode().as_str()),
        }
    }
}

impl Serialize for SessionTarget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SessionTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for SessionTarget {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some(
                "`fresh`, `continuous`, or `bound:` and the key or the ID of a session. In unified mode, `bound` \
                 alone means the session of the browser.",
            ))
            .pattern(Some("^(fresh|continuous|bound(:.+)?)$"))
            .into()
    }
}

impl utoipa::ToSchema for SessionTarget {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_target_parses_its_own_display() {
        for text in [
            "fresh",
            "continuous",
            "bound",
            "bound:web:7",
            "bound:ses_0199",
        ] {
            assert_eq!(text.parse::<SessionTarget>().unwrap().to_string(), text);
        }
        for text in ["", "bound:", "Fresh", "new"] {
            let error = text.parse::<SessionTarget>().unwrap_err().to_string();
            assert!(error.contains("fresh, continuous, or bound:"), "{error}");
        }
    }

    #[test]
    fn automation_request_without_session_is_fresh() {
        let json = serde_json::json!({ "prompt": "Look." });
        let request: crate::AutomationRequest = serde_json::from_value(json).unwrap();
        assert_eq!(request.session, SessionTarget::Fresh);
    }
}
