//! Why a webhook is not taken.

/// Why a webhook is not taken. None of these says anything about a secret or about what is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A header is not there.
    #[error("check the webhook: it has no header {0}")]
    Missing(&'static str),
    /// A header is there more than once: which of them counts would be a guess.
    #[error("check the webhook: it has the header {0} more than once")]
    Repeated(&'static str),
    /// The id is empty, too long, or has characters that could make it pass for something else.
    #[error(
        "check the webhook: its id is not one; expected up to 256 printable characters, no dot"
    )]
    Id,
    /// The instant is not one.
    #[error("check the webhook: its timestamp is not a number of seconds since 1970")]
    Timestamp,
    /// The instant lies too far back.
    #[error("check the webhook: its timestamp lies more than 5 minutes back")]
    TooOld,
    /// The instant is still to come.
    #[error("check the webhook: its timestamp lies more than 5 minutes ahead")]
    TooNew,
    /// No signature is of a kind that is known.
    #[error("check the webhook: it bears no signature of version 1")]
    NoSignature,
    /// There are more signatures than anybody needs.
    #[error("check the webhook: it bears too many signatures")]
    TooManySignatures,
    /// No signature is right.
    #[error("check the webhook: none of its signatures is right")]
    Signature,
}
