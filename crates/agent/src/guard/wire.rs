//! The lines that worker and guard exchange over the control socket.
//!
//! Each order and each report is one line of text. The formats need no version, because worker and guard are the same
//! program.

use std::{fmt, io, str::FromStr, time::Duration};

use crate::exit::{ExceededLimit, ExitStatus, ResourceUsage};

/// An order from the worker to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardCommand {
    /// Let the tree live for this long from now. A later lease replaces an earlier one.
    Lease(Duration),
    /// Send SIGTERM to the whole tree.
    Terminate,
    /// Report the resources that the tree uses.
    ReportUsage,
}

/// A report from the guard to the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GuardReport {
    /// The agent's program could not be started.
    StartFailed(String),
    /// The agent's own process has ended; descendants may still live.
    Exited(ExitStatus),
    /// The lease is over; the guard kills the tree.
    LeaseExpired,
    /// The tree exceeded this limit; the guard kills the tree.
    LimitExceeded(ExceededLimit),
    /// The resources that the tree uses.
    Usage(ResourceUsage),
    /// No process of the tree is left.
    AllEnded,
}

fn unknown_line(line: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!(
            "unknown line `{}` on the control socket",
            line.escape_debug()
        ),
    )
}

impl fmt::Display for GuardCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease(time) => writeln!(f, "lease {}", time.as_millis()),
            Self::Terminate => writeln!(f, "term"),
            Self::ReportUsage => writeln!(f, "measure"),
        }
    }
}

impl FromStr for GuardCommand {
    type Err = io::Error;

    fn from_str(line: &str) -> io::Result<Self> {
        match line {
            "term" => return Ok(Self::Terminate),
            "measure" => return Ok(Self::ReportUsage),
            _ => {}
        }
        line.strip_prefix("lease ")
            .and_then(|millis| millis.parse().ok())
            .map(|millis| Self::Lease(Duration::from_millis(millis)))
            .ok_or_else(|| unknown_line(line))
    }
}

impl fmt::Display for GuardReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StartFailed(why) => writeln!(f, "failed {}", why.replace('\n', " ")),
            Self::Exited(ExitStatus::Signal(signal)) => writeln!(f, "exited signal {signal}"),
            Self::Exited(ExitStatus::Code(code)) => writeln!(f, "exited code {code}"),
            Self::Exited(ExitStatus::Unknown) => writeln!(f, "exited unknown"),
            Self::LeaseExpired => writeln!(f, "lease over"),
            Self::LimitExceeded(excess) => writeln!(f, "excess {}", excess.as_str()),
            Self::Usage(used) => {
                let (memory, processes) = (used.memory_bytes, used.processes);
                writeln!(f, "used {memory} {processes} {}", used.cpu_time.as_millis())
            }
            Self::AllEnded => writeln!(f, "clear"),
        }
    }
}

impl FromStr for GuardReport {
    type Err = io::Error;

    fn from_str(line: &str) -> io::Result<Self> {
        let number = |prefix: &str| line.strip_prefix(prefix).and_then(|n| n.parse().ok());
        if let Some(code) = number("exited code ") {
            return Ok(Self::Exited(ExitStatus::Code(code)));
        }
        if let Some(signal) = number("exited signal ") {
            return Ok(Self::Exited(ExitStatus::Signal(signal)));
        }
        if let Some(why) = line.strip_prefix("failed ") {
            return Ok(Self::StartFailed(why.to_owned()));
        }
        if let Some(word) = line.strip_prefix("excess ") {
            let excess = ExceededLimit::ALL
                .into_iter()
                .find(|excess| excess.as_str() == word);
            return excess
                .map(Self::LimitExceeded)
                .ok_or_else(|| unknown_line(line));
        }
        if let Some(numbers) = line.strip_prefix("used ") {
            let mut numbers = numbers.split(' ').map(str::parse);
            return match (numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(memory)), Some(Ok(processes)), Some(Ok(millis))) => {
                    Ok(Self::Usage(ResourceUsage {
                        memory_bytes: memory,
                        processes,
                        cpu_time: Duration::from_millis(millis),
                    }))
                }
                _ => Err(unknown_line(line)),
            };
        }
        match line {
            "exited unknown" => Ok(Self::Exited(ExitStatus::Unknown)),
            "lease over" => Ok(Self::LeaseExpired),
            "clear" => Ok(Self::AllEnded),
            _ => Err(unknown_line(line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guard_commands_and_reports_round_trip() {
        let orders = [
            GuardCommand::Lease(Duration::from_millis(1500)),
            GuardCommand::Terminate,
            GuardCommand::ReportUsage,
        ];
        for order in orders {
            let line = order.to_string();
            assert_eq!(line.trim_end().parse::<GuardCommand>().unwrap(), order);
        }
        for report in [
            GuardReport::StartFailed("no such file".into()),
            GuardReport::Exited(ExitStatus::Code(3)),
            GuardReport::Exited(ExitStatus::Signal(9)),
            GuardReport::Exited(ExitStatus::Unknown),
            GuardReport::LeaseExpired,
            GuardReport::LimitExceeded(ExceededLimit::Memory),
            GuardReport::LimitExceeded(ExceededLimit::Processes),
            GuardReport::LimitExceeded(ExceededLimit::Cpu),
            GuardReport::Usage(ResourceUsage {
                memory_bytes: 1 << 40,
                processes: 3,
                cpu_time: Duration::from_millis(1),
            }),
            GuardReport::AllEnded,
        ] {
            let line = report.to_string();
            assert_eq!(line.trim_end().parse::<GuardReport>().unwrap(), report);
        }
    }

    #[test]
    fn malformed_guard_lines_are_refused() {
        assert!("lease soon".parse::<GuardCommand>().is_err());
        for line in ["exited code x", "excess luck", "used 1 2", "used 1 2 x"] {
            assert!(line.parse::<GuardReport>().is_err(), "{line}");
        }
    }
}
