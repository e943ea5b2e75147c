//! The format of stored documents.

/// The format of the documents that this program writes, and the highest that it honours.
///
/// Format 1 has the keys that programs wrote before there were formats; they read its documents.
pub const DOCUMENT_FORMAT: i64 = 1;

/// The format that documents need unless a key raises it. Every program honours such documents.
pub(crate) const BASE_FORMAT: i64 = 1;

/// `true` if this program honours a document that needs a format.
pub(crate) const fn supports_format(needs_format: i64) -> bool {
    needs_format <= DOCUMENT_FORMAT
}
