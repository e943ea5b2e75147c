//! The caller of the operations of runtimes, and the bodies of these operations.
//!
//! **Invariant:** the instance follows from the token, so that no runtime can name another one.

use api_types::ProblemKind;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use http::{HeaderMap, StatusCode, request::Parts};
use model::{
    RunId, Timestamp, WorkerId,
    access::{Role, secret::RunSecret},
    limits,
};
use runtime_api::{MAX_BODY_BYTES, PROTOCOL_HEADER, WORKER_HEADER, tools::SECRET_HEADER};
use serde::de::DeserializeOwned;
use service::{Runtime, quoted};

use crate::{
    Api, caller, extract,
    problem::ApiError,
    state::{AgentTools, TurnTiming},
};

/// The runtime that has sent a request.
pub(crate) struct RuntimeCaller {
    api: Api,
    pub(crate) runtime: Runtime,
}

impl RuntimeCaller {
    /// Returns the present instant of the server's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.api.shared.clock.now()
    }

    /// Returns the times that the runtime follows.
    pub(crate) fn timing(&self) -> TurnTiming {
        self.api.shared.turn_timing
    }

    /// Returns the tools of agents.
    ///
    /// # Errors
    ///
    /// Returns 404 if this process serves none.
    pub(crate) fn agent_tools(&self) -> Result<&AgentTools, ApiError> {
        let tools = self.api.shared.agent_tools.as_ref();
        tools.ok_or_else(|| ApiError::not_found("resource", "tools"))
    }

    /// Wakes the worker loops of this process, because the request may have given them work.
    pub(crate) fn wake_loops(&self) {
        (self.api.shared.wake_loops)();
    }

    /// Checks that the server knows the time. A heartbeat with a wrong date could look stale while the lease that it
    /// renewed still lets the agent live.
    ///
    /// # Errors
    ///
    /// Returns 503 if the clock is too uncertain.
    pub(crate) fn require_known_time(&self) -> Result<(), ApiError> {
        let limit = self.timing().clock_uncertainty;
        if self.api.shared.clock.uncertainty() <= limit {
            return Ok(());
        }
        Err(ApiError::new(
            ProblemKind::Unavailable,
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "the database's clock is not known within {} s",
                limit.as_secs_f64()
            ),
        ))
    }
}

impl FromRequestParts<Api> for RuntimeCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        let token = caller::authenticate(parts, api).await?;
        let token = token.filter(|token| token.role == Role::Runtime);
        let Some((tenant, instance)) =
            token.and_then(|token| Some((token.tenant_id, token.instance_id?)))
        else {
            return Err(ApiError::forbidden(
                "this operation is for the runtime of an instance alone",
            )
            .hint("`matins instance rotate-token NAME` creates a token for a runtime"));
        };
        require_protocol(&parts.headers)?;
        let worker = worker(&parts.headers)?;
        Ok(Self {
            runtime: api.service(tenant).runtime(instance, worker),
            api: api.clone(),
        })
    }
}

/// Checks the version of the protocol that a runtime speaks.
///
/// # Errors
///
/// Returns 400 without a version, and 409 with both versions if the server does not serve that of the runtime.
fn require_protocol(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = header(headers, PROTOCOL_HEADER)?;
    let version = given.parse().map_err(|_| {
        ApiError::malformed(format!(
            "invalid `{PROTOCOL_HEADER}` {}: accepted is a number",
            quoted(given)
        ))
        .field(PROTOCOL_HEADER)
    })?;
    runtime_api::require_supported(version).map_err(|refusal| {
        ApiError::new(
            ProblemKind::Refused,
            StatusCode::CONFLICT,
            refusal.to_string(),
        )
        .field(PROTOCOL_HEADER)
        .hint(refusal.remedy())
    })
}

/// Returns the worker of a runtime.
///
/// # Errors
///
/// Returns 400 if the header is missing or is not a name.
fn worker(headers: &HeaderMap) -> Result<WorkerId, ApiError> {
    let given = header(headers, WORKER_HEADER)?;
    parse_worker(given).ok_or_else(|| {
        ApiError::malformed(format!(
            "invalid `{WORKER_HEADER}` {}: accepted are 1 to {} visible characters of ASCII",
            quoted(&given.chars().take(80).collect::<String>()),
            limits::NAME_BYTES
        ))
        .field(WORKER_HEADER)
    })
}

/// Returns the worker with a name. Returns `None` if no worker can have the name.
pub(crate) fn parse_worker(name: &str) -> Option<WorkerId> {
    let valid = (1..=limits::NAME_BYTES).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic());
    valid.then(|| WorkerId::from_stored(name.to_owned()))
}

fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<&'a str, ApiError> {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.ok_or_else(|| {
        let detail = format!("`{name}` is missing: every request of a runtime has this header");
        ApiError::malformed(detail).field(name)
    })
}

/// The run in the path of an operation.
pub(crate) struct PathRun(pub(crate) RunId);

impl<S: Send + Sync> FromRequestParts<S> for PathRun {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        parse_param(parts, state, "run").await.map(Self)
    }
}

/// The ID of a request to people, in the path of an operation.
pub(crate) struct PathId<T>(pub(crate) T);

impl<T: std::str::FromStr, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        parse_param(parts, state, "id").await.map(Self)
    }
}

async fn parse_param<T: std::str::FromStr, S: Send + Sync>(
    parts: &Parts,
    state: &S,
    name: &'static str,
) -> Result<T, ApiError> {
    let params = RawPathParams::from_request_parts(&mut parts.clone(), state).await;
    let params = params.map_err(|_| ApiError::not_found("resource", parts.uri.path()))?;
    let given = params.iter().find(|(param, _)| *param == name);
    let given = given.map_or("", |(_, value)| value);
    given.parse().map_err(|_| ApiError::not_found(name, given))
}

/// The body of an operation of runtimes. Unlike the bodies of people, it may have keys of a later version.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        extract::require_json(request.headers())?;
        let bytes = extract::read_body(request, MAX_BODY_BYTES).await?;
        parse(&bytes).map(Self)
    }
}

/// Parses the JSON of a request of a runtime.
///
/// # Errors
///
/// Returns 400 with the path of the field at fault.
pub(crate) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, ApiError> {
    let parsed = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(json));
    parsed.map_err(|error| {
        let path = error.path().to_string();
        let detail = format!("invalid `{path}`: {}", error.into_inner());
        ApiError::malformed(detail).field(path)
    })
}

/// The secret of the run, which only the runtime knows.
pub(crate) struct SecretOfRun(pub(crate) RunSecret);

impl<S: Send + Sync> FromRequestParts<S> for SecretOfRun {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let given = header(&parts.headers, SECRET_HEADER)?;
        let secret = RunSecret::parse(given);
        // The error does not contain the text.
        secret.map(Self).map_err(|error| {
            ApiError::malformed(format!("invalid `{SECRET_HEADER}`: {error}")).field(SECRET_HEADER)
        })
    }
}
