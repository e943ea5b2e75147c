//! The agent's output that is not part of the protocol, kept for people.

use std::sync::{
    Mutex, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use crate::{
    limits::{NOISE_TAIL_BYTES, STDERR_TAIL_BYTES},
    tail::Tail,
};

/// The reason why the rest of an agent's output is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableOutput {
    /// A line is too long.
    #[error("a line is longer than {limit} bytes")]
    LineTooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A message holds more values than a worker can safely keep in memory.
    #[error("a message holds more than {limit} values")]
    TooManyValues {
        /// The limit, as a number of values.
        limit: usize,
    },
}

/// The tails of standard error and of the non-message lines of one agent.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    stderr: Mutex<Tail>,
    noise: Mutex<Tail>,
    dropped_lines: AtomicU64,
    unreadable: OnceLock<UnreadableOutput>,
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

    /// Returns the last bytes of the lines on standard output that were no messages.
    pub(crate) fn noise_tail(&self) -> String {
        self.noise
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .text()
    }

    pub(crate) fn dropped_lines(&self) -> u64 {
        self.dropped_lines.load(Ordering::Relaxed)
    }

    /// Returns the reason why the rest of the output is discarded. Returns `None` if the output is still read.
    pub(crate) fn unreadable(&self) -> Option<UnreadableOutput> {
        self.unreadable.get().copied()
    }

    pub(crate) fn drop_line(&self, line: &[u8]) {
        self.dropped_lines.fetch_add(1, Ordering::Relaxed);
        let mut noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        noise.push(line);
        noise.push(b"\n");
    }

    /// Keeps the last bytes that the agent wrote to standard error.
    pub(crate) fn push_stderr(&self, written: &[u8]) {
        let mut tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push(written);
    }

    /// Records that the rest of the output is discarded. The first reason stays.
    pub(crate) fn set_unreadable(&self, reason: UnreadableOutput) {
        self.unreadable.set(reason).ok();
    }
}
