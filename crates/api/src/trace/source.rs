//! What a reader reads itself where it is behind what is kept of the newest: pages of the table.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::future::BoxFuture;
use model::{
    AutomationId, RunId, SessionId, TenantId, approval::ApprovalStatus, entity::Run,
    feed::FeedCursor, run::RunStatus,
};
use store::{ApprovalFilter, Error, RunFilter, Scope, Store};

use super::frame;

/// How many events a page has at the most.
const PAGE: u32 = 32;
/// How many bytes of frames a page keeps at the most, beyond one frame: what it leaves is read again.
const PAGE_BYTES: usize = 256 << 10;
/// How many pieces of text a page has at the most.
const PIECES: u32 = 64;
/// How many open runs a snapshot shows of each status at the most.
const OPEN_RUNS: u32 = 100;
/// How many approvals that wait a snapshot shows at the most.
const WAITING: u32 = 100;

/// A page of the table.
pub(super) struct Page<K> {
    pub(super) frames: VecDeque<(K, Bytes)>,
    /// The place to go on from after them.
    pub(super) scanned: K,
    /// Whether the place to begin at was none any more: the only frame says how it is.
    pub(super) resync: bool,
}

/// Where a trace is from.
pub(super) trait Source: Clone + Send + Sync + 'static {
    /// A place in it.
    type Place: Copy + Ord + Send + Sync + 'static;

    /// Reads a page after a place; none where there is no such log.
    fn page<'a>(
        &'a self,
        store: &'a Store,
        after: Self::Place,
    ) -> BoxFuture<'a, Result<Option<Page<Self::Place>>, Error>>;

    /// Reads the text of a turn from a position on, with the position of its end.
    fn text<'a>(
        &'a self,
        store: &'a Store,
        run: RunId,
        from: i64,
    ) -> BoxFuture<'a, Result<Vec<(i64, Bytes)>, Error>>;

    /// The frame that says that it is gone.
    fn deleted(&self) -> Bytes;
}

/// The first of the frames, as many as a page keeps.
fn kept<K>(frames: impl Iterator<Item = (K, Bytes)>) -> VecDeque<(K, Bytes)> {
    let mut bytes = 0;
    let fits = frames.take_while(|(_, frame)| {
        let first = bytes == 0;
        bytes += frame.len();
        first || bytes <= PAGE_BYTES
    });
    fits.collect()
}

/// Reads the runs that are not over: of a session, of an automation, or of all that there is.
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
            status: Some(status),
            ..RunFilter::default()
        };
        open.extend(store.runs(scope, filter, OPEN_RUNS).await?);
    }
    Ok(open)
}

/// A session's log.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfSession {
    pub(super) scope: Scope,
    pub(super) session: SessionId,
}

impl OfSession {
    async fn read(&self, store: &Store, after: i64) -> Result<Option<Page<i64>>, Error> {
        let asked = [(self.session, after)];
        let news = store.events_of_many(self.scope, &asked, PAGE).await?;
        let Some(news) = news.into_iter().next() else {
            return Ok(None);
        };
        let first = news.events.first().map(|one| one.event.seq);
        // Numbers have no gap, so whoever misses the next one has missed what is gone; and a number that
        // was never given is from a database that this one is an older copy of.
        if first.unwrap_or(news.last_seq + 1) != after + 1 {
            return self.resync(store).await.map(Some);
        }
        let scanned = news.events.last().map_or(after, |one| one.event.seq);
        let events = news.events.into_iter();
        let session = self.session;
        Ok(Some(Page {
            scanned,
            frames: kept(events.map(|one| (one.event.seq, frame::logged(session, one)))),
            resync: false,
        }))
    }

    async fn resync(&self, store: &Store) -> Result<Page<i64>, Error> {
        // First its number: what comes meanwhile is sent again.
        let session = store.session(self.scope, self.session).await?;
        let open = open_runs(store, self.scope, Some(self.session), None).await?;
        let waiting = store
            .pending_approvals(self.scope, self.session, WAITING)
            .await?;
        let last_seq = session.last_seq;
        let frame = frame::session_resync(session, open, waiting);
        Ok(Page {
            frames: VecDeque::from([(last_seq, frame)]),
            scanned: last_seq,
            resync: true,
        })
    }
}

impl Source for OfSession {
    type Place = i64;

    fn page<'a>(
        &'a self,
        store: &'a Store,
        after: i64,
    ) -> BoxFuture<'a, Result<Option<Page<i64>>, Error>> {
        Box::pin(async move {
            match self.read(store, after).await {
                // It went between two statements.
                Err(Error::NotFound { .. }) => Ok(None),
                page => page,
            }
        })
    }

    fn text<'a>(
        &'a self,
        store: &'a Store,
        run: RunId,
        from: i64,
    ) -> BoxFuture<'a, Result<Vec<(i64, Bytes)>, Error>> {
        Box::pin(async move {
            let texts = store
                .live_of_runs(self.scope, &[(run, from)], PIECES)
                .await?;
            let frames = texts.iter().map(|text| (text.end(), frame::delta(text)));
            Ok(frames.collect())
        })
    }

    fn deleted(&self) -> Bytes {
        frame::deleted(self.session)
    }
}

/// A tenant's feed, or that of one of its automations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OfFeed {
    pub(super) tenant: TenantId,
    pub(super) automation: Option<AutomationId>,
}

impl OfFeed {
    /// Reads a page as the store has it.
    pub(super) async fn read(
        &self,
        store: &Store,
        after: FeedCursor,
    ) -> Result<store::FeedPage, Error> {
        match self.automation {
            None => store.feed(self.tenant, after, PAGE).await,
            Some(id) => store.automation_feed(self.tenant, id, after, PAGE).await,
        }
    }
}

impl OfFeed {
    /// What is under way, for whoever has missed events that are gone. What comes meanwhile is sent again.
    async fn resync(&self, store: &Store, from: FeedCursor) -> Result<Bytes, Error> {
        let scope = Scope::Tenant(self.tenant);
        let open = open_runs(store, scope, None, self.automation).await?;
        let filter = ApprovalFilter {
            state: Some(ApprovalStatus::Pending),
            automation: self.automation,
            ..ApprovalFilter::default()
        };
        let waiting = store
            .approval_page(self.tenant, filter, store::Page::first(WAITING))
            .await?;
        Ok(frame::feed_resync(from, open, waiting))
    }
}

impl Source for OfFeed {
    type Place = FeedCursor;

    fn page<'a>(
        &'a self,
        store: &'a Store,
        after: FeedCursor,
    ) -> BoxFuture<'a, Result<Option<Page<FeedCursor>>, Error>> {
        Box::pin(async move {
            let page = self.read(store, after).await?;
            let scanned = page.scanned;
            let resync = page.lost.is_some();
            let frames = if resync {
                VecDeque::from([(scanned, self.resync(store, scanned).await?)])
            } else {
                let events = page.events.into_iter();
                kept(events.map(|one| (one.cursor, frame::fed(one))))
            };
            Ok(Some(Page {
                frames,
                scanned,
                resync,
            }))
        })
    }

    fn text<'a>(
        &'a self,
        _: &'a Store,
        _: RunId,
        _: i64,
    ) -> BoxFuture<'a, Result<Vec<(i64, Bytes)>, Error>> {
        // The feed has no texts: they are a session's.
        Box::pin(async { Ok(Vec::new()) })
    }

    fn deleted(&self) -> Bytes {
        Bytes::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_bounded_by_bytes_and_has_one_frame_at_least() {
        let sizes = |sizes: &[usize]| {
            let frames = sizes.iter().map(|size| ((), Bytes::from(vec![0; *size])));
            kept(frames).len()
        };
        assert_eq!(sizes(&[]), 0);
        assert_eq!(sizes(&[PAGE_BYTES * 2, 1]), 1);
        assert_eq!(sizes(&[1, PAGE_BYTES - 1, 1]), 2);
        assert_eq!(sizes(&[1, PAGE_BYTES, 1]), 1);
    }
}
