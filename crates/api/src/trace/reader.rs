//! One who reads a trace.

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

/// Frames of a trace, each ready to be sent. It ends when the server stops, when its session is gone, when
/// the database cannot be read, and when whoever reads it is too slow: a browser then connects again and
/// goes on where it was.
pub struct Trace(Pin<Box<dyn Stream<Item = Bytes> + Send>>);

impl Stream for Trace {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.as_mut().poll_next(context)
    }
}

/// What a reader holds: a place, and what it has not sent of the page that it read last.
pub(super) struct Reader<S: Source> {
    pub(super) source: S,
    pub(super) store: Store,
    pub(super) watch: Arc<Watch<S::Place>>,
    pub(super) at: S::Place,
    pub(super) heartbeat: Duration,
    pub(super) patience: Duration,
    pub(super) stop: CancellationToken,
}

struct Reading<S: Source> {
    reader: Reader<S>,
    page: VecDeque<(S::Place, Bytes)>,
    /// How much of the texts of turns was sent.
    sent: Vec<(RunId, i64)>,
    texts: VecDeque<(RunId, i64, Bytes)>,
    greeted: bool,
    /// Whether the table was asked about its first place.
    checked: bool,
    over: bool,
    /// When the last frame was taken.
    taken: Instant,
}

impl<S: Source> Reader<S> {
    /// The frames after its place.
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
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.greeted, true) {
            return Some(Bytes::from_static(frame::RETRY));
        }
        // Nobody took a frame for so long, and then asks for the next one: what it was sent meanwhile lies
        // in buffers on the way. It may come again and read on.
        if self.over || self.taken.elapsed() > self.reader.patience {
            return None;
        }
        let quiet = tokio::time::sleep(self.reader.heartbeat);
        tokio::pin!(quiet);
        loop {
            if self.reader.stop.is_cancelled() {
                return None;
            }
            if let Some((place, frame)) = self.page.pop_front() {
                self.reader.at = place;
                return Some(frame);
            }
            if let Some((run, end, frame)) = self.texts.pop_front() {
                self.note(run, end);
                return Some(frame);
            }
            // Whether its place is one at all, only the table can say.
            if !std::mem::replace(&mut self.checked, true) {
                self.read().await?;
                continue;
            }
            // It listens before it looks, so that no ring between is missed.
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
            tokio::select! {
                () = rung => {}
                () = &mut quiet => return Some(Bytes::from_static(frame::HEARTBEAT)),
                () = self.reader.stop.cancelled() => return None,
            }
        }
    }

    fn note(&mut self, run: RunId, end: i64) {
        match self.sent.iter_mut().find(|(of, _)| *of == run) {
            Some((_, sent)) => *sent = end,
            None => self.sent.push((run, end)),
        }
    }

    /// Reads a page of the table. Nothing: it cannot be read, or the server stops.
    async fn read(&mut self) -> Option<()> {
        let Reader {
            source, store, at, ..
        } = &self.reader;
        match or_stop(&self.reader.stop, source.page(store, *at)).await? {
            Some(page) => {
                // A snapshot stands for everything before it.
                if page.frames.is_empty() || page.resync {
                    self.reader.at = page.scanned;
                }
                self.page = page.frames;
            }
            None => {
                self.reader.watch.gone();
            }
        }
        Some(())
    }

    async fn read_text(&mut self, run: RunId) -> Option<()> {
        let from = self.sent.iter().find(|(of, _)| *of == run);
        let from = from.map_or(0, |(_, from)| *from);
        let Reader { source, store, .. } = &self.reader;
        let texts = or_stop(&self.reader.stop, source.text(store, run, from)).await?;
        if texts.is_empty() {
            // The turn is over: the log is about to say so. Its text is not asked for again.
            self.note(run, i64::MAX);
        }
        self.texts = texts
            .into_iter()
            .map(|(end, frame)| (run, end, frame))
            .collect();
        Some(())
    }
}

/// Waits for an answer of the database, or for the server's stop.
async fn or_stop<T>(
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
