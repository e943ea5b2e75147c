//! The input of a turn.

use std::{collections::BTreeMap, path::Path};

use model::{
    AcpSessionId, RunId, SessionId, Timestamp, WorkingDirectory,
    approval::OnUnmatched,
    entity::SeatSettings,
    run::Origin,
    seat::is_plain_name,
    tools::ToolAccess,
    turn::{self, SeatMemory, TurnPolicies},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    InvalidField,
    accounts::Accounts,
    agent::{Agent, Rule, rules_into_domain, rules_of_domain},
    word::Word,
};

/// The input of a turn, as the runtime gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnAssignment {
    run: RunId,
    origin: Word,
    session: SessionId,
    /// The directory that a person gave the session. Null: the session's own folder, whose path the runtime chooses.
    #[serde(default)]
    directory: Option<String>,
    /// The name of the seat whose own folder, below that of the session, is the directory. Null: the directory is that of the
    /// session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seat_folder: Option<String>,
    memory: Memory,
    agent_name: String,
    agent: Agent,
    policies: Policies,
    #[serde(default)]
    permissions: Vec<Rule>,
    prompt: Vec<String>,
    #[serde(default)]
    accounts: Accounts,
    /// `true` if the server answers calls of tools. A server of an earlier version does not, so that the agent gets none.
    #[serde(default)]
    serves_tools: bool,
}

/// The memory of a seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Memory {
    #[serde(default)]
    acp_session_id: Option<AcpSessionId>,
    turns: i64,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    updated_at: Timestamp,
}

/// The policies that apply while a turn is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Policies {
    timeout_seconds: u32,
    inactivity_seconds: u32,
    on_unmatched: Word,
    ask_seconds: u32,
    tools: Word,
}

impl TurnAssignment {
    /// Returns the input of the turn. A session without a given directory has a folder of its own below
    /// `session_folders`.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is invalid.
    pub fn into_domain(self, session_folders: &Path) -> Result<turn::TurnAssignment, InvalidField> {
        let Self {
            run,
            origin,
            session,
            directory,
            seat_folder,
            memory,
            agent_name,
            agent,
            policies,
            permissions,
            prompt,
            accounts,
            serves_tools,
        } = self;
        let mut policies = TurnPolicies::from(policies);
        if !serves_tools {
            policies.tools = ToolAccess::None;
        }
        Ok(turn::TurnAssignment {
            run,
            // Metrics alone depend on it.
            origin: origin.or(Origin::Occurrence),
            session,
            directory: resolve_directory(
                directory.as_deref(),
                seat_folder,
                session,
                session_folders,
            )?,
            memory: memory.into(),
            agent_name,
            agent: agent.into_domain(),
            policies,
            permissions: rules_into_domain(permissions),
            prompt,
            accounts: accounts.into_domain()?,
        })
    }
}

/// Returns the working directory of a session, or of one of its seats, on the machine of the runtime.
///
/// # Errors
///
/// Returns an error if the name of the seat is no plain name, which could lead out of the folder of the session.
pub(crate) fn resolve_directory(
    given: Option<&str>,
    seat: Option<String>,
    session: SessionId,
    session_folders: &Path,
) -> Result<WorkingDirectory, InvalidField> {
    let own = session_folders.join(session.to_string());
    let Some(seat) = seat else {
        let own = || own.to_string_lossy().into_owned();
        return Ok(WorkingDirectory::of(given, own));
    };
    if !is_plain_name(&seat) {
        let reason = "accepted are 1 to 40 lower-case letters, digits and hyphens";
        return Err(InvalidField::new("seat_folder", &reason));
    }
    Ok(WorkingDirectory::OwnOfSeat {
        path: own.join(&seat).to_string_lossy().into_owned(),
        seat,
    })
}

impl From<turn::TurnAssignment> for TurnAssignment {
    fn from(assignment: turn::TurnAssignment) -> Self {
        let turn::TurnAssignment {
            run,
            origin,
            session,
            directory,
            memory,
            agent_name,
            agent,
            policies,
            permissions,
            prompt,
            accounts,
        } = assignment;
        Self {
            run,
            origin: Word::of(origin),
            session,
            directory: directory.given().map(str::to_owned),
            seat_folder: directory.seat().map(str::to_owned),
            memory: memory.into(),
            agent_name,
            agent: agent.into(),
            policies: policies.into(),
            permissions: rules_of_domain(permissions),
            prompt,
            accounts: accounts.into(),
            serves_tools: true,
        }
    }
}

impl From<Memory> for SeatMemory {
    fn from(memory: Memory) -> Self {
        let Memory {
            acp_session_id,
            turns,
            usage,
            mode,
            settings: values,
            updated_at,
        } = memory;
        Self {
            acp_session_id,
            turns,
            usage,
            settings: SeatSettings { mode, values },
            updated_at,
        }
    }
}

impl From<SeatMemory> for Memory {
    fn from(memory: SeatMemory) -> Self {
        let SeatMemory {
            acp_session_id,
            turns,
            usage,
            settings: SeatSettings { mode, values },
            updated_at,
        } = memory;
        Self {
            acp_session_id,
            turns,
            usage,
            mode,
            settings: values,
            updated_at,
        }
    }
}

impl From<Policies> for TurnPolicies {
    fn from(policies: Policies) -> Self {
        let Policies {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched,
            ask_seconds,
            tools,
        } = policies;
        Self {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched: on_unmatched.or(OnUnmatched::Deny),
            ask_seconds,
            tools: tools.or(ToolAccess::None),
        }
    }
}

impl From<TurnPolicies> for Policies {
    fn from(policies: TurnPolicies) -> Self {
        let TurnPolicies {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched,
            ask_seconds,
            tools,
        } = policies;
        Self {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched: Word::of(on_unmatched),
            ask_seconds,
            tools: Word::of(tools),
        }
    }
}
