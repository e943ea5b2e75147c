//! Properties of a message that are known before it is parsed.
//!
//! A message may take many times its length in memory once it is parsed. It is therefore measured first.

use serde::{Deserialize, de::IgnoredAny};

use crate::limits::{LARGE_MESSAGE_BYTES, LARGE_MESSAGE_VALUES, MAX_LINE_VALUES};

/// The size class of a message, which bounds how many messages may wait at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageSize {
    Small,
    /// A message that may wait only alone.
    Large,
}

impl MessageSize {
    /// Measures a line. Returns `None` if the line holds too many values to be parsed.
    pub(crate) fn measure(line: &[u8]) -> Option<Self> {
        // Each value except the outermost one follows one of these characters outside of a string, so their count is
        // an upper bound of the number of nested values.
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
        let large = line.len() > LARGE_MESSAGE_BYTES || values > LARGE_MESSAGE_VALUES;
        Some(if large { Self::Large } else { Self::Small })
    }

    /// Returns how many of `all` permits the message needs while it waits.
    pub(crate) fn permits(self, all: usize) -> usize {
        match self {
            Self::Small => 1,
            Self::Large => all,
        }
    }
}

/// Returns `true` if a line that is written to the agent answers one of the agent's requests.
pub(crate) fn is_reply(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Outgoing {
        method: Option<IgnoredAny>,
    }
    serde_json::from_str::<Outgoing>(line).is_ok_and(|outgoing| outgoing.method.is_none())
}
