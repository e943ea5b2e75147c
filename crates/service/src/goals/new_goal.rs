//! The start of goals.

use std::collections::BTreeSet;

use api_types::{Goal, GoalBudgetRequest, GoalRequest, InstanceKind};
use config::team::{InvalidTeam, agent_problems};
use model::{
    AgentId, InstanceId, SessionId, Timestamp,
    agent::Agent,
    budget::Money,
    goal::{GoalBudget, text_limits::GOAL_BYTES},
    nearest::nearest,
    team::TeamDefinition,
};
use store::NewGoal;

use super::team::team_of;
use crate::{
    Error, Service, agents::DEMO_AGENT, boxed, naming, object_lookup::Reference, text::plain_line,
};

/// The longest title that is made from the text of a goal, in characters.
const TITLE_CHARS: usize = 80;
/// The most agents that an error lists.
const MAX_LISTED_AGENTS: usize = 20;
/// The accepted currencies of a budget, in words.
pub(super) const ACCEPTED_CURRENCY: &str = "accepted is a code of ISO 4217, such as USD";
/// The most tokens of a budget.
const MAX_TOKENS: u64 = 1_000_000_000_000_000;

impl Service {
    /// Starts a goal, or creates a draft. With a reserved `id`, returns the goal that an earlier request has started.
    ///
    /// # Errors
    ///
    /// Returns an error that names the field if the team, an agent, the directory, the instance, a limit or the budget cannot
    /// be accepted. Nothing is made then.
    #[boxed]
    pub async fn start_goal(
        &self,
        request: &GoalRequest,
        id: Option<SessionId>,
    ) -> Result<Goal, Error> {
        if let Some(id) = id {
            // Before any check: an agent or the directory may have changed since the first request.
            match self.store.goal(self.scope(), id).await {
                Err(store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return self.goal(&id.to_string()).await,
            }
        }
        // 1. The text, the team and the limits.
        let now = self.now();
        let text = validate_goal(&request.goal)?;
        let team = team_of(request, self.workers)?;
        let budget = match &request.budget {
            Some(budget) => validate_budget(budget)?,
            None => GoalBudget::default(),
        };
        validate_until(request.until, now)?;
        // 2. The place and the agents.
        let placed_on = self.find_host(request.on.as_deref()).await?;
        let cwd = match (&request.cwd, request.own_folder) {
            (Some(_), true) => {
                let problem = "`cwd` excludes it; accepted is one of both";
                return Err(Error::invalid("own_folder", "true", problem));
            }
            (cwd, _) => self.validate_directory(cwd.as_deref(), placed_on).await?,
        };
        let agents = self.agents_of(request, &team, placed_on).await?;
        // 3. The names.
        let key = match &request.key {
            Some(key) => Some(naming::validate_new_name("key", key, None)?),
            None => None,
        };
        let title = match &request.title {
            Some(title) => Some(naming::validate_name("title", title)?),
            None => title_of(text),
        };
        let id = id.unwrap_or_else(|| SessionId::generate(now, &*self.entropy));
        let seats = team.seats().into_iter().zip(agents);
        let agents = seats.map(|(seat, agent)| (agent, seat.definition.settings()));
        let new = NewGoal {
            session: id,
            text: text.to_owned(),
            // Automations are bound to a session by its key, so every session gets one.
            key: key.or_else(|| Some(format!("cli:{}", id.uuid().simple()))),
            title,
            cwd,
            placed_on,
            agents: agents.collect(),
            team,
            approve_plan: request.approve_plan,
            budget,
            until: request.until,
            draft: request.draft,
        };
        match self.store.create_goal(self.tenant, &new, now).await {
            // A concurrent copy of this request has started the goal.
            Ok(_) | Err(store::Error::AlreadyCreated { .. }) => {}
            Err(store::Error::NameTaken { name, .. }) => return Err(Error::KeyTaken(name)),
            Err(error) => return Err(error.into()),
        }
        self.goal(&id.to_string()).await
    }

    /// Returns the host on which the turns are placed.
    async fn find_host(&self, given: Option<&str>) -> Result<Option<InstanceId>, Error> {
        let Some(given) = given else { return Ok(None) };
        let placed_on = self.find_placement(Some(given)).await;
        let placed_on = placed_on.map_err(|error| error.at_field("on"))?;
        if self.instance(given).await?.kind != InstanceKind::Host {
            let problem = "it is a directory; goals run on hosts, because the turns of a goal are seats of one session \
                           that a server of Matins moves; accepted are hosts";
            return Err(Error::invalid("on", given, problem).with_name("instance"));
        }
        Ok(placed_on)
    }

    /// Returns the agents of the seats, in the order of [`TeamDefinition::seats`].
    async fn agents_of(
        &self,
        request: &GoalRequest,
        team: &TeamDefinition,
        placed_on: Option<InstanceId>,
    ) -> Result<Vec<AgentId>, Error> {
        self.check_agents_of_file(request).await?;
        let is_needed = team.seats.iter().any(|seat| seat.agent.is_none());
        let default = match &request.agent {
            Some(given) => Some(self.given_agent(given).await?),
            None if is_needed => Some(self.only_agent().await?),
            None => None,
        };
        let mut checked = BTreeSet::new();
        let mut agents = Vec::new();
        for seat in team.seats() {
            let (agent, field) = match (&seat.definition.agent, &default) {
                (Some(given), _) => {
                    let field = format!("team.seats[{}].agent", seat.index);
                    let agent = self.find_agent(given).await;
                    (agent.map_err(|error| error.at_field(field.clone()))?, field)
                }
                (None, Some(agent)) => (agent.clone(), "agent".to_owned()),
                (None, None) => return Err(missing_agent(&[])),
            };
            if checked.insert(agent.id) {
                let restores = self.require_restore(&agent, placed_on).await;
                restores.map_err(|error| match &seat.definition.agent {
                    Some(_) => seat_agent(&seat.name, error).at_field(field),
                    None => error.at_field(field),
                })?;
            }
            agents.push(agent.id);
        }
        // No seat would have the given agent because of it.
        if let (Some(given), Some(default), false) = (&request.agent, &default, is_needed)
            && agents.iter().any(|agent| *agent != default.id)
        {
            let problem = "each seat of the team names its agent; leave `agent` out (`--agent`)";
            return Err(Error::invalid("agent", given, problem));
        }
        Ok(agents)
    }

    /// Returns the agent that a request names.
    async fn given_agent(&self, given: &str) -> Result<Agent, Error> {
        match self.find_agent(given).await {
            Err(Error::NotFound { .. }) => {
                let agents = self.store.agents(self.scope()).await?;
                let problem = format!(
                    "there is no such agent; {}",
                    accepted_agents(given, &agents)
                );
                Err(Error::invalid("agent", given, problem))
            }
            found => found.map_err(|error| error.at_field("agent")),
        }
    }

    /// Checks that each agent that a team file names exists.
    async fn check_agents_of_file(&self, request: &GoalRequest) -> Result<(), Error> {
        let Some(file) = &request.team_file else {
            return Ok(());
        };
        let agents = self.store.agents(self.scope()).await?;
        let is_known = |given: &str| {
            let reference = Reference::parse(given, AgentId::PREFIX);
            let position = reference.position(&agents, |agent| (agent.id, &agent.name));
            position.is_some()
        };
        let accepted = |given: &str| accepted_agents(given, &agents);
        let problems = agent_problems(&file.name, &file.text, is_known, accepted);
        if problems.is_empty() {
            return Ok(());
        }
        Err(InvalidTeam { problems, more: 0 }.into())
    }

    /// Returns the only configured agent beside the demonstration agent.
    async fn only_agent(&self) -> Result<Agent, Error> {
        let mut agents = self.store.agents(self.scope()).await?;
        agents.retain(|agent| agent.name != DEMO_AGENT);
        match agents.len() {
            1 => Ok(agents.swap_remove(0)),
            _ => Err(missing_agent(&agents)),
        }
    }
}

fn seat_agent(seat: &str, error: Error) -> Error {
    Error::SeatAgent {
        seat: seat.to_owned(),
        source: Box::new(error),
    }
}

/// Lists the first of the configured agents, and names the one that is most similar to the given name.
fn accepted_agents(given: &str, agents: &[Agent]) -> String {
    let names = agents.iter().map(|agent| agent.name.as_str());
    let similar = nearest(given, names.clone())
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let names: Vec<_> = names.take(MAX_LISTED_AGENTS).collect();
    if names.is_empty() {
        return "no agent is configured".to_owned();
    }
    let more = match agents.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("accepted are {}{more}{similar}", names.join(", "))
}

fn missing_agent(agents: &[Agent]) -> Error {
    let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let expected = if names.is_empty() {
        "the name of an agent for the seats for which the team names none".to_owned()
    } else {
        format!(
            "the name of an agent for the seats for which the team names none; accepted are {}",
            names.join(", ")
        )
    };
    Error::Missing {
        field: "agent",
        expected,
    }
}

/// Returns the title of a goal to which no person has given one: the beginning of its text.
pub(super) fn title_of(text: &str) -> Option<String> {
    Some(plain_line(text, TITLE_CHARS)).filter(|title| !title.is_empty())
}

/// Returns the text of a goal.
pub(super) fn validate_goal(given: &str) -> Result<&str, Error> {
    naming::validate_content("goal", given)?;
    if given.len() > GOAL_BYTES {
        let problem = format!(
            "it has {} bytes, accepted are up to {GOAL_BYTES}",
            given.len()
        );
        return Err(Error::invalid("goal", given, problem));
    }
    Ok(given)
}

/// Returns the budget of a request.
pub(super) fn validate_budget(request: &GoalBudgetRequest) -> Result<GoalBudget, Error> {
    if let Some(tokens) = request.tokens
        && !(1..=MAX_TOKENS).contains(&tokens)
    {
        let problem = format!("accepted are 1 to {MAX_TOKENS}");
        return Err(Error::invalid(
            "budget.tokens",
            &tokens.to_string(),
            problem,
        ));
    }
    let cost = request.cost.clone().map(Money::from);
    if let Some(cost) = &cost {
        if cost.micros() == 0 {
            let problem = "accepted is an amount above 0";
            return Err(Error::invalid(
                "budget.cost.amount",
                &cost.amount(),
                problem,
            ));
        }
        if !cost.has_known_currency() {
            return Err(Error::invalid(
                "budget.cost.currency",
                cost.currency(),
                ACCEPTED_CURRENCY,
            ));
        }
    }
    Ok(GoalBudget {
        tokens: request.tokens,
        cost,
    })
}

/// Checks the end of a goal's time.
pub(super) fn validate_until(until: Option<Timestamp>, now: Timestamp) -> Result<(), Error> {
    match until.filter(|until| *until <= now) {
        Some(past) => {
            let problem = "it is past; accepted is a later instant";
            Err(Error::invalid("until", &past.to_string(), problem))
        }
        None => Ok(()),
    }
}
