//! Documents that the database stores as JSON. Each has a type of its own, which only this crate uses.
//!
//! - [`Document`] is one stored document. It converts from and into the domain type in `model`.
//! - [`DOCUMENT_FORMAT`] is the format of the documents that this program writes.
//! - [`rewrite`] writes a document and keeps the keys of its row that this program does not know.
//!
//! Servers of several versions share a database, so every reader is lenient: it ignores keys that it does not
//! know. Two columns beside a document, never keys inside it, tell its formats. `format` is the highest format whose
//! keys may be in the document. `needs_format` is the lowest format whose servers support the whole document. A
//! server whose [`DOCUMENT_FORMAT`] is lower does not fire such an automation, begin its runs or rewrite it
//! ([0015](../../../../docs/adr/0015-stored-documents-have-formats.md)).
//!
//! **To add a key:** add it to the stored type with a default, and leave it out of the JSON where it has that
//! default, because programs that are older than the formats refuse unknown keys. Raise [`DOCUMENT_FORMAT`], and
//! write the snapshot with `MATINS_UPDATE=1 cargo test -p matins-store stored`. If a server must not ignore the key,
//! because it limits or forbids, let `needs_format` return the new format where the key is set.

mod agents;
mod budget;
mod directory;
pub(crate) mod events;
mod facts;
pub(crate) mod goals;
mod instances;
mod permissions;
mod policies;
mod questions;
mod settings;
#[cfg(test)]
mod snapshots;
mod triggers;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Error, database::Row};

pub(crate) use crate::document_format::{BASE_FORMAT, DOCUMENT_FORMAT, supports_format};
pub(crate) use agents::StoredAgent;
pub(crate) use budget::StoredBudget;
pub(crate) use directory::{directory_column, directory_needs_format, given_directory};
pub(crate) use facts::{StoredFlags, StoredNotificationKinds, StoredPromptRef, StoredScopes};
pub(crate) use instances::{StoredInstanceConfig, instance_folder, instance_kind};
pub(crate) use permissions::StoredPermissions;
pub(crate) use policies::StoredPolicies;
pub(crate) use questions::StoredQuestionBody;
pub(crate) use settings::StoredSettings;
pub(crate) use triggers::StoredSpec;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A document in the form in which a row stores it.
pub(crate) trait Document: Serialize + DeserializeOwned {
    /// The domain type, with which the program makes decisions.
    type Domain;

    /// Returns the document of a domain value.
    fn of(domain: &Self::Domain) -> Self;

    /// Returns the domain value of the document.
    ///
    /// # Errors
    ///
    /// Returns an error if a stored value is corrupt.
    fn into_domain(self) -> Result<Self::Domain, BoxError>;

    /// Returns the lowest format whose servers support the document. Override it if a key must not be ignored.
    fn needs_format(&self) -> i64 {
        BASE_FORMAT
    }
}

/// Returns the domain value of a document in a column.
pub(crate) fn read<D: Document>(row: &Row, column: &'static str) -> Result<D::Domain, Error> {
    let stored: D = row.json(column)?;
    let domain = stored.into_domain();
    domain.map_err(|source| row.corrupt_value(column, source).into())
}

/// Returns the domain value of a document in a column. Returns `None` if the column is null.
pub(crate) fn read_optional<D: Document>(
    row: &Row,
    column: &'static str,
) -> Result<Option<D::Domain>, Error> {
    let stored: Option<D> = row.json_optional(column)?;
    let domain = stored.map(D::into_domain).transpose();
    domain.map_err(|source| row.corrupt_value(column, source).into())
}

/// Returns the lowest format whose servers support a document.
pub(crate) fn needs_format_of<D: Document>(domain: &D::Domain) -> i64 {
    D::of(domain).needs_format()
}

/// Returns the lowest format whose servers support the documents of a row.
pub(crate) fn needs_format(row: &Row) -> Result<i64, Error> {
    Ok(row.get("needs_format")?)
}

/// Returns `None` for documents that cannot be read because a later version wrote them. The caller must not act on
/// such a row.
pub(crate) fn none_if_newer_format<T>(
    row: &Row,
    read: Result<T, Error>,
) -> Result<Option<T>, Error> {
    match read {
        Err(error) if error.is_corrupt() && !supports_format(needs_format(row)?) => Ok(None),
        read => read.map(Some),
    }
}

/// Checks that this program supports documents that need a format.
///
/// # Errors
///
/// Returns [`Error::NewerFormat`] if the documents need a later format.
pub(crate) fn require_supported(what: &'static str, name: &str, needed: i64) -> Result<(), Error> {
    if supports_format(needed) {
        Ok(())
    } else {
        Err(Error::newer_format(what, name, needed))
    }
}

/// A document in the form in which it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredDocument {
    /// The JSON.
    pub(crate) value: Value,
    /// The lowest format whose servers support the document.
    pub(crate) needs_format: i64,
}

/// Returns the stored form of a domain value.
pub(crate) fn write<D: Document>(domain: &D::Domain) -> StoredDocument {
    let document = D::of(domain);
    StoredDocument {
        value: to_json(&document),
        needs_format: document.needs_format(),
    }
}

/// Returns the JSON of a document.
pub(crate) fn to_json<D: Document>(document: &D) -> Value {
    // This cannot fail: stored types have only text keys and finite numbers.
    serde_json::to_value(document).unwrap_or_default()
}

/// Returns the stored form of a domain value that replaces the document in a column of `row`. Keeps the keys of that
/// document that this program does not know.
///
/// # Errors
///
/// Returns an error if the document in `row` is corrupt.
pub(crate) fn rewrite<D: Document>(
    domain: &D::Domain,
    row: &Row,
    column: &'static str,
) -> Result<StoredDocument, Error> {
    let before: Value = row.get(column)?;
    let rewritten = rewrite_value::<D>(domain, &before);
    rewritten.map_err(|source| row.corrupt_value(column, source.into()).into())
}

fn rewrite_value<D: Document>(
    domain: &D::Domain,
    before: &Value,
) -> Result<StoredDocument, serde_json::Error> {
    let mut written = write::<D>(domain);
    let read = D::deserialize(before)?;
    let known = serde_json::to_value(&read)?;
    copy_unknown_keys(before, &known, &mut written.value);
    Ok(written)
}

/// Returns the format of a document that replaces one of format `before`: keys of a later format may stay in it.
pub(crate) fn format_after_rewrite(before: i64) -> i64 {
    before.max(DOCUMENT_FORMAT)
}

/// Copies unknown keys from `before` to `written`. A key is unknown if it is missing in `known`, which is `before`
/// after this program has read and written it. Entries of free-form maps survive that, so that a removed entry of
/// `env` does not come back. For example, with `before` `{"a": 1, "later": 2}`, `known` `{"a": 1}` and `written`
/// `{"a": 3}`, the result is `{"a": 3, "later": 2}`.
fn copy_unknown_keys(before: &Value, known: &Value, written: &mut Value) {
    match (before, known, written) {
        (Value::Object(before), Value::Object(known), Value::Object(written)) => {
            for (key, value) in before {
                match (known.get(key), written.get_mut(key)) {
                    (Some(known), Some(written)) => copy_unknown_keys(value, known, written),
                    (None, None) => {
                        written.insert(key.clone(), value.clone());
                    }
                    _ => {}
                }
            }
        }
        (Value::Array(before), Value::Array(known), Value::Array(written)) => {
            // Items of a list have no keys by which they could be matched. An unchanged item keeps its unknown keys.
            for (at, item) in written.iter_mut().enumerate() {
                let stays = known.get(at) == Some(item);
                let same = if stays {
                    Some(at)
                } else {
                    known.iter().position(|known| known == item)
                };
                if let Some((before, known)) = same.and_then(|at| before.get(at).zip(known.get(at)))
                {
                    copy_unknown_keys(before, known, item);
                }
            }
        }
        _ => {}
    }
}
