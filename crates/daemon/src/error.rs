//! Errors of the loops. The runner logs an error and runs the loop again after a pause.

/// An error of a loop or of a turn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database or the store reported an error.
    #[error("keep the books")]
    Store(#[from] store::Error),
    /// A tick or a reading of the database's clock exceeded its time limit.
    #[error("keep the books within {0:?}")]
    Timeout(std::time::Duration),
    /// The uncertainty of the clock exceeds the given limit.
    #[error("know the time within {0:?}")]
    TimeUnknown(std::time::Duration),
    /// The HTTP client for notifications could not be built.
    #[error("send notifications")]
    Sender(#[from] webhook::SenderError),
    /// Processes of dead workers could not be found or killed.
    #[error("clear away what workers have left that are gone")]
    LeftoverProcesses(#[source] std::io::Error),
    /// A write of a turn to the store failed.
    #[error("take a turn")]
    Turn(#[from] turn::TurnStoreError),
}
