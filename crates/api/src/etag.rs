//! Entity tags (RFC 9110, section 8.8.3) for optimistic locking: a client sends the tag of the resource that it read
//! as `If-Match`, and its edit is refused if the resource has changed.
//!
//! **Invariant:** a tag covers the part of a resource that a request can change, and nothing else, so that the
//! progress of a run does not make an edit fail. The tag of a memory entry covers its ID, too, because an agent may delete
//! the entry and write another one under the same key. That of a task covers the version of the plan, too, because a plan that
//! a person has not read may give the task another meaning.

use api_types::BudgetRequest;
use axum::extract::FromRequestParts;
use http::{HeaderValue, header, request::Parts};
use model::budget::Budget;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::problem::ApiError;

/// Returns the entity tag of the editable part of a resource: the first 128 bits of the SHA-256 of its JSON.
pub(crate) fn tag(editable: &impl Serialize) -> String {
    let text = serde_json::to_vec(editable).unwrap_or_default();
    let digest = Sha256::digest(text);
    let mut beginning = [0; 16];
    for (kept, byte) in beginning.iter_mut().zip(digest) {
        *kept = byte;
    }
    format!("\"{:032x}\"", u128::from_be_bytes(beginning))
}

/// The `ETag` header of a response.
pub(crate) type ETag = [(header::HeaderName, String); 1];

/// Returns the `ETag` header for the editable part of a resource.
pub(crate) fn header(editable: &impl Serialize) -> ETag {
    [(header::ETAG, tag(editable))]
}

/// Returns the `ETag` header for the budget of a tenant.
pub(crate) fn budget_header(budget: &Budget) -> ETag {
    header(&BudgetRequest::from(budget.clone()))
}

/// The header `If-Match`; `None` if the request does not have it.
pub(crate) struct IfMatch(Option<String>);

impl IfMatch {
    /// `true` if the request has the header `If-Match`.
    pub(crate) const fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// Checks the header for a resource that does not exist: then no tag can match, not even `*` (RFC 9110, section
    /// 13.1.1).
    ///
    /// # Errors
    ///
    /// Returns 412 if the request has the header.
    pub(crate) fn check_absent(&self, what: &str) -> Result<(), ApiError> {
        let Some(given) = &self.0 else { return Ok(()) };
        Err(
            ApiError::changed(format!("`If-Match` is {given}, but {what} does not exist"))
                .field("If-Match"),
        )
    }

    /// Checks the header against the editable part of the current resource. The check and the write are two steps:
    /// the caller must also pass the resource that it checked to the store, which compares it under a lock.
    ///
    /// # Errors
    ///
    /// Returns 412 unless one of the tags, or `*`, matches.
    pub(crate) fn check(&self, what: &str, editable: &impl Serialize) -> Result<(), ApiError> {
        let Some(given) = &self.0 else { return Ok(()) };
        let now = tag(editable);
        let mut given_tags = given.split(',').map(str::trim);
        if given_tags.any(|tag| tag == "*" || tag == now) {
            return Ok(());
        }
        Err(ApiError::changed(format!(
            "{what} has changed: `If-Match` is {given}, but the entity tag is {now}"
        ))
        .field("If-Match")
        .hint("read the resource again, and edit that version"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let text = |value: &HeaderValue| {
            let text = value.to_str().map(str::to_owned);
            text.map_err(|_| {
                ApiError::malformed("invalid `If-Match`: accepted are entity tags in quotes")
                    .field("If-Match")
            })
        };
        let given = parts.headers.get(header::IF_MATCH).map(text).transpose()?;
        Ok(Self(given))
    }
}
