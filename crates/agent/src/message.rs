//! What is known of a message before it is understood.

use serde::{Deserialize, de::IgnoredAny};

use crate::limits::{LARGE_BYTES, LARGE_VALUES, MAX_LINE_VALUES};

/// Whether a message may wait among many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Small,
    /// Only alone.
    Large,
}

impl Size {
    /// Measures a line; `None` if it holds too many values to be read at all.
    pub(crate) fn of(line: &[u8]) -> Option<Self> {
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

/// Whether a line that we write answers a request.
pub(crate) fn is_answer(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Outgoing {
        method: Option<IgnoredAny>,
    }
    serde_json::from_str::<Outgoing>(line).is_ok_and(|outgoing| outgoing.method.is_none())
}
