//! A single reader of a trace: the stream of frames that one client receives.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{
    Stream,
    future::{self, BoxFuture},
    stream,
};
use model::RunId;
use store::Store;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    frame,
    log_source::LogSource,
    sent_positions::{record_sent, sent_position},
    shared_log::{SharedLog, Step, TextStep},
    text_reader::TextReader,
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

/// The parameters of a reader. `cursor` is that of the last event that was sent.
pub(super) struct ReaderConfig<S: LogSource> {
    pub(super) source: S,
    pub(super) store: Store,
    pub(super) log: Arc<SharedLog<S::Place>>,
    pub(super) cursor: S::Place,
    /// The sessions whose text the trace has beside the events of its log.
    pub(super) texts: Vec<TextReader>,
    pub(super) heartbeat_interval: Duration,
    pub(super) client_timeout: Duration,
    pub(super) stop: CancellationToken,
}

/// A reader at work.
struct ActiveReader<S: LogSource> {
    config: ReaderConfig<S>,
    /// The frames of the last page that are not sent yet.
    page: VecDeque<(S::Place, Bytes)>,
    /// The positions up to which the text of each turn was sent.
    sent_positions: Vec<(RunId, i64)>,
    /// The pieces of text of the last read that are not sent yet.
    texts: VecDeque<(RunId, i64, Bytes)>,
    /// `true` once the first frame, with the delay for connecting again, was sent.
    retry_frame_sent: bool,
    /// `true` once the table was read after the first cursor, which checks that the cursor is valid.
    cursor_checked: bool,
    /// `true` once the last frame was sent.
    is_over: bool,
    /// The instant at which the client took the last frame.
    last_taken_at: Instant,
}

impl<S: LogSource> ReaderConfig<S> {
    /// Returns the stream of frames after the cursor.
    pub(super) fn into_trace(self) -> Trace {
        let reading = ActiveReader {
            config: self,
            page: VecDeque::new(),
            sent_positions: Vec::new(),
            texts: VecDeque::new(),
            retry_frame_sent: false,
            cursor_checked: false,
            is_over: false,
            last_taken_at: Instant::now(),
        };
        Trace(Box::pin(stream::unfold(reading, |mut reading| async {
            let frame = reading.next().await?;
            reading.last_taken_at = Instant::now();
            Some((frame, reading))
        })))
    }
}

impl<S: LogSource> ActiveReader<S> {
    /// Returns the next frame. Returns `None` if the trace ends.
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.retry_frame_sent, true) {
            return Some(Bytes::from_static(frame::RETRY_FRAME));
        }
        // The connection polls this stream only when it has room for another frame. If it did not for `client_timeout`,
        // the client does not read. End the trace, because its frames would fill buffers; the client can connect again
        // and continue.
        if self.is_over || self.last_taken_at.elapsed() > self.config.client_timeout {
            return None;
        }
        let quiet = tokio::time::sleep(self.config.heartbeat_interval);
        tokio::pin!(quiet);
        loop {
            if self.config.stop.is_cancelled() {
                return None;
            }
            // 1. Send frames that were read before.
            if let Some((cursor, frame)) = self.page.pop_front() {
                self.config.cursor = cursor;
                return Some(frame);
            }
            if let Some((run, end, frame)) = self.texts.pop_front() {
                record_sent(&mut self.sent_positions, run, end);
                return Some(frame);
            }
            // 2. Check the first cursor once. The shared frames cannot tell a valid cursor from one that retention
            // has removed or that was never given.
            if !std::mem::replace(&mut self.cursor_checked, true) {
                self.read_page().await?;
                continue;
            }
            // 3. Take the next step. Register for the notification before reading the state: a change between the two
            // would otherwise go unnoticed until the next one.
            let watch = Arc::clone(&self.config.log);
            let changed = watch.change_notify.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let text_logs: Vec<_> = self
                .config
                .texts
                .iter()
                .map(|one| Arc::clone(&one.log))
                .collect();
            let mut texts_changed: Vec<_> = text_logs
                .iter()
                .map(|log| Box::pin(log.change_notify.notified()))
                .collect();
            for changed in &mut texts_changed {
                changed.as_mut().enable();
            }
            match watch.next_step(self.config.cursor, &mut self.sent_positions) {
                Step::Event(cursor, frame) => {
                    self.config.cursor = cursor;
                    return Some(frame);
                }
                Step::Text(TextStep::Delta(run, end, frame)) => {
                    record_sent(&mut self.sent_positions, run, end);
                    return Some(frame);
                }
                Step::Text(TextStep::Read(run)) => {
                    self.read_text(run).await?;
                    continue;
                }
                Step::Deleted => {
                    self.is_over = true;
                    return Some(self.config.source.deleted_frame());
                }
                Step::ReadPage => {
                    self.read_page().await?;
                    continue;
                }
                Step::Wait(cursor) => self.config.cursor = cursor,
            }
            // Events come first, so that the text of a turn seldom precedes its start.
            if let Some(frame) = self.next_text_of_sessions().await? {
                return Some(frame);
            }
            // 4. Wait for a change. The keep-alive counts from the last frame, because `quiet` is made outside the
            // loop.
            tokio::select! {
                () = changed => {}
                () = any_of(texts_changed) => {}
                () = &mut quiet => return Some(Bytes::from_static(frame::HEARTBEAT_FRAME)),
                () = self.config.stop.cancelled() => return None,
            }
        }
    }

    /// Returns the next frame of the sessions whose text the trace has beside its log. The outer `None` is an error, as
    /// in [`Self::read_page`].
    async fn next_text_of_sessions(&mut self) -> Option<Option<Bytes>> {
        let ReaderConfig {
            texts, store, stop, ..
        } = &mut self.config;
        for text in texts {
            let next = Box::pin(text.next(store));
            if let Some(frame) = result_or_stop(stop, next).await? {
                return Some(Some(frame));
            }
        }
        Some(None)
    }

    /// Reads the page after the cursor. Returns `None` if the database cannot be read or the server stops.
    async fn read_page(&mut self) -> Option<()> {
        let ReaderConfig {
            source,
            store,
            cursor: at,
            ..
        } = &self.config;
        match result_or_stop(&self.config.stop, source.read_page(store, *at)).await? {
            Some(page) => {
                // Move the cursor now if no frame will move it, and for a snapshot, which replaces all events before
                // `scanned_to`. For a page with frames the cursor moves with each frame that is sent, because the page
                // may lack the last events that `scanned_to` covers.
                if page.frames.is_empty() || page.is_resync {
                    self.config.cursor = page.scanned_to;
                }
                self.page = page.frames;
            }
            None => {
                // The next step of this reader, and of all others of the session, then reports the deletion.
                self.config.log.mark_deleted();
            }
        }
        Some(())
    }

    /// Reads the text of a turn from the position up to which it was sent. Returns `None` like
    /// [`Self::read_page`].
    async fn read_text(&mut self, run: RunId) -> Option<()> {
        let from = sent_position(&self.sent_positions, run);
        let ReaderConfig { source, store, .. } = &self.config;
        let texts = result_or_stop(&self.config.stop, source.read_text(store, run, from)).await?;
        if texts.is_empty() {
            // The turn has ended and its text is deleted; the event of its end follows in the log. Mark its text as
            // sent, so that the loop does not read it again until then.
            record_sent(&mut self.sent_positions, run, i64::MAX);
        }
        self.texts = texts
            .into_iter()
            .map(|(end, frame)| (run, end, frame))
            .collect();
        Some(())
    }
}

/// Waits for the first of some notifications. Without any, waits forever.
async fn any_of(notified: Vec<impl Future<Output = ()> + Unpin>) {
    if notified.is_empty() {
        std::future::pending::<()>().await;
    }
    future::select_all(notified).await;
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
                tracing::debug!(error = %error.chain(), "cannot read a trace");
                None
            }
        },
        () = stop.cancelled() => None,
    }
}
