//! The tools of the agent of a running turn.
//!
//! **Invariant:** every call proves its turn anew ([`store::ToolCaller`]), so that an agent whose run is over reads and
//! changes nothing.

mod agent_files;
mod artifacts;
mod ask_person;
mod messages;
mod tasks;

use std::{sync::Arc, time::Duration};

use api_types::{TriggerRequest, UpcomingRun};
use model::{
    SessionId, Timestamp,
    automation::AutomationState,
    entity::Automation,
    owner::RunOwner,
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    schedule::{Schedule, Spec, Zone, parse_at},
    tools::{self, AgentCron, ToolAccess},
};
use store::{CallingTurn, NewAgentAutomation, NewAutomation, ToolCaller};

use self::agent_files::AgentFiles;
use crate::{Error, Service, boxed, definition, naming, upcoming_runs};

pub use self::{
    agent_files::{NeededFile, RuntimeFiles, SentFile},
    artifacts::{ArtifactCopy, ArtifactSave, ArtifactSource},
    ask_person::PersonQuestion,
    messages::{ReadMessages, ToolOffer},
    tasks::{JudgedTask, ListedTask, ReportedTask, TaskList, TaskQuery, TaskResult, TaskVerdict},
};

/// The number of next runs in an answer to an agent.
const NEXT_RUNS: usize = 3;
/// The longest message of an automation that an agent makes, in bytes.
const MAX_MESSAGE_BYTES: usize = 8192;
/// The longest name that an agent gives, in bytes.
const MAX_NAME_BYTES: usize = 80;
/// The highest number of names, derived from the agent's one, that are tried.
const MAX_DERIVED_NAMES: u32 = 100;

/// The tools of the agent of one running turn.
#[derive(Clone)]
pub struct RunTools {
    pub(crate) service: Service,
    pub(crate) caller: ToolCaller,
    /// The zone of a schedule for which the agent names none.
    zone: Zone,
    files: AgentFiles,
}

/// A new automation that an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronAdd {
    /// The name for the agents of the session. `None` takes the first words of the message.
    pub name: Option<String>,
    /// The schedule: a cron expression, `every:2h` or `at:2026-11-24T09:00`.
    pub schedule: String,
    /// The IANA zone of the schedule.
    pub zone: Option<String>,
    /// The message that each run sends to the session.
    pub message: String,
    /// The end of its lifetime, in the forms of `at`.
    pub expires: Option<String>,
}

/// An automation as the agents of its session see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronItem {
    /// The name: that which an agent gave, or that of an automation which a person has made.
    pub name: String,
    /// The schedule, such as `cron 0 9 * * * (Europe/Prague)`.
    pub schedule: Vec<String>,
    /// The message.
    pub message: String,
    /// `enabled`, or the reason of the pause.
    pub state: String,
    /// `true` if an agent of the session has made it, so that agents may remove it.
    pub is_of_agents: bool,
    /// The next runs.
    pub next_runs: Vec<UpcomingRun>,
    /// The end of its lifetime.
    pub expires_at: Option<Timestamp>,
}

/// The result of a request for an automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronAdded {
    /// The automation.
    pub item: CronItem,
    /// `true` if it waits until a person accepts it.
    pub is_proposal: bool,
    /// `true` if it existed already, with another end of its lifetime than the requested one. It keeps its end, because
    /// a person may have chosen it, and because an agent could otherwise extend a lifetime without end.
    pub keeps_expiry: bool,
}

impl Service {
    /// Returns the tools of the agent of a running turn of any tenant.
    ///
    /// # Errors
    ///
    /// Fails with [`store::Error::RunOver`] if the secret is another one, or if the turn is over or belongs to another
    /// worker.
    #[boxed]
    pub async fn run_tools(
        &self,
        caller: ToolCaller,
        zone: Zone,
    ) -> Result<(RunTools, ToolAccess), Error> {
        let turn = self.store.calling_turn(&caller, self.now()).await?;
        let service = Self {
            tenant: turn.tenant,
            ..self.clone()
        };
        let tools = RunTools {
            service,
            caller,
            zone,
            files: AgentFiles::Here,
        };
        Ok((tools, turn.tools()))
    }
}

impl RunTools {
    /// Returns the tools of an agent whose files are on the machine of a runtime. `service` must be that of the run's
    /// tenant.
    pub(crate) fn at_runtime(
        service: Service,
        caller: ToolCaller,
        zone: Zone,
        files: Arc<RuntimeFiles>,
    ) -> Self {
        Self {
            service,
            caller,
            zone,
            files: AgentFiles::AtRuntime(files),
        }
    }

    async fn turn(&self, now: Timestamp) -> Result<CallingTurn, Error> {
        Ok(self.service.store.calling_turn(&self.caller, now).await?)
    }

    /// Checks that the turn is not over, for a call that needs nothing else.
    ///
    /// # Errors
    ///
    /// As [`Service::run_tools`].
    #[boxed]
    pub async fn access(&self) -> Result<ToolAccess, Error> {
        Ok(self.turn(self.service.now()).await?.tools())
    }

    /// Notes that the agent has listed its tools.
    ///
    /// # Errors
    ///
    /// As [`Service::run_tools`].
    #[boxed]
    pub async fn note_listed(&self) -> Result<(), Error> {
        let now = self.service.now();
        Ok(self
            .service
            .store
            .note_listed_tools(&self.caller, now)
            .await?)
    }

    /// Creates an automation that is bound to the session. A repetition with the same content returns the existing one,
    /// unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the turn may make no automation, or if a limit is reached.
    #[boxed]
    pub async fn add_cron(&self, request: &CronAdd) -> Result<CronAdded, Error> {
        let now = self.service.now();
        let turn = self.turn(now).await?;
        // 1. Whether the turn may.
        let rule = turn.agent_cron();
        if rule == AgentCron::Deny {
            return Err(refusal(&turn));
        }
        // 2. The fields.
        let prompt = validate_message(&request.message)?;
        let name = match &request.name {
            Some(name) => validate_name(name)?,
            None => naming::derive_name(prompt),
        };
        let spec = self.schedule(request, now)?;
        let expires_at = self.expiry(request, now)?;
        check_interval(&spec, now, expires_at)?;
        let owner = turn.owner();
        let mut new = NewAgentAutomation {
            new: NewAutomation {
                name: name.clone(),
                prompt: prompt.to_owned(),
                agent: turn.agent.id,
                cwd: None,
                placed_on: None,
                session_mode: SessionMode::Bound,
                bound_session_key: None,
                policies: inherited_policies(owner.policies()),
                settings: model::entity::SeatSettings::default(),
                permissions: PermissionRules(owner.permissions().to_vec()),
                triggers: vec![spec],
            },
            name,
            expires_at,
            is_proposal: rule == AgentCron::Ask,
        };
        // 3. Create it under the first free name of the tenant, which has automations of other sessions, too.
        let base = valid_name(&new.name);
        let mut number = 1;
        let id = loop {
            new.new.name = match number {
                1 => base.clone(),
                number => format!("{base}-{number}"),
            };
            let created =
                self.service
                    .store
                    .create_agent_automation(&self.caller, &new, self.service.now());
            match created.await {
                Err(store::Error::NameTaken { .. }) if number < MAX_DERIVED_NAMES => number += 1,
                created => break created?,
            }
        };
        let automation = self
            .service
            .store
            .automation(self.service.scope(), id)
            .await?;
        Ok(CronAdded {
            is_proposal: automation.pause_reason.as_deref() == Some(tools::PROPOSED),
            keeps_expiry: request.expires.is_some() && automation.expires_at != Some(expires_at),
            item: self.item(automation, turn.session.id, now).await?,
        })
    }

    /// Lists the automations that run in the session, those of people included: first the one that continues in it.
    ///
    /// # Errors
    ///
    /// As [`Service::run_tools`].
    #[boxed]
    pub async fn list_cron(&self) -> Result<Vec<CronItem>, Error> {
        let now = self.service.now();
        let turn = self.turn(now).await?;
        let session = &turn.session;
        let mut automations = Vec::new();
        if let Some(owner) = session.schedule_id {
            let owner = self.service.store.automation(self.service.scope(), owner);
            match owner.await {
                // After a reset it continues elsewhere, and a `fresh` one runs in no session twice.
                Ok(owner) if owner.session_mode != SessionMode::Continuous => {}
                Ok(owner) if owner.current_session_id != Some(session.id) => {}
                Ok(owner) => automations.push(owner),
                Err(store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(key) = &session.session_key {
            let bound = self.service.store.automations_bound_to(turn.tenant, key);
            automations.extend(bound.await?.readable);
        }
        let mut items = Vec::with_capacity(automations.len());
        for automation in automations {
            items.push(self.item(automation, session.id, now).await?);
        }
        Ok(items)
    }

    /// Deletes an automation that an agent of the session has made. Returns `false` if there is none of that name.
    ///
    /// # Errors
    ///
    /// Returns an error as [`Service::run_tools`], and if a person has made the automation of that name.
    #[boxed]
    pub async fn remove_cron(&self, name: &str) -> Result<bool, Error> {
        let now = self.service.now();
        let removed = self
            .service
            .store
            .delete_agent_automation(&self.caller, name, now)
            .await?;
        if !removed {
            let items = self.list_cron().await?;
            if items
                .iter()
                .any(|item| item.name == name && !item.is_of_agents)
            {
                let problem = "a person has made it; agents remove only automations that agents of this \
                               session have made";
                return Err(Error::invalid("name", name, problem));
            }
        }
        Ok(removed)
    }

    async fn item(
        &self,
        automation: Automation,
        session: SessionId,
        now: Timestamp,
    ) -> Result<CronItem, Error> {
        let scope = self.service.scope();
        let triggers = self.service.store.triggers(scope, automation.id).await?;
        let next_runs =
            upcoming_runs::upcoming_of_automation(&automation, &triggers, now, NEXT_RUNS)?;
        let timed = triggers
            .iter()
            .filter(|trigger| trigger.spec != Spec::Manual {});
        // A person may have bound an automation that an agent of another session has made to this session.
        let made_by = automation
            .made_by
            .filter(|made_by| made_by.session == session);
        Ok(CronItem {
            schedule: timed.map(|trigger| trigger.spec.to_string()).collect(),
            is_of_agents: made_by.is_some(),
            name: made_by.map_or(automation.name, |made_by| made_by.name),
            message: automation.prompt,
            state: match automation.state {
                AutomationState::Enabled => automation.state.to_string(),
                _ => format!(
                    "paused: {}",
                    automation.pause_reason.as_deref().unwrap_or("unknown")
                ),
            },
            next_runs,
            expires_at: automation.expires_at,
        })
    }

    /// Returns the schedule of a request.
    fn schedule(&self, request: &CronAdd, now: Timestamp) -> Result<Spec, Error> {
        let zone = request.zone.clone();
        let given = request.schedule.trim();
        let trigger = if let Some(period) = given.strip_prefix("every:") {
            TriggerRequest::Every {
                period: period.trim().to_owned(),
                anchor: None,
                zone,
            }
        } else if let Some(at) = given.strip_prefix("at:") {
            TriggerRequest::At {
                at: at.trim().to_owned(),
                zone,
            }
        } else {
            TriggerRequest::Cron {
                expression: given
                    .strip_prefix("cron:")
                    .unwrap_or(given)
                    .trim()
                    .to_owned(),
                zone,
            }
        };
        definition::validate_trigger(&trigger, "", Some(self.zone.name()), &[], now).map_err(
            |error| match error.field() {
                Some("expression" | "period" | "at") => error.at_field("schedule"),
                _ => error,
            },
        )
    }

    /// Returns the end of the lifetime of a new automation.
    fn expiry(&self, request: &CronAdd, now: Timestamp) -> Result<Timestamp, Error> {
        let latest = now + tools::LONGEST_LIFETIME;
        let Some(given) = &request.expires else {
            return Ok(latest);
        };
        let zone = match &request.zone {
            Some(zone) => Zone::parse(zone).map_err(|error| Error::from(error).at_field("zone"))?,
            None => self.zone.clone(),
        };
        let end =
            parse_at(given, &zone, now).map_err(|error| Error::from(error).at_field("expires"))?;
        if end > latest {
            let problem = format!("accepted is an instant up to {latest}, 30 days from now");
            return Err(Error::invalid("expires", given, problem));
        }
        Ok(end)
    }
}

/// Returns the policies of an automation that an agent makes in a turn with `policies`: their limits, so that no agent
/// leaves them by a new automation.
fn inherited_policies(policies: &Policies) -> Policies {
    Policies {
        // The mode of the session may be another one, and a precheck is a question about that automation's own work.
        overlap: None,
        precheck: None,
        agent_cron: AgentCron::Deny,
        ..policies.clone()
    }
}

/// Returns the reason for which a turn may make no automation.
fn refusal(turn: &CallingTurn) -> Error {
    let reason = match turn.owner() {
        _ if turn.is_of_goal => {
            "the agents of a goal make no automations, because no limit of the goal would bind their turns"
        }
        RunOwner::SeatMessages => {
            "another agent sent the message of this turn, and such turns make no automations"
        }
        RunOwner::Task => "turns of tasks make no automations",
        RunOwner::Occurrence(automation) | RunOwner::Answer(automation)
            if automation.made_by.is_some() =>
        {
            "an agent has made the automation of this turn, and such turns make no automations"
        }
        RunOwner::Person | RunOwner::Occurrence(_) | RunOwner::Answer(_) => {
            "the automation of this turn does not allow it (`agent_cron` is `deny`)"
        }
    };
    Error::NotAllowed {
        reason: reason.into(),
    }
}

fn validate_message(given: &str) -> Result<&str, Error> {
    naming::validate_content("message", given)?;
    if given.len() > MAX_MESSAGE_BYTES {
        let problem = format!(
            "it has {} bytes, accepted are up to {MAX_MESSAGE_BYTES}",
            given.len()
        );
        return Err(Error::invalid("message", given, problem));
    }
    Ok(given)
}

fn validate_name(given: &str) -> Result<String, Error> {
    let name = naming::validate_name("name", given)?;
    if name.len() > MAX_NAME_BYTES {
        let problem = format!(
            "it has {} bytes, accepted are up to {MAX_NAME_BYTES}",
            name.len()
        );
        return Err(Error::invalid("name", given, problem));
    }
    Ok(name)
}

/// Returns a name that an automation of a tenant can have.
fn valid_name(name: &str) -> String {
    match naming::validate_new_automation_name(name, None) {
        Ok(name) => name,
        Err(_) => "automation".into(),
    }
}

/// Refuses a schedule with two instants that are closer than [`tools::LEAST_INTERVAL`].
fn check_interval(spec: &Spec, now: Timestamp, until: Timestamp) -> Result<(), Error> {
    let schedule = Schedule::parse(spec)?;
    let mut before = None;
    // At most 2,880 instants of 30 days are further apart than the least interval.
    for at in schedule.fires_after(now).take_while(|at| *at <= until) {
        let interval: Option<Duration> = before.map(|before| at.since(before));
        if let Some(interval) = interval.filter(|interval| *interval < tools::LEAST_INTERVAL) {
            let problem = format!(
                "it runs twice within {} s; accepted are schedules with at least {} minutes between two runs",
                interval.as_secs(),
                tools::LEAST_INTERVAL.as_secs() / 60
            );
            return Err(Error::invalid("schedule", &spec.to_string(), problem));
        }
        before = Some(at);
    }
    if before.is_none() {
        let problem = format!("it does not run before it expires at {until}");
        return Err(Error::invalid("schedule", &spec.to_string(), problem));
    }
    Ok(())
}
