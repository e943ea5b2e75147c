//! Starting an agent only to see what it offers.

use std::{error::Error, future::Future, pin::Pin, time::Duration};

use model::harness::{HarnessConfig, Offers};
use serde::{Serialize, Serializer};

/// How far a look at an agent goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// It introduces itself.
    Offers,
    /// It makes a session in an empty folder, which is taken away again. Agents ask no model for that.
    Session,
    /// It takes a short turn in that session, and another process of it takes the session up again.
    /// This costs a call of the model.
    Restore,
}

/// What a look at an agent found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Probed {
    /// What it offers.
    #[serde(skip)]
    pub offers: Offers,
    /// The version of the protocol that was agreed on.
    pub protocol_version: u64,
    /// The ways to sign in that it names.
    pub sign_in: Vec<SignIn>,
    /// How long it took to start and to introduce itself.
    #[serde(rename = "start_ms", serialize_with = "milliseconds")]
    pub start: Duration,
    /// The memory of all its processes after that, and after a session was made, in bytes.
    pub memory_bytes: Option<u64>,
    /// What became of a session, where one was asked for.
    pub session: Option<SessionProbe>,
    /// What became of taking it up again, where that was asked for.
    pub restore: Option<RestoreProbe>,
    /// Who holds its processes to their limits.
    pub limits_held_by: LimitsHeldBy,
}

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SignIn {
    /// What a harness names.
    pub id: String,
    /// What people read.
    pub name: String,
    /// How it is done, in the agent's words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether a person must do it at a terminal.
    pub terminal: bool,
}

/// What became of the session of a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SessionProbe {
    /// It was made.
    Opened {
        /// How long that took.
        #[serde(rename = "took_ms", serialize_with = "milliseconds")]
        took: Duration,
        /// The modes, the present one first.
        modes: Vec<String>,
        /// The settings with their present values.
        settings: Vec<(String, String)>,
        /// Whether the agent has deleted it again; one that offers no deleting keeps it.
        deleted: bool,
    },
    /// The agent wants a sign-in first.
    SignInNeeded,
    /// Anything else, in words.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What became of taking a session up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RestoreProbe {
    /// Another process of the agent has taken it up.
    Restored {
        /// How long the first process took for its turn.
        #[serde(rename = "turn_ms", serialize_with = "milliseconds")]
        turn: Duration,
        /// How long the restore took.
        #[serde(rename = "took_ms", serialize_with = "milliseconds")]
        took: Duration,
    },
    /// It did not come to that, in words.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Who holds an agent's processes to the limits of their harness.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum LimitsHeldBy {
    /// The kernel, exactly.
    Kernel,
    /// Their guard, which looks once a second.
    Guard {
        /// Why the kernel does not.
        because: String,
    },
    /// Nobody has looked.
    #[default]
    Unknown,
}

pub(crate) fn milliseconds<S: Serializer>(
    took: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u128(took.as_millis())
}

/// Why an agent could not be started, in the words of whoever tried.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProbeError(#[from] pub Box<dyn Error + Send + Sync>);

/// The answer of a probe, to be awaited.
pub type Probing<'a> = Pin<Box<dyn Future<Output = Result<Probed, ProbeError>> + Send + 'a>>;

/// Starts agents. Whoever makes a [`crate::Service`] brings one, because this crate starts nothing.
pub trait Probe: Send + Sync {
    /// Starts the agent, looks as far as asked and ends it; nothing of it is left running.
    fn probe<'a>(&'a self, config: &'a HarnessConfig, depth: Depth) -> Probing<'a>;
}
