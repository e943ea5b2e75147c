//! How an agent's process ended.

use std::{fmt, time::Duration};

/// How the agent's own process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The process exited with this code.
    Code(i32),
    /// This signal killed the process.
    Signal(i32),
    /// It cannot be known: the guard was killed, or the agent closed its output and lives on.
    Unknown,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Unknown => write!(f, "unknown status"),
        }
    }
}

/// What an agent's processes used more of than they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// Memory.
    Memory,
    /// Processes and threads.
    Processes,
    /// Time on a processor.
    Cpu,
}

impl Excess {
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Processes, Self::Cpu];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Cpu => "cpu",
        }
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "its processes used more memory than its harness allows",
            Self::Processes => "it started more processes than its harness allows",
            Self::Cpu => "its processes used more processor time than its harness allows",
        })
    }
}

/// What an agent's processes use, all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Memory, in bytes.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Time on a processor so far.
    pub cpu: Duration,
}

/// How much of the last line that an agent wrote an error shows.
const SHOWN_CHARS: usize = 300;

/// An agent that ended before its time, and what it left to explain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How its own process ended.
    pub status: Status,
    /// Whether it was killed because its lease was over.
    pub lease_over: bool,
    /// Whether it was killed because it used too much.
    pub excess: Option<Excess>,
    /// The end of what it wrote to standard error.
    pub stderr_tail: String,
    /// The end of what it wrote to standard output that was no message.
    pub noise_tail: String,
}

impl fmt::Display for Ended {
    /// The status, and the last line that the agent wrote to people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if self.lease_over {
            write!(f, ", its lease was over")?;
        }
        if let Some(excess) = self.excess {
            write!(f, ", {excess}")?;
        }
        let lines = self.noise_tail.lines().chain(self.stderr_tail.lines());
        if let Some(line) = lines.map(str::trim).rfind(|line| !line.is_empty()) {
            write!(
                f,
                ": {}",
                line.chars().take(SHOWN_CHARS).collect::<String>()
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_shows_the_last_words() {
        let ended = Ended {
            status: Status::Code(1),
            lease_over: false,
            excess: None,
            stderr_tail: "warning: old\nno API key\n\n".into(),
            noise_tail: "starting\n".into(),
        };
        assert_eq!(ended.to_string(), "exit code 1: no API key");
    }
}
