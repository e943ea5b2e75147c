//! A parser of the event stream format, for input that is split at any byte (WHATWG HTML, section 9.2.6).

use std::time::Duration;

/// The maximum size of an event, in bytes: more than the longest message in its escaped form.
const MAX_EVENT_BYTES: usize = 64 << 20;
/// The byte order mark that may precede a stream.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    /// The type of the event. `message` if the stream names none.
    pub event: String,
    /// The data lines, joined by line feeds.
    pub data: String,
    /// The newest event ID of the stream up to and including this event. Empty if there was none.
    pub last_event_id: String,
}

/// The error for an event that exceeds the maximum size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {MAX_EVENT_BYTES} bytes")]
pub struct EventTooLong;

/// A parser of an event stream.
#[derive(Debug, Default)]
pub struct EventParser {
    line: Vec<u8>,
    /// `true` if the last byte was a carriage return. A line feed that follows it ends no further line.
    after_carriage_return: bool,
    first_line_read: bool,
    event: String,
    data: String,
    has_data: bool,
    /// The newest `id` field, which becomes the last event ID when the event is complete.
    id: String,
    last_event_id: String,
    retry: Option<Duration>,
}

impl EventParser {
    /// Makes a parser of a new stream that continues after an event ID.
    pub fn resuming_after(last_event_id: impl Into<String>) -> Self {
        let id = last_event_id.into();
        Self {
            last_event_id: id.clone(),
            id,
            ..Self::default()
        }
    }

    /// Makes a parser of the stream that replaces this one after a break. Keeps the last complete event ID and the
    /// retry time.
    pub(crate) fn for_next_stream(&self) -> Self {
        Self {
            retry: self.retry,
            ..Self::resuming_after(self.last_event_id.clone())
        }
    }

    /// Returns the ID of the newest complete event. Returns an empty text if there was none.
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// Returns the pause before a reconnection that the server requested. Returns `None` if it requested none.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Parses some bytes and returns the events that they complete.
    ///
    /// # Errors
    ///
    /// Returns [`EventTooLong`] if an event exceeds the maximum size.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<ServerEvent>, EventTooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let follows_return = std::mem::replace(&mut self.after_carriage_return, byte == b'\r');
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ if self.line.len() + self.data.len() >= MAX_EVENT_BYTES => {
                    return Err(EventTooLong);
                }
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<ServerEvent> {
        let bytes = std::mem::take(&mut self.line);
        let first = !std::mem::replace(&mut self.first_line_read, true);
        let bytes = match bytes.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if first => rest,
            _ => &bytes,
        };
        if bytes.is_empty() {
            return self.dispatch();
        }
        let line = String::from_utf8_lossy(bytes);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis);
            }
            // A line that begins with a colon is a comment. Unknown fields are ignored as well.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<ServerEvent> {
        // An event without data updates the ID as well, but is not returned.
        self.id.clone_into(&mut self.last_event_id);
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        let has_data = std::mem::take(&mut self.has_data);
        has_data.then(|| ServerEvent {
            event: if event.is_empty() {
                "message".to_owned()
            } else {
                event
            },
            data,
            last_event_id: self.last_event_id.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &[u8]) -> Vec<ServerEvent> {
        EventParser::default().feed(stream).unwrap()
    }

    fn event(event: &str, data: &str, id: &str) -> ServerEvent {
        ServerEvent {
            event: event.into(),
            data: data.into(),
            last_event_id: id.into(),
        }
    }

    #[test]
    fn examples_of_event_stream_standard_are_parsed() {
        assert_eq!(
            read(b"data: YHOO\ndata: +2\ndata: 10\n\n"),
            [event("message", "YHOO\n+2\n10", "")]
        );
        assert_eq!(
            read(b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"),
            [
                event("message", "first event", "1"),
                event("message", "second event", ""),
                event("message", " third event", ""),
            ]
        );
        // The last block is discarded: no empty line follows it.
        assert_eq!(
            read(b"data\n\ndata\ndata\n\ndata:"),
            [event("message", "", ""), event("message", "\n", "")]
        );
        assert_eq!(
            read(b"data:test\n\ndata: test\n\n"),
            [event("message", "test", ""), event("message", "test", "")]
        );
    }

    #[test]
    fn chunk_boundaries_do_not_change_events() {
        let stream =
            "\u{feff}retry: 2000\r\n: hi\r\rid: 7\revent: run\rdata: {\"a\":\"žluť 🐎\"}\r\n\r\n\
                      event: delta\ndata: x\n\nid: 8\n\nunknown: y\ndata: z\n\n"
                .as_bytes();
        let whole = read(stream);
        assert_eq!(
            whole,
            [
                event("run", "{\"a\":\"žluť 🐎\"}", "7"),
                event("delta", "x", "7"),
                event("message", "z", "8"),
            ]
        );
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let mut parser = EventParser::default();
                let parts = [&stream[..first], &stream[first..second], &stream[second..]];
                let read: Vec<_> = parts
                    .iter()
                    .flat_map(|part| parser.feed(part).unwrap())
                    .collect();
                assert_eq!(read, whole, "split at {first} and {second}");
                assert_eq!(parser.last_event_id(), "8");
                assert_eq!(parser.retry(), Some(Duration::from_secs(2)));
            }
        }
    }

    #[test]
    fn incomplete_event_does_not_advance_last_event_id() {
        let mut parser = EventParser::resuming_after("3");
        assert_eq!(parser.feed(b"id: 4\ndata: cut").unwrap(), []);
        assert_eq!(parser.last_event_id(), "3");
        let mut parser = EventParser::resuming_after(parser.last_event_id());
        let read = parser.feed(b"data: without an id\n\n").unwrap();
        assert_eq!(read, [event("message", "without an id", "3")]);
    }

    #[test]
    fn invalid_event_id_and_retry_are_ignored() {
        let mut parser = EventParser::resuming_after("3");
        parser.feed(b"id: a\0b\nretry: 1s\nretry:\n\n").unwrap();
        assert_eq!(parser.last_event_id(), "3");
        assert_eq!(parser.retry(), None);
    }

    #[test]
    fn unterminated_event_over_limit_is_refused() {
        let mut parser = EventParser::default();
        let part = vec![b'x'; 1 << 20];
        let fed = (0..=MAX_EVENT_BYTES >> 20).map(|_| parser.feed(&part));
        assert_eq!(fed.last(), Some(Err(EventTooLong)));
    }
}
