//! Limits of time and memory for one agent.

use std::time::Duration;

/// The longest line that an agent may write. Longer than every tool result seen, and short enough for the memory of a
/// worker.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// The most values that one message may hold, because a parsed value takes many times the memory of the one or two
/// bytes that write it. [`crate::message`] counts the characters that separate values.
pub(crate) const MAX_LINE_VALUES: usize = 250_000;
/// The length above which a message is large. A large message waits until no other message waits, which bounds the
/// memory of all waiting messages.
pub(crate) const LARGE_MESSAGE_BYTES: usize = 64 * 1024;
/// The number of values above which a message is large.
pub(crate) const LARGE_MESSAGE_VALUES: usize = 2000;
/// The longest text of an agent's error that is kept, in bytes.
pub(crate) const MAX_ERROR_TEXT_BYTES: usize = 8 * 1024;
/// The size of the tail of standard error that is kept, in bytes.
pub(crate) const STDERR_TAIL_BYTES: usize = 64 * 1024;
/// The size of the tail of non-message lines that is kept, in bytes.
pub(crate) const NOISE_TAIL_BYTES: usize = 8 * 1024;
/// The size of the tail of a command's output that is kept, in bytes.
pub(crate) const COMMAND_TAIL_BYTES: usize = 8 * 1024;
/// The most lines of the agent that wait for the protocol's connection.
pub(crate) const MAX_QUEUED_LINES: usize = 64;
/// The most requests of the agent that wait for an answer. While so many wait, the reader of the agent's output
/// blocks on the next request.
pub(crate) const MAX_PENDING_REQUESTS: usize = 256;
/// The most tool calls of a turn whose kinds, titles and commands are remembered for permission requests.
pub(crate) const MAX_REMEMBERED_TOOL_CALLS: usize = 4096;
/// The number of bytes of remembered tool calls from which earlier calls are forgotten.
pub(crate) const MAX_REMEMBERED_TOOL_CALL_BYTES: usize = 8 << 20;
/// The most pages of `session/list` that are read to find one session.
pub(crate) const MAX_LIST_PAGES: usize = 100;
/// The longest wait for the exit status of an agent that has closed its output. It covers `ORPHAN_GRACE`, the
/// time that the guard gives to orphans that hold the output open.
pub(crate) const EXIT_STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest wait for a guard's report of the resources that its tree uses.
pub(crate) const USAGE_REPORT_TIMEOUT: Duration = Duration::from_secs(5);

const _: () =
    assert!(LARGE_MESSAGE_BYTES < MAX_LINE_BYTES && LARGE_MESSAGE_VALUES < MAX_LINE_VALUES);

/// The limits of time and size of one agent. The caller of a prompt limits its silence and its total time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time from the start of the process until the agent has answered `initialize` and `authenticate`; again the
    /// time for `session/new`.
    pub start: Duration,
    /// The time for restoring a session, and for setting the mode or one setting.
    pub restore: Duration,
    /// The pause after which the history that the agent replays after its reply to `session/load` counts as complete.
    pub late_replay_pause: Duration,
    /// The longest line that the agent may write, in bytes.
    pub max_line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_mins(1),
            restore: Duration::from_mins(1),
            late_replay_pause: Duration::from_millis(100),
            max_line_bytes: MAX_LINE_BYTES,
        }
    }
}

impl Limits {
    /// Returns the longest time of a replay after the reply to `session/load`, however short its pauses are.
    pub(crate) fn max_late_replay(&self) -> Duration {
        self.late_replay_pause * 10
    }
}
