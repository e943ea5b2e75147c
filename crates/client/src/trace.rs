//! The live trace, which reconnects after a broken connection and continues after the last complete event.

use std::{collections::VecDeque, time::Duration};

use api_types::TraceEvent;
use futures::StreamExt as _;
use http::{HeaderName, HeaderValue, StatusCode, header};
use tokio::time::{sleep, timeout};

use crate::{Body, Client, Error, EventParser, ServerEvent, boxed};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The maximum silence of a stream. Servers send a comment every 15 s.
const STREAM_IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// The pause before a reconnection, unless the server names one.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// The maximum pause before a reconnection, to which a random part of up to a quarter is added.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(30);

/// The resource whose events a trace streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceSubject {
    /// A session, by its key, its ID or a prefix of its ID.
    Session(String),
    /// An automation, by its name, its ID or a prefix of its ID.
    Automation(String),
    /// All resources that the token may read.
    All,
}

/// An event of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedEvent {
    /// The frame as it arrived.
    pub frame: ServerEvent,
    /// The event of the frame. `None` if a later server sent an event that this version does not know.
    pub event: Option<TraceEvent>,
}

impl From<ServerEvent> for ReceivedEvent {
    fn from(frame: ServerEvent) -> Self {
        let event = serde_json::from_str(&frame.data).ok();
        Self { frame, event }
    }
}

/// The next item of a trace.
#[derive(Debug)]
pub enum TraceItem {
    /// An event.
    Event(Box<ReceivedEvent>),
    /// The connection broke. The trace reconnects after a pause.
    Disconnected {
        /// The cause of the break.
        cause: Error,
        /// The pause before the reconnection.
        pause: Duration,
    },
}

/// A live trace without an end. After each end or break of the stream it reconnects and continues after the last
/// complete event.
pub struct Trace {
    client: Client,
    subject: TraceSubject,
    after: Option<String>,
    parser: EventParser,
    body: Option<Body>,
    ready_events: VecDeque<ServerEvent>,
    /// The pause that remains before the next connection.
    pause: Option<Duration>,
    failed_attempts: u32,
    has_connected: bool,
}

impl Client {
    /// Makes a trace of the events after the event with the ID `after`, or of the events from now on if `after` is
    /// `None`. The first call of [`Trace::next`] connects.
    pub fn trace(&self, of: TraceSubject, after: Option<String>) -> Trace {
        Trace {
            client: self.clone(),
            subject: of,
            after,
            parser: EventParser::default(),
            body: None,
            ready_events: VecDeque::new(),
            pause: None,
            failed_attempts: 0,
            has_connected: false,
        }
    }
}

impl Trace {
    /// Waits for the next item.
    ///
    /// # Errors
    ///
    /// Returns an error if the server refuses the trace, sends an invalid stream, or cannot be reached at the first
    /// attempt. Such an error is final.
    #[boxed]
    pub async fn next(&mut self) -> Result<TraceItem, Error> {
        loop {
            if let Some(event) = self.ready_events.pop_front() {
                return Ok(TraceItem::Event(Box::new(event.into())));
            }
            if let Some(pause) = self.pause {
                // Cleared after the sleep, so that a call after a cancelled one still waits.
                sleep(pause).await;
                self.pause = None;
            }
            let read = match &mut self.body {
                Some(body) => timeout(STREAM_IDLE_TIMEOUT, body.next()).await,
                None => match self.connect().await {
                    Ok(body) => {
                        self.has_connected = true;
                        self.body = Some(body);
                        continue;
                    }
                    Err(error) if self.has_connected && error.is_transient() => {
                        return Ok(self.schedule_reconnect(error));
                    }
                    Err(error) => return Err(error),
                },
            };
            let cause = match read {
                Ok(Some(Ok(bytes))) => match self.parser.feed(&bytes) {
                    Ok(events) => {
                        self.failed_attempts = 0;
                        self.ready_events.extend(events);
                        continue;
                    }
                    Err(error) => {
                        return Err(self.client.malformed(StatusCode::OK, error.to_string()));
                    }
                },
                Ok(Some(Err(error))) => error,
                // The server ends streams after some time to check the token again. That is no failure, so the trace
                // reconnects without an item.
                Ok(None) => {
                    self.close_stream();
                    self.pause = Some(self.parser.retry().unwrap_or(RECONNECT_DELAY));
                    continue;
                }
                Err(_) => format!("no data arrived for {} s", STREAM_IDLE_TIMEOUT.as_secs()).into(),
            };
            let cause = self.client.unreachable(cause);
            return Ok(self.schedule_reconnect(cause));
        }
    }

    /// Closes the connection. Discards an incomplete event, because the next stream sends it again.
    fn close_stream(&mut self) {
        self.body = None;
        self.parser = self.parser.for_next_stream();
    }

    fn schedule_reconnect(&mut self, cause: Error) -> TraceItem {
        self.close_stream();
        let first = self.parser.retry().unwrap_or(RECONNECT_DELAY);
        let longer = first.saturating_mul(1 << self.failed_attempts.min(10));
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        // A random part keeps all clients of a server from reconnecting at the same instant after its restart.
        let mut random = [0];
        self.client.entropy.fill(&mut random);
        let spread = 1.0 + f64::from(random[0]) / f64::from(u8::MAX) / 4.0;
        let pause = longer.min(MAX_RECONNECT_DELAY).mul_f64(spread);
        self.pause = Some(pause);
        TraceItem::Disconnected { cause, pause }
    }

    async fn connect(&mut self) -> Result<Body, Error> {
        let client = &self.client;
        let call = match &self.subject {
            TraceSubject::Session(session) => client.get(&["sessions", session, "trace"]),
            TraceSubject::Automation(automation) => {
                client.get(&["automations", automation, "trace"])
            }
            TraceSubject::All => client.get(&["trace"]),
        };
        // The newest complete event takes precedence over the start position, so that no event arrives twice.
        let id = self.parser.last_event_id();
        let call = if id.is_empty() {
            call.query_param("after", self.after.as_ref())
        } else {
            let id = HeaderValue::from_bytes(id.as_bytes()).map_err(|_| {
                let reason = format!("`{}` is not a valid event ID", id.escape_debug());
                client.malformed(StatusCode::OK, reason)
            })?;
            call.header(LAST_EVENT_ID, id)
        };
        let kind = HeaderValue::from_static("text/event-stream");
        let response = call.header(header::ACCEPT, kind).stream().await?;
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if !is_stream {
            let reason = "it is not an event stream".to_owned();
            return Err(client.malformed(response.status(), reason));
        }
        Ok(response.into_body())
    }
}
