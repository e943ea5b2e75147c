//! The errors of requests.

use api_types::{API_VERSION, Problem, ProblemKind};
use http::StatusCode;
use serde_json::Value;

/// An error of a transport.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An error of a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refused the request, with a reason.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// No response arrived: no server listens, or the connection broke.
    #[error("cannot reach {server}")]
    Unreachable {
        /// The name of the server.
        server: String,
        /// The error of the transport.
        #[source]
        source: BoxError,
    },
    /// A response arrived that does not follow this API.
    #[error("{server} sent an invalid response ({status}): {reason}")]
    Malformed {
        /// The name of the server.
        server: String,
        /// The HTTP status of the response.
        status: u16,
        /// The mistake in the response.
        reason: String,
    },
    /// The server speaks another version of the API.
    #[error(
        "{server} speaks API {theirs}, this program API {}; use the same version of both",
        API_VERSION
    )]
    OtherVersion {
        /// The name of the server.
        server: String,
        /// The version in the response.
        theirs: u32,
    },
    /// The address, the token or another part of the request is invalid.
    #[error("invalid {what}: {reason}")]
    Invalid {
        /// The invalid part.
        what: String,
        /// The mistake, or the accepted values.
        reason: String,
    },
}

impl Error {
    /// Returns the kind of the problem. Returns `None` if the server sent no problem.
    pub fn kind(&self) -> Option<ProblemKind> {
        match self {
            Self::Problem(problem) => Some(problem.kind),
            _ => None,
        }
    }

    /// Returns the next step for a person. Returns `None` if the server sent none.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Problem(problem) => problem.hint.as_deref(),
            _ => None,
        }
    }

    /// `true` if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Problem(problem) => problem.status >= 500 || problem.status == 429,
            Self::Unreachable { .. } => true,
            Self::Malformed { status, .. } => *status >= 500,
            Self::OtherVersion { .. } | Self::Invalid { .. } => false,
        }
    }

    /// `true` if the server refuses the token: it is unknown, revoked or expired, or permits something else.
    pub fn is_refusal_of_token(&self) -> bool {
        matches!(
            self.kind(),
            Some(ProblemKind::Unauthenticated | ProblemKind::Forbidden)
        )
    }

    /// Makes the error for a name that cannot be part of a path. No resource can have it, so no request is sent.
    pub(crate) fn invalid_name(given: &str) -> Self {
        let detail = match given {
            "" => "the name is empty; a name or an ID is needed".to_owned(),
            given => format!("no resource has the name `{given}`"),
        };
        Self::Problem(Box::new(Problem::new(ProblemKind::NotFound, 404, detail)))
    }
}

/// Parses the problem in an unsuccessful response. Returns `None` if the body is not from this API.
pub(crate) fn parse_problem(status: StatusCode, body: &[u8]) -> Option<Problem> {
    let body: Value = serde_json::from_slice(body).ok()?;
    if let Ok(problem) = serde_json::from_value(body.clone()) {
        return Some(problem);
    }
    // A newer server may send a kind that this version does not know. The HTTP status then determines a known kind.
    let detail = body["detail"].as_str()?;
    let mut problem = Problem::new(kind_of_status(status), status.as_u16(), detail);
    problem.hint = body["hint"].as_str().map(str::to_owned);
    problem.field = body["field"].as_str().map(str::to_owned);
    Some(problem)
}

fn kind_of_status(status: StatusCode) -> ProblemKind {
    match status.as_u16() {
        401 => ProblemKind::Unauthenticated,
        403 => ProblemKind::Forbidden,
        404 => ProblemKind::NotFound,
        405 => ProblemKind::MethodNotAllowed,
        409 => ProblemKind::Refused,
        412 | 428 => ProblemKind::Changed,
        429 => ProblemKind::TooMany,
        400..500 => ProblemKind::Invalid,
        502..=504 => ProblemKind::Unavailable,
        _ => ProblemKind::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_problem_kind_is_derived_from_status() {
        let body =
            br#"{"kind":"frozen","status":409,"detail":"the session is frozen","hint":"thaw it"}"#;
        let found = parse_problem(StatusCode::CONFLICT, body).unwrap();
        assert_eq!(found.kind, ProblemKind::Refused);
        let error = Error::Problem(Box::new(found));
        assert_eq!(error.to_string(), "the session is frozen");
        assert_eq!(error.hint(), Some("thaw it"));
    }

    #[test]
    fn body_without_problem_yields_none() {
        for body in [&b"<html>Bad Gateway</html>"[..], b"{}", b"[1]", b""] {
            assert_eq!(parse_problem(StatusCode::BAD_GATEWAY, body), None);
        }
    }
}
