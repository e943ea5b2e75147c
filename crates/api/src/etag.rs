//! Entity tags (RFC 9110, section 8.8.3): an edit says what it has seen.

use axum::extract::FromRequestParts;
use http::{HeaderValue, header, request::Parts};
use model::budget::Budget;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use wire::BudgetRequest;

use crate::problem::Failure;

/// The tag of what can be edited, as it is.
pub(crate) fn tag(editable: &impl Serialize) -> String {
    let text = serde_json::to_vec(editable).unwrap_or_default();
    let digest = Sha256::digest(text);
    let mut beginning = [0; 16];
    for (kept, byte) in beginning.iter_mut().zip(digest) {
        *kept = byte;
    }
    format!("\"{:032x}\"", u128::from_be_bytes(beginning))
}

/// The header of a response that has an entity tag.
pub(crate) type ETag = [(header::HeaderName, String); 1];

/// The header that tells a tag.
pub(crate) fn header(editable: &impl Serialize) -> ETag {
    [(header::ETAG, tag(editable))]
}

/// Returns the tag of the budget of a tenant.
pub(crate) fn of_budget(budget: &Budget) -> ETag {
    header(&BudgetRequest::from(budget.clone()))
}

/// What `If-Match` says; nothing where it is not there.
pub(crate) struct IfMatch(Option<String>);

impl IfMatch {
    /// Whether an edit says what it has seen.
    pub(crate) const fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// Refuses to change what is not there, if anything was to be seen (RFC 9110, section 13.1.1).
    pub(crate) fn check_absent(&self, what: &str) -> Result<(), Failure> {
        let Some(given) = &self.0 else { return Ok(()) };
        Err(Failure::changed(format!(
            "failed to change {what}: If-Match says {given}, and there is none"
        ))
        .field("If-Match"))
    }

    /// Refuses to change what is not what was seen.
    pub(crate) fn check(&self, what: &str, editable: &impl Serialize) -> Result<(), Failure> {
        let Some(given) = &self.0 else { return Ok(()) };
        let now = tag(editable);
        let mut given_tags = given.split(',').map(str::trim);
        if given_tags.any(|tag| tag == "*" || tag == now) {
            return Ok(());
        }
        Err(Failure::changed(format!(
            "failed to change {what}: If-Match says {given}, and it is {now} by now"
        ))
        .field("If-Match")
        .hint("read it again, and change what is there now"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let text = |value: &HeaderValue| {
            let text = value.to_str().map(str::to_owned);
            text.map_err(|_| {
                Failure::malformed("failed to take If-Match: accepted are entity tags in quotes")
                    .field("If-Match")
            })
        };
        let given = parts.headers.get(header::IF_MATCH).map(text).transpose()?;
        Ok(Self(given))
    }
}
