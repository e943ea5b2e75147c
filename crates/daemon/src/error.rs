//! Errors of the loops. `loop_runner` logs an error and runs the loop again after a pause.

/// An error of a loop or of a turn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database or the store reported an error.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A tick or a reading of the database's clock exceeded its time limit.
    #[error("the database did not answer within {0:?}")]
    Timeout(std::time::Duration),
    /// The uncertainty of the clock exceeds the given limit.
    #[error("the time is uncertain by more than {0:?}")]
    TimeUnknown(std::time::Duration),
    /// The HTTP client for notifications could not be built.
    #[error("cannot build the HTTP client for notifications")]
    Sender(#[from] webhook::SenderError),
    /// Processes of dead workers could not be found or killed.
    #[error("cannot kill the leftover processes of dead workers")]
    LeftoverProcesses(#[source] std::io::Error),
    /// The contents of artifacts could not be read or removed.
    #[error("cannot remove contents of artifacts")]
    Artifacts(#[from] artifacts::Error),
    /// The task that removed contents of artifacts died.
    #[error("the task that removed contents of artifacts died")]
    SweepDied(#[source] tokio::task::JoinError),
    /// A write of a turn to the store failed.
    #[error("cannot take the turn")]
    Turn(#[from] turn::TurnStoreError),
}
