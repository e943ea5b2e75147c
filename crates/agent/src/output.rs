//! Reading what an agent writes: messages from standard output, the rest kept as diagnostics.

use std::io;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    sync::{Semaphore, mpsc},
};

use crate::{
    diagnostics::{Diagnostics, Unreadable},
    limits::{LARGE_BYTES, MAX_LINE_VALUES, WAITING_REQUESTS},
    message::Size,
    router::Router,
};

/// Reads standard error to its end, so that an agent never waits for a reader.
pub(crate) async fn drain_stderr(mut stderr: impl AsyncRead + Unpin, diagnostics: &Diagnostics) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        diagnostics.keep_stderr(&chunk[..count]);
    }
}

/// What [`read_stdout`] does with what it reads.
pub(crate) struct Sorter<'a> {
    pub(crate) router: &'a Router,
    pub(crate) diagnostics: &'a Diagnostics,
    /// Messages for the protocol; it is closed when no more can come.
    pub(crate) messages: mpsc::Sender<String>,
    /// One permit for each request that may wait for an answer.
    pub(crate) requests: &'a Semaphore,
    pub(crate) line_bytes: usize,
}

/// Reads standard output to its end.
///
/// Updates go straight to the turn and hold everything up while it is behind, so a flooding agent
/// fills its pipe, not our memory; other messages go to the protocol; the rest is dropped and
/// counted. After what is too much to be read nothing is understood any more, but all is still taken.
pub(crate) async fn read_stdout(stdout: impl AsyncRead + Unpin, sorter: Sorter<'_>) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        line.shrink_to(LARGE_BYTES);
        let limit = sorter.line_bytes;
        let unreadable = match read_line(&mut stdout, &mut line, limit).await {
            Ok(Line::Whole) => match Size::of(&line) {
                Some(size) => {
                    sorter.take(&line, size).await;
                    continue;
                }
                None => Unreadable::TooManyValues {
                    limit: MAX_LINE_VALUES,
                },
            },
            Ok(Line::TooLong) => Unreadable::LineTooLong { limit },
            Ok(Line::End) | Err(_) => return,
        };
        sorter.diagnostics.give_up_reading(unreadable);
        drop((sorter, line));
        tokio::io::copy(&mut stdout, &mut tokio::io::sink())
            .await
            .ok();
        return;
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads one line without its end. The last one may lack the end.
async fn read_line(
    from: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    limit: usize,
) -> io::Result<Line> {
    loop {
        let buffer = from.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(if line.is_empty() {
                Line::End
            } else {
                Line::Whole
            });
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        if line.len() + piece.len() > limit {
            return Ok(Line::TooLong);
        }
        line.extend_from_slice(piece);
        let consumed = piece.len() + usize::from(end.is_some());
        from.consume(consumed);
        if end.is_some() {
            return Ok(Line::Whole);
        }
    }
}

/// What tells one kind of message from another.
#[derive(Deserialize)]
struct Envelope {
    method: Option<String>,
    id: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Notification {
    params: Value,
}

impl Sorter<'_> {
    async fn take(&self, line: &[u8], size: Size) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        // A derived struct would read an array, too; batches are not part of the protocol.
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
                let places = u32::try_from(size.places(WAITING_REQUESTS)).unwrap_or(1);
                tokio::select! {
                    permits = self.requests.acquire_many(places) => {
                        // One is given back when the answer is written, the others now.
                        if let Some(permit) = permits.ok().and_then(|mut permits| permits.split(1)) {
                            permit.forget();
                        }
                        self.pass_on(text, size).await;
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
                self.pass_on(text, size).await;
            }
            _ => self.diagnostics.drop_line(line),
        }
    }

    /// The protocol may have ended already; then nobody waits for messages.
    async fn pass_on(&self, text: &str, size: Size) {
        let places = size.places(self.messages.max_capacity());
        if let Ok(mut places) = self.messages.reserve_many(places).await
            && let Some(place) = places.next()
        {
            place.send(text.to_owned());
        }
    }
}
