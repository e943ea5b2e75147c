//! What an agent may take, in time and in memory.

use std::time::Duration;

/// The longest line an agent may write; longer than any tool result seen, shorter than what hurts.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// How much of what an agent writes to standard error is kept.
pub(crate) const STDERR_TAIL_BYTES: usize = 64 * 1024;
/// How much of what an agent writes that is no message is kept.
pub(crate) const NOISE_TAIL_BYTES: usize = 8 * 1024;
/// Lines read from the agent that wait for the protocol.
pub(crate) const WAITING_LINES: usize = 64;
/// Requests of the agent that wait for an answer; with more, its output is not read on.
pub(crate) const WAITING_REQUESTS: usize = 256;
/// Tool calls whose title and kind are remembered for permission requests that name neither.
pub(crate) const REMEMBERED_TOOL_CALLS: usize = 1024;
/// Pages read from `session/list` when looking for one session.
pub(crate) const LIST_PAGES: usize = 100;
/// How long an agent that has closed its output may take to end, before its status is unknown. It
/// covers what the guard gives to orphans that hold the output open.
pub(crate) const STATUS_WAIT: Duration = Duration::from_secs(5);

/// Time and size limits of one agent. Silence and the whole turn are limited by who prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From starting the process until it has answered `initialize` and `authenticate`; again for
    /// `session/new`.
    pub start: Duration,
    /// For restoring a session, and for each mode or setting.
    pub restore: Duration,
    /// How long after the answer to a prompt updates may pause before they count as finished.
    pub late_updates: Duration,
    /// The longest line an agent may write, in bytes.
    pub line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_mins(1),
            restore: Duration::from_mins(1),
            late_updates: Duration::from_millis(100),
            line_bytes: MAX_LINE_BYTES,
        }
    }
}

impl Limits {
    /// The most that updates may come after the answer, however short their pauses.
    pub(crate) fn late_updates_total(&self) -> Duration {
        self.late_updates * 10
    }
}
