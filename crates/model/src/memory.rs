//! Memory entries: facts that agents and people keep under keys, for later turns.

use crate::{
    ids::{AutomationId, MemoryEntryId, RunId, SessionId},
    time::Timestamp,
};

/// The longest key, in bytes.
pub const KEY_BYTES: usize = 200;
/// The longest value, in bytes.
pub const VALUE_BYTES: usize = 16 * 1024;
/// The highest number of entries of one owner.
pub const ENTRIES_PER_OWNER: u32 = 1_000;
/// The highest number of bytes of one owner's keys and values.
pub const BYTES_PER_OWNER: u32 = 4 << 20;
/// The highest number of entries that one turn writes.
pub const ENTRIES_PER_TURN: u32 = 50;
/// The longest lifetime that an agent gives to an entry, in hours.
pub const MAX_TTL_HOURS: u32 = 8_760;
/// The highest number of entries in one answer to an agent.
pub const MAX_RECALLED: u32 = 50;

/// The owner of memory entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryOwner {
    /// An automation, for all of its sessions.
    Automation(AutomationId),
    /// A session, for its messages of people.
    Session(SessionId),
}

impl MemoryOwner {
    /// Returns the automation. Returns `None` if the owner is a session.
    pub fn automation(self) -> Option<AutomationId> {
        match self {
            Self::Automation(id) => Some(id),
            Self::Session(_) => None,
        }
    }

    /// Returns the session. Returns `None` if the owner is an automation.
    pub fn session(self) -> Option<SessionId> {
        match self {
            Self::Automation(_) => None,
            Self::Session(id) => Some(id),
        }
    }
}

/// The author of an entry's present content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryAuthor {
    /// An agent, in one of its turns.
    Agent {
        /// The name of the agent.
        name: String,
        /// The run of the turn.
        run: RunId,
    },
    /// A person.
    Person {
        /// The name of the person's token, or `socket` for the private socket.
        name: String,
    },
}

impl MemoryAuthor {
    /// Returns the name.
    pub fn name(&self) -> &str {
        let (Self::Agent { name, .. } | Self::Person { name }) = self;
        name
    }

    /// Returns the run of an agent's turn. Returns `None` if a person is the author.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::Agent { run, .. } => Some(*run),
            Self::Person { .. } => None,
        }
    }
}

/// A memory entry.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryEntry {
    /// The ID of the entry.
    pub id: MemoryEntryId,
    /// The owner.
    pub owner: MemoryOwner,
    /// The key, unique for the owner.
    pub key: String,
    /// The value.
    pub value: String,
    /// The author's trust in the value, from 0 to 1.
    pub confidence: f64,
    /// The number of the content, from 1. Each change of the value or of the confidence raises it.
    pub version: i64,
    /// The author of the present content.
    pub author: MemoryAuthor,
    /// `true` if the run that wrote the content has not succeeded, or not yet.
    pub is_unconfirmed: bool,
    /// The instant from which the entry is no longer returned.
    pub expires_at: Option<Timestamp>,
    /// The instant at which the first content was written.
    pub created_at: Timestamp,
    /// The instant at which the present content was written.
    pub updated_at: Timestamp,
}
