//! What an agent wrote that is no message, kept for people.

use std::sync::{
    Mutex, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use crate::{
    limits::{NOISE_TAIL_BYTES, STDERR_TAIL_BYTES},
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

    pub(crate) fn drop_line(&self, line: &[u8]) {
        self.dropped_lines.fetch_add(1, Ordering::Relaxed);
        let mut noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        noise.push(line);
        noise.push(b"\n");
    }

    /// Keeps the end of what the agent wrote to standard error.
    pub(crate) fn keep_stderr(&self, written: &[u8]) {
        let mut tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push(written);
    }

    /// Notes that nothing more is read, and why.
    pub(crate) fn give_up_reading(&self, why: Unreadable) {
        self.unreadable.set(why).ok();
    }
}
