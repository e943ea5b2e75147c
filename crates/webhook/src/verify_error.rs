//! The reasons to refuse a webhook request.

/// The reason to refuse a webhook request. No variant reveals anything about a secret or the signed content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// A header is missing.
    #[error("invalid webhook: the header `{0}` is missing")]
    MissingHeader(&'static str),
    /// A header occurs more than once. Choosing one of the values would let a proxy and this server disagree.
    #[error("invalid webhook: the header `{0}` occurs more than once")]
    RepeatedHeader(&'static str),
    /// The ID is empty, too long, or contains a character that is not printable, or a dot.
    #[error(
        "invalid webhook: the header `webhook-id` is not 1 to 256 printable characters without a dot"
    )]
    InvalidId,
    /// The timestamp is not a number of seconds.
    #[error(
        "invalid webhook: the header `webhook-timestamp` is not a number of seconds since 1970"
    )]
    InvalidTimestamp,
    /// The timestamp is too far in the past.
    #[error("invalid webhook: the timestamp is more than 5 minutes in the past")]
    TooOld,
    /// The timestamp is too far in the future.
    #[error("invalid webhook: the timestamp is more than 5 minutes in the future")]
    TooNew,
    /// No signature is of a known version.
    #[error("invalid webhook: the header `webhook-signature` has no signature of version 1")]
    NoSignature,
    /// The number of signatures exceeds the limit.
    #[error("invalid webhook: the header `webhook-signature` has more than 16 signatures")]
    TooManySignatures,
    /// No signature is valid.
    #[error("invalid webhook: no signature is valid")]
    InvalidSignature,
}
