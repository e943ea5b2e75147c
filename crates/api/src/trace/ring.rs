//! The newest frames of what is watched.

use std::collections::VecDeque;

use bytes::Bytes;

/// How many frames it keeps at the most.
const FRAMES: usize = 64;
/// How many bytes it keeps at the most, beyond one frame.
const BYTES: usize = 256 << 10;

/// Frames in order, without a gap between two places.
#[derive(Debug)]
pub(super) struct Ring<K> {
    /// The place after which it begins.
    floor: K,
    /// The place up to which it goes.
    head: K,
    frames: VecDeque<(K, Bytes)>,
    bytes: usize,
}

/// What a ring has for a reader.
pub(super) enum Next<K> {
    /// The frame that follows its place.
    Frame(K, Bytes),
    /// Nothing more for now: it has read up to this place.
    Nothing(K),
    /// Its place is before all that is kept.
    Behind,
}

impl<K: Copy + Ord> Ring<K> {
    /// An empty one at a place.
    pub(super) fn at(place: K) -> Self {
        Self {
            floor: place,
            head: place,
            frames: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(super) fn head(&self) -> K {
        self.head
    }

    /// Adds the frame that follows.
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

    /// Notes that nothing is between its end and a place.
    pub(super) fn advance(&mut self, place: K) {
        self.head = self.head.max(place);
    }

    pub(super) fn next(&self, after: K) -> Next<K> {
        if after < self.floor {
            return Next::Behind;
        }
        let at = self.frames.partition_point(|(place, _)| *place <= after);
        match self.frames.get(at) {
            Some((place, frame)) => Next::Frame(*place, frame.clone()),
            None => Next::Nothing(self.head.max(after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_whoever_is_before_it_is_told() {
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
