//! The interface for an observer of the commits of a process.

use std::fmt;

use uuid::Uuid;

/// An observer of the commits of those transactions that have recorded a change with
/// [`Tx::note_change`](crate::Tx::note_change).
pub trait CommitObserver: fmt::Debug + Send + Sync {
    /// Called before the commit, so that no other transaction can see the changes yet.
    fn before_commit(&self);

    /// Called if the commit failed, or if its future was dropped before it ended.
    fn commit_failed(&self);

    /// Called after the commit, whether it succeeded or failed, with the recorded IDs.
    fn after_commit(&self, changed: &[Uuid]);
}
