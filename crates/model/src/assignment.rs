//! The input of a turn: everything that the store knows about it, and the part that its execution needs.

use std::time::Duration;

use serde_json::Value;

use crate::{
    agent::{Agent, AgentConfig},
    approval::OnUnmatched,
    budget::Accounts,
    entity::{Run, Seat, SeatSettings, Session},
    ids::{AcpSessionId, RunId, SessionId},
    permission::PermissionRules,
    policy::Policies,
    prompt::RenderedPrompt,
    run::Origin,
    time::Timestamp,
    tools::ToolAccess,
    working_directory::WorkingDirectory,
};

/// The input of a turn, as the store has it: the run and all rows to which it refers.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The run, in status `running`.
    pub run: Run,
    /// The session.
    pub session: Session,
    /// The absolute path of the working directory on this server.
    pub cwd: String,
    /// The seat, with the agent's memory.
    pub seat: Seat,
    /// The configured agent whose process takes the turn.
    pub agent: Agent,
    /// The policies that apply to the turn.
    pub policies: Policies,
    /// The rules that answer permission requests: those of the agent, and of the automation or the seat of a goal.
    pub permissions: PermissionRules,
    /// The prompt.
    pub prompt: RenderedPrompt,
    /// The budgets that limit the turn, with their usage so far.
    pub accounts: Accounts,
}

/// The part of an assignment that the process needs which takes the turn. That process may be on a machine without the
/// database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnAssignment {
    /// The run.
    pub run: RunId,
    /// The source of the input.
    pub origin: Origin,
    /// The session.
    pub session: SessionId,
    /// The working directory.
    pub directory: WorkingDirectory,
    /// The memory of the agent.
    pub memory: SeatMemory,
    /// The name of the configured agent.
    pub agent_name: String,
    /// The configuration that starts the agent. The rules of permission requests in it are part of `permissions`.
    pub agent: AgentConfig,
    /// The policies that apply to the turn.
    pub policies: TurnPolicies,
    /// The rules that answer permission requests: those of the agent, and of the automation or the seat of a goal.
    pub permissions: PermissionRules,
    /// The texts of the prompt, in order. Each is a content block of its own.
    pub prompt: Vec<String>,
    /// The budgets that limit the turn, with their usage so far.
    pub accounts: Accounts,
}

/// The memory of a seat, which the next turn restores, and the settings that apply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatMemory {
    /// The agent's own session. `None` until the first turn has ended.
    pub acp_session_id: Option<AcpSessionId>,
    /// The number of turns that have ended.
    pub turns: i64,
    /// The number of tokens in the agent's context and the cost of its session, as the agent last reported them.
    pub usage: Option<Value>,
    /// The mode and the settings that Matins applies after each restore.
    pub settings: SeatSettings,
    /// The instant of the last change of the memory: the end of the last turn.
    pub updated_at: Timestamp,
}

/// The policies that apply while a turn is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPolicies {
    /// The time limit of the turn, in seconds.
    pub timeout_seconds: u32,
    /// The longest silence of the agent during the turn, in seconds.
    pub inactivity_seconds: u32,
    /// The treatment of permission requests that no rule matches.
    pub on_unmatched: OnUnmatched,
    /// The longest time for which such a request waits for a person, in seconds.
    pub ask_seconds: u32,
    /// The tools of Matins that the agent gets, at most those that its configuration gives.
    pub tools: ToolAccess,
}

impl TurnAssignment {
    /// Returns the tools of Matins that the agent gets.
    pub fn tools(&self) -> ToolAccess {
        self.agent.tools.min(self.policies.tools)
    }
}

impl From<Assignment> for TurnAssignment {
    fn from(assignment: Assignment) -> Self {
        let Assignment {
            run,
            session,
            cwd,
            seat,
            agent,
            policies,
            permissions,
            prompt,
            accounts,
        } = assignment;
        Self {
            run: run.id,
            origin: run.origin,
            session: session.id,
            directory: seat.working_directory(&session, || cwd),
            memory: seat.into(),
            agent_name: agent.name,
            agent: agent.config,
            policies: policies.into(),
            permissions,
            prompt: prompt.blocks().into_iter().map(str::to_owned).collect(),
            accounts,
        }
    }
}

impl From<Seat> for SeatMemory {
    fn from(seat: Seat) -> Self {
        // Destructure without `..`, so that a new field does not compile until the turn gets it or does not need it.
        let Seat {
            id: _,
            session_id: _,
            role: _,
            name: _,
            agent_id: _,
            // The prompt has them.
            instructions: _,
            is_entry: _,
            directory: _,
            instance_id: _,
            placed_on: _,
            acp_session_id,
            turns,
            usage,
            settings,
            updated_at,
        } = seat;
        Self {
            acp_session_id,
            turns,
            usage,
            settings,
            updated_at,
        }
    }
}

impl From<Policies> for TurnPolicies {
    fn from(policies: Policies) -> Self {
        let Policies {
            overlap: _,
            queue_limit: _,
            catch_up: _,
            catch_up_window_seconds: _,
            jitter_seconds: _,
            quiet_hours: _,
            timeout_seconds,
            inactivity_seconds,
            retry: _,
            on_crash: _,
            pause_after_failures: _,
            // The accounts of the turn hold the budgets with their usage.
            budget: _,
            on_unmatched,
            ask_seconds,
            // The store requests the precheck before the turn begins.
            precheck: _,
            tools,
            agent_cron: _,
            run_reports: _,
        } = policies;
        Self {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched,
            ask_seconds,
            tools,
        }
    }
}

impl TurnPolicies {
    /// Returns the time limit of the turn.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }

    /// Returns the longest time for which a permission request waits for a person.
    pub fn approval_timeout(&self) -> Duration {
        Duration::from_secs(self.ask_seconds.into())
    }

    /// Returns the longest silence of the agent.
    pub fn inactivity(&self) -> Duration {
        Duration::from_secs(self.inactivity_seconds.into())
    }
}
