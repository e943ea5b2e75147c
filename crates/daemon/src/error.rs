//! Why a loop's look failed. The next one tries again.

/// Why something that a loop does failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store could not do it.
    #[error("keep the books")]
    Store(#[from] store::Error),
    /// It did not come to an end.
    #[error("keep the books within {0:?}")]
    TooLong(std::time::Duration),
    /// The database's clock is not known.
    #[error("know the time within {0:?}")]
    TimeUnknown(std::time::Duration),
    /// No client of HTTP can be made.
    #[error("send notifications")]
    Sender(#[from] webhook::SenderError),
    /// What gone workers have left is still there, or cannot be looked for.
    #[error("clear away what workers have left that are gone")]
    Left(#[source] std::io::Error),
    /// A turn's ledger could not be written.
    #[error("take a turn")]
    Turn(#[from] turn::LedgerError),
}
