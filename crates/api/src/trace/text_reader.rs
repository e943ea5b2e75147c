//! The text of one session's turns for a reader of a feed.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use model::RunId;
use store::{Error, Store};

use super::{
    log_source::{LogSource as _, SessionLog},
    sent_positions::{record_sent, sent_position},
    shared_log::{SharedLog, TextStep},
};

/// A reader of the text that the turns of one session are writing. It sends no events.
pub(super) struct TextReader {
    source: SessionLog,
    pub(super) log: Arc<SharedLog<i64>>,
    /// The positions up to which the text of each turn was sent.
    sent_positions: Vec<(RunId, i64)>,
    /// The pieces of the last read that are not sent yet.
    pieces: VecDeque<(RunId, i64, Bytes)>,
}

impl TextReader {
    /// Returns a reader that has sent nothing yet.
    pub(super) fn new(source: SessionLog, log: Arc<SharedLog<i64>>) -> Self {
        Self {
            source,
            log,
            sent_positions: Vec::new(),
            pieces: VecDeque::new(),
        }
    }

    /// Returns the next frame. Returns `None` if there is no new text at present.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be read.
    pub(super) async fn next(&mut self, store: &Store) -> Result<Option<Bytes>, Error> {
        loop {
            if let Some((run, end, frame)) = self.pieces.pop_front() {
                record_sent(&mut self.sent_positions, run, end);
                return Ok(Some(frame));
            }
            match self.log.next_text(&mut self.sent_positions) {
                None => return Ok(None),
                Some(TextStep::Delta(run, end, frame)) => {
                    record_sent(&mut self.sent_positions, run, end);
                    return Ok(Some(frame));
                }
                Some(TextStep::Read(run)) => {
                    let from = sent_position(&self.sent_positions, run);
                    let texts = self.source.read_text(store, run, from).await?;
                    if texts.is_empty() {
                        // The turn has ended and its text is deleted. Mark its text as sent, so that the loop does not
                        // read it again until the hub forgets the turn.
                        record_sent(&mut self.sent_positions, run, i64::MAX);
                    }
                    let pieces = texts.into_iter();
                    self.pieces = pieces.map(|(end, frame)| (run, end, frame)).collect();
                }
            }
        }
    }
}
