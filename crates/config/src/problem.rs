//! The problems of a configuration, with their locations.

use std::{
    fmt,
    path::{Path, PathBuf},
};

pub(crate) use model::escape::excerpt;

/// The source of a setting's value. The variants are in ascending order of precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The declaration. No source has a value.
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

/// A reason to refuse a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigProblem {
    /// The file is not valid TOML or not UTF-8.
    #[error("cannot parse {origin}: {reason}")]
    Syntax {
        /// The file and the line.
        origin: Origin,
        /// The error of the parser.
        reason: String,
    },
    /// The file exceeds the maximum size.
    #[error("the file `{path}` is too long: accepted are up to {max_bytes} bytes", path = path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The maximum size, in bytes.
        max_bytes: usize,
    },
    /// No setting has this name.
    #[error("unknown setting `{key}` ({origin}){}", did_you_mean(suggestion.as_deref()))]
    UnknownKey {
        /// The key with its table, shortened if it is long.
        key: String,
        /// The file and the line.
        origin: Origin,
        /// The name of a similar setting or table, if there is one.
        suggestion: Option<String>,
    },
    /// A table of settings has a value that is no table.
    #[error("invalid `{table}` ({origin}): it is a table of settings, written [{table}]")]
    NotATable {
        /// The table.
        table: &'static str,
        /// The file and the line.
        origin: Origin,
    },
    /// A setting refuses a value.
    #[error("invalid {}: {reason}", describe_value(setting, value.as_deref(), origin))]
    Value {
        /// The name of the setting.
        setting: &'static str,
        /// The value, shortened if it is long. `None` if the value may be secret or has no textual form.
        value: Option<String>,
        /// The source of the value.
        origin: Origin,
        /// The mistake in the value, or the accepted values.
        reason: String,
    },
    /// Two settings contradict each other.
    #[error("{first} conflicts with {second}: {reason}")]
    Conflict {
        /// The first setting, with its value and source.
        first: String,
        /// The second setting, with its value and source.
        second: String,
        /// The rule that the two settings break.
        reason: String,
    },
}

impl ConfigProblem {
    /// Makes the problem of a value that a setting refuses.
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

    pub(crate) fn file_origin(path: &Path, line: usize) -> Origin {
        Origin::File {
            path: path.to_owned(),
            line,
        }
    }
}

/// Returns a setting and its value in backticks and in the notation of their source, such as `--workers 0`,
/// `MATINS_WORKERS=0`, or `workers = 0` with `(FILE:3)` behind it.
pub(crate) fn describe_value(setting: &str, value: Option<&str>, origin: &Origin) -> String {
    match (origin, value) {
        (Origin::Flag(flag), Some(value)) => format!("`--{flag} {value}`"),
        (Origin::Flag(flag), None) => format!("`--{flag}`"),
        (Origin::Environment(name), Some(value)) => format!("`{name}={value}`"),
        (Origin::Environment(name), None) => format!("`{name}`"),
        (origin, Some(value)) => format!("`{setting} = {value}` ({origin})"),
        (origin, None) => format!("`{setting}` ({origin})"),
    }
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
