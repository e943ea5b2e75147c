//! A buffer for the last bytes of an endless stream.

use std::collections::VecDeque;

/// A buffer that keeps at most the last `limit` bytes.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            limit,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(self.limit)..];
        let over = (self.bytes.len() + kept.len()).saturating_sub(self.limit);
        self.bytes.drain(..over);
        self.bytes.extend(kept);
    }

    /// Returns the bytes as text, with replacement characters for invalid UTF-8.
    pub(crate) fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_keeps_last_bytes() {
        let mut tail = Tail::new(4);
        for (pushed, expected) in [
            ("ab", "ab"),
            ("cde", "bcde"),
            ("0123456", "3456"),
            ("", "3456"),
        ] {
            tail.push(pushed.as_bytes());
            assert_eq!(tail.text(), expected);
        }
    }

    #[test]
    fn tail_replaces_cut_character() {
        let mut tail = Tail::new(2);
        tail.push("é!".as_bytes());
        assert_eq!(tail.text(), "\u{fffd}!");
    }
}
