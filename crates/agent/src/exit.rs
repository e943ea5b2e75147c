//! The end of an agent's process and the resources that its processes use.

use std::{fmt, time::Duration};

/// The exit status of an agent's own process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// The process exited with this code.
    Code(i32),
    /// This signal killed the process.
    Signal(i32),
    /// The status is unknown, because the guard was killed, or because the agent closed its output and still runs.
    Unknown,
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Unknown => write!(f, "unknown status"),
        }
    }
}

/// A limit of resources that an agent's processes exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceededLimit {
    /// The limit of memory.
    Memory,
    /// The limit of processes and threads.
    Processes,
    /// The limit of processor time.
    Cpu,
}

impl ExceededLimit {
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Processes, Self::Cpu];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Cpu => "cpu",
        }
    }
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "its processes used more memory than the agent configuration allows",
            Self::Processes => "it started more processes than the agent configuration allows",
            Self::Cpu => {
                "its processes used more processor time than the agent configuration allows"
            }
        })
    }
}

/// The resources that all processes of an agent use together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceUsage {
    /// The memory, in bytes.
    pub memory_bytes: u64,
    /// The number of processes and threads.
    pub processes: u64,
    /// The processor time so far.
    pub cpu_time: Duration,
}

/// The longest part of the agent's last line that an error shows, in characters.
const MAX_LAST_LINE_CHARS: usize = 300;

/// The early end of an agent, with the last output that may explain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlyExit {
    /// The exit status of the agent's own process.
    pub status: ExitStatus,
    /// `true` if the guard killed the agent because its lease was over.
    pub lease_expired: bool,
    /// The limit for which the guard killed the agent, if any.
    pub exceeded_limit: Option<ExceededLimit>,
    /// The last bytes that the agent wrote to standard error.
    pub stderr_tail: String,
    /// The last bytes of the lines on standard output that were no messages.
    pub noise_tail: String,
}

impl fmt::Display for EarlyExit {
    /// Writes the status and the agent's last line that was no message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if self.lease_expired {
            write!(f, ", its lease was over")?;
        }
        if let Some(excess) = self.exceeded_limit {
            write!(f, ", {excess}")?;
        }
        let lines = self.noise_tail.lines().chain(self.stderr_tail.lines());
        if let Some(line) = lines.map(str::trim).rfind(|line| !line.is_empty()) {
            write!(
                f,
                ": {}",
                line.chars().take(MAX_LAST_LINE_CHARS).collect::<String>()
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_exit_displays_last_output_line() {
        let ended = EarlyExit {
            status: ExitStatus::Code(1),
            lease_expired: false,
            exceeded_limit: None,
            stderr_tail: "warning: old\nno API key\n\n".into(),
            noise_tail: "starting\n".into(),
        };
        assert_eq!(ended.to_string(), "exit code 1: no API key");
    }
}
