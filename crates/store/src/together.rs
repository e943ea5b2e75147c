//! Doing in one transaction what several ask for at the same time.
//!
//! A commit waits for the disk, however little it writes. While one transaction of a kind is under
//! way, whoever comes is kept waiting, and all who wait are served by the next one. Nobody waits for
//! company: the first one's transaction begins at once.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::BoxFuture;
use model::turn::{Beat, Begin, Settled, Submitted};
use tokio::sync::oneshot;

use crate::{
    Error,
    runs::{Beating, Beginning, Finishing, Recording, Words},
    store::Store,
};

/// How many are served by one transaction at the most: where there are more, the next one runs beside those of
/// other kinds.
const COMPANY: usize = 1024;

/// The transitions that are done together.
pub(crate) struct Together {
    pub(crate) say: Queue<Words, Result<Submitted, Error>>,
    pub(crate) begin: Queue<Beginning, Begin>,
    pub(crate) beat: Queue<Beating, Beat>,
    pub(crate) record: Queue<Recording, Settled>,
    pub(crate) finish: Queue<Finishing, Settled>,
}

impl Default for Together {
    fn default() -> Self {
        Self {
            say: Queue::new(Words::alike, |store, all| Box::pin(store.say_all(all))),
            begin: Queue::new(Beginning::alike, |store, all| {
                Box::pin(store.begin_all(all))
            }),
            beat: Queue::new(Beating::alike, |store, all| Box::pin(store.beat_all(all))),
            record: Queue::new(|_, _| true, |store, all| Box::pin(store.record_all(all))),
            finish: Queue::new(|_, _| true, |store, all| Box::pin(store.finish_all(all))),
        }
    }
}

/// A transition of many, in one transaction: one answer for each.
type Transition<I, O> = for<'a> fn(&'a Store, &'a [I]) -> BoxFuture<'a, Result<Vec<O>, Error>>;

/// Where those wait who want the same transition.
pub(crate) struct Queue<I, O> {
    waiting: Arc<Mutex<Waiting<I, O>>>,
    alike: fn(&I, &I) -> bool,
    transition: Transition<I, O>,
}

struct Waiting<I, O> {
    items: Vec<(I, oneshot::Sender<Result<O, Error>>)>,
    /// Whether somebody serves them.
    served: bool,
}

impl<I: Send + Sync + 'static, O: Send + 'static> Queue<I, O> {
    fn new(alike: fn(&I, &I) -> bool, transition: Transition<I, O>) -> Self {
        let waiting = Waiting {
            items: Vec::new(),
            served: false,
        };
        Self {
            waiting: Arc::new(Mutex::new(waiting)),
            alike,
            transition,
        }
    }

    /// Has an item done, with those that wait beside it. Whoever stops waiting for the answer does not
    /// undo it.
    pub(crate) async fn submit(&self, store: &Store, item: I) -> Result<O, Error> {
        let (sender, answer) = oneshot::channel();
        let serve = {
            let mut waiting = lock(&self.waiting);
            waiting.items.push((item, sender));
            !std::mem::replace(&mut waiting.served, true)
        };
        if serve {
            // A task of its own: whoever came first may go away, and the others must still be served.
            let served = Served {
                waiting: Arc::clone(&self.waiting),
                left: false,
            };
            tokio::spawn(serve_all(
                store.clone(),
                served,
                self.alike,
                self.transition,
            ));
        }
        answer.await.unwrap_or(Err(Error::Abandoned))
    }
}

/// Whoever serves. However that ends, the next who comes finds the place free, and nobody waits on.
struct Served<I, O> {
    waiting: Arc<Mutex<Waiting<I, O>>>,
    /// Whether the place was left with nobody waiting.
    left: bool,
}

impl<I, O> Drop for Served<I, O> {
    fn drop(&mut self) {
        if !self.left {
            let mut waiting = lock(&self.waiting);
            waiting.served = false;
            waiting.items.clear();
        }
    }
}

fn lock<I, O>(waiting: &Mutex<Waiting<I, O>>) -> std::sync::MutexGuard<'_, Waiting<I, O>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve_all<I: Send + Sync + 'static, O: Send + 'static>(
    store: Store,
    mut served: Served<I, O>,
    alike: fn(&I, &I) -> bool,
    transition: Transition<I, O>,
) {
    loop {
        let (items, senders): (Vec<I>, Vec<_>) = {
            let mut waiting = lock(&served.waiting);
            if waiting.items.is_empty() {
                waiting.served = false;
                drop(waiting);
                served.left = true;
                return;
            }
            let mut taken = Vec::new();
            let mut left = Vec::new();
            for (item, sender) in waiting.items.drain(..) {
                let fits = taken.first().is_none_or(|(first, _)| alike(first, &item));
                if fits && taken.len() < COMPANY {
                    taken.push((item, sender));
                } else {
                    left.push((item, sender));
                }
            }
            waiting.items = left;
            taken.into_iter().unzip()
        };
        let answers = done(&store, &items, transition).await;
        for (sender, answer) in senders.into_iter().zip(answers) {
            // Whoever asked may have gone away.
            let _ = sender.send(answer);
        }
    }
}

/// Does all items in one transaction. Where one of them is at fault, each half is done by itself, and so on,
/// so that it fails alone; where the database is, nothing is tried again that may have been done.
async fn done<I: Sync, O: Send>(
    store: &Store,
    items: &[I],
    transition: Transition<I, O>,
) -> Vec<Result<O, Error>> {
    match transition(store, items).await {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error) if items.len() <= 1 => vec![Err(error)],
        Err(error) if error.is_transient() => {
            let error = Arc::new(error);
            let shared = || Err(Error::Together(Arc::clone(&error)));
            items.iter().map(|_| shared()).collect()
        }
        Err(_) => {
            let (first, second) = items.split_at(items.len() / 2);
            let mut answers = Box::pin(done(store, first, transition)).await;
            answers.extend(Box::pin(done(store, second, transition)).await);
            answers
        }
    }
}

impl fmt::Debug for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Together").finish_non_exhaustive()
    }
}
