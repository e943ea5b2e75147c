//! The reads of a single reader from the database: pages of the table, for a reader that is behind the shared frames,
//! and snapshots, for one whose next events retention has removed.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::future::BoxFuture;
use model::{
    AutomationId, RunId, SessionId, TenantId, approval::ApprovalStatus, entity::Run,
    feed::FeedCursor, run::RunStatus,
};
use store::{ApprovalFilter, Error, RunFilter, Scope, Store};

use super::frame;

/// The maximum number of events of a page.
const MAX_PAGE_EVENTS: u32 = 32;
/// The maximum number of bytes of the frames of a page. The first frame stays even if it alone is larger. The reader
/// reads the dropped frames again with its next page.
const MAX_PAGE_BYTES: usize = 256 << 10;
/// The maximum number of pieces of text that one read returns.
const MAX_TEXT_PIECES: u32 = 64;
/// The maximum number of open runs of each status in a snapshot.
const MAX_OPEN_RUNS: u32 = 100;
/// The maximum number of pending approvals in a snapshot.
const MAX_PENDING_APPROVALS: u32 = 100;

/// A page of the table.
pub(super) struct LogPage<K> {
    /// The frames, each with its cursor.
    pub(super) frames: VecDeque<(K, Bytes)>,
    /// The cursor after which to continue.
    pub(super) scanned_to: K,
    /// `true` if the cursor of the reader is not valid any more. The only frame is a snapshot then.
    pub(super) is_resync: bool,
}

/// The log of a trace.
pub(super) trait LogSource: Clone + Send + Sync + 'static {
    /// The cursor of the log.
    type Place: Copy + Ord + Send + Sync + 'static;

    /// Reads the page after a cursor. Returns `None` if the session was deleted.
    fn read_page<'a>(
        &'a self,
        store: &'a Store,
        after: Self::Place,
    ) -> BoxFuture<'a, Result<Option<LogPage<Self::Place>>, Error>>;

    /// Reads the text of a turn from a position, as frames with the position of their end.
    fn read_text<'a>(
        &'a self,
        store: &'a Store,
        run: RunId,
        from: i64,
    ) -> BoxFuture<'a, Result<Vec<(i64, Bytes)>, Error>>;

    /// Returns the frame that reports the deletion of the session.
    fn deleted_frame(&self) -> Bytes;
}

/// Returns the first frames, as many as fit into a page.
fn fit_page<K>(frames: impl Iterator<Item = (K, Bytes)>) -> VecDeque<(K, Bytes)> {
    let mut bytes = 0;
    let fits = frames.take_while(|(_, frame)| {
        let first = bytes == 0;
        bytes += frame.len();
        first || bytes <= MAX_PAGE_BYTES
    });
    fits.collect()
}

/// Reads the runs that have not ended, of a session, of an automation, or of the whole scope.
async fn open_runs(
    store: &Store,
    scope: Scope,
    session: Option<SessionId>,
    automation: Option<AutomationId>,
) -> Result<Vec<Run>, Error> {
    let mut open = Vec::new();
    for status in [
        RunStatus::Running,
        RunStatus::Delivered,
        RunStatus::Queued,
        RunStatus::Deferred,
    ] {
        let filter = RunFilter {
            session,
            automation,
            statuses: vec![status],
            ..RunFilter::default()
        };
        open.extend(store.runs(scope, filter, MAX_OPEN_RUNS).await?);
    }
    Ok(open)
}

/// The log of a session. The cursor is the number of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLog {
    pub(super) scope: Scope,
    pub(super) session: SessionId,
}

impl SessionLog {
    /// Reads the page after a number, or a snapshot if the log does not continue there. Returns `None` if the session
    /// was deleted.
    async fn read(&self, store: &Store, after: i64) -> Result<Option<LogPage<i64>>, Error> {
        let position = [(self.session, after)];
        let updates = store
            .session_updates(self.scope, &position, MAX_PAGE_EVENTS)
            .await?;
        let Some(updates) = updates.into_iter().next() else {
            return Ok(None);
        };
        let first = updates.events.first().map(|one| one.event.seq);
        // Numbers have no gaps, so that the next event must have the next number. If it does not, retention has
        // removed events, or the number was never given: then the client read it from a database of which this one is
        // an older copy, such as a restored backup. Send a snapshot in both cases. Without this check the client
        // would miss events and not know it.
        if first.unwrap_or(updates.last_seq + 1) != after + 1 {
            return self.snapshot_page(store).await.map(Some);
        }
        let scanned = updates.events.last().map_or(after, |one| one.event.seq);
        let events = updates.events.into_iter();
        let session = self.session;
        Ok(Some(LogPage {
            scanned_to: scanned,
            frames: fit_page(events.map(|one| (one.event.seq, frame::session_event(session, one)))),
            is_resync: false,
        }))
    }

    /// Returns a page with a snapshot of the session.
    async fn snapshot_page(&self, store: &Store) -> Result<LogPage<i64>, Error> {
        // Read the number first. Events that are logged during the following reads are sent again after the snapshot;
        // in the other order they would be in neither.
        let session = store.session(self.scope, self.session).await?;
        let open = open_runs(store, self.scope, Some(self.session), None).await?;
        let waiting = store
            .pending_approvals(self.scope, self.session, MAX_PENDING_APPROVALS)
            .await?;
        let last_seq = session.last_seq;
        let frame = frame::session_resync(session, open, waiting);
        Ok(LogPage {
            frames: VecDeque::from([(last_seq, frame)]),
            scanned_to: last_seq,
            is_resync: true,
        })
    }
}

impl LogSource for SessionLog {
    type Place = i64;

    fn read_page<'a>(
        &'a self,
        store: &'a Store,
        after: i64,
    ) -> BoxFuture<'a, Result<Option<LogPage<i64>>, Error>> {
        Box::pin(async move {
            match self.read(store, after).await {
                // The session was deleted between two statements of the snapshot.
                Err(Error::NotFound { .. }) => Ok(None),
                page => page,
            }
        })
    }

    fn read_text<'a>(
        &'a self,
        store: &'a Store,
        run: RunId,
        from: i64,
    ) -> BoxFuture<'a, Result<Vec<(i64, Bytes)>, Error>> {
        Box::pin(async move {
            let texts = store
                .live_texts(self.scope, &[(run, from)], MAX_TEXT_PIECES)
                .await?;
            let frames = texts.iter().map(|text| (text.end(), frame::delta(text)));
            Ok(frames.collect())
        })
    }

    fn deleted_frame(&self) -> Bytes {
        frame::session_deleted(self.session)
    }
}

/// The feed of a tenant, or the part of it that belongs to one automation. The cursor follows the order of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FeedLog {
    pub(super) tenant: TenantId,
    pub(super) automation: Option<AutomationId>,
}

impl FeedLog {
    /// Reads the page of the feed after a cursor.
    pub(super) async fn read(
        &self,
        store: &Store,
        after: FeedCursor,
    ) -> Result<store::FeedPage, Error> {
        match self.automation {
            None => store.feed(self.tenant, after, MAX_PAGE_EVENTS).await,
            Some(id) => {
                store
                    .automation_feed(self.tenant, id, after, MAX_PAGE_EVENTS)
                    .await
            }
        }
    }
}

impl FeedLog {
    /// Returns the frame with a snapshot of the feed: its open runs and pending approvals. `from` was read before the
    /// snapshot, so that later changes are sent as events.
    async fn snapshot_frame(&self, store: &Store, from: FeedCursor) -> Result<Bytes, Error> {
        let scope = Scope::Tenant(self.tenant);
        let open = open_runs(store, scope, None, self.automation).await?;
        let filter = ApprovalFilter {
            state: Some(ApprovalStatus::Pending),
            automation: self.automation,
            ..ApprovalFilter::default()
        };
        let waiting = store
            .approval_page(
                self.tenant,
                filter,
                store::Page::first(MAX_PENDING_APPROVALS),
            )
            .await?;
        Ok(frame::feed_resync(from, open, waiting))
    }
}

impl LogSource for FeedLog {
    type Place = FeedCursor;

    fn read_page<'a>(
        &'a self,
        store: &'a Store,
        after: FeedCursor,
    ) -> BoxFuture<'a, Result<Option<LogPage<FeedCursor>>, Error>> {
        Box::pin(async move {
            let page = self.read(store, after).await?;
            let scanned = page.next_cursor;
            let resync = page.unusable_cursor.is_some();
            let frames = if resync {
                VecDeque::from([(scanned, self.snapshot_frame(store, scanned).await?)])
            } else {
                let events = page.events.into_iter();
                fit_page(events.map(|one| (one.cursor, frame::feed_event(one))))
            };
            Ok(Some(LogPage {
                frames,
                scanned_to: scanned,
                is_resync: resync,
            }))
        })
    }

    fn read_text<'a>(
        &'a self,
        _: &'a Store,
        _: RunId,
        _: i64,
    ) -> BoxFuture<'a, Result<Vec<(i64, Bytes)>, Error>> {
        // Only the traces of sessions stream the text of turns.
        Box::pin(async { Ok(Vec::new()) })
    }

    fn deleted_frame(&self) -> Bytes {
        Bytes::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_bounded_in_bytes_and_has_at_least_one_frame() {
        let sizes = |sizes: &[usize]| {
            let frames = sizes.iter().map(|size| ((), Bytes::from(vec![0; *size])));
            fit_page(frames).len()
        };
        assert_eq!(sizes(&[]), 0);
        assert_eq!(sizes(&[MAX_PAGE_BYTES * 2, 1]), 1);
        assert_eq!(sizes(&[1, MAX_PAGE_BYTES - 1, 1]), 2);
        assert_eq!(sizes(&[1, MAX_PAGE_BYTES, 1]), 1);
    }
}
