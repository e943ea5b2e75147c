//! The list of goals.

use std::collections::HashMap;

use model::{
    SessionId, TenantId, Timestamp,
    goal::{GoalBudget, GoalState, GoalStatus, TaskKind, TaskStatus},
};

use super::usage::{self, GoalUsage};
use crate::{
    Error, Page, Scope, boxed,
    database::{Row, Tx},
    goals::goal_state,
    store::Store,
    stored::{
        self,
        goals::{StoredGoalBudget, StoredGoalProgress, StoredLimits, StoredTeam},
        supports_format,
    },
};

/// The filters of a list of goals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GoalFilter {
    /// The accepted state.
    pub state: Option<GoalStatus>,
}

/// The number of a goal's tasks of one kind and one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskCount {
    /// The kind.
    pub kind: TaskKind,
    /// The status.
    pub status: TaskStatus,
    /// The number.
    pub number: u32,
}

/// A goal in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalItem {
    /// The session.
    pub session: SessionId,
    /// The stable external name of the session.
    pub key: Option<String>,
    /// The title of the session.
    pub title: Option<String>,
    /// The text.
    pub text: String,
    /// The state.
    pub state: GoalState,
    /// The name of the team. Empty if a later version of Matins wrote the goal.
    pub team: String,
    /// The version of the plan.
    pub plan_version: u32,
    /// The number of turns that have started. Zero if a later version of Matins wrote the goal.
    pub turns: u32,
    /// The highest number of turns. Zero if a later version of Matins wrote the goal.
    pub turn_limit: u32,
    /// The budget.
    pub budget: GoalBudget,
    /// The instant from which no further turn starts.
    pub until: Option<Timestamp>,
    /// The usage of all runs.
    pub usage: GoalUsage,
    /// The number of open questions of its agents.
    pub open_questions: u32,
    /// The number of permission requests of its agents that wait for a decision.
    pub open_approvals: u32,
    /// The numbers of tasks.
    pub tasks: Vec<TaskCount>,
    /// The instant at which the goal was created.
    pub created_at: Timestamp,
    /// The instant of the last change.
    pub updated_at: Timestamp,
    /// The instant at which the goal was done or failed.
    pub ended_at: Option<Timestamp>,
}

impl Store {
    /// Lists one page of a tenant's goals, the newest first, in three statements.
    #[boxed]
    pub async fn goal_page(
        &self,
        tenant: TenantId,
        filter: GoalFilter,
        page: Page<SessionId>,
    ) -> Result<Vec<GoalItem>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let (sql, params) = match filter.state {
            None => (
                sql!("goals/list"),
                params![tenant, page.before(), page.limit],
            ),
            Some(state) => (
                sql!("goals/list_in_state"),
                params![tenant, page.before(), state.as_str(), page.limit],
            ),
        };
        let rows = tx.fetch_all(sql, params).await?;
        let mut goals = rows.iter().map(item).collect::<Result<Vec<_>, _>>()?;
        if goals.is_empty() {
            return Ok(goals);
        }
        let sessions: Vec<_> = goals.iter().map(|goal| goal.session).collect();
        let mut tasks = read_task_counts(&mut tx, &sessions).await?;
        let mut usage = usage::of_goals(&mut tx, &sessions).await?;
        for goal in &mut goals {
            goal.tasks = tasks.remove(&goal.session).unwrap_or_default();
            goal.usage = usage.remove(&goal.session).unwrap_or_default();
        }
        Ok(goals)
    }
}

fn item(row: &Row) -> Result<GoalItem, Error> {
    let plan_version: i64 = row.get("plan_version")?;
    let mut item = GoalItem {
        session: row.get("session_id")?,
        key: row.optional("session_key")?,
        title: row.optional("title")?,
        text: row.get("text")?,
        state: goal_state(row)?,
        team: String::new(),
        plan_version: u32::try_from(plan_version).unwrap_or(u32::MAX),
        turns: 0,
        turn_limit: 0,
        budget: GoalBudget::default(),
        until: row.optional("until_at")?,
        usage: GoalUsage::default(),
        open_questions: read_count(row, "open_questions")?,
        open_approvals: read_count(row, "open_approvals")?,
        tasks: Vec::new(),
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        ended_at: row.optional("ended_at")?,
    };
    // One goal of a later version must not hide the others, so its documents are not read.
    if supports_format(stored::needs_format(row)?) {
        item.team = stored::read::<StoredTeam>(row, "team")?.definition.name;
        item.turns = stored::read::<StoredGoalProgress>(row, "progress")?.turns;
        item.turn_limit = stored::read::<StoredLimits>(row, "limits")?.turns;
        item.budget = stored::read_optional::<StoredGoalBudget>(row, "budget")?.unwrap_or_default();
    }
    Ok(item)
}

/// Reads a count of a row.
pub(super) fn read_count(row: &Row, column: &'static str) -> Result<u32, Error> {
    let number: i64 = row.get(column)?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Counts the tasks of goals, in one statement.
pub(crate) async fn read_task_counts(
    tx: &mut Tx,
    sessions: &[SessionId],
) -> Result<HashMap<SessionId, Vec<TaskCount>>, Error> {
    let rows = sessions.iter().map(|session| params![*session]).collect();
    let found = tx
        .fetch_rows(sql!("goals/list_tasks"), rows, params![])
        .await?;
    let mut counts: HashMap<SessionId, Vec<TaskCount>> = HashMap::new();
    for row in &found {
        let count = TaskCount {
            kind: row.parse("kind")?,
            status: row.parse("status")?,
            number: read_count(row, "number")?,
        };
        counts
            .entry(row.get("session_id")?)
            .or_default()
            .push(count);
    }
    Ok(counts)
}
