//! What is wrong with a configuration, and where.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The longest piece of somebody's text that is repeated to them, in characters.
const REPEATED_CHARS: usize = 60;

/// Where the value of a setting comes from; what comes later outweighs what comes before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// A line of the configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Environment(&'static str),
    /// A flag of the command line, without its dashes.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => write!(f, "{name}"),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// Why a configuration is not taken, in words that follow "failed to".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is no TOML.
    #[error("read {origin}: {reason}")]
    Syntax {
        /// The file and the line.
        origin: Origin,
        /// What the parser says.
        reason: String,
    },
    /// The file is far too long to be a configuration.
    #[error("read {path}: it has more than {most} bytes", path = path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The longest that is read.
        most: usize,
    },
    /// No setting has this name.
    #[error("take the key {key:?} ({origin}): there is no such setting{}", hint(near.as_deref()))]
    UnknownKey {
        /// The key with its tables, cut if it is long.
        key: String,
        /// The file and the line.
        origin: Origin,
        /// What may have been meant.
        near: Option<String>,
    },
    /// A table of settings has a value that is no table.
    #[error("take {table} ({origin}): it is a table of settings, written [{table}]")]
    NotATable {
        /// The table.
        table: &'static str,
        /// The file and the line.
        origin: Origin,
    },
    /// A setting does not take its value.
    #[error("take {}: {reason}", named(setting, value.as_deref(), origin))]
    Value {
        /// The setting's name.
        setting: &'static str,
        /// The value, cut if it is long; `None` where it may be a secret or is no text.
        value: Option<String>,
        /// Where it stands.
        origin: Origin,
        /// What is wrong and what is accepted.
        reason: String,
    },
    /// Two settings contradict each other.
    #[error("take {first} with {second}: {reason}")]
    Together {
        /// The first with its value and origin.
        first: String,
        /// The second with its value and origin.
        second: String,
        /// The rule.
        reason: String,
    },
}

impl Problem {
    /// A value of a setting that cannot be taken.
    pub fn value(
        setting: &'static str,
        value: Option<&str>,
        origin: &Origin,
        reason: impl Into<String>,
    ) -> Self {
        Self::Value {
            setting,
            value: value.map(excerpt),
            origin: origin.clone(),
            reason: reason.into(),
        }
    }

    pub(crate) fn in_file(path: &Path, line: usize) -> Origin {
        Origin::File {
            path: path.to_owned(),
            line,
        }
    }
}

/// A setting with its value as it was written: `--workers 0`, `MATINS_WORKERS=0`, `workers = 0 (FILE:3)`.
pub(crate) fn named(setting: &str, value: Option<&str>, origin: &Origin) -> String {
    match (origin, value) {
        (Origin::Flag(flag), Some(value)) => format!("--{flag} {value}"),
        (Origin::Flag(flag), None) => format!("--{flag}"),
        (Origin::Environment(name), Some(value)) => format!("{name}={value}"),
        (Origin::Environment(name), None) => (*name).to_owned(),
        (origin, Some(value)) => format!("{setting} = {value} ({origin})"),
        (origin, None) => format!("{setting} ({origin})"),
    }
}

fn hint(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(", did you mean {near}?"))
}

/// The beginning of what somebody wrote, without what could command a terminal.
pub(crate) fn excerpt(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(REPEATED_CHARS)
        .flat_map(|letter| {
            let escaped = letter.is_control().then(|| letter.escape_default());
            let plain = escaped.is_none().then_some(letter);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect();
    if text.chars().nth(REPEATED_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
