//! What an agent may take, in time and in memory.

use std::time::Duration;

/// The longest line an agent may write; longer than any tool result seen, shorter than what hurts.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// The most values that one message may hold, counted by what separates them: each takes many times
/// the memory of the byte or two that write it.
pub(crate) const MAX_LINE_VALUES: usize = 250_000;
/// From this length on, a message waits until nothing else does, so that what waits is small.
pub(crate) const LARGE_BYTES: usize = 64 * 1024;
/// The same, in values.
pub(crate) const LARGE_VALUES: usize = 2000;
/// The longest text of an agent's error that is kept, in bytes.
pub(crate) const ERROR_TEXT_BYTES: usize = 8 * 1024;
/// How much of what an agent writes to standard error is kept.
pub(crate) const STDERR_TAIL_BYTES: usize = 64 * 1024;
/// How much of what an agent writes that is no message is kept.
pub(crate) const NOISE_TAIL_BYTES: usize = 8 * 1024;
/// How much of what a command writes is kept.
pub(crate) const COMMAND_TAIL_BYTES: usize = 8 * 1024;
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

/// How long a guard may take to tell what its tree uses.
pub(crate) const MEASURE_WAIT: Duration = Duration::from_secs(5);

const _: () = assert!(LARGE_BYTES < MAX_LINE_BYTES && LARGE_VALUES < MAX_LINE_VALUES);

/// Time and size limits of one agent. Silence and the whole turn are limited by who prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From starting the process until it has answered `initialize` and `authenticate`; again for
    /// `session/new`.
    pub start: Duration,
    /// For restoring a session, and for each mode or setting.
    pub restore: Duration,
    /// How long the history that is replayed after the answer to `session/load` may pause before it
    /// counts as finished.
    pub late_replay: Duration,
    /// The longest line an agent may write, in bytes.
    pub line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_mins(1),
            restore: Duration::from_mins(1),
            late_replay: Duration::from_millis(100),
            line_bytes: MAX_LINE_BYTES,
        }
    }
}

impl Limits {
    /// The most that history may be replayed after the answer, however short its pauses.
    pub(crate) fn late_replay_total(&self) -> Duration {
        self.late_replay * 10
    }
}
