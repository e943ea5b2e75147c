//! A bounded buffer of the newest frames of a log, which all readers of the log share.

use std::collections::VecDeque;

use bytes::Bytes;

/// The maximum number of frames.
const MAX_FRAMES: usize = 64;
/// The maximum number of bytes of all frames. The newest frame stays even if it alone is larger.
const MAX_BYTES: usize = 256 << 10;

/// Frames in the order of their cursors. **Invariant:** the log has no event between `floor` and `head` that is not
/// in `frames`.
#[derive(Debug)]
pub(super) struct Ring<K> {
    /// The cursor after which the frames begin. It moves when old frames are dropped.
    floor: K,
    /// The cursor up to which the log was read.
    head: K,
    frames: VecDeque<(K, Bytes)>,
    bytes: usize,
}

/// The result of [`Ring::first_after`].
pub(super) enum RingRead<K> {
    /// The next frame, with its cursor.
    Frame(K, Bytes),
    /// No frame for now: the reader may continue after this cursor.
    UpToDate(K),
    /// The cursor is before all frames: the reader must read the table.
    Behind,
}

impl<K: Copy + Ord> Ring<K> {
    /// Returns an empty ring that begins after a cursor.
    pub(super) fn starting_at(cursor: K) -> Self {
        Self {
            floor: cursor,
            head: cursor,
            frames: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Returns the cursor up to which the log was read.
    pub(super) fn head(&self) -> K {
        self.head
    }

    /// Appends the next frame, and drops the oldest frames while the ring is too large.
    pub(super) fn push(&mut self, cursor: K, frame: Bytes) {
        self.bytes += frame.len();
        self.frames.push_back((cursor, frame));
        self.head = cursor;
        while self.frames.len() > MAX_FRAMES || (self.bytes > MAX_BYTES && self.frames.len() > 1) {
            if let Some((cursor, frame)) = self.frames.pop_front() {
                self.floor = cursor;
                self.bytes -= frame.len();
            }
        }
    }

    /// Moves the head to a cursor, because the log has no event up to it. Never moves the head back.
    pub(super) fn advance(&mut self, cursor: K) {
        self.head = self.head.max(cursor);
    }

    /// Returns the first frame after a cursor.
    pub(super) fn first_after(&self, after: K) -> RingRead<K> {
        if after < self.floor {
            return RingRead::Behind;
        }
        let at = self.frames.partition_point(|(cursor, _)| *cursor <= after);
        match self.frames.get(at) {
            Some((cursor, frame)) => RingRead::Frame(*cursor, frame.clone()),
            // A reader may be ahead of the ring, because it has read a page of the table. Do not send it back, or it
            // would send events twice.
            None => RingRead::UpToDate(self.head.max(after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_is_bounded_and_reports_readers_behind_it() {
        let mut ring = Ring::starting_at(10_i64);
        assert!(matches!(ring.first_after(9), RingRead::Behind));
        assert!(matches!(ring.first_after(10), RingRead::UpToDate(10)));
        for cursor in 11..=100 {
            ring.push(cursor, Bytes::from_static(b"x"));
        }
        assert!(matches!(ring.first_after(36), RingRead::Frame(37, _)));
        assert!(matches!(ring.first_after(35), RingRead::Behind));
        ring.push(101, Bytes::from(vec![0; MAX_BYTES]));
        ring.push(102, Bytes::from(vec![0; MAX_BYTES + 1]));
        assert!(matches!(ring.first_after(101), RingRead::Frame(102, _)));
        assert!(matches!(ring.first_after(100), RingRead::Behind));
        ring.advance(110);
        assert!(matches!(ring.first_after(102), RingRead::UpToDate(110)));
        // A reader that is ahead of the ring keeps its cursor.
        assert!(matches!(ring.first_after(120), RingRead::UpToDate(120)));
    }
}
