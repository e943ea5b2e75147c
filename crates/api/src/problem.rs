//! Error responses as problem details (RFC 9457).

use std::panic::AssertUnwindSafe;

use api_types::{BoundAutomation, Problem, ProblemKind};
use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::FutureExt as _;
use http::{HeaderName, HeaderValue, StatusCode, header};
use service::quoted;

/// An error response: the problem, and headers that go with it.
#[derive(Debug)]
pub(crate) struct ApiError {
    // Boxed, because every handler returns this type in a `Result`, and the problem is large.
    problem: Box<Problem>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    /// Returns an error of a kind with a status. `detail` is the sentence for people.
    pub(crate) fn new(kind: ProblemKind, status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            problem: Box::new(Problem::new(kind, status.as_u16(), detail)),
            headers: Vec::new(),
        }
    }

    /// Returns the error (400) for a request that does not have the form that the API document describes.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Invalid, StatusCode::BAD_REQUEST, detail)
    }

    /// Returns the error (500) for a fault of the server.
    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(ProblemKind::Internal, status, detail).hint("see the log of the server")
    }

    /// Returns the error (403) for a caller that lacks a permission, or for a page of another site.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Forbidden, StatusCode::FORBIDDEN, detail)
    }

    /// Returns the error (412) for an edit of a resource that has changed since the client read it.
    pub(crate) fn changed(detail: impl Into<String>) -> Self {
        Self::new(
            ProblemKind::Changed,
            StatusCode::PRECONDITION_FAILED,
            detail,
        )
    }

    /// Returns the error (404) for a resource that does not exist, or belongs to another tenant.
    pub(crate) fn not_found(what: &str, given: &str) -> Self {
        let given: String = given.chars().take(80).collect();
        let detail = format!("{what} {} not found", quoted(&given));
        Self::new(ProblemKind::NotFound, StatusCode::NOT_FOUND, detail)
    }

    /// Adds the automations that block the deletion of a session.
    pub(crate) fn automations(mut self, automations: Vec<BoundAutomation>) -> Self {
        self.problem.automations = Some(automations);
        self
    }

    /// `true` if the error is the fault of the request (status below 500), so that nothing was done.
    pub(crate) const fn is_refusal(&self) -> bool {
        self.problem.status < 500
    }

    /// Sets the path of the field at fault.
    pub(crate) fn field(mut self, field: impl Into<String>) -> Self {
        self.problem.field = Some(field.into());
        self
    }

    /// Sets the next step for a person.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.problem.hint = Some(hint.into());
        self
    }

    /// Adds a header to the response.
    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl From<service::Error> for ApiError {
    fn from(error: service::Error) -> Self {
        use service::ErrorKind;
        let (kind, status) = match error.kind() {
            ErrorKind::Invalid => (ProblemKind::Invalid, StatusCode::UNPROCESSABLE_ENTITY),
            ErrorKind::NotFound => (ProblemKind::NotFound, StatusCode::NOT_FOUND),
            ErrorKind::Refused if error.is_changed() => {
                (ProblemKind::Changed, StatusCode::PRECONDITION_FAILED)
            }
            ErrorKind::Refused => (ProblemKind::Refused, StatusCode::CONFLICT),
            ErrorKind::Agent => (ProblemKind::Agent, StatusCode::BAD_GATEWAY),
            ErrorKind::Database | ErrorKind::Files => {
                (ProblemKind::Unavailable, StatusCode::SERVICE_UNAVAILABLE)
            }
        };
        if kind == ProblemKind::Unavailable {
            // Log statements and constraints, and keep them out of the response: they are for operators, and the
            // client may belong to another tenant.
            tracing::error!(error = error.chain(), "a request failed");
            let detail = match error.kind() {
                ErrorKind::Files => "cannot use the data folder",
                _ => "cannot use the database",
            };
            return Self::new(kind, status, detail).hint("see the log of the server");
        }
        let detail = error.chain();
        let (field, hint) = (error.field().map(str::to_owned), error.hint());
        let mut api_error = Self::new(kind, status, detail);
        api_error.problem.field = field;
        api_error.problem.hint = hint;
        match error {
            service::Error::AgentInUse {
                automations,
                sessions,
                ..
            } => {
                api_error.problem.automations = Some(automations);
                api_error.problem.sessions = Some(sessions);
            }
            service::Error::OtherNumberOfRuns { actual, .. } => {
                api_error.problem.runs = Some(actual);
            }
            _ => {}
        }
        api_error
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        service::Error::from(error).into()
    }
}

impl IntoResponse for ApiError {
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

/// Answers a request for a path without a route (404).
pub(crate) fn route_not_found(request: &Request) -> ApiError {
    let path: String = request.uri().path().chars().take(80).collect();
    let detail = format!("route {} not found", quoted(&path));
    ApiError::new(ProblemKind::NotFound, StatusCode::NOT_FOUND, detail)
        .hint("/api/v1/docs lists the routes")
}

/// Answers a request with a method that its route does not have (405).
pub(crate) async fn method_not_allowed(request: Request) -> ApiError {
    let detail = format!(
        "the route {} does not accept the method {}",
        quoted(request.uri().path()),
        request.method()
    );
    ApiError::new(
        ProblemKind::MethodNotAllowed,
        StatusCode::METHOD_NOT_ALLOWED,
        detail,
    )
}

/// Turns a panic of a handler into a 500, so that the connection survives for the next request.
pub(crate) async fn catch_panic(request: Request, next: Next) -> Response {
    let handled = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    handled.unwrap_or_else(|_| {
        ApiError::internal("the server panicked while it handled the request").into_response()
    })
}
