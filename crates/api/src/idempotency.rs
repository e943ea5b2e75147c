//! Idempotent requests: a request with the header `Idempotency-Key` creates its resource once, however often the
//! client sends it.
//!
//! The key reserves the ID of the resource before the resource is created. If the server stops between the commit and
//! the response, the repeated request finds the resource under that ID.
//!
//! Of several requests with one key that arrive at the same time, one is carried out and the others wait for it. The
//! requests that reach other servers do not wait. They are carried out with the same ID, so that one of them creates
//! the resource, and the response that is recorded first is the response to all.
//!
//! **Invariants:** a key belongs to one request (method, path and body) of a tenant; the same key with another
//! request is refused. A recorded response contains no secret.

use api_types::{ProblemKind, RotationRequest, SecretRotated};
use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, request::Parts};
use model::InputId;
use serde::Serialize;
use serde_json::Value;
use service::quoted;
use sha2::{Digest as _, Sha256};
use store::KeyClaim;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::{caller::Caller, extract::Json, problem::ApiError};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The longest key, in ASCII characters.
const MAX_KEY_CHARS: usize = 255;

/// The header `Idempotency-Key` of a request, if the client sent it.
#[derive(IntoParams)]
#[into_params(names("Idempotency-Key"), parameter_in = Header)]
pub(crate) struct IdempotencyKey(
    /// A key of your choice, of 1 to 255 ASCII characters. If you repeat the same request with the same key within a
    /// day, the server returns the response of the first one, without secrets, and creates nothing again. The same
    /// key with another request returns 409.
    #[param(value_type = String, required = false, max_length = 255, pattern = "^[!-~]([ -~]*[!-~])?$")]
    Option<KeyedRequest>,
);

/// A key, with the parts of the request that its digest covers.
struct KeyedRequest {
    text: String,
    method: Method,
    path: String,
}

impl IdempotencyKey {
    /// Runs `make` and records its response under the key, or returns the response that was recorded when the same
    /// request came before.
    ///
    /// `make` gets the ID that is reserved for its resource; if the resource already exists with that ID, `make` must
    /// return the existing one. `make` may run twice. Without a key, `make` gets `None` and the response is not
    /// recorded.
    ///
    /// # Errors
    ///
    /// Returns 409 if the key belongs to another request, and the errors of `make`.
    pub(crate) async fn create<T: Serialize, R>(
        self,
        caller: &Caller,
        request: &Json<R>,
        make: impl AsyncFnOnce(Option<Uuid>) -> Result<(StatusCode, T), ApiError> + Clone,
    ) -> Result<Response, ApiError> {
        self.create_with_body(caller, &request.bytes, make).await
    }

    /// Does the same as [`Self::create`] for a request whose body is `bytes`.
    pub(crate) async fn create_with_body<T: Serialize>(
        self,
        caller: &Caller,
        bytes: &[u8],
        make: impl AsyncFnOnce(Option<Uuid>) -> Result<(StatusCode, T), ApiError> + Clone,
    ) -> Result<Response, ApiError> {
        self.create_redacting(caller, bytes, "secret", make).await
    }

    /// Does the same as [`Self::create_with_body`] for a response whose secret fields have the name `hidden` and not
    /// `secret`.
    pub(crate) async fn create_redacting<T: Serialize>(
        self,
        caller: &Caller,
        bytes: &[u8],
        hidden: &str,
        make: impl AsyncFnOnce(Option<Uuid>) -> Result<(StatusCode, T), ApiError> + Clone,
    ) -> Result<Response, ApiError> {
        let Some(key) = self.0 else {
            let (status, created) = make(None).await?;
            return Ok((status, axum::Json(created)).into_response());
        };
        // 1. Wait until no other request of this server has the key. The time limit of the request bounds the wait.
        let shared = &caller.api.shared;
        let (store, tenant) = (&shared.store, caller.tenant);
        let _turn = shared.keys_in_progress.wait(tenant, &key.text).await;
        let (mut is_first, mut is_last_attempt) = (false, false);
        loop {
            // 2. Claim the key. Of two claims, the first reserves `proposed` and the second returns the reserved ID.
            let now = caller.now();
            let proposed = InputId::generate(now, &*shared.entropy).uuid();
            let claimed = store
                .claim_idempotency_key(tenant, &key.text, &key.digest(bytes), proposed, now)
                .await?;
            let id = match claimed {
                KeyClaim::New(id) => {
                    is_first = true;
                    id
                }
                // Again without a response: another server carries the first request out, or the first request ended
                // before its response was recorded. Run `make` with the same ID, so that it returns the existing
                // resource.
                KeyClaim::Repeated { id, response: None } => id,
                KeyClaim::Repeated {
                    response: Some((status, response)),
                    ..
                } => return Ok(replayed_response(status, response)),
                KeyClaim::OtherRequest => return Err(key.belongs_to_other_request()),
            };
            // 3. Create the resource, and record the response without its secrets.
            let error = match make.clone()(Some(id)).await {
                Ok((status, created)) => return key.record(caller, hidden, status, created).await,
                Err(error) => error,
            };
            // After a fault of the server the key stays, because the resource may exist.
            if !error.is_refusal() {
                return Err(error);
            }
            // Another server may carry out a copy of this request, and its resource may be the reason of the refusal:
            // its name is taken, for example. Look once more for a response and for the resource.
            if is_last_attempt {
                if is_first {
                    // The request is at fault and created nothing. Release the key, so that the client can correct
                    // the request and send it with the same key. A request that is not the first one leaves the key,
                    // because the first one may be about to record its response.
                    store.release_idempotency_key(tenant, &key.text).await?;
                }
                return Err(error);
            }
            is_last_attempt = true;
        }
    }
}

impl IdempotencyKey {
    /// Runs `rotate` and returns the new secret, or the recorded response without the secret if the same request came
    /// before.
    ///
    /// A rotation creates no row that could have the reserved ID. `rotate` gets the key, so that the store records
    /// the response in the transaction that changes the secret; a repeated request after a crash then rotates
    /// nothing.
    pub(crate) async fn rotate(
        self,
        caller: &Caller,
        rotation: RotationRequest,
        rotate: impl AsyncFnOnce(Option<&str>) -> Result<SecretRotated, ApiError> + Clone,
    ) -> Result<Response, ApiError> {
        let key = self.0.as_ref().map(|key| key.text.clone());
        let body = rotation.overlap_seconds.to_le_bytes();
        let rotated = self.create_with_body(caller, &body, async |_| {
            Ok((StatusCode::OK, rotate.clone()(key.as_deref()).await?))
        });
        rotated.await
    }
}

impl KeyedRequest {
    /// Records the response to this request without its secrets, and returns it with them. Returns the recorded
    /// response instead if another server has recorded one first and this response has no secret.
    async fn record<T: Serialize>(
        &self,
        caller: &Caller,
        hidden: &str,
        status: StatusCode,
        created: T,
    ) -> Result<Response, ApiError> {
        let response = serde_json::to_value(created)
            .map_err(|error| ApiError::internal(format!("cannot encode the response: {error}")))?;
        let redacted = redact_field(hidden, response.clone());
        let store = &caller.api.shared.store;
        let before = store
            .record_response(caller.tenant, &self.text, status.as_u16(), &redacted)
            .await?;
        Ok(match before {
            Some((status, recorded)) if response == redacted => replayed_response(status, recorded),
            _ => (status, axum::Json(response)).into_response(),
        })
    }

    /// Returns the error (409) for a key that was used with another method, path or body.
    fn belongs_to_other_request(&self) -> ApiError {
        let detail = format!(
            "the `Idempotency-Key` {} belongs to another request",
            quoted(&self.text)
        );
        ApiError::new(ProblemKind::Refused, StatusCode::CONFLICT, detail)
            .field("Idempotency-Key")
            .hint("choose a new key for each request")
    }

    /// Returns the digest by which a repeated request is recognized. The length of each part goes in before the part,
    /// so that two requests cannot have the same bytes with other borders. The query is not covered.
    fn digest(&self, bytes: &[u8]) -> [u8; 32] {
        let mut digest = Sha256::new();
        for part in [self.method.as_str().as_bytes(), self.path.as_bytes(), bytes] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }
}

/// Returns a recorded response, marked with the header `Idempotency-Replayed`.
fn replayed_response(status: u16, answer: Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let replayed = [(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"))];
    (status, replayed, axum::Json(answer)).into_response()
}

/// Returns a response in which each field with the name `hidden` is null, at any depth, so that no secret is stored.
fn redact_field(hidden: &str, mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                *value = if name == hidden {
                    Value::Null
                } else {
                    redact_field(hidden, value.take())
                };
            }
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                *item = redact_field(hidden, item.take());
            }
        }
        _ => {}
    }
    answer
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut given = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let (first, second) = (given.next(), given.next());
        let Some(first) = first else {
            return Ok(Self(None));
        };
        let key = first.to_str().ok().map(str::trim);
        let fits = |key: &&str| !key.is_empty() && key.len() <= MAX_KEY_CHARS;
        match (key.filter(fits), second) {
            (Some(key), None) => Ok(Self(Some(KeyedRequest {
                text: key.to_owned(),
                method: parts.method.clone(),
                path: parts.uri.path().to_owned(),
            }))),
            _ => Err(ApiError::malformed(format!(
                "invalid `Idempotency-Key`: accepted is one key of 1 to {MAX_KEY_CHARS} ASCII characters"
            ))
            .field("Idempotency-Key")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn recorded_response_has_no_secret() {
        let answer = json!({ "id": 1, "token": { "secret": "mat_x" }, "all": [{ "secret": "y" }] });
        let kept = json!({ "id": 1, "token": { "secret": null }, "all": [{ "secret": null }] });
        assert_eq!(redact_field("secret", answer), kept);
    }
}
