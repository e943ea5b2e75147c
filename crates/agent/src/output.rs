//! Reading what an agent writes: messages from standard output, the rest kept as diagnostics.

use std::{
    io,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    sync::{Semaphore, mpsc},
};

use crate::{
    limits::{
        LARGE_BYTES, LARGE_VALUES, MAX_LINE_VALUES, NOISE_TAIL_BYTES, STDERR_TAIL_BYTES,
        WAITING_REQUESTS,
    },
    router::Router,
    tail::Tail,
};

/// Why an agent's output is not read any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A line is too long.
    #[error("a line is longer than {limit} bytes")]
    LineTooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A message holds more values than would fit into memory with care.
    #[error("a message holds more than {limit} values")]
    TooManyValues {
        /// The limit.
        limit: usize,
    },
}

/// What an agent wrote that is no message.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    stderr: Mutex<Tail>,
    noise: Mutex<Tail>,
    dropped_lines: AtomicU64,
    unreadable: OnceLock<Unreadable>,
}

impl Diagnostics {
    pub(crate) fn new() -> Self {
        Self {
            stderr: Mutex::new(Tail::new(STDERR_TAIL_BYTES)),
            noise: Mutex::new(Tail::new(NOISE_TAIL_BYTES)),
            dropped_lines: AtomicU64::new(0),
            unreadable: OnceLock::new(),
        }
    }

    pub(crate) fn stderr_tail(&self) -> String {
        self.stderr
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .text()
    }

    /// The end of what stood on standard output and was no message.
    pub(crate) fn noise_tail(&self) -> String {
        self.noise
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .text()
    }

    pub(crate) fn dropped_lines(&self) -> u64 {
        self.dropped_lines.load(Ordering::Relaxed)
    }

    /// Why nothing more is read, where that is so.
    pub(crate) fn unreadable(&self) -> Option<Unreadable> {
        self.unreadable.get().copied()
    }

    fn drop_line(&self, line: &[u8]) {
        self.dropped_lines.fetch_add(1, Ordering::Relaxed);
        let mut noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        noise.push(line);
        noise.push(b"\n");
    }
}

/// Reads standard error to its end, so that an agent never waits for a reader.
pub(crate) async fn drain_stderr(mut stderr: impl AsyncRead + Unpin, diagnostics: &Diagnostics) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let mut tail = diagnostics
            .stderr
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tail.push(&chunk[..count]);
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
        sorter.diagnostics.unreadable.set(unreadable).ok();
        drop((sorter, line));
        tokio::io::copy(&mut stdout, &mut tokio::io::sink())
            .await
            .ok();
        return;
    }
}

/// Whether a message may wait among many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Small,
    /// Only alone.
    Large,
}

impl Size {
    /// Measures a line; `None` if it holds too many values to be read at all.
    fn of(line: &[u8]) -> Option<Self> {
        // What follows a value or begins one, outside of strings, is at least as often there as values.
        let (mut values, mut in_string, mut escaped) = (0, false, false);
        for byte in line {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                b',' | b':' | b'[' | b'{' if !in_string => values += 1,
                _ => {}
            }
        }
        if values > MAX_LINE_VALUES {
            return None;
        }
        let large = line.len() > LARGE_BYTES || values > LARGE_VALUES;
        Some(if large { Self::Large } else { Self::Small })
    }

    /// How many of `all` places a message takes for as long as it waits for one.
    pub(crate) fn places(self, all: usize) -> usize {
        match self {
            Self::Small => 1,
            Self::Large => all,
        }
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

/// Whether a line that we write answers a request.
pub(crate) fn is_answer(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Outgoing {
        method: Option<IgnoredAny>,
    }
    serde_json::from_str::<Outgoing>(line).is_ok_and(|outgoing| outgoing.method.is_none())
}
