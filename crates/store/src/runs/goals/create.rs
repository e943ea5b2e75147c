//! The creation of goals.

use model::{
    AgentId, InstanceId, SessionId, TenantId, Timestamp,
    entity::SeatSettings,
    goal::{Event, Graph, Limits, PLANNER, SeatSpec, Team, TeamError},
    session::{SessionKind, SessionType},
};

use super::step::{lock_goal, move_goal};
use crate::{
    Error, Scope, boxed,
    database::Tx,
    document_format::GOAL_FORMAT,
    new_sessions::{NewSeat, NewSession, insert_session},
    session_log::SessionLogWriter,
    store::Store,
    stored::{
        self, DOCUMENT_FORMAT,
        goals::{StoredGoalProgress, StoredLimits, StoredTeam},
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
    pub team: Team,
    /// The agent and the settings of each seat, in the order of the team.
    pub agents: Vec<(AgentId, SeatSettings)>,
    /// The limits.
    pub limits: Limits,
    /// The instant from which no further turn starts.
    pub until: Option<Timestamp>,
    /// `true` to create a draft, which a person starts.
    pub draft: bool,
}

impl NewGoal {
    /// Returns the seat of the planner, and the other seats in the order of the team.
    fn seats(&self, planner: usize) -> (NewSeat, Vec<NewSeat>) {
        let seat = |(spec, (agent, settings)): (&SeatSpec, &(AgentId, SeatSettings))| NewSeat {
            role: spec.role.clone(),
            name: spec.name.clone(),
            agent: *agent,
            settings: settings.clone(),
            directory: spec.directory,
            instructions: None,
        };
        let mut others: Vec<_> = self.team.seats.iter().zip(&self.agents).map(seat).collect();
        (others.remove(planner), others)
    }
}

impl Store {
    /// Creates a goal with its session and its seats, and starts the turn of the planner unless it is a draft.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Team`] if the team or the limits cannot be accepted, and the errors of a new session.
    #[boxed]
    pub async fn create_goal(
        &self,
        tenant: TenantId,
        new: &NewGoal,
        now: Timestamp,
    ) -> Result<SessionId, Error> {
        // Check the team before anything is written.
        let graph = Graph::new(new.team.clone(), new.limits.clone())?;
        let planner = new.team.seats.iter().position(|seat| seat.role == PLANNER);
        let planner = planner.ok_or(TeamError::Planners(0))?;
        if let Some(seat) = new.team.seats.get(new.agents.len()) {
            return Err(Error::not_found("agent of seat", &seat.name));
        }
        let graph = &graph;
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                // 1. The session, with the planner as its entry seat.
                let (entry, other_seats) = new.seats(planner);
                let session = NewSession {
                    id: new.session,
                    kind: SessionKind::Background,
                    session_type: SessionType::Regular,
                    key: new.key.clone(),
                    title: new.title.clone(),
                    draft: false,
                    channel: None,
                    cwd: new.cwd.clone(),
                    placed_on: new.placed_on,
                    automation_id: None,
                    entry,
                    other_seats,
                };
                insert_session(self, tx, tenant, &session, now).await?;
                tx.execute(
                    sql!("goals/raise_seat_format"),
                    params![new.session, GOAL_FORMAT],
                )
                .await?;
                // 2. The goal.
                insert_goal(tx, tenant, new, graph, now).await?;
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
        .await
    }
}

async fn insert_goal(
    tx: &mut Tx,
    tenant: TenantId,
    new: &NewGoal,
    graph: &Graph,
    now: Timestamp,
) -> Result<(), Error> {
    let team = stored::write::<StoredTeam>(&new.team);
    let limits = stored::write::<StoredLimits>(&new.limits);
    let progress = stored::write::<StoredGoalProgress>(&graph.progress());
    let needed = [&team, &limits, &progress].map(|document| document.needs_format);
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
            needs_format: needed.into_iter().max().unwrap_or(GOAL_FORMAT),
            budget: None::<serde_json::Value>,
            until: new.until,
            now: now,
        },
    )
    .await?;
    Ok(())
}
