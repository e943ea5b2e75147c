//! Requests that create something, and may be sent again (`Idempotency-Key`).

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, request::Parts};
use model::InputId;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use store::KeyClaim;
use utoipa::IntoParams;
use uuid::Uuid;
use wire::{ProblemKind, Rotation, SecretRotated};

use crate::{caller::Caller, extract::Json, problem::Failure};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The longest key, in characters.
const KEY_CHARS: usize = 255;

/// What a request says of being sent again.
#[derive(IntoParams)]
#[into_params(names("Idempotency-Key"), parameter_in = Header)]
pub(crate) struct Once(
    /// A key of your choice, up to 255 characters of ASCII: the same request with the same key gets the same
    /// answer for a day, and creates nothing more.
    #[param(value_type = String, required = false, max_length = 255, pattern = "^[!-~]([ -~]*[!-~])?$")]
    Option<Key>,
);

struct Key {
    text: String,
    method: Method,
    path: String,
}

impl Once {
    /// Answers what `make` makes, or what was answered when the same request came before. `make` gets the
    /// id that is reserved for what it makes; made with that id already, it gives what is there.
    pub(crate) async fn create<T: Serialize, R>(
        self,
        caller: &Caller,
        request: &Json<R>,
        make: impl AsyncFnOnce(Option<Uuid>) -> Result<(StatusCode, T), Failure>,
    ) -> Result<Response, Failure> {
        self.create_of(caller, &request.bytes, make).await
    }

    /// The same for a request whose body is `bytes`.
    pub(crate) async fn create_of<T: Serialize>(
        self,
        caller: &Caller,
        bytes: &[u8],
        make: impl AsyncFnOnce(Option<Uuid>) -> Result<(StatusCode, T), Failure>,
    ) -> Result<Response, Failure> {
        self.create_hiding(caller, bytes, "secret", make).await
    }

    /// The same where what is shown one time stands in fields of another name.
    pub(crate) async fn create_hiding<T: Serialize>(
        self,
        caller: &Caller,
        bytes: &[u8],
        hidden: &str,
        make: impl AsyncFnOnce(Option<Uuid>) -> Result<(StatusCode, T), Failure>,
    ) -> Result<Response, Failure> {
        let Some(key) = self.0 else {
            let (status, made) = make(None).await?;
            return Ok((status, axum::Json(made)).into_response());
        };
        let store = &caller.api.shared.store;
        let (tenant, now) = (caller.tenant, caller.now());
        let proposed = InputId::generate(now, &*caller.api.shared.entropy).uuid();
        let request = key.digest(bytes);
        let claimed = store
            .claim_key(tenant, &key.text, &request, proposed, now)
            .await?;
        let id = match claimed {
            KeyClaim::New(id) | KeyClaim::Again { id, answer: None } => id,
            KeyClaim::Again {
                answer: Some((status, answer)),
                ..
            } => return Ok(again(status, answer)),
            KeyClaim::OtherRequest => {
                return Err(Failure::new(
                    ProblemKind::Refused,
                    StatusCode::CONFLICT,
                    format!(
                        "failed to take the Idempotency-Key {:?}: another request came with it",
                        key.text
                    ),
                )
                .field("Idempotency-Key")
                .hint("choose a new key for each thing that is to be done"));
            }
        };
        match make(Some(id)).await {
            Ok((status, made)) => {
                let answer = serde_json::to_value(made).map_err(|error| {
                    Failure::internal(format!("failed to write the answer: {error}"))
                })?;
                let kept = without(hidden, answer.clone());
                store
                    .answer_key(tenant, &key.text, status.as_u16(), &kept)
                    .await?;
                Ok((status, axum::Json(answer)).into_response())
            }
            Err(failure) => {
                if failure.is_refusal() {
                    // Nothing was made, and the request may be put right.
                    store.release_key(tenant, &key.text).await?;
                }
                Err(failure)
            }
        }
    }
}

impl Once {
    /// Answers with the secret that `rotate` makes, or without it where the same request came before. That makes
    /// no row that could have a reserved id, so `rotate` gets the key, to answer it in its transaction.
    pub(crate) async fn rotate(
        self,
        caller: &Caller,
        rotation: Rotation,
        rotate: impl AsyncFnOnce(Option<&str>) -> Result<SecretRotated, Failure>,
    ) -> Result<Response, Failure> {
        let key = self.0.as_ref().map(|key| key.text.clone());
        let asked = rotation.overlap_seconds.to_le_bytes();
        let rotated = self.create_of(caller, &asked, async |_| {
            Ok((StatusCode::OK, rotate(key.as_deref()).await?))
        });
        rotated.await
    }
}

impl Key {
    /// What the request is known by when it comes again.
    fn digest(&self, bytes: &[u8]) -> [u8; 32] {
        let mut digest = Sha256::new();
        for part in [self.method.as_str().as_bytes(), self.path.as_bytes(), bytes] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }
}

fn again(status: u16, answer: Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let replayed = [(REPLAYED, HeaderValue::from_static("true"))];
    (status, replayed, axum::Json(answer)).into_response()
}

/// The answer as it may be kept: what is shown one time is not.
fn without(hidden: &str, mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                *value = if name == hidden {
                    Value::Null
                } else {
                    without(hidden, value.take())
                };
            }
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                *item = without(hidden, item.take());
            }
        }
        _ => {}
    }
    answer
}

impl<S: Send + Sync> FromRequestParts<S> for Once {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let mut given = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let (first, second) = (given.next(), given.next());
        let Some(first) = first else {
            return Ok(Self(None));
        };
        let key = first.to_str().ok().map(str::trim);
        let fits = |key: &&str| !key.is_empty() && key.len() <= KEY_CHARS;
        match (key.filter(fits), second) {
            (Some(key), None) => Ok(Self(Some(Key {
                text: key.to_owned(),
                method: parts.method.clone(),
                path: parts.uri.path().to_owned(),
            }))),
            _ => Err(Failure::malformed(format!(
                "failed to take the Idempotency-Key: accepted is one of 1 to {KEY_CHARS} characters of ASCII"
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
    fn no_secret_is_kept() {
        let answer = json!({ "id": 1, "token": { "secret": "mat_x" }, "all": [{ "secret": "y" }] });
        let kept = json!({ "id": 1, "token": { "secret": null }, "all": [{ "secret": null }] });
        assert_eq!(without("secret", answer), kept);
    }
}
