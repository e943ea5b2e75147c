//! Why something was not done.

use http::StatusCode;
use serde_json::Value;
use wire::{Problem, ProblemKind};

/// An error of whatever carries requests.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why something was not done, in words that fit after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered that it did not do it, and why.
    #[error("{}", told(.0))]
    Problem(Box<Problem>),
    /// No answer came: nobody listens, or the connection broke.
    #[error("reach {server}")]
    Unreachable {
        /// What was to be reached.
        server: String,
        /// Why it was not.
        #[source]
        source: BoxError,
    },
    /// An answer came that is none of this API.
    #[error("understand the answer of {server} ({status}): {reason}")]
    Malformed {
        /// What answered.
        server: String,
        /// The status of the answer.
        status: u16,
        /// What is wrong with it.
        reason: String,
    },
    /// The address or the token can be none.
    #[error("take {what}: {reason}")]
    Invalid {
        /// What cannot be taken.
        what: String,
        /// What is accepted.
        reason: String,
    },
}

impl Error {
    /// The kind of problem, where the server named one.
    pub fn kind(&self) -> Option<ProblemKind> {
        match self {
            Self::Problem(problem) => Some(problem.kind),
            _ => None,
        }
    }

    /// What a person can do about it, where the server said so.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Problem(problem) => problem.hint.as_deref(),
            _ => None,
        }
    }

    /// Whether the same request may do later, with nothing changed in it.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Problem(problem) => problem.status >= 500 || problem.status == 429,
            Self::Unreachable { .. } => true,
            Self::Malformed { status, .. } => *status >= 500,
            Self::Invalid { .. } => false,
        }
    }

    /// What nobody has to be asked about: no path can name it.
    pub(crate) fn nameless(given: &str) -> Self {
        let detail = format!("find what {given:?} names: there is none");
        Self::Problem(Box::new(Problem::new(ProblemKind::NotFound, 404, detail)))
    }
}

/// What a problem says, in words that fit after "failed to".
fn told(problem: &Problem) -> &str {
    let detail = &problem.detail;
    detail.strip_prefix("failed to ").unwrap_or(detail)
}

/// The problem that an answer tells; nothing where it is none of this API's.
pub(crate) fn problem(status: StatusCode, body: &[u8]) -> Option<Problem> {
    let body: Value = serde_json::from_slice(body).ok()?;
    if let Ok(problem) = serde_json::from_value(body.clone()) {
        return Some(problem);
    }
    // A newer server may know kinds that have no name here.
    let detail = body["detail"].as_str()?;
    let mut problem = Problem::new(kind_of(status), status.as_u16(), detail);
    problem.hint = body["hint"].as_str().map(str::to_owned);
    problem.field = body["field"].as_str().map(str::to_owned);
    Some(problem)
}

fn kind_of(status: StatusCode) -> ProblemKind {
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
    fn a_problem_of_a_kind_without_a_name_is_known_by_its_status() {
        let body =
            br#"{"kind":"frozen","status":409,"detail":"failed to move it","hint":"thaw it"}"#;
        let found = problem(StatusCode::CONFLICT, body).unwrap();
        assert_eq!(found.kind, ProblemKind::Refused);
        let error = Error::Problem(Box::new(found));
        assert_eq!(error.to_string(), "move it");
        assert_eq!(error.hint(), Some("thaw it"));
    }

    #[test]
    fn what_is_no_problem_is_none() {
        for body in [&b"<html>Bad Gateway</html>"[..], b"{}", b"[1]", b""] {
            assert_eq!(problem(StatusCode::BAD_GATEWAY, body), None);
        }
    }
}
