//! The working directory of a session on the machine that takes its turns.

/// A working directory, as an absolute path of the machine that takes the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// The session's own folder, which Matins creates. Each machine has one of its own.
    Own(String),
    /// The own folder of a seat, which Matins creates below the folder of the session.
    OwnOfSeat {
        /// The path.
        path: String,
        /// The name of the seat, which is the last part of the path.
        seat: String,
    },
    /// A directory that a person gave the session, which Matins never creates or removes.
    Given(String),
}

impl WorkingDirectory {
    /// Returns the directory of a session: the given one, or the own folder that `own` returns.
    pub fn of(given: Option<&str>, own: impl FnOnce() -> String) -> Self {
        match given {
            Some(given) => Self::Given(given.to_owned()),
            None => Self::Own(own()),
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &str {
        match self {
            Self::Own(path) | Self::OwnOfSeat { path, .. } | Self::Given(path) => path,
        }
    }

    /// Returns the directory that a person gave. Returns `None` if it is a folder that Matins creates.
    pub fn given(&self) -> Option<&str> {
        match self {
            Self::Own(_) | Self::OwnOfSeat { .. } => None,
            Self::Given(path) => Some(path),
        }
    }

    /// Returns the name of the seat whose own folder it is. Returns `None` if it is the directory of the session.
    pub fn seat(&self) -> Option<&str> {
        match self {
            Self::OwnOfSeat { seat, .. } => Some(seat),
            Self::Own(_) | Self::Given(_) => None,
        }
    }

    /// `true` if Matins creates the directory.
    pub const fn is_own(&self) -> bool {
        matches!(self, Self::Own(_) | Self::OwnOfSeat { .. })
    }
}
