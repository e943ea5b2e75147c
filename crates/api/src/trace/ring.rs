//! A bounded buffer of the newest frames of a log, which all readers of the log share.

use std::collections::VecDeque;

use bytes::Bytes;

/// The maximum number of frames.
const FRAMES: usize = 64;
/// The maximum number of bytes of all frames. The newest frame stays even if it alone is larger.
const BYTES: usize = 256 << 10;

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

/// The result of [`Ring::next`].
pub(super) enum Next<K> {
    /// The next frame, with its cursor.
    Frame(K, Bytes),
    /// No frame for now: the reader may continue after this cursor.
    Nothing(K),
    /// The cursor is before all frames: the reader must read the table.
    Behind,
}

impl<K: Copy + Ord> Ring<K> {
    /// Returns an empty ring that begins after a cursor.
    pub(super) fn at(place: K) -> Self {
        Self {
            floor: place,
            head: place,
            frames: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Returns the cursor up to which the log was read.
    pub(super) fn head(&self) -> K {
        self.head
    }

    /// Appends the next frame, and drops the oldest frames while the ring is too large.
    pub(super) fn push(&mut self, place: K, frame: Bytes) {
        self.bytes += frame.len();
        self.frames.push_back((place, frame));
        self.head = place;
        while self.frames.len() > FRAMES || (self.bytes > BYTES && self.frames.len() > 1) {
            if let Some((place, frame)) = self.frames.pop_front() {
                self.floor = place;
                self.bytes -= frame.len();
            }
        }
    }

    /// Moves the head to a cursor, because the log has no event up to it. Never moves the head back.
    pub(super) fn advance(&mut self, place: K) {
        self.head = self.head.max(place);
    }

    /// Returns the first frame after a cursor.
    pub(super) fn next(&self, after: K) -> Next<K> {
        if after < self.floor {
            return Next::Behind;
        }
        let at = self.frames.partition_point(|(place, _)| *place <= after);
        match self.frames.get(at) {
            Some((place, frame)) => Next::Frame(*place, frame.clone()),
            // A reader may be ahead of the ring, because it has read a page of the table. Do not send it back, or it
            // would send events twice.
            None => Next::Nothing(self.head.max(after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_is_bounded_and_reports_readers_behind_it() {
        let mut ring = Ring::at(10_i64);
        assert!(matches!(ring.next(9), Next::Behind));
        assert!(matches!(ring.next(10), Next::Nothing(10)));
        for place in 11..=100 {
            ring.push(place, Bytes::from_static(b"x"));
        }
        assert!(matches!(ring.next(36), Next::Frame(37, _)));
        assert!(matches!(ring.next(35), Next::Behind));
        ring.push(101, Bytes::from(vec![0; BYTES]));
        ring.push(102, Bytes::from(vec![0; BYTES + 1]));
        assert!(matches!(ring.next(101), Next::Frame(102, _)));
        assert!(matches!(ring.next(100), Next::Behind));
        ring.advance(110);
        assert!(matches!(ring.next(102), Next::Nothing(110)));
        // One who is further than the ring is not sent back.
        assert!(matches!(ring.next(120), Next::Nothing(120)));
    }
}
