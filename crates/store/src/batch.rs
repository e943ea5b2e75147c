//! Group commit: one transaction for all items of one kind that are submitted at the same time.
//!
//! A commit waits for the disk, however little it writes. While the transaction of a batch is in progress, further
//! items wait, and the next batch takes them all. No item waits for others to arrive: the first item's transaction
//! begins at once.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::BoxFuture;
use tokio::sync::oneshot;

use crate::error::Error;

/// The maximum number of items in a batch. Further items wait for the next batch.
const MAX_BATCH: usize = 1024;

/// A function that runs a batch in one transaction of a context, such as a store. It returns one answer for each
/// item.
type RunBatch<C, I, O> = for<'a> fn(&'a C, &'a [I]) -> BoxFuture<'a, Result<Vec<O>, Error>>;

/// Collects the items of one kind into batches.
pub(crate) struct Batcher<I, O> {
    queue: Arc<Mutex<BatchQueue<I, O>>>,
    may_share_batch: fn(&I, &I) -> bool,
}

struct BatchQueue<I, O> {
    items: Vec<(I, oneshot::Sender<Result<O, Error>>)>,
    /// `true` while a task runs the batches.
    is_draining: bool,
}

impl<I: Send + Sync + 'static, O: Send + 'static> Batcher<I, O> {
    /// Returns a batcher. `may_share_batch` returns `true` if one transaction may write both items.
    pub(crate) fn new(may_share_batch: fn(&I, &I) -> bool) -> Self {
        let queue = BatchQueue {
            items: Vec::new(),
            is_draining: false,
        };
        Self {
            queue: Arc::new(Mutex::new(queue)),
            may_share_batch,
        }
    }

    /// Adds an item to the next batch and waits for its answer. The item still runs if the future is dropped.
    ///
    /// All callers must pass the same `run`, because the first caller's `run` runs all batches until no item waits.
    pub(crate) async fn submit<C: Clone + Send + Sync + 'static>(
        &self,
        context: &C,
        item: I,
        run: RunBatch<C, I, O>,
    ) -> Result<O, Error> {
        let (sender, answer) = oneshot::channel();
        let must_drain = {
            let mut queue = lock_queue(&self.queue);
            queue.items.push((item, sender));
            !std::mem::replace(&mut queue.is_draining, true)
        };
        if must_drain {
            // Run the batches in a task of their own, because the caller may be dropped while others wait.
            let guard = DrainGuard {
                queue: Arc::clone(&self.queue),
                finished: false,
            };
            tokio::spawn(drain_queue(
                context.clone(),
                guard,
                self.may_share_batch,
                run,
            ));
        }
        answer.await.unwrap_or(Err(Error::OutcomeUnknown))
    }
}

impl<I, O> fmt::Debug for Batcher<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher").finish_non_exhaustive()
    }
}

/// The guard of the task that runs the batches. If the task panics or is aborted, the drop of the guard unsets
/// `is_draining` and drops the waiting items, so that the next caller starts a new task and no caller waits forever.
struct DrainGuard<I, O> {
    queue: Arc<Mutex<BatchQueue<I, O>>>,
    /// `true` if the task ended because no item waited.
    finished: bool,
}

impl<I, O> Drop for DrainGuard<I, O> {
    fn drop(&mut self) {
        if !self.finished {
            let mut queue = lock_queue(&self.queue);
            queue.is_draining = false;
            // Dropping the senders ends each waiting `submit` with `Error::OutcomeUnknown`.
            queue.items.clear();
        }
    }
}

fn lock_queue<I, O>(
    queue: &Mutex<BatchQueue<I, O>>,
) -> std::sync::MutexGuard<'_, BatchQueue<I, O>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn drain_queue<C: Sync, I: Sync, O: Send>(
    context: C,
    mut guard: DrainGuard<I, O>,
    may_share_batch: fn(&I, &I) -> bool,
    run: RunBatch<C, I, O>,
) {
    loop {
        let (items, senders): (Vec<I>, Vec<_>) = {
            let mut queue = lock_queue(&guard.queue);
            if queue.items.is_empty() {
                queue.is_draining = false;
                drop(queue);
                guard.finished = true;
                return;
            }
            let mut taken = Vec::new();
            let mut left = Vec::new();
            for (item, sender) in queue.items.drain(..) {
                // Items that do not fit the first one wait for the next batch, in their order.
                let fits = taken
                    .first()
                    .is_none_or(|(first, _)| may_share_batch(first, &item));
                if fits && taken.len() < MAX_BATCH {
                    taken.push((item, sender));
                } else {
                    left.push((item, sender));
                }
            }
            queue.items = left;
            taken.into_iter().unzip()
        };
        let answers = run_or_split(&context, &items, run).await;
        for (sender, answer) in senders.into_iter().zip(answers) {
            // The caller may have been dropped.
            let _ = sender.send(answer);
        }
    }
}

/// Runs all items in one transaction. If it fails because of an item, each half runs by itself, and so on, so that the
/// item fails alone. If the database fails, no item is retried, because the transaction may have been committed.
async fn run_or_split<C: Sync, I: Sync, O: Send>(
    context: &C,
    items: &[I],
    run: RunBatch<C, I, O>,
) -> Vec<Result<O, Error>> {
    match run(context, items).await {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error) if items.len() <= 1 => vec![Err(error)],
        Err(error) if error.is_transient() => {
            let error = Arc::new(error);
            let shared = || Err(Error::BatchFailed(Arc::clone(&error)));
            items.iter().map(|_| shared()).collect()
        }
        Err(_) => {
            let (first, second) = items.split_at(items.len() / 2);
            let mut answers = Box::pin(run_or_split(context, first, run)).await;
            answers.extend(Box::pin(run_or_split(context, second, run)).await);
            answers
        }
    }
}
