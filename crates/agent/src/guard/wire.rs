//! The lines that worker and guard say to each other over the control socket.

use std::{fmt, io, str::FromStr, time::Duration};

use crate::exit::Status;

/// What the worker tells the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The tree may live for this long from now; an order that comes later replaces it.
    Lease(Duration),
    /// Send SIGTERM to the whole tree.
    Term,
}

/// What the guard tells the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Report {
    /// The agent's own process could not be started.
    Failed(String),
    /// The agent's own process has ended; descendants may still live.
    Exited(Status),
    /// The lease ran out; the tree is being killed.
    LeaseOver,
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
        }
    }
}

impl FromStr for Order {
    type Err = io::Error;

    fn from_str(line: &str) -> io::Result<Self> {
        if line == "term" {
            return Ok(Self::Term);
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
    fn what_is_said_is_understood() {
        for order in [Order::Lease(Duration::from_millis(1500)), Order::Term] {
            let line = order.to_string();
            assert_eq!(line.trim_end().parse::<Order>().unwrap(), order);
        }
        for report in [
            Report::Failed("no such file".into()),
            Report::Exited(Status::Code(3)),
            Report::Exited(Status::Signal(9)),
            Report::Exited(Status::Unknown),
            Report::LeaseOver,
            Report::Clear,
        ] {
            let line = report.to_string();
            assert_eq!(line.trim_end().parse::<Report>().unwrap(), report);
        }
    }

    #[test]
    fn what_nobody_says_is_refused() {
        assert!("lease soon".parse::<Order>().is_err());
        assert!("exited code x".parse::<Report>().is_err());
    }
}
