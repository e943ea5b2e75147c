//! The lines that worker and guard exchange over the control socket.
//!
//! Each order and each report is one line of text. The formats need no version, because worker and guard are the same
//! program.

use std::{fmt, io, str::FromStr, time::Duration};

use crate::exit::{Excess, Status, Used};

/// An order from the worker to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Let the tree live for this long from now. A later lease replaces an earlier one.
    Lease(Duration),
    /// Send SIGTERM to the whole tree.
    Term,
    /// Report the resources that the tree uses.
    Measure,
}

/// A report from the guard to the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Report {
    /// The agent's program could not be started.
    Failed(String),
    /// The agent's own process has ended; descendants may still live.
    Exited(Status),
    /// The lease is over; the guard kills the tree.
    LeaseOver,
    /// The tree exceeded this limit; the guard kills the tree.
    Excess(Excess),
    /// The resources that the tree uses.
    Used(Used),
    /// No process of the tree is left.
    Clear,
}

fn unknown(line: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("unknown line {line:?} on the control socket"),
    )
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease(time) => writeln!(f, "lease {}", time.as_millis()),
            Self::Term => writeln!(f, "term"),
            Self::Measure => writeln!(f, "measure"),
        }
    }
}

impl FromStr for Order {
    type Err = io::Error;

    fn from_str(line: &str) -> io::Result<Self> {
        match line {
            "term" => return Ok(Self::Term),
            "measure" => return Ok(Self::Measure),
            _ => {}
        }
        line.strip_prefix("lease ")
            .and_then(|millis| millis.parse().ok())
            .map(|millis| Self::Lease(Duration::from_millis(millis)))
            .ok_or_else(|| unknown(line))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => writeln!(f, "failed {}", why.replace('\n', " ")),
            Self::Exited(Status::Signal(signal)) => writeln!(f, "exited signal {signal}"),
            Self::Exited(Status::Code(code)) => writeln!(f, "exited code {code}"),
            Self::Exited(Status::Unknown) => writeln!(f, "exited unknown"),
            Self::LeaseOver => writeln!(f, "lease over"),
            Self::Excess(excess) => writeln!(f, "excess {}", excess.word()),
            Self::Used(used) => {
                let (memory, processes) = (used.memory, used.processes);
                writeln!(f, "used {memory} {processes} {}", used.cpu.as_millis())
            }
            Self::Clear => writeln!(f, "clear"),
        }
    }
}

impl FromStr for Report {
    type Err = io::Error;

    fn from_str(line: &str) -> io::Result<Self> {
        let number = |prefix: &str| line.strip_prefix(prefix).and_then(|n| n.parse().ok());
        if let Some(code) = number("exited code ") {
            return Ok(Self::Exited(Status::Code(code)));
        }
        if let Some(signal) = number("exited signal ") {
            return Ok(Self::Exited(Status::Signal(signal)));
        }
        if let Some(why) = line.strip_prefix("failed ") {
            return Ok(Self::Failed(why.to_owned()));
        }
        if let Some(word) = line.strip_prefix("excess ") {
            let excess = Excess::ALL.into_iter().find(|excess| excess.word() == word);
            return excess.map(Self::Excess).ok_or_else(|| unknown(line));
        }
        if let Some(numbers) = line.strip_prefix("used ") {
            let mut numbers = numbers.split(' ').map(str::parse);
            return match (numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(memory)), Some(Ok(processes)), Some(Ok(millis))) => Ok(Self::Used(Used {
                    memory,
                    processes,
                    cpu: Duration::from_millis(millis),
                })),
                _ => Err(unknown(line)),
            };
        }
        match line {
            "exited unknown" => Ok(Self::Exited(Status::Unknown)),
            "lease over" => Ok(Self::LeaseOver),
            "clear" => Ok(Self::Clear),
            _ => Err(unknown(line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guard_commands_and_reports_round_trip() {
        let orders = [
            Order::Lease(Duration::from_millis(1500)),
            Order::Term,
            Order::Measure,
        ];
        for order in orders {
            let line = order.to_string();
            assert_eq!(line.trim_end().parse::<Order>().unwrap(), order);
        }
        for report in [
            Report::Failed("no such file".into()),
            Report::Exited(Status::Code(3)),
            Report::Exited(Status::Signal(9)),
            Report::Exited(Status::Unknown),
            Report::LeaseOver,
            Report::Excess(Excess::Memory),
            Report::Excess(Excess::Processes),
            Report::Excess(Excess::Cpu),
            Report::Used(Used {
                memory: 1 << 40,
                processes: 3,
                cpu: Duration::from_millis(1),
            }),
            Report::Clear,
        ] {
            let line = report.to_string();
            assert_eq!(line.trim_end().parse::<Report>().unwrap(), report);
        }
    }

    #[test]
    fn malformed_guard_lines_are_refused() {
        assert!("lease soon".parse::<Order>().is_err());
        for line in ["exited code x", "excess luck", "used 1 2", "used 1 2 x"] {
            assert!(line.parse::<Report>().is_err(), "{line}");
        }
    }
}
