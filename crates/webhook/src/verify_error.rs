//! The reasons to refuse a webhook request.

/// The reason to refuse a webhook request. No variant reveals anything about a secret or the signed content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// A header is missing.
    #[error("check the webhook: it has no header {0}")]
    MissingHeader(&'static str),
    /// A header occurs more than once. Choosing one of the values would let a proxy and this server disagree.
    #[error("check the webhook: it has the header {0} more than once")]
    RepeatedHeader(&'static str),
    /// The ID is empty, too long, or contains a character that is not printable, or a dot.
    #[error(
        "check the webhook: its id is not one; expected up to 256 printable characters, no dot"
    )]
    InvalidId,
    /// The timestamp is not a number of seconds.
    #[error("check the webhook: its timestamp is not a number of seconds since 1970")]
    InvalidTimestamp,
    /// The timestamp is too far in the past.
    #[error("check the webhook: its timestamp lies more than 5 minutes back")]
    TooOld,
    /// The timestamp is too far in the future.
    #[error("check the webhook: its timestamp lies more than 5 minutes ahead")]
    TooNew,
    /// No signature is of a known version.
    #[error("check the webhook: it bears no signature of version 1")]
    NoSignature,
    /// The number of signatures exceeds the limit.
    #[error("check the webhook: it bears too many signatures")]
    TooManySignatures,
    /// No signature is valid.
    #[error("check the webhook: none of its signatures is right")]
    InvalidSignature,
}
