//! What answers say when something was not done: problem details (RFC 9457).

use std::panic::AssertUnwindSafe;

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::FutureExt as _;
use http::{HeaderName, HeaderValue, StatusCode, header};
use wire::{BoundAutomation, Problem, ProblemKind};

/// Why a request was not done.
#[derive(Debug)]
pub(crate) struct Failure {
    // Boxed, because every handler may answer one.
    problem: Box<Problem>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Failure {
    pub(crate) fn new(kind: ProblemKind, status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            problem: Box::new(Problem::new(kind, status.as_u16(), detail)),
            headers: Vec::new(),
        }
    }

    /// What was sent is not in the form that the document describes.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Invalid, StatusCode::BAD_REQUEST, detail)
    }

    /// The server went wrong.
    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(ProblemKind::Internal, status, detail).hint("the log of the server says more")
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Forbidden, StatusCode::FORBIDDEN, detail)
    }

    /// It is not what it was when it was read.
    pub(crate) fn changed(detail: impl Into<String>) -> Self {
        Self::new(
            ProblemKind::Changed,
            StatusCode::PRECONDITION_FAILED,
            detail,
        )
    }

    pub(crate) fn not_found(what: &str, given: &str) -> Self {
        let given: String = given.chars().take(80).collect();
        let detail = format!("failed to find {what} {given:?}: there is none");
        Self::new(ProblemKind::NotFound, StatusCode::NOT_FOUND, detail)
    }

    /// Names the automations that block a deletion.
    pub(crate) fn automations(mut self, automations: Vec<BoundAutomation>) -> Self {
        self.problem.automations = Some(automations);
        self
    }

    /// Whether the request is at fault, so that nothing was done.
    pub(crate) const fn is_refusal(&self) -> bool {
        self.problem.status < 500
    }

    pub(crate) fn field(mut self, field: impl Into<String>) -> Self {
        self.problem.field = Some(field.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.problem.hint = Some(hint.into());
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl From<service::Error> for Failure {
    fn from(error: service::Error) -> Self {
        use service::Kind;
        let (kind, status) = match error.kind() {
            Kind::Invalid => (ProblemKind::Invalid, StatusCode::UNPROCESSABLE_ENTITY),
            Kind::NotFound => (ProblemKind::NotFound, StatusCode::NOT_FOUND),
            Kind::Refused if error.is_changed() => {
                (ProblemKind::Changed, StatusCode::PRECONDITION_FAILED)
            }
            Kind::Refused => (ProblemKind::Refused, StatusCode::CONFLICT),
            Kind::Agent => (ProblemKind::Agent, StatusCode::BAD_GATEWAY),
            Kind::Database => (ProblemKind::Unavailable, StatusCode::SERVICE_UNAVAILABLE),
        };
        if kind == ProblemKind::Unavailable {
            // Statements and constraints are for those who run the server.
            tracing::error!(error = error.chain(), "a request failed");
            return Self::new(kind, status, "failed to use the database")
                .hint("the log of the server says more");
        }
        let mut failure = Self::new(kind, status, format!("failed to {}", error.chain()));
        failure.problem.field = error.field().map(str::to_owned);
        failure.problem.hint = error.hint();
        failure
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        service::Error::from(error).into()
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        response
    }
}

/// Answers where no route is.
pub(crate) async fn no_route(request: Request) -> Failure {
    let path: String = request.uri().path().chars().take(80).collect();
    let detail = format!("failed to find the route {path:?}: there is none");
    Failure::new(ProblemKind::NotFound, StatusCode::NOT_FOUND, detail)
        .hint("/api/v1/docs shows the routes")
}

/// Answers where a route knows no such method.
pub(crate) async fn no_method(request: Request) -> Failure {
    let detail = format!(
        "failed to {} {}: the route knows no such method",
        request.method(),
        request.uri().path()
    );
    Failure::new(
        ProblemKind::MethodNotAllowed,
        StatusCode::METHOD_NOT_ALLOWED,
        detail,
    )
}

/// A handler that panics answers 500, and the connection goes on.
pub(crate) async fn no_panic(request: Request, next: Next) -> Response {
    let handled = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    handled.unwrap_or_else(|_| {
        Failure::internal("failed to answer: the server went wrong").into_response()
    })
}
