//! Validates the definition of an automation, both for a new automation and for an edited one.
//!
//! **Invariant:** an edit is not refused because of a part that it leaves unchanged. Such a part was valid when it
//! was stored, even if its directory or its session no longer exists, or its instant has passed.

use api_types::{
    AutomationRequest, PoliciesRequest, SeatSettingsRequest, SessionTarget, TriggerRequest,
};
use model::{
    AgentId, InstanceId, Timestamp,
    agent::Agent,
    entity::Session,
    policy::{Policies, SessionMode},
    schedule::{self, Period, Schedule, Spec, Zone, parse_at},
    session::Admission,
};
use store::NewAutomation;

use crate::{Error, Service, naming, working_directory};

/// The session, the working directory and the agent of an automation's turns.
struct TurnTarget {
    agent: AgentId,
    cwd: Option<String>,
    placed_on: Option<InstanceId>,
    bound_session_key: Option<String>,
}

impl Service {
    /// Returns the validated definition of a request. `before` is the present definition in case of an edit; its
    /// unchanged parts are not checked again. The name is empty if the request has none.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first invalid field.
    pub(crate) async fn define(
        &self,
        request: &AutomationRequest,
        before: Option<&NewAutomation>,
        now: Timestamp,
    ) -> Result<NewAutomation, Error> {
        naming::validate_content("prompt", &request.prompt)?;
        let mode = request.session.mode();
        let policies = validate_policies(&request.policies, mode)?;
        let present = before.map_or(&[][..], |before| &before.triggers);
        let triggers = validate_triggers(&request.triggers, request.zone.as_deref(), present, now)?;
        let name = match &request.name {
            Some(name) => {
                let before = before.map(|before| before.name.as_str());
                naming::validate_new_automation_name(name, before)?
            }
            None => String::new(),
        };
        let target = self.resolve_target(request, before).await?;
        Ok(NewAutomation {
            name,
            prompt: request.prompt.clone(),
            agent: target.agent,
            cwd: target.cwd,
            placed_on: target.placed_on,
            session_mode: mode,
            bound_session_key: target.bound_session_key,
            policies,
            settings: request.settings.clone().into(),
            permissions: request.permissions.clone().into(),
            triggers,
        })
    }

    async fn resolve_target(
        &self,
        request: &AutomationRequest,
        before: Option<&NewAutomation>,
    ) -> Result<TurnTarget, Error> {
        if let Some(before) = before
            && self.keeps_target(request, before).await?
        {
            return Ok(TurnTarget {
                agent: before.agent,
                cwd: before.cwd.clone(),
                placed_on: before.placed_on,
                bound_session_key: before.bound_session_key.clone(),
            });
        }
        let placed_on = self.find_placement(request.placed_on.as_deref()).await?;
        let given = request.cwd.as_deref();
        let cwd = self.validate_directory(given, placed_on).await?;
        let target = if let SessionTarget::Bound(given) = &request.session {
            let so_far = before.and_then(|before| before.bound_session_key.as_deref());
            let (agent, key, placed_on) = self
                .bound_target(request, (given, so_far), cwd, placed_on)
                .await?;
            self.require_restore(&agent, placed_on).await?;
            // The session has its own directory and instance.
            (agent, None, None, Some(key))
        } else {
            (self.requested_agent(request).await?, cwd, placed_on, None)
        };
        let (agent, cwd, placed_on, bound_session_key) = target;
        if request.session.mode() == SessionMode::Continuous {
            self.require_restore(&agent, placed_on).await?;
        }
        Ok(TurnTarget {
            agent: agent.id,
            cwd,
            placed_on,
            bound_session_key,
        })
    }

    /// `true` if an edit leaves the session, the working directory, the instance and the agent unchanged.
    async fn keeps_target(
        &self,
        request: &AutomationRequest,
        before: &NewAutomation,
    ) -> Result<bool, Error> {
        let same_session = match &request.session {
            SessionTarget::Bound(key) => before.bound_session_key.as_ref() == Some(key),
            target => target.mode() == before.session_mode,
        };
        let same_cwd = request.cwd == before.cwd;
        let same_agent = match &request.agent {
            None => before.session_mode == SessionMode::Bound,
            Some(name) => self.find_agent(name).await?.id == before.agent,
        };
        let same_instance = match (&request.placed_on, before.placed_on) {
            (None, None) => true,
            // A removed instance is found by no reference.
            (Some(given), Some(before)) if *given == before.to_string() => true,
            (given, before) => self.find_placement(given.as_deref()).await? == before,
        };
        Ok(same_session && same_cwd && same_instance && same_agent)
    }

    pub(crate) async fn requested_agent(
        &self,
        request: &AutomationRequest,
    ) -> Result<Agent, Error> {
        if let Some(agent) = &request.agent {
            return self.find_agent(agent).await;
        }
        let agents = self.store.agents(self.scope()).await?;
        let names: Vec<_> = agents.into_iter().map(|agent| agent.name).collect();
        Err(Error::Missing {
            field: "agent",
            expected: format!("accepted are {}", names.join(", ")),
        })
    }

    /// Returns the agent and the session key of an automation that is to be bound to the `given` session.
    ///
    /// # Errors
    ///
    /// Returns an error if the session is closed or has no key, or if the request contradicts the directory, the
    /// instance, the settings or the agent of the session.
    async fn bound_target(
        &self,
        request: &AutomationRequest,
        (given, so_far): (&str, Option<&str>),
        cwd: Option<String>,
        placed_on: Option<InstanceId>,
    ) -> Result<(Agent, String, Option<InstanceId>), Error> {
        // 1. Find the session. If the request names none, it is the unified conversation, whose key takes the
        // place of the reference.
        let session = self.session_to_bind(request, given, so_far).await?;
        let given = match &session.session_key {
            Some(key) if given.is_empty() => key,
            _ => given,
        };
        let key = bound_key(given, &session)?;
        // 2. Refuse a directory or settings that the session would ignore.
        let works_in = self
            .store
            .working_directory(session.cwd.as_deref(), session.id);
        if let Some(cwd) = cwd.filter(|cwd| *cwd != works_in) {
            let works_in = match &session.cwd {
                Some(path) => format!("`{path}`"),
                None => "a folder of its own".to_owned(),
            };
            let problem = format!("the session `{given}` works in {works_in}, which never changes");
            return Err(working_directory::invalid(&cwd, problem));
        }
        if request.settings != SeatSettingsRequest::default() {
            let problem = "the mode and the settings of its agent were fixed when it began";
            return Err(Error::invalid("session", given, problem));
        }
        // 3. Take the agent from the seat that receives inputs, and refuse another one.
        let seats = self.store.seats(self.scope(), session.id).await?;
        let Some(seat) = seats.iter().find(|seat| seat.is_entry) else {
            let problem = "it has no agent that accepts inputs";
            return Err(Error::invalid("session", given, problem));
        };
        if placed_on.is_some() && placed_on != seat.placed_on {
            let given = request.placed_on.as_deref().unwrap_or_default();
            let problem = "the instance of the session was fixed when it began";
            return Err(Error::invalid("placed_on", given, problem).with_name("instance"));
        }
        let agent = self.store.agent(self.scope(), seat.agent_id).await?;
        if let Some(other) = &request.agent
            && self.find_agent(other).await?.id != agent.id
        {
            let problem = format!("the session `{given}` has the agent `{}`", agent.name);
            return Err(Error::invalid("agent", other, problem));
        }
        Ok((agent, key, seat.placed_on))
    }
}

/// Returns the key of a session to which an automation may be bound.
fn bound_key(given: &str, session: &Session) -> Result<String, Error> {
    if session.status().admission() == Admission::Refuse {
        return Err(Error::SessionClosed {
            session: given.to_owned(),
            state: session.status(),
        });
    }
    session.session_key.clone().ok_or_else(|| {
        let problem = "it belongs to an automation and has no key; accepted are sessions that \
                       people created";
        Error::invalid("session", given, problem)
    })
}

/// Returns the policies of a request.
///
/// # Errors
///
/// Refuses policies that contradict each other or the session mode, with the path of the field.
pub(crate) fn validate_policies(
    request: &PoliciesRequest,
    mode: SessionMode,
) -> Result<Policies, Error> {
    let policies = Policies::from(request.clone());
    policies.validate(mode).map_err(|invalid| {
        let field = format!("policies.{}", invalid.field());
        Error::from(invalid).at_field(field)
    })?;
    Ok(policies)
}

/// Returns the validated triggers of a request. The `present` triggers are accepted unchanged.
///
/// # Errors
///
/// Returns an error if a trigger is invalid, or if `zone` is the zone of no trigger.
pub(crate) fn validate_triggers(
    triggers: &[TriggerRequest],
    zone: Option<&str>,
    present: &[Spec],
    now: Timestamp,
) -> Result<Vec<Spec>, Error> {
    let read = triggers.iter().enumerate().map(|(at, trigger)| {
        let path = format!("triggers[{at}].");
        validate_trigger(trigger, &path, zone, present, now)
    });
    let specs = read.collect::<Result<Vec<_>, Error>>()?;
    if let Some(zone) = zone {
        check_zone(zone, &specs, present)?;
    }
    Ok(specs)
}

/// Refuses the time zone of a request in which no trigger has one. A request that removes triggers may repeat their zone.
fn check_zone(zone: &str, specs: &[Spec], present: &[Spec]) -> Result<(), Error> {
    if present.iter().any(|spec| spec.zone_name() == Some(zone)) {
        return Ok(());
    }
    Zone::parse(zone).map_err(|error| Error::from(error).at_field("zone"))?;
    if specs.iter().any(|spec| spec.zone_name().is_some()) {
        return Ok(());
    }
    let problem = "it has no effect, because no trigger has a time zone; accepted is the zone of a trigger of the kind \
                   `cron`, `every` or `at`";
    Err(Error::invalid("zone", zone, problem))
}

/// Returns one validated trigger. Errors name its fields with `path` in front.
///
/// A trigger among the `present` ones is accepted unchanged: an interval without an anchor keeps its present
/// anchor, so that an edit does not shift its schedule, and a trigger that will never fire again stays.
///
/// # Errors
///
/// Returns an error if the schedule is invalid, or if a new trigger would never fire.
pub(crate) fn validate_trigger(
    trigger: &TriggerRequest,
    path: &str,
    zone: Option<&str>,
    present: &[Spec],
    now: Timestamp,
) -> Result<Spec, Error> {
    // 1. Prepare the errors and the time zone.
    let refused = |field: &'static str| {
        move |error: schedule::Error| Error::from(error).at_field(format!("{path}{field}"))
    };
    let zone = |trigger_zone: &Option<String>| match (trigger_zone, zone) {
        // The trigger's own zone wins over the zone of the request; the default is UTC.
        (Some(name), _) => Zone::parse(name).map_err(refused("zone")),
        (None, Some(zone)) => {
            Zone::parse(zone).map_err(|error| Error::from(error).at_field("zone"))
        }
        (None, None) => Ok(Zone::utc()),
    };
    // 2. Read the fields of the trigger.
    let (spec, field, given) = match trigger {
        TriggerRequest::Cron {
            expression,
            zone: trigger_zone,
        } => {
            let zone = zone(trigger_zone)?.name().to_owned();
            let spec = Spec::Cron {
                expression: expression.clone(),
                zone,
            };
            (spec, "expression", expression)
        }
        TriggerRequest::Every {
            period: given,
            anchor,
            zone: trigger_zone,
        } => {
            let period: Period = given.parse().map_err(refused("period"))?;
            let zone = zone(trigger_zone)?.name().to_owned();
            let same = |spec: &&Spec| {
                matches!(spec, Spec::Every { period: other, zone: its, .. }
                    if *other == period && *its == zone)
            };
            let anchor = match (anchor, present.iter().find(same)) {
                (Some(anchor), _) => *anchor,
                (None, Some(same)) => return Ok(same.clone()),
                // A new interval first fires one period from now, on a whole second.
                (None, None) => now.ceil_second() + period.duration(),
            };
            let spec = Spec::Every {
                period,
                anchor,
                zone,
            };
            (spec, "period", given)
        }
        TriggerRequest::At {
            at: given,
            zone: trigger_zone,
        } => {
            let zone = zone(trigger_zone)?;
            // For an instant in the past, a new zone has no effect, so the trigger stays as it is.
            let same = |spec: &&Spec| matches!(spec, Spec::At { at: other, .. } if given.parse().ok() == Some(*other));
            let at = match present.iter().find(same) {
                Some(Spec::At { at, .. }) if *at > now => *at,
                Some(over) => return Ok(over.clone()),
                None => parse_at(given, &zone, now).map_err(refused("at"))?,
            };
            let zone = zone.name().to_owned();
            (Spec::At { at, zone }, "at", given)
        }
        TriggerRequest::Webhook {} => return Ok(Spec::Webhook {}),
    };
    // 3. Accept a present trigger before the check below, because it may stay although it will never fire again.
    if present.contains(&spec) {
        return Ok(spec);
    }
    // 4. Check that a new trigger fires at least once.
    let schedule = Schedule::parse_new(&spec, now).map_err(refused(field))?;
    if schedule.next_after(now).is_none() {
        let problem = format!(
            "it never fires after {now}; accepted is a schedule that fires again before the year 10000"
        );
        return Err(Error::invalid(format!("{path}{field}"), given, problem));
    }
    Ok(spec)
}
