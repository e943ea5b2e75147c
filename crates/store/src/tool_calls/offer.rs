//! The facts that decide on the tools of a turn. Each call of a tool reads them first, so that they take one statement.

use model::{AutomationId, TaskId, TenantId, Timestamp, owner::RunOwner, tools::ToolAccess};

use super::{ToolCaller, TurnTask, access_of, tasks::read_task, turn_params};
use crate::{Error, Scope, boxed, rows, store::Store};

/// The facts about a turn that decide on the tools of its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOffer {
    /// The access of the agent.
    pub access: ToolAccess,
    /// The number of seats of the session.
    pub seats: i64,
    /// The number of undelivered messages to the agent's seat that the turn does not carry.
    pub unread: i64,
    /// `true` if the session has a goal.
    pub is_of_goal: bool,
    /// The time for the answer to a question that names none, in hours, as the team of the session's goal sets it.
    pub question_hours: Option<u32>,
    /// The task of a goal whose turn it is.
    pub task: Option<TurnTask>,
}

impl Store {
    /// Returns the facts about a running turn that decide on the tools of its agent.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`].
    #[boxed]
    pub async fn turn_offer(
        &self,
        caller: &ToolCaller,
        now: Timestamp,
    ) -> Result<TurnOffer, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let found = tx
            .fetch_optional(sql!("tool_calls/offer"), turn_params(caller, now))
            .await?;
        let row = found.ok_or(Error::RunOver { run: caller.run })?;
        let agent = rows::agent(&row)?;
        let automation = match row.optional::<AutomationId>("automation_id")? {
            Some(id) => {
                let tenant: TenantId = row.get("tenant_id")?;
                let found = tx.fetch_one(sql!("automations/by_id"), params![tenant, id]);
                Some(rows::automation(&found.await?)?)
            }
            None => None,
        };
        let owner = RunOwner::new(row.parse("origin")?, automation.as_ref());
        Ok(TurnOffer {
            access: access_of(&agent, owner),
            seats: row.get("seats")?,
            unread: row.get("unread")?,
            is_of_goal: row.get("is_of_goal")?,
            question_hours: row.optional("question_hours")?,
            task: match row.optional::<TaskId>("task_id")? {
                Some(_) => read_task(&mut tx, caller.run).await?,
                None => None,
            },
        })
    }
}
