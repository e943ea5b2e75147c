//! Harnesses, and what a look at their agents finds.

use std::{path::PathBuf, time::Duration};

use model::harness::{Harness, Offers};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::milliseconds;

/// How far a look at an agent goes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// It introduces itself.
    Offers,
    /// It makes a session in an empty folder, which is taken away again. Agents ask no model for that.
    #[default]
    Session,
    /// It takes a short turn in that session, and another process of it takes the session up again.
    /// This costs a call of the model.
    Restore,
}

/// How an agent is to be looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckRequest {
    /// How far.
    pub depth: Depth,
}

/// What a look at an agent found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Probed {
    /// What it offers.
    #[serde(skip)]
    pub offers: Offers,
    /// The version of the protocol that was agreed on.
    pub protocol_version: u64,
    /// The ways to sign in that it names.
    pub sign_in: Vec<SignIn>,
    /// How long it took to start and to introduce itself.
    #[serde(rename = "start_ms", with = "milliseconds")]
    #[schema(value_type = u64)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignIn {
    /// What a harness names.
    pub id: String,
    /// What people read.
    pub name: String,
    /// How it is done, in the agent's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether a person must do it at a terminal.
    pub terminal: bool,
}

/// What became of the session of a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SessionProbe {
    /// It was made.
    Opened {
        /// How long that took.
        #[serde(rename = "took_ms", with = "milliseconds")]
        #[schema(value_type = u64)]
        took: Duration,
        /// The modes, the present one first.
        modes: Vec<String>,
        /// The settings with their present values.
        #[schema(value_type = Vec<Vec<String>>)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RestoreProbe {
    /// Another process of the agent has taken it up.
    Restored {
        /// How long the first process took for its turn.
        #[serde(rename = "turn_ms", with = "milliseconds")]
        #[schema(value_type = u64)]
        turn: Duration,
        /// How long the restore took.
        #[serde(rename = "took_ms", with = "milliseconds")]
        #[schema(value_type = u64)]
        took: Duration,
    },
    /// It did not come to that, in words.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Who holds an agent's processes to the limits of their harness.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

/// What a look at the agent of a harness found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checked {
    /// The harness, with the offers as they are now kept.
    #[serde(flatten)]
    pub harness: Harness,
    /// What the look found beside.
    #[serde(flatten)]
    pub found: Probed,
    /// How to sign in, for agents of the catalogue.
    pub sign_in_hint: Option<String>,
    /// Whether its sessions can be restored in the way that the harness asks for.
    pub can_restore: bool,
    /// How long all of it took, with ending the agent.
    #[serde(rename = "took_ms", with = "milliseconds")]
    #[schema(value_type = u64)]
    pub took: Duration,
}

/// A harness with what the machine of the server has of its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HarnessView {
    /// The harness.
    #[serde(flatten)]
    pub harness: Harness,
    /// What the machine has of its agent.
    #[serde(flatten)]
    pub presence: Presence,
}

/// What a machine has of an agent, seen without starting it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Presence {
    /// Where its program is; absent if it is not installed, or not where its environment looks.
    #[schema(value_type = Option<String>)]
    pub program: Option<PathBuf>,
    /// What shows that somebody has signed in: a variable or a file. Absent if nothing does, which
    /// does not prove that nobody has.
    pub signed_in_by: Option<String>,
    /// How to sign in, for the catalogue's programs.
    pub sign_in: Option<String>,
    /// What installs it, for the catalogue's programs.
    pub install: Option<String>,
}
