//! Observing the commits of a process.

use std::fmt;

use uuid::Uuid;

/// Observes the commits of the transactions that have noted a change with [`Tx::note_change`](crate::Tx::note_change).
pub trait CommitObserver: fmt::Debug + Send + Sync {
    /// Called before the commit, so before any other transaction can see the changes.
    fn before_commit(&self);

    /// Called if the commit failed, or if its future was dropped before it ended.
    fn not_committed(&self);

    /// Called after the commit, whether it succeeded or failed, with the IDs that the transaction has noted.
    fn after_commit(&self, changed: &[Uuid]);
}
