//! The reader of an agent's output: messages from standard output, and diagnostics from the rest.
//!
//! The reader never buffers without a limit. If a consumer is slow, the reader stops reading, and the agent then
//! blocks on its full pipe.

use std::io;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    sync::{Semaphore, mpsc},
};

use crate::{
    diagnostics::{Diagnostics, UnreadableOutput},
    limits::{LARGE_MESSAGE_BYTES, MAX_LINE_VALUES, MAX_PENDING_REQUESTS},
    message::MessageSize,
    sdk::router::Router,
};

/// Reads standard error to its end, so that an agent never blocks on a full pipe.
pub(crate) async fn drain_stderr(mut stderr: impl AsyncRead + Unpin, diagnostics: &Diagnostics) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        diagnostics.push_stderr(&chunk[..count]);
    }
}

/// The destinations of the lines that [`read_stdout`] reads.
pub(crate) struct LineDispatcher<'a> {
    pub(crate) router: &'a Router,
    pub(crate) diagnostics: &'a Diagnostics,
    /// The channel of messages for the protocol's connection. Its end tells the connection that no message follows.
    pub(crate) messages: mpsc::Sender<String>,
    /// One permit for each request of the agent that may wait for an answer.
    pub(crate) request_permits: &'a Semaphore,
    pub(crate) max_line_bytes: usize,
}

/// Reads standard output to its end.
///
/// Updates go directly to the turn, and reading pauses while the turn's receiver is full, so that a flooding agent
/// fills its pipe and not the memory of the worker. Other messages go to the protocol's connection. Lines that are no
/// messages are dropped and counted. After a line or message that exceeds its limit, the rest of the output is read
/// and discarded.
pub(crate) async fn read_stdout(stdout: impl AsyncRead + Unpin, dispatcher: LineDispatcher<'_>) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        // One long line must not keep its buffer for the rest of the session.
        line.shrink_to(LARGE_MESSAGE_BYTES);
        let limit = dispatcher.max_line_bytes;
        let unreadable = match read_line(&mut stdout, &mut line, limit).await {
            Ok(LineRead::Complete) => match MessageSize::measure(&line) {
                Some(size) => {
                    dispatcher.dispatch(&line, size).await;
                    continue;
                }
                None => UnreadableOutput::TooManyValues {
                    limit: MAX_LINE_VALUES,
                },
            },
            Ok(LineRead::TooLong) => UnreadableOutput::LineTooLong { limit },
            Ok(LineRead::EndOfOutput) | Err(_) => return,
        };
        dispatcher.diagnostics.set_unreadable(unreadable);
        // Dropping the sorter closes the channel of messages, so that calls which wait for an answer end. The output
        // is still drained, because an agent that blocks on a full pipe would not end by itself.
        drop((dispatcher, line));
        tokio::io::copy(&mut stdout, &mut tokio::io::sink())
            .await
            .ok();
        return;
    }
}

enum LineRead {
    Complete,
    TooLong,
    EndOfOutput,
}

/// Reads one line without its line end. The last line may lack the line end.
async fn read_line(
    from: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    limit: usize,
) -> io::Result<LineRead> {
    loop {
        let buffer = from.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(if line.is_empty() {
                LineRead::EndOfOutput
            } else {
                LineRead::Complete
            });
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        // Check before the copy, so that a line without end never fills the memory.
        if line.len() + piece.len() > limit {
            return Ok(LineRead::TooLong);
        }
        line.extend_from_slice(piece);
        let consumed = piece.len() + usize::from(end.is_some());
        from.consume(consumed);
        if end.is_some() {
            return Ok(LineRead::Complete);
        }
    }
}

/// The fields that tell the kinds of messages apart.
#[derive(Deserialize)]
struct Envelope {
    method: Option<String>,
    id: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Notification {
    params: Value,
}

impl LineDispatcher<'_> {
    async fn dispatch(&self, line: &[u8], size: MessageSize) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        // A derived struct would also accept an array, but batches are not part of the protocol.
        let envelope = text
            .starts_with('{')
            .then(|| serde_json::from_str::<Envelope>(text));
        match envelope {
            Some(Ok(Envelope {
                method: Some(method),
                id: None,
            })) if method == "session/update" => match serde_json::from_str::<Notification>(text) {
                Ok(Notification { params }) => self.router.deliver(params, size).await,
                Err(_) => self.diagnostics.drop_line(line),
            },
            Some(Ok(Envelope {
                method: Some(_),
                id: Some(_),
            })) => {
                let permit_count = u32::try_from(size.permits(MAX_PENDING_REQUESTS)).unwrap_or(1);
                tokio::select! {
                    permits = self.request_permits.acquire_many(permit_count) => {
                        // Releases all permits but one at once. `write_lines` in `sdk` returns the last one when the
                        // answer is written.
                        if let Some(permit) = permits.ok().and_then(|mut permits| permits.split(1)) {
                            permit.forget();
                        }
                        self.forward_to_connection(text, size).await;
                    // Without this arm, the reader would wait forever for permits that a closed connection never
                    // returns.
                    }
                    () = self.messages.closed() => {}
                }
            }
            Some(Ok(
                Envelope {
                    method: Some(_), ..
                }
                | Envelope { id: Some(_), .. },
            )) => {
                self.forward_to_connection(text, size).await;
            }
            _ => self.diagnostics.drop_line(line),
        }
    }

    /// Sends a message to the protocol's connection. Drops it if the connection has ended.
    async fn forward_to_connection(&self, text: &str, size: MessageSize) {
        let places = size.permits(self.messages.max_capacity());
        if let Ok(mut places) = self.messages.reserve_many(places).await
            && let Some(place) = places.next()
        {
            place.send(text.to_owned());
        }
    }
}
