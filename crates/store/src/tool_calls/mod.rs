//! Calls of tools by the agents of running turns.
//!
//! **Invariants:** a call proves its turn by the secret whose hash the run's row holds, and counts only while the run is
//! `running`, its worker has it and its heartbeat is not stale. So the secret dies with the run, by every kind of end. A
//! call that writes holds the locks of the run's automation and seat, as the transitions that end the run, request its
//! cancellation or close its session do: it commits before them, or it changes nothing.

mod artifacts;
mod ask_person;
mod cron;
mod memory;
mod messages;
mod offer;
mod tasks;

use model::{
    AutomationId, InputId, RunId, SessionId, TaskId, TenantId, Timestamp,
    agent::Agent,
    entity::{Automation, Seat, Session},
    lifecycle::{InvalidTransition, Lifecycle as _},
    owner::RunOwner,
    run::Origin,
    session::{Admission, SessionStatus},
    tools::{AgentCron, ToolAccess},
};

pub use artifacts::NewArtifact;
pub use ask_person::NewQuestion;
pub use cron::NewAgentAutomation;
pub use memory::{MemorySearch, RecalledEntry};
pub use offer::TurnOffer;
pub use tasks::{
    StagedCancellation, StagedTask, StoredTaskReport, TaskContent, TaskReport, TurnTask, TurnTasks,
};

use crate::{
    Error, Scope, boxed,
    database::{Param, Tx},
    locks, rows,
    store::Store,
    tool_caller::ToolCaller,
};

/// The turn whose agent calls a tool.
#[derive(Debug, Clone)]
pub struct CallingTurn {
    /// The run.
    pub run: RunId,
    /// The input of the turn.
    pub input: InputId,
    /// The source of the input.
    pub origin: Origin,
    /// `true` if the cancellation of the run was requested.
    pub is_cancelled: bool,
    /// The tenant of the run.
    pub tenant: TenantId,
    /// The session.
    pub session: Session,
    /// The seat of the agent.
    pub seat: Seat,
    /// The configured agent.
    pub agent: Agent,
    /// The task of a goal whose turn it is.
    pub task: Option<TaskId>,
    /// `true` if the session has a goal.
    pub is_of_goal: bool,
    /// The automation. `None` if the input is no occurrence.
    pub automation: Option<Automation>,
}

/// A limit of the objects that agents make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quota {
    what: &'static str,
    limit: u32,
    actual: i64,
}

impl Quota {
    fn check(self) -> Result<(), Error> {
        let Self {
            what,
            limit,
            actual,
        } = self;
        if actual < i64::from(limit) {
            return Ok(());
        }
        Err(Error::LimitReached { what, limit })
    }
}

impl CallingTurn {
    /// Returns the owner of the run.
    pub fn owner(&self) -> RunOwner<'_> {
        RunOwner::new(self.origin, self.automation.as_ref())
    }

    /// Returns the tools that the agent gets: those of its configuration, at most those of the policies.
    pub fn tools(&self) -> ToolAccess {
        access_of(&self.agent, self.owner())
    }

    /// Returns the rule for new automations that the agent makes in the turn. The agents of goals make none.
    pub fn agent_cron(&self) -> AgentCron {
        if self.is_of_goal {
            return AgentCron::Deny;
        }
        self.owner().agent_cron()
    }
}

impl Store {
    /// Returns the turn whose agent calls a tool.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] if the secret is another one, or if the turn is over or belongs to another worker.
    #[boxed]
    pub async fn calling_turn(
        &self,
        caller: &ToolCaller,
        now: Timestamp,
    ) -> Result<CallingTurn, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        read_turn(&mut tx, caller, now).await
    }

    /// Notes that the agent of a turn has listed its tools. The end of a task's turn without a report depends on it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`].
    #[boxed]
    pub async fn note_listed_tools(
        &self,
        caller: &ToolCaller,
        now: Timestamp,
    ) -> Result<(), Error> {
        if self.calling_turn(caller, now).await?.task.is_none() {
            return Ok(());
        }
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                lock_turn(tx, caller, now).await?;
                tx.execute(sql!("runs/note_listed_tools"), params![caller.run])
                    .await?;
                Ok(())
            })
        })
        .await
    }
}

/// Returns the tools of an agent in a turn: those of its configuration, at most those of the policies.
fn access_of(agent: &Agent, owner: RunOwner<'_>) -> ToolAccess {
    agent.config.tools.min(owner.policies().tools)
}

/// Returns the parameters of the statements that find the turn of a caller.
fn turn_params(caller: &ToolCaller, now: Timestamp) -> Vec<Param> {
    let oldest = now.saturating_sub(caller.stale_after);
    params![
        caller.run,
        caller.worker.as_str(),
        caller.secret.to_vec(),
        oldest
    ]
}

/// Locks the automation and the seat of the turn whose agent calls a tool, and returns the turn.
async fn lock_turn(tx: &mut Tx, caller: &ToolCaller, now: Timestamp) -> Result<CallingTurn, Error> {
    locks::lock_all_of_runs(tx, &[caller.run]).await?;
    read_turn(tx, caller, now).await
}

/// Refuses a session that takes no messages.
fn check_session(session: &Session, event: &str) -> Result<(), Error> {
    check_session_status(session.id, session.status(), event)
}

/// Refuses a session that takes no messages, by its status.
fn check_session_status(id: SessionId, state: SessionStatus, event: &str) -> Result<(), Error> {
    if state.admission() == Admission::Refuse {
        return Err(Error::Refused(InvalidTransition {
            what: SessionStatus::WHAT,
            object: Some(id.to_string()),
            state: state.to_string(),
            event: event.into(),
        }));
    }
    Ok(())
}

/// Refuses a turn that was asked to stop, because nothing that it writes is wanted.
fn check_not_cancelled(run: RunId, is_cancelled: bool) -> Result<(), Error> {
    if is_cancelled {
        return Err(Error::RunOver { run });
    }
    Ok(())
}

/// Reads the turn whose agent calls a tool, with all that belongs to it.
async fn read_turn(tx: &mut Tx, caller: &ToolCaller, now: Timestamp) -> Result<CallingTurn, Error> {
    let found = tx
        .fetch_optional(sql!("tool_calls/turn"), turn_params(caller, now))
        .await?;
    let mut row = found.ok_or(Error::RunOver { run: caller.run })?;
    // The columns of the run come first, because they have no prefix.
    Ok(CallingTurn {
        run: row.get("id")?,
        input: row.get("input_id")?,
        origin: row.parse("origin")?,
        is_cancelled: row.optional::<Timestamp>("cancel_requested_at")?.is_some(),
        task: row.optional("task_id")?,
        is_of_goal: row.get("is_of_goal")?,
        tenant: row.get("tenant_id")?,
        session: rows::session(row.set_prefix("session_"))?,
        seat: rows::seat(row.set_prefix("seat_"))?,
        agent: rows::agent(row.set_prefix("agent_"))?,
        automation: {
            let row = row.set_prefix("automation_");
            let id: Option<AutomationId> = row.optional("id")?;
            id.map(|_| rows::automation(row)).transpose()?
        },
    })
}
