//! A single reader of a trace: the stream of frames that one client receives.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{Stream, future::BoxFuture, stream};
use model::RunId;
use store::Store;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    frame,
    source::Source,
    watch::{Step, Watch},
};

/// The frames of a trace, each ready to be sent. The stream ends when the server stops, when the session was deleted,
/// when the database cannot be read, and when the client is too slow. A browser then connects again and continues
/// after the last event that it received.
pub struct Trace(Pin<Box<dyn Stream<Item = Bytes> + Send>>);

impl Stream for Trace {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.as_mut().poll_next(context)
    }
}

/// The parameters of a reader. `at` is the cursor of the last event that was sent.
pub(super) struct Reader<S: Source> {
    pub(super) source: S,
    pub(super) store: Store,
    pub(super) watch: Arc<Watch<S::Place>>,
    pub(super) at: S::Place,
    pub(super) heartbeat: Duration,
    pub(super) patience: Duration,
    pub(super) stop: CancellationToken,
}

/// A reader at work.
struct Reading<S: Source> {
    reader: Reader<S>,
    /// The frames of the last page that are not sent yet.
    page: VecDeque<(S::Place, Bytes)>,
    /// The positions up to which the text of each turn was sent.
    sent: Vec<(RunId, i64)>,
    /// The pieces of text of the last read that are not sent yet.
    texts: VecDeque<(RunId, i64, Bytes)>,
    /// `true` once the first frame, with the delay for connecting again, was sent.
    greeted: bool,
    /// `true` once the table was read after the first cursor, which checks that the cursor is valid.
    checked: bool,
    /// `true` once the last frame was sent.
    over: bool,
    /// The instant at which the client took the last frame.
    taken: Instant,
}

impl<S: Source> Reader<S> {
    /// Returns the stream of frames after the cursor.
    pub(super) fn trace(self) -> Trace {
        let reading = Reading {
            reader: self,
            page: VecDeque::new(),
            sent: Vec::new(),
            texts: VecDeque::new(),
            greeted: false,
            checked: false,
            over: false,
            taken: Instant::now(),
        };
        Trace(Box::pin(stream::unfold(reading, |mut reading| async {
            let frame = reading.next().await?;
            reading.taken = Instant::now();
            Some((frame, reading))
        })))
    }
}

impl<S: Source> Reading<S> {
    /// Returns the next frame. Returns `None` if the trace ends.
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.greeted, true) {
            return Some(Bytes::from_static(frame::RETRY));
        }
        // The connection polls this stream only when it has room for another frame. If it did not for `patience`, the
        // client does not read. End the trace, because its frames would fill buffers; the client can connect again
        // and continue.
        if self.over || self.taken.elapsed() > self.reader.patience {
            return None;
        }
        let quiet = tokio::time::sleep(self.reader.heartbeat);
        tokio::pin!(quiet);
        loop {
            if self.reader.stop.is_cancelled() {
                return None;
            }
            // 1. Send frames that were read before.
            if let Some((place, frame)) = self.page.pop_front() {
                self.reader.at = place;
                return Some(frame);
            }
            if let Some((run, end, frame)) = self.texts.pop_front() {
                self.note(run, end);
                return Some(frame);
            }
            // 2. Check the first cursor once. The shared frames cannot tell a valid cursor from one that retention
            // has removed or that was never given.
            if !std::mem::replace(&mut self.checked, true) {
                self.read().await?;
                continue;
            }
            // 3. Take the next step. Register for the notification before reading the state: a change between the two
            // would otherwise go unnoticed until the next one.
            let watch = Arc::clone(&self.reader.watch);
            let rung = watch.bell.notified();
            tokio::pin!(rung);
            rung.as_mut().enable();
            match watch.step(self.reader.at, &mut self.sent) {
                Step::Event(place, frame) => {
                    self.reader.at = place;
                    return Some(frame);
                }
                Step::Delta(run, end, frame) => {
                    self.note(run, end);
                    return Some(frame);
                }
                Step::Gone => {
                    self.over = true;
                    return Some(self.reader.source.deleted());
                }
                Step::Page => {
                    self.read().await?;
                    continue;
                }
                Step::Text(run) => {
                    self.read_text(run).await?;
                    continue;
                }
                Step::Wait(place) => self.reader.at = place,
            }
            // 4. Wait for a change. The heartbeat counts from the last frame, because `quiet` is made outside the
            // loop.
            tokio::select! {
                () = rung => {}
                () = &mut quiet => return Some(Bytes::from_static(frame::HEARTBEAT)),
                () = self.reader.stop.cancelled() => return None,
            }
        }
    }

    /// Records the position up to which the text of a turn was sent.
    fn note(&mut self, run: RunId, end: i64) {
        match self.sent.iter_mut().find(|(of, _)| *of == run) {
            Some((_, sent)) => *sent = end,
            None => self.sent.push((run, end)),
        }
    }

    /// Reads the page after the cursor. Returns `None` if the database cannot be read or the server stops.
    async fn read(&mut self) -> Option<()> {
        let Reader {
            source, store, at, ..
        } = &self.reader;
        match result_or_stop(&self.reader.stop, source.page(store, *at)).await? {
            Some(page) => {
                // Move the cursor now if no frame will move it, and for a snapshot, which replaces all events before
                // `scanned`. For a page with frames the cursor moves with each frame that is sent, because the page
                // may lack the last events that `scanned` covers.
                if page.frames.is_empty() || page.resync {
                    self.reader.at = page.scanned;
                }
                self.page = page.frames;
            }
            None => {
                // The next step of this reader, and of all others of the session, then reports the deletion.
                self.reader.watch.gone();
            }
        }
        Some(())
    }

    /// Reads the text of a turn from the position up to which it was sent. Returns `None` like [`Self::read`].
    async fn read_text(&mut self, run: RunId) -> Option<()> {
        let from = self.sent.iter().find(|(of, _)| *of == run);
        let from = from.map_or(0, |(_, from)| *from);
        let Reader { source, store, .. } = &self.reader;
        let texts = result_or_stop(&self.reader.stop, source.text(store, run, from)).await?;
        if texts.is_empty() {
            // The turn has ended and its text is deleted; the event of its end follows in the log. Mark its text as
            // sent, so that the loop does not read it again until then.
            self.note(run, i64::MAX);
        }
        self.texts = texts
            .into_iter()
            .map(|(end, frame)| (run, end, frame))
            .collect();
        Some(())
    }
}

/// Waits for a result of the database or for the stop of the server. Returns `None` for the stop and for an error,
/// which it logs.
async fn result_or_stop<T>(
    stop: &CancellationToken,
    answer: BoxFuture<'_, Result<T, store::Error>>,
) -> Option<T> {
    tokio::select! {
        answer = answer => match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                tracing::debug!(error = %error.chain(), "failed to read a trace");
                None
            }
        },
        () = stop.cancelled() => None,
    }
}
