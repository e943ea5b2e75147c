//! The creation of goals.

use model::{
    AgentId, InstanceId, SessionId, TenantId, Timestamp,
    entity::SeatSettings,
    goal::{Event, GoalBudget, Graph},
    session::{SessionKind, SessionType},
    team::{TeamDefinition, TeamSeat},
};

use super::step::{lock_goal, move_goal};
use crate::{
    Error, Scope, boxed,
    database::Tx,
    document_format::{GOAL_FORMAT, SHARED_DIRECTORY_FORMAT},
    new_sessions::{NewSeat, NewSession, insert_session},
    session_log::SessionLogWriter,
    store::Store,
    stored::{
        self, DOCUMENT_FORMAT,
        goals::{GoalTeam, StoredGoalBudget, StoredGoalProgress, StoredLimits, StoredTeam},
    },
};

/// A request to create a goal with its session and its seats.
#[derive(Debug, Clone)]
pub struct NewGoal {
    /// The ID of the session.
    pub session: SessionId,
    /// The text of the goal.
    pub text: String,
    /// The stable external name of the session.
    pub key: Option<String>,
    /// The title that lists show.
    pub title: Option<String>,
    /// The working directory that a person gave, an absolute path. `None` gives the session a folder of its own.
    pub cwd: Option<String>,
    /// The instance on which the turns are placed. `None`: any instance may take the first one.
    pub placed_on: Option<InstanceId>,
    /// The team.
    pub team: TeamDefinition,
    /// `true` if a person approves the first plan.
    pub approve_plan: bool,
    /// The agent and the settings of each seat, in the order of [`TeamDefinition::seats`].
    pub agents: Vec<(AgentId, SeatSettings)>,
    /// The budget of all turns.
    pub budget: GoalBudget,
    /// The instant from which no further turn starts. `None`: the hours of the team after the start.
    pub until: Option<Timestamp>,
    /// `true` to create a draft, which a person starts.
    pub draft: bool,
}

impl NewGoal {
    /// Returns the seats, the entry seat first.
    fn seats(&self) -> impl Iterator<Item = NewSeat> {
        let seats = self.team.seats().into_iter().zip(&self.agents);
        seats.map(|(seat, (agent, settings))| NewSeat {
            role: seat.definition.role.clone(),
            name: seat.name,
            agent: *agent,
            settings: settings.clone(),
            directory: seat.definition.directory,
            instructions: seat.definition.instructions.clone(),
        })
    }
}

impl Store {
    /// Creates a goal with its session and its seats, and starts the turn of the planner unless it is a draft.
    ///
    /// # Errors
    ///
    /// Returns [`Error::TeamFault`] if the team has a mistake, and the errors of [`Store::create_session`].
    #[boxed]
    pub async fn create_goal(
        &self,
        tenant: TenantId,
        new: &NewGoal,
        now: Timestamp,
    ) -> Result<SessionId, Error> {
        // Check the team before anything is written.
        if let Some(fault) = new.team.faults().into_iter().next() {
            return Err(fault.into());
        }
        let team = new.team.graph_team(new.approve_plan);
        let graph = Graph::new(team, new.team.limits.graph.clone())?;
        let seats = new.team.seats();
        let without_agent = seats.into_iter().nth(new.agents.len());
        if let Some(TeamSeat { name, .. }) = without_agent {
            return Err(Error::not_found("agent of seat", name));
        }
        let graph = &graph;
        // A property of the goal and not of a server, so that servers with different settings pin its turns by one rule.
        let directory = new.cwd.as_deref();
        let on_all_servers = directory.is_some_and(|directory| self.is_on_all_servers(directory));
        let created = self
            .transact(Scope::Tenant(tenant), |tx, _| {
                Box::pin(async move {
                    // 1. The session, with the planner as its entry seat.
                    let mut seats = new.seats();
                    let entry = seats.next();
                    let entry = entry.ok_or_else(|| Error::not_found("entry seat", new.session))?;
                    let session = NewSession {
                        id: new.session,
                        kind: SessionKind::Background,
                        session_type: SessionType::Regular,
                        key: new.key.clone(),
                        title: new.title.clone(),
                        // Until the goal starts, its session holds back the inputs of people and of automations.
                        draft: new.draft,
                        channel: None,
                        cwd: new.cwd.clone(),
                        placed_on: new.placed_on,
                        automation_id: None,
                        entry,
                        other_seats: seats.collect(),
                    };
                    insert_session(self, tx, tenant, &session, now).await?;
                    // 2. The goal. Its seats need its format, because a server below it could not end their turns.
                    let needed = insert_goal(tx, tenant, (new, on_all_servers), graph, now).await?;
                    tx.execute(
                        sql!("goals/raise_seat_format"),
                        params![new.session, needed.max(GOAL_FORMAT)],
                    )
                    .await?;
                    if new.draft {
                        return Ok(new.session);
                    }
                    // 3. The first turn.
                    let locked = lock_goal(tx, new.session).await?;
                    let mut goal = locked.ok_or_else(|| Error::not_found("goal", new.session))?;
                    let mut log = SessionLogWriter::default();
                    let events = vec![Event::Start];
                    move_goal(self, tx, &mut log, &mut goal, events, now).await?;
                    log.write(tx, now).await?;
                    Ok(new.session)
                })
            })
            .await;
        self.explain_conflict(tenant, (new.session, new.key.as_deref()), created)
            .await
    }
}

/// Inserts the row of a goal. Returns the lowest format whose servers support it.
async fn insert_goal(
    tx: &mut Tx,
    tenant: TenantId,
    (new, on_all_servers): (&NewGoal, bool),
    graph: &Graph,
    now: Timestamp,
) -> Result<i64, Error> {
    let team = stored::write::<StoredTeam>(&GoalTeam {
        definition: new.team.clone(),
        approve_plan: new.approve_plan,
    });
    let limits = stored::write::<StoredLimits>(&new.team.limits.graph);
    let budget = stored::write::<StoredGoalBudget>(&new.budget);
    let progress = stored::write::<StoredGoalProgress>(&graph.progress());
    let needed = [&team, &limits, &budget, &progress].map(|document| document.needs_format);
    // A server that does not know the mark would bind the runs of the seats to one server.
    let of_directory = on_all_servers.then_some(SHARED_DIRECTORY_FORMAT);
    let needed = needed.into_iter().chain(of_directory).max();
    let needed = needed.unwrap_or(GOAL_FORMAT);
    tx.execute(
        sql!("goals/insert"),
        params! { "goals/insert";
            session: new.session,
            tenant: tenant,
            text: new.text.as_str(),
            team: team.value,
            limits: limits.value,
            progress: progress.value,
            format: DOCUMENT_FORMAT,
            needs_format: needed,
            budget: (!new.budget.is_none()).then_some(budget.value),
            until: new.until,
            on_all_servers: on_all_servers,
            now: now,
        },
    )
    .await?;
    Ok(needed)
}
