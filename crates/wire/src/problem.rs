//! The one shape of errors: problem details (RFC 9457).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::BoundAutomation;

/// What kind of problem it is: the last part of its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// What was sent cannot be taken: 400, 413, 415 or 422.
    Invalid,
    /// No valid token or cookie came with the request: 401.
    Unauthenticated,
    /// The token, the host or the origin of the request may not do this: 403.
    Forbidden,
    /// There is no such thing, or none that the token may see: 404.
    NotFound,
    /// The route knows no such method: 405.
    MethodNotAllowed,
    /// The state or the name does not allow it: 409.
    Refused,
    /// It is not what it was when it was read, or `If-Match` is missing: 412 or 428.
    Changed,
    /// Too many requests came: 429.
    TooMany,
    /// An agent could not be started: 502.
    Agent,
    /// The database or something else around the server fails: 503.
    Unavailable,
    /// The server went wrong: 500.
    Internal,
}

impl ProblemKind {
    /// Every kind, in the order of declaration.
    pub const ALL: &'static [Self] = &[
        Self::Invalid,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Refused,
        Self::Changed,
        Self::TooMany,
        Self::Agent,
        Self::Unavailable,
        Self::Internal,
    ];

    /// The word that stands for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::Refused => "refused",
            Self::Changed => "changed",
            Self::TooMany => "too-many",
            Self::Agent => "agent",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }

    /// A short text that is the same for all problems of the kind.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Invalid => "The request cannot be taken",
            Self::Unauthenticated => "Nobody has signed in",
            Self::Forbidden => "This is not allowed",
            Self::NotFound => "There is no such thing",
            Self::MethodNotAllowed => "The route knows no such method",
            Self::Refused => "Its state does not allow it",
            Self::Changed => "It is not what it was when it was read",
            Self::TooMany => "Too many requests",
            Self::Agent => "The agent could not be started",
            Self::Unavailable => "Something around the server fails",
            Self::Internal => "The server went wrong",
        }
    }
}

/// Why a request was not done (RFC 9457, `application/problem+json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Where the kind of problem is described, relative to the server.
    #[serde(rename = "type")]
    pub type_uri: String,
    /// The kind of problem, in one word.
    pub kind: ProblemKind,
    /// A short text that is the same for all problems of the kind.
    pub title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What went wrong, in words that name the field, the value and what is accepted.
    pub detail: String,
    /// What a person can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The field that is at fault, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The automations that block the deletion of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automations: Option<Vec<BoundAutomation>>,
}

impl Problem {
    /// Makes the problem of a kind with a status and what went wrong.
    pub fn new(kind: ProblemKind, status: u16, detail: impl Into<String>) -> Self {
        Self {
            type_uri: format!("/api/v1/docs#problem-{}", kind.as_str()),
            kind,
            title: kind.title().to_owned(),
            status,
            detail: detail.into(),
            hint: None,
            field: None,
            automations: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_as_its_word() {
        for kind in ProblemKind::ALL {
            let word = serde_json::to_value(kind).unwrap();
            assert_eq!(word, kind.as_str());
        }
    }
}
