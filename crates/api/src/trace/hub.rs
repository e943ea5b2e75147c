//! Who watches what, and the one task that reads for all of them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use model::{AutomationId, RunId, SessionId, TenantId, feed::FeedCursor};
use store::{Changed, Changes, Error, Scope, Store};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    frame,
    reader::{Reader, Trace},
    source::{OfFeed, OfSession},
    watch::Watch,
};

/// How many events of one session one look reads at the most.
const LOOK: u32 = 64;
/// How many pieces of text one look reads at the most.
const PIECES: u32 = 256;
/// The pause after the database could not be read.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause after a feed that others hold back.
const HELD: Duration = Duration::from_millis(100);
/// A number that no event has, with room to count on.
const NO_NUMBER: i64 = i64::MAX >> 1;

/// How traces are served.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// After how long without a frame a comment is sent.
    pub heartbeat: Duration,
    /// How long a reader may take for one frame before it is dropped.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(15),
            patience: Duration::from_mins(1),
        }
    }
}

/// The traces of one process. Cheap to clone.
#[derive(Clone)]
pub struct Hub(Arc<Shared>);

struct Shared {
    store: Store,
    settings: Settings,
    stop: CancellationToken,
    watched: Mutex<Watched>,
    /// Rung for what is watched for the first time.
    new: Notify,
}

#[derive(Default)]
struct Watched {
    sessions: HashMap<SessionId, Weak<Watch<i64>>>,
    feeds: BTreeMap<OfFeed, Weak<Watch<FeedCursor>>>,
    /// Whether the task is there that reads.
    served: bool,
}

impl Hub {
    /// Makes a hub over a store. Every trace ends at once when `stop` is cancelled.
    pub fn new(store: Store, settings: Settings, stop: CancellationToken) -> Self {
        Self(Arc::new(Shared {
            store,
            settings,
            stop,
            watched: Mutex::default(),
            new: Notify::new(),
        }))
    }

    /// The trace of a session after the event of a number; without one, from the oldest event that is
    /// kept.
    pub async fn session(
        &self,
        scope: Scope,
        session: SessionId,
        after: Option<i64>,
    ) -> Result<Trace, Error> {
        let store = &self.0.store;
        store.session(scope, session).await?;
        let after = match after {
            Some(after) => after.clamp(0, NO_NUMBER),
            None => store.oldest_event(scope, session).await? - 1,
        };
        let watch = self.watch(|watched| &mut watched.sessions, session);
        let source = OfSession { scope, session };
        Ok(self.reader(source, watch, after))
    }

    /// The trace of all that a tenant may see, after a place; without one, of what is yet to come.
    pub async fn tenant(
        &self,
        tenant: TenantId,
        after: Option<FeedCursor>,
    ) -> Result<Trace, Error> {
        self.feed(tenant, None, after).await
    }

    /// The trace of an automation, after a place; without one, of what is yet to come. The automation may
    /// have been removed.
    pub async fn automation(
        &self,
        tenant: TenantId,
        automation: AutomationId,
        after: Option<FeedCursor>,
    ) -> Result<Trace, Error> {
        let store = &self.0.store;
        store.automation(Scope::Tenant(tenant), automation).await?;
        self.feed(tenant, Some(automation), after).await
    }

    async fn feed(
        &self,
        tenant: TenantId,
        automation: Option<AutomationId>,
        after: Option<FeedCursor>,
    ) -> Result<Trace, Error> {
        let after = match after {
            Some(after) => after,
            None => self.0.store.feed_head(tenant).await?,
        };
        let source = OfFeed { tenant, automation };
        let watch = self.watch(|watched| &mut watched.feeds, source);
        Ok(self.reader(source, watch, after))
    }

    fn reader<S: super::source::Source>(
        &self,
        source: S,
        watch: Arc<Watch<S::Place>>,
        at: S::Place,
    ) -> Trace {
        let Shared {
            store,
            settings,
            stop,
            ..
        } = &*self.0;
        let reader = Reader {
            source,
            store: store.clone(),
            watch,
            at,
            heartbeat: settings.heartbeat,
            patience: settings.patience,
            stop: stop.clone(),
        };
        reader.trace()
    }

    /// Joins those who watch something, and has it read if nobody does.
    fn watch<I, K, M>(&self, map: impl FnOnce(&mut Watched) -> &mut M, id: I) -> Arc<Watch<K>>
    where
        K: Copy + Ord,
        M: Map<I, Weak<Watch<K>>>,
    {
        let mut watched = self.0.watched();
        let place = map(&mut watched).place(id);
        let watch = place.upgrade().unwrap_or_else(|| {
            let watch = Arc::new(Watch::new());
            *place = Arc::downgrade(&watch);
            self.0.new.notify_one();
            watch
        });
        if !std::mem::replace(&mut watched.served, true) {
            // It subscribes before anything is read.
            let changes = self.0.store.changes();
            tokio::spawn(serve(Arc::clone(&self.0), changes));
        }
        watch
    }
}

/// A map in which a place is made where there is none.
trait Map<I, V> {
    fn place(&mut self, id: I) -> &mut V;
}

impl<V: Default> Map<SessionId, V> for HashMap<SessionId, V> {
    fn place(&mut self, id: SessionId) -> &mut V {
        self.entry(id).or_default()
    }
}

impl<V: Default> Map<OfFeed, V> for BTreeMap<OfFeed, V> {
    fn place(&mut self, id: OfFeed) -> &mut V {
        self.entry(id).or_default()
    }
}

impl Shared {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what nobody watches any more. Gives whether anything is left; if not, nobody serves.
    fn any(&self) -> bool {
        let mut watched = self.watched();
        watched.sessions.retain(|_, watch| watch.strong_count() > 0);
        watched.feeds.retain(|_, watch| watch.strong_count() > 0);
        watched.served = !watched.sessions.is_empty() || !watched.feeds.is_empty();
        watched.served
    }

    /// What is watched of what has changed, and what is not read yet.
    fn wanted(&self, changed: &Changed) -> Vec<(SessionId, Arc<Watch<i64>>)> {
        let watched = self.watched();
        let all = watched.sessions.iter();
        let all = all.filter_map(|(id, watch)| Some((*id, watch.upgrade()?)));
        all.filter(|(id, watch)| {
            changed.everything || changed.logs.contains(&id.uuid()) || watch.head().is_none()
        })
        .collect()
    }

    /// Reads what is new, for everybody.
    ///
    /// Gives whether feeds are held back: nobody tells when what holds them is over.
    async fn read(&self, changed: &Changed) -> Result<bool, Error> {
        let wanted = self.wanted(changed);
        self.read_sessions(wanted).await?;
        let feeds: Vec<_> = {
            let watched = self.watched();
            let feeds = watched.feeds.iter();
            feeds
                .filter_map(|(source, watch)| Some((*source, watch.upgrade()?)))
                .collect()
        };
        let mut held = false;
        for (source, watch) in feeds {
            held |= self.read_feed(source, &watch).await?;
        }
        Ok(held)
    }

    async fn read_sessions(
        &self,
        mut wanted: Vec<(SessionId, Arc<Watch<i64>>)>,
    ) -> Result<(), Error> {
        let (store, scope) = (&self.store, Scope::System);
        let all = wanted.clone();
        while !wanted.is_empty() {
            let asked: Vec<_> = wanted
                .iter()
                .map(|(id, watch)| (*id, watch.head().unwrap_or(NO_NUMBER)))
                .collect();
            let news = store.events_of_many(scope, &asked, LOOK).await?;
            let mut news: HashMap<SessionId, _> =
                news.into_iter().map(|one| (one.session, one)).collect();
            let new: Vec<SessionId> = wanted
                .iter()
                .filter(|(_, watch)| watch.head().is_none())
                .map(|(id, _)| *id)
                .collect();
            // After the number from which it begins: a turn that ends meanwhile is in the log.
            let mut running = store.running_in(scope, &new).await?;
            wanted.retain(|(id, watch)| {
                let Some(news) = news.remove(id) else {
                    watch.gone();
                    return false;
                };
                if watch.head().is_none() {
                    watch.begin(news.last_seq, running.remove(id).unwrap_or_default());
                    return true;
                }
                let more = news.events.len() >= LOOK as usize;
                watch.log(*id, news.events);
                more
            });
        }
        self.read_texts(&all).await
    }

    /// Reads what the turns of sessions have written.
    async fn read_texts(&self, sessions: &[(SessionId, Arc<Watch<i64>>)]) -> Result<(), Error> {
        loop {
            let mut asked = Vec::new();
            let mut of: HashMap<RunId, &Watch<i64>> = HashMap::new();
            for (_, watch) in sessions {
                for (run, from) in watch.live() {
                    asked.push((run, from));
                    of.insert(run, watch);
                }
            }
            let texts = self
                .store
                .live_of_runs(Scope::System, &asked, PIECES)
                .await?;
            for text in &texts {
                if let Some(watch) = of.get(&text.run) {
                    watch.write(text);
                }
            }
            if texts.len() < PIECES as usize {
                return Ok(());
            }
        }
    }

    async fn read_feed(&self, source: OfFeed, watch: &Watch<FeedCursor>) -> Result<bool, Error> {
        let Some(mut after) = watch.head() else {
            let head = self.store.feed_head(source.tenant).await?;
            watch.begin(head, Vec::new());
            return Ok(true);
        };
        loop {
            let page = source.read(&self.store, after).await?;
            if page.lost.is_some() {
                // Whoever has not read what is gone finds that out in the table.
                watch.begin(page.scanned, Vec::new());
                return Ok(page.held);
            }
            let events = page.events.into_iter();
            let frames = events.map(|one| (one.cursor, frame::fed(one))).collect();
            watch.extend(frames, page.scanned);
            after = page.scanned;
            if !page.more {
                return Ok(page.held);
            }
        }
    }
}

/// Reads for everybody, for as long as anybody watches anything.
async fn serve(shared: Arc<Shared>, mut changes: Changes) {
    let mut again = None;
    while shared.any() {
        let pause = async {
            match again {
                Some((pause, _)) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        let mut changed = tokio::select! {
            changed = changes.next() => changed,
            () = shared.new.notified() => Changed::default(),
            () = pause => Changed::default(),
            () = shared.stop.cancelled() => return,
        };
        // What could not be read is not told of again.
        changed.everything |= matches!(again, Some((_, true)));
        again = match shared.read(&changed).await {
            Ok(held) => held.then_some((HELD, false)),
            Err(error) => {
                tracing::debug!(error = %error.chain(), "failed to read what is watched");
                Some((PAUSE, true))
            }
        };
    }
}
