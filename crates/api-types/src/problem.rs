//! Problem details (RFC 9457), the only shape of an error response.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{BoundAutomation, Count, OpenSession};

/// The kind of a problem: the last part of the problem's `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The request, its body or one of its parameters is invalid: 400, 413, 415 or 422.
    Invalid,
    /// The request has no valid token, cookie or signature: 401.
    Unauthenticated,
    /// The request may not do this, because of its token, its host or its origin: 403.
    Forbidden,
    /// The resource does not exist, or the token may not see it: 404.
    NotFound,
    /// The route does not support the method: 405.
    MethodNotAllowed,
    /// The state of the resource, its name or the idempotency key does not allow the request: 409.
    Refused,
    /// The resource changed after the client read it, or `If-Match` is missing: 412 or 428.
    Changed,
    /// The client sent too many requests: 429.
    TooMany,
    /// The agent could not be started: 502.
    Agent,
    /// The database or another dependency of the server fails, or the response took too long: 503.
    Unavailable,
    /// The server has an internal error: 500.
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

    /// Returns the kind as the API writes it.
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

    /// Returns the short text that all problems of the kind share.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid request",
            Self::Unauthenticated => "Unauthenticated",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "Not found",
            Self::MethodNotAllowed => "Method not allowed",
            Self::Refused => "Conflict",
            Self::Changed => "Precondition failed",
            Self::TooMany => "Too many requests",
            Self::Agent => "Agent failure",
            Self::Unavailable => "Service unavailable",
            Self::Internal => "Internal error",
        }
    }
}

/// An error response (RFC 9457, `application/problem+json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The address of the description of the problem's kind, relative to the server.
    #[serde(rename = "type")]
    pub type_uri: String,
    /// The kind of the problem, in one word.
    pub kind: ProblemKind,
    /// A short text that all problems of the kind share.
    pub title: String,
    /// The HTTP status of the response.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// The cause of the error. The text names the field, the value and the accepted values.
    pub detail: String,
    /// The next step for a person. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The path of the invalid field, such as `triggers[1].expression`. Absent if no field is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The automations that prevent the deletion of a session or the removal of an agent. Absent in all other problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automations: Option<Vec<BoundAutomation>>,
    /// The open sessions that prevent the removal of an agent. Absent in all other problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<OpenSession>>,
    /// The number of runs that the request would have changed, if it is not the expected one. Absent in all other
    /// problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Count>,
}

impl Problem {
    /// Makes a problem without a hint, a field, automations, sessions or a number of runs.
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
            sessions: None,
            runs: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_kind_serializes_as_its_word() {
        for kind in ProblemKind::ALL {
            let word = serde_json::to_value(kind).unwrap();
            assert_eq!(word, kind.as_str());
        }
    }
}
