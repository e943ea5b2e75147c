//! The live trace, which goes on when its connection breaks.

use std::{collections::VecDeque, time::Duration};

use futures::StreamExt as _;
use http::{HeaderName, HeaderValue, StatusCode, header};
use tokio::time::{sleep, timeout};
use wire::TraceEvent;

use crate::{Body, Client, Error, EventParser, ServerEvent};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// How long a stream may say nothing at all: servers say every 15 s that they are there.
const SILENCE: Duration = Duration::from_secs(45);
/// How long is waited before the stream is asked for again, unless the server says so.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest that is waited, however often it was in vain.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What is traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceOf {
    /// A session: its key, its id or the beginning of that.
    Session(String),
    /// An automation: its name, its id or the beginning of that.
    Automation(String),
    /// Everything that may be seen.
    All,
}

/// An event of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The frame, as it came.
    pub frame: ServerEvent,
    /// The event of the frame. `None` if a later server sent an event that this version does not know.
    pub event: Option<TraceEvent>,
}

impl From<ServerEvent> for Received {
    fn from(frame: ServerEvent) -> Self {
        let event = serde_json::from_str(&frame.data).ok();
        Self { frame, event }
    }
}

/// The next thing that a trace yields.
#[derive(Debug)]
pub enum TraceNews {
    /// An event.
    Event(Box<Received>),
    /// The connection broke, and is sought again after a pause.
    Broken {
        /// Why.
        why: Error,
        /// How long the pause is.
        pause: Duration,
    },
}

/// A trace. It has no end: what ends or breaks is asked for again, behind the last event that was whole.
pub struct Trace {
    client: Client,
    of: TraceOf,
    after: Option<String>,
    parser: EventParser,
    body: Option<Body>,
    ready: VecDeque<ServerEvent>,
    /// What is waited for before the stream is asked for again.
    pause: Option<Duration>,
    in_vain: u32,
    was_there: bool,
}

impl Client {
    /// Begins to trace: what comes from now on, or what came after an event. Nothing is asked for before
    /// the first [`Trace::next`].
    pub fn trace(&self, of: TraceOf, after: Option<String>) -> Trace {
        Trace {
            client: self.clone(),
            of,
            after,
            parser: EventParser::default(),
            body: None,
            ready: VecDeque::new(),
            pause: None,
            in_vain: 0,
            was_there: false,
        }
    }
}

impl Trace {
    /// Waits for what happens next. An error is final: the server refuses, or was never there.
    pub async fn next(&mut self) -> Result<TraceNews, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(TraceNews::Event(Box::new(event.into())));
            }
            if let Some(pause) = self.pause {
                sleep(pause).await;
                self.pause = None;
            }
            let read = match &mut self.body {
                Some(body) => timeout(SILENCE, body.next()).await,
                None => match self.open().await {
                    Ok(body) => {
                        self.was_there = true;
                        self.body = Some(body);
                        continue;
                    }
                    Err(error) if self.was_there && error.may_pass() => {
                        return Ok(self.broken(error));
                    }
                    Err(error) => return Err(error),
                },
            };
            let why = match read {
                Ok(Some(Ok(bytes))) => match self.parser.feed(&bytes) {
                    Ok(events) => {
                        self.in_vain = 0;
                        self.ready.extend(events);
                        continue;
                    }
                    Err(error) => {
                        return Err(self.client.malformed(StatusCode::OK, error.to_string()));
                    }
                },
                Ok(Some(Err(error))) => error,
                // Servers end streams from time to time, so that tokens are looked at again.
                Ok(None) => {
                    self.let_go();
                    self.pause = Some(self.parser.retry().unwrap_or(PAUSE));
                    continue;
                }
                Err(_) => format!("nothing came for {} s", SILENCE.as_secs()).into(),
            };
            let why = self.client.unreachable(why);
            return Ok(self.broken(why));
        }
    }

    /// Lets go of the connection. What was not whole is asked for again.
    fn let_go(&mut self) {
        self.body = None;
        self.parser = self.parser.of_next_stream();
    }

    fn broken(&mut self, why: Error) -> TraceNews {
        self.let_go();
        let first = self.parser.retry().unwrap_or(PAUSE);
        let longer = first.saturating_mul(1 << self.in_vain.min(10));
        self.in_vain = self.in_vain.saturating_add(1);
        // Not everybody at once after a restart.
        let mut random = [0];
        self.client.entropy.fill(&mut random);
        let spread = 1.0 + f64::from(random[0]) / f64::from(u8::MAX) / 4.0;
        let pause = longer.min(LONGEST_PAUSE).mul_f64(spread);
        self.pause = Some(pause);
        TraceNews::Broken { why, pause }
    }

    async fn open(&mut self) -> Result<Body, Error> {
        let client = &self.client;
        let call = match &self.of {
            TraceOf::Session(session) => client.get(&["sessions", session, "trace"]),
            TraceOf::Automation(automation) => client.get(&["automations", automation, "trace"]),
            TraceOf::All => client.get(&["trace"]),
        };
        let id = self.parser.last_event_id();
        let call = if id.is_empty() {
            call.ask("after", self.after.as_ref())
        } else {
            let id = HeaderValue::from_bytes(id.as_bytes()).map_err(|_| {
                client.malformed(StatusCode::OK, format!("{id:?} can be no id of an event"))
            })?;
            call.with(LAST_EVENT_ID, id)
        };
        let kind = HeaderValue::from_static("text/event-stream");
        let response = call.with(header::ACCEPT, kind).stream().await?;
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if !is_stream {
            let reason = "it is no stream of events".to_owned();
            return Err(client.malformed(response.status(), reason));
        }
        Ok(response.into_body())
    }
}
