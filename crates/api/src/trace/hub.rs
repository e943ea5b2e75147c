//! The hub: the list of logs that readers trace, and the one task that reads these logs for all readers.
//!
//! **Invariant:** the task runs while there is a reader. The hub holds weak references, so that a log is forgotten
//! when its last reader ends.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use model::{AutomationId, RunId, SessionId, TenantId, feed::FeedCursor};
use store::{ChangeSet, Changes, Error, Scope, Store};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    frame,
    log_source::{FeedLog, SessionLog},
    reader::{ReaderConfig, Trace},
    shared_log::SharedLog,
    text_reader::TextReader,
};

/// The maximum number of events of one session that one read returns.
const MAX_EVENTS_PER_READ: u32 = 64;
/// The maximum number of pieces of text that one read returns.
const MAX_TEXT_PIECES_PER_READ: u32 = 256;
/// The pause after a failed read of the database.
const READ_RETRY_DELAY: Duration = Duration::from_secs(1);
/// The pause before a feed is read again that open transactions hold back.
const BLOCKED_FEED_RETRY_DELAY: Duration = Duration::from_millis(100);
/// A number that no event has, so that a read after it returns the number of the newest event alone. It is half of
/// the maximum, so that adding to it cannot overflow.
const UNUSED_SEQ: i64 = i64::MAX >> 1;

/// The time limits of traces.
#[derive(Debug, Clone, Copy)]
pub struct TraceSettings {
    /// The time without a frame after which the server sends a comment (keep-alive).
    pub heartbeat_interval: Duration,
    /// The time that a client may take for one frame before its trace ends.
    pub client_timeout: Duration,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self {
            heartbeat_interval: Duration::from_secs(15),
            client_timeout: Duration::from_mins(1),
        }
    }
}

/// The traces of one process. Cheap to clone.
#[derive(Clone)]
pub struct Hub(Arc<HubState>);

/// The state that all traces of the process share.
struct HubState {
    store: Store,
    settings: TraceSettings,
    stop: CancellationToken,
    traced_logs: Mutex<TracedLogs>,
    /// Notifies the task of a log that is traced for the first time.
    log_added: Notify,
}

/// The logs that readers trace.
#[derive(Default)]
struct TracedLogs {
    sessions: HashMap<SessionId, Weak<SharedLog<i64>>>,
    feeds: BTreeMap<FeedLog, Weak<SharedLog<FeedCursor>>>,
    /// `true` while the task runs.
    is_running: bool,
}

impl Hub {
    /// Returns a hub over a store. All traces end when `stop` is cancelled.
    pub fn new(store: Store, settings: TraceSettings, stop: CancellationToken) -> Self {
        Self(Arc::new(HubState {
            store,
            settings,
            stop,
            traced_logs: Mutex::default(),
            log_added: Notify::new(),
        }))
    }

    /// Returns the trace of a session after the event with a number. Without a number, the trace begins with the
    /// oldest event that retention has kept.
    ///
    /// # Errors
    ///
    /// Returns an error if the session does not exist in the scope, or if the database cannot be read.
    pub async fn session(
        &self,
        scope: Scope,
        session: SessionId,
        after: Option<i64>,
    ) -> Result<Trace, Error> {
        let store = &self.0.store;
        // Check the tenant here: the task reads with `Scope::System`, and does not check it again.
        store.session(scope, session).await?;
        let after = match after {
            // A client may send any number. Later code adds 1 to it, which must not overflow.
            Some(after) => after.clamp(0, UNUSED_SEQ),
            None => store.oldest_event_seq(scope, session).await? - 1,
        };
        let watch = self.shared_log(|watched| &mut watched.sessions, session);
        let source = SessionLog { scope, session };
        Ok(self.reader(source, watch, after, Vec::new()))
    }

    /// Returns the trace of a tenant after a cursor. Without a cursor, the trace begins with the next event.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be read.
    pub async fn tenant(
        &self,
        tenant: TenantId,
        after: Option<FeedCursor>,
    ) -> Result<Trace, Error> {
        self.feed(tenant, None, after, Vec::new()).await
    }

    /// Returns the trace of a tenant after a cursor, with the text that the turns of some sessions are writing.
    ///
    /// # Errors
    ///
    /// Returns an error if a session does not exist in the tenant, or if the database cannot be read.
    pub async fn tenant_with_texts(
        &self,
        tenant: TenantId,
        after: Option<FeedCursor>,
        sessions: &BTreeSet<SessionId>,
    ) -> Result<Trace, Error> {
        let scope = Scope::Tenant(tenant);
        let mut texts = Vec::with_capacity(sessions.len());
        for session in sessions {
            // Check the tenant here: the task reads with `Scope::System`, and does not check it again.
            self.0.store.session(scope, *session).await?;
            let log = self.shared_log(|watched| &mut watched.sessions, *session);
            let source = SessionLog {
                scope,
                session: *session,
            };
            texts.push(TextReader::new(source, log));
        }
        self.feed(tenant, None, after, texts).await
    }

    /// Returns the trace of an automation after a cursor. Without a cursor, the trace begins with the next event. The
    /// automation may be deleted, because its log still exists.
    ///
    /// # Errors
    ///
    /// Returns an error if the automation does not exist in the tenant, or if the database cannot be read.
    pub async fn automation(
        &self,
        tenant: TenantId,
        automation: AutomationId,
        after: Option<FeedCursor>,
    ) -> Result<Trace, Error> {
        let store = &self.0.store;
        store.automation(Scope::Tenant(tenant), automation).await?;
        self.feed(tenant, Some(automation), after, Vec::new()).await
    }

    async fn feed(
        &self,
        tenant: TenantId,
        automation: Option<AutomationId>,
        after: Option<FeedCursor>,
        texts: Vec<TextReader>,
    ) -> Result<Trace, Error> {
        let after = match after {
            Some(after) => after,
            None => self.0.store.feed_head(tenant).await?,
        };
        let source = FeedLog { tenant, automation };
        let watch = self.shared_log(|watched| &mut watched.feeds, source);
        Ok(self.reader(source, watch, after, texts))
    }

    /// Returns the trace of one reader. `texts` are the sessions whose text it has beside the events of its log.
    fn reader<S: super::log_source::LogSource>(
        &self,
        source: S,
        watch: Arc<SharedLog<S::Place>>,
        at: S::Place,
        texts: Vec<TextReader>,
    ) -> Trace {
        let HubState {
            store,
            settings,
            stop,
            ..
        } = &*self.0;
        let reader = ReaderConfig {
            source,
            store: store.clone(),
            log: watch,
            cursor: at,
            texts,
            heartbeat_interval: settings.heartbeat_interval,
            client_timeout: settings.client_timeout,
            stop: stop.clone(),
        };
        reader.into_trace()
    }

    /// Returns the shared state of a log, and starts the task if it does not run.
    fn shared_log<I, K, M>(
        &self,
        map: impl FnOnce(&mut TracedLogs) -> &mut M,
        id: I,
    ) -> Arc<SharedLog<K>>
    where
        K: Copy + Ord,
        M: EntryMap<I, Weak<SharedLog<K>>>,
    {
        let mut watched = self.0.lock_logs();
        let entry = map(&mut watched).entry_or_default(id);
        let watch = entry.upgrade().unwrap_or_else(|| {
            let watch = Arc::new(SharedLog::new());
            *entry = Arc::downgrade(&watch);
            self.0.log_added.notify_one();
            watch
        });
        if !std::mem::replace(&mut watched.is_running, true) {
            // Subscribe before the task is spawned, so that no change between its start and its first read is missed.
            let changes = self.0.store.changes();
            tokio::spawn(run_reader_task(Arc::clone(&self.0), changes));
        }
        watch
    }
}

/// A map that inserts a default value for a missing key. It lets [`Hub::shared_log`] work with both maps.
trait EntryMap<I, V> {
    fn entry_or_default(&mut self, id: I) -> &mut V;
}

impl<V: Default> EntryMap<SessionId, V> for HashMap<SessionId, V> {
    fn entry_or_default(&mut self, id: SessionId) -> &mut V {
        self.entry(id).or_default()
    }
}

impl<V: Default> EntryMap<FeedLog, V> for BTreeMap<FeedLog, V> {
    fn entry_or_default(&mut self, id: FeedLog) -> &mut V {
        self.entry(id).or_default()
    }
}

impl HubState {
    /// Locks the list of logs. The lock is never held across an `await`.
    fn lock_logs(&self) -> MutexGuard<'_, TracedLogs> {
        self.traced_logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the logs without readers. Returns `true` if any is left. Otherwise the task must end, and the next
    /// reader starts another: both happen under the lock, so that no reader is left without a task.
    fn retain_traced_logs(&self) -> bool {
        let mut watched = self.lock_logs();
        watched.sessions.retain(|_, watch| watch.strong_count() > 0);
        watched.feeds.retain(|_, watch| watch.strong_count() > 0);
        watched.is_running = !watched.sessions.is_empty() || !watched.feeds.is_empty();
        watched.is_running
    }

    /// Returns the traced sessions that have changed, and those that were not read yet.
    fn sessions_to_read(&self, changed: &ChangeSet) -> Vec<(SessionId, Arc<SharedLog<i64>>)> {
        let watched = self.lock_logs();
        let all = watched.sessions.iter();
        let all = all.filter_map(|(id, watch)| Some((*id, watch.upgrade()?)));
        all.filter(|(id, watch)| {
            changed.everything || changed.logs.contains(&id.uuid()) || watch.head().is_none()
        })
        .collect()
    }

    /// Reads the new events of all traced logs that have changed.
    ///
    /// Returns `true` if open transactions hold a feed back. No notification reports the end of such a transaction,
    /// so that the task must read again after [`BLOCKED_FEED_RETRY_DELAY`].
    async fn read_changes(&self, changed: &ChangeSet) -> Result<bool, Error> {
        // 1. Sessions.
        let wanted = self.sessions_to_read(changed);
        self.read_sessions(wanted).await?;
        // 2. Feeds. Read all of them, because a change names a log, and any log may belong to a feed.
        let feeds: Vec<_> = {
            let watched = self.lock_logs();
            let feeds = watched.feeds.iter();
            feeds
                .filter_map(|(source, watch)| Some((*source, watch.upgrade()?)))
                .collect()
        };
        let mut has_open_transactions = false;
        for (source, watch) in feeds {
            has_open_transactions |= self.read_feed(source, &watch).await?;
        }
        Ok(has_open_transactions)
    }

    /// Reads the new events of sessions, and then the new text of their turns.
    async fn read_sessions(
        &self,
        mut wanted: Vec<(SessionId, Arc<SharedLog<i64>>)>,
    ) -> Result<(), Error> {
        let (store, scope) = (&self.store, Scope::System);
        let all = wanted.clone();
        while !wanted.is_empty() {
            let positions: Vec<_> = wanted
                .iter()
                .map(|(id, watch)| (*id, watch.head().unwrap_or(UNUSED_SEQ)))
                .collect();
            let updates = store
                .session_updates(scope, &positions, MAX_EVENTS_PER_READ)
                .await?;
            let mut updates: HashMap<SessionId, _> =
                updates.into_iter().map(|one| (one.session, one)).collect();
            let new: Vec<SessionId> = wanted
                .iter()
                .filter(|(_, watch)| watch.head().is_none())
                .map(|(id, _)| *id)
                .collect();
            // Read the running turns after the number from which the log is followed. A turn that ends between the
            // two reads has its end in the log; in the other order its end would be missed, and its text traced
            // forever.
            let mut running = store.running_turns(scope, &new).await?;
            wanted.retain(|(id, watch)| {
                // A session without a row was deleted.
                let Some(updates) = updates.remove(id) else {
                    watch.mark_deleted();
                    return false;
                };
                if watch.head().is_none() {
                    watch.reset(updates.last_seq, running.remove(id).unwrap_or_default());
                    // Read the session again, for events that were logged since.
                    return true;
                }
                let more = updates.events.len() >= MAX_EVENTS_PER_READ as usize;
                watch.append_events(*id, updates.events);
                more
            });
        }
        self.read_texts(&all).await
    }

    /// Reads the new text of the running turns of sessions.
    async fn read_texts(&self, sessions: &[(SessionId, Arc<SharedLog<i64>>)]) -> Result<(), Error> {
        loop {
            let mut positions = Vec::new();
            let mut log_of_run: HashMap<RunId, &SharedLog<i64>> = HashMap::new();
            for (_, watch) in sessions {
                for (run, from) in watch.live_positions() {
                    positions.push((run, from));
                    log_of_run.insert(run, watch);
                }
            }
            let texts = self
                .store
                .live_texts(Scope::System, &positions, MAX_TEXT_PIECES_PER_READ)
                .await?;
            for text in &texts {
                if let Some(watch) = log_of_run.get(&text.run) {
                    watch.append_text(text);
                }
            }
            if texts.len() < MAX_TEXT_PIECES_PER_READ as usize {
                return Ok(());
            }
        }
    }

    /// Reads the new events of a feed. Returns `true` if the feed must be read again after
    /// [`BLOCKED_FEED_RETRY_DELAY`].
    async fn read_feed(
        &self,
        source: FeedLog,
        watch: &SharedLog<FeedCursor>,
    ) -> Result<bool, Error> {
        let Some(mut after) = watch.head() else {
            let head = self.store.feed_head(source.tenant).await?;
            // The head is before the oldest open transaction. Events that were committed beside it are after the head
            // and have been notified already, so that the next read must not wait for a notification.
            watch.reset(head, Vec::new());
            return Ok(true);
        };
        loop {
            let page = source.read(&self.store, after).await?;
            if page.unusable_cursor.is_some() {
                // Retention has removed events that the hub has not read. Start the frames anew; readers with an
                // earlier cursor read the table, where they find the gap and send a snapshot.
                watch.reset(page.next_cursor, Vec::new());
                return Ok(page.has_open_transactions);
            }
            let events = page.events.into_iter();
            let frames = events
                .map(|one| (one.cursor, frame::feed_event(one)))
                .collect();
            watch.extend(frames, page.next_cursor);
            after = page.next_cursor;
            if !page.has_more {
                return Ok(page.has_open_transactions);
            }
        }
    }
}

/// Reads the traced logs after each change, while there is a reader.
async fn run_reader_task(shared: Arc<HubState>, mut changes: Changes) {
    // The pause before the next read without a change, and whether that read must cover everything.
    let mut again = None;
    while shared.retain_traced_logs() {
        let pause = async {
            match again {
                Some((pause, _)) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        let mut changed = tokio::select! {
            changed = changes.next() => changed,
            () = shared.log_added.notified() => ChangeSet::default(),
            () = pause => ChangeSet::default(),
            () = shared.stop.cancelled() => return,
        };
        // The changes that the failed read was for are not reported again, so that the next read must cover
        // everything.
        changed.everything |= matches!(again, Some((_, true)));
        again = match shared.read_changes(&changed).await {
            Ok(has_open_transactions) => {
                has_open_transactions.then_some((BLOCKED_FEED_RETRY_DELAY, false))
            }
            Err(error) => {
                tracing::debug!(error = %error.chain(), "cannot read the traced logs");
                Some((READ_RETRY_DELAY, true))
            }
        };
    }
}
