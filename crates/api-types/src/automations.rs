//! Automations, their requests and patches.

use model::{
    AgentId, AutomationId, InstanceId, RunId, SessionId, TenantId, Timestamp,
    automation::AutomationState,
    entity,
    policy::{Overlap, SessionMode},
    schedule::Zone,
    tools,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Change, Count, PermissionRules, PermissionRulesRequest, Policies, PoliciesPatch,
    PoliciesRequest, Run, RunOutcome, SeatSettings, SeatSettingsPatch, SeatSettingsRequest,
    Session, SessionTarget, Trigger, TriggerRequest,
};

/// A request that creates an automation, or replaces one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AutomationRequest {
    /// The name. If absent, a new automation gets a name that is made from the prompt.
    #[serde(default)]
    #[schema(min_length = 1)]
    pub name: Option<String>,
    /// The prompt of the agent.
    #[schema(min_length = 1)]
    pub prompt: String,
    /// The triggers. An automation without triggers runs on demand only.
    #[serde(default)]
    pub triggers: Vec<TriggerRequest>,
    /// The IANA name of the time zone of all triggers that name none. Default: UTC. Refused if no trigger has a time zone.
    #[serde(default)]
    pub zone: Option<String>,
    /// The session in which the turns run.
    #[serde(default)]
    pub session: SessionTarget,
    /// The name or the ID of the agent. If absent, a bound automation uses the agent of its session.
    #[serde(default)]
    pub agent: Option<String>,
    /// The working directory, as an absolute path. If absent, each session gets a folder of its own, and a bound
    /// automation uses the directory of its session.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The name or the ID of the instance on which the turns run. If absent, any instance begins a session, and a bound
    /// automation uses the instance of its session.
    #[serde(default)]
    #[schema(min_length = 1)]
    pub placed_on: Option<String>,
    /// The policies of the automation.
    #[serde(default)]
    pub policies: PoliciesRequest,
    /// The mode and the settings of the agents.
    #[serde(default)]
    pub settings: SeatSettingsRequest,
    /// The permission rules of the automation, in addition to those of the agent.
    #[serde(default)]
    pub permissions: PermissionRulesRequest,
}

/// The changes of an automation (merge patch, RFC 7396).
///
/// A field that is absent keeps its value, and null restores the default of the field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AutomationPatch {
    /// The name, unique for the tenant. The name has no default, so null leaves it as it is.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>, min_length = 1)]
    pub name: Change<String>,
    /// The prompt of the agent. The prompt has no default, so null is refused.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>, min_length = 1)]
    pub prompt: Change<String>,
    /// All triggers except the manual one. The list replaces the present one.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<Vec<TriggerRequest>>)]
    pub triggers: Change<Vec<TriggerRequest>>,
    /// The IANA name of the time zone of all triggers that name none. Without `triggers`, all present triggers get it.
    /// Refused if no trigger has a time zone.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub zone: Change<String>,
    /// The session in which the turns run.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<SessionTarget>)]
    pub session: Change<SessionTarget>,
    /// The name or the ID of the agent.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub agent: Change<String>,
    /// The working directory, as an absolute path.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub cwd: Change<String>,
    /// The name or the ID of the instance on which the turns run.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>, min_length = 1)]
    pub placed_on: Change<String>,
    /// The policies of the automation.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<PoliciesPatch>)]
    pub policies: Change<PoliciesPatch>,
    /// The mode and the settings of the agents.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<SeatSettingsPatch>)]
    pub settings: Change<SeatSettingsPatch>,
    /// The permission rules of the automation, in addition to those of the agent. The list replaces the present
    /// one.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<PermissionRulesRequest>)]
    pub permissions: Change<PermissionRulesRequest>,
}

impl AutomationRequest {
    /// Makes a request with a prompt and the default of every other field.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            name: None,
            prompt: prompt.into(),
            triggers: Vec::new(),
            zone: None,
            session: SessionTarget::Fresh,
            agent: None,
            cwd: None,
            placed_on: None,
            policies: PoliciesRequest::default(),
            settings: SeatSettingsRequest::default(),
            permissions: PermissionRulesRequest::default(),
        }
    }

    /// Removes the time zone of every trigger, so that each gets that of the request.
    pub fn share_zone(&mut self) {
        let triggers = self.triggers.iter_mut();
        for zone in triggers.filter_map(TriggerRequest::zone_mut) {
            *zone = None;
        }
    }

    /// Sets the time zone of the request and of every trigger that has one. The instants of `at` and the distances of
    /// `every` triggers do not change: their zone only affects their display and the quiet hours.
    pub fn in_zone(&mut self, zone: &Zone) {
        for trigger in &mut self.triggers {
            if let Some(trigger_zone) = trigger.zone_mut() {
                *trigger_zone = Some(zone.name().to_owned());
            }
        }
        self.zone = Some(zone.name().to_owned());
    }
}

/// An automation, its triggers, its next and its last runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationView {
    /// The automation.
    #[serde(flatten)]
    pub automation: Automation,
    /// The name of the agent.
    pub agent: String,
    /// The name of the instance of `placed_on`. Null if the turns are not placed, or if the instance was removed.
    #[serde(default)]
    pub instance: Option<String>,
    /// The name of the instance of `placed_on`, if it was removed. The runs fail with the reason `instance_gone` until the
    /// automation is placed elsewhere.
    #[serde(default)]
    pub removed_instance: Option<String>,
    /// The triggers, the manual one first.
    pub triggers: Vec<Trigger>,
    /// The next instants at which the triggers fire, before jitter.
    pub upcoming_runs: Vec<UpcomingRun>,
    /// The session in which the next turn runs. Null if that session does not exist yet.
    pub session: Option<Session>,
    /// Present if the automation needs a later version of Matins than the server that answers. That server neither
    /// fires the automation nor starts its runs, and shows defaults for the parts that it cannot read. A person can
    /// still pause and delete the automation.
    #[serde(default)]
    pub newer_format: Option<NewerFormat>,
    /// The effective overlap policy: the one in `policies`, or the default of the session mode if that is null.
    pub overlap: Overlap,
    /// The newest runs of the automation, the newest first.
    pub last_runs: Vec<Run>,
}

impl AutomationView {
    /// Returns the request that would create this automation as it is. An edit changes this request.
    pub fn request(&self) -> AutomationRequest {
        let automation = &self.automation;
        let key = automation.bound_session_key.clone();
        let mut triggers: Vec<_> = self
            .triggers
            .iter()
            .filter_map(|trigger| TriggerRequest::of(&trigger.spec))
            .collect();
        let zone = triggers
            .iter_mut()
            .find_map(|trigger| trigger.zone_mut().and_then(|zone| zone.clone()));
        AutomationRequest {
            name: Some(automation.name.clone()),
            prompt: automation.prompt.clone(),
            triggers,
            zone,
            session: match automation.session_mode {
                SessionMode::Fresh => SessionTarget::Fresh,
                SessionMode::Continuous => SessionTarget::Continuous,
                SessionMode::Bound => SessionTarget::Bound(key.unwrap_or_default()),
            },
            agent: Some(self.agent.clone()),
            cwd: automation.cwd.clone(),
            placed_on: automation.placed_on.map(|instance| instance.to_string()),
            policies: model::policy::Policies::from(automation.policies.clone()).into(),
            settings: entity::SeatSettings::from(automation.settings.clone()).into(),
            permissions: model::permission::PermissionRules::from(automation.permissions.clone())
                .into(),
        }
    }
}

/// The document format that an automation needs, and the one that the server supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewerFormat {
    /// The lowest document format that supports the automation.
    #[schema(minimum = 2)]
    pub needed: i64,
    /// The highest document format that the server supports.
    #[schema(minimum = 1)]
    pub honoured: i64,
}

/// An automation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Automation {
    /// The ID of the automation.
    pub id: AutomationId,
    /// The tenant that owns the automation.
    pub tenant_id: TenantId,
    /// The name of the automation, unique for the tenant.
    pub name: String,
    /// The state of the automation: whether its triggers fire.
    pub state: AutomationState,
    /// The reason for the pause. Null if the automation is not paused.
    pub pause_reason: Option<String>,
    /// A problem that needs a person's attention. Null if there is none.
    pub attention: Option<String>,
    /// The prompt of the agent.
    pub prompt: String,
    /// The configured agent whose process takes the turns.
    pub agent_id: AgentId,
    /// The working directory of the sessions. Null if each session has a folder of its own.
    pub cwd: Option<String>,
    /// The instance on which a person has placed the turns. Null if any instance begins a session.
    #[serde(default)]
    pub placed_on: Option<InstanceId>,
    /// The kind of session in which the turns run.
    pub session_mode: SessionMode,
    /// The key of the session to which the automation is bound. Null if the automation is not bound.
    pub bound_session_key: Option<String>,
    /// The session of the next turn, for `continuous`. Null if the next run creates one.
    pub current_session_id: Option<SessionId>,
    /// The policies of the automation.
    pub policies: Policies,
    /// The mode and the settings of the agents.
    pub settings: SeatSettings,
    /// The permission rules of the automation, in addition to those of the agent.
    pub permissions: PermissionRules,
    /// The number of inputs since the last success that failed after all their attempts.
    pub consecutive_failures: i64,
    /// The turn in which an agent has made the automation. Null if a person has made it.
    #[serde(default)]
    pub made_by: Option<MadeBy>,
    /// The instant from which the automation fires no more, unless a person resumes it. Null if there is none.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// The instant at which the automation was created.
    pub created_at: Timestamp,
    /// The instant of the last change of the automation.
    pub updated_at: Timestamp,
}

impl From<entity::Automation> for Automation {
    fn from(automation: entity::Automation) -> Self {
        let entity::Automation {
            id,
            // `AutomationView` has the needed format, beside the one that the server supports.
            needs_format: _,
            tenant_id,
            name,
            state,
            pause_reason,
            attention,
            prompt,
            agent_id,
            cwd,
            placed_on,
            session_mode,
            bound_session_key,
            current_session_id,
            policies,
            settings,
            permissions,
            consecutive_failures,
            made_by,
            expires_at,
            created_at,
            updated_at,
        } = automation;
        Self {
            id,
            tenant_id,
            name,
            state,
            pause_reason,
            attention,
            prompt,
            agent_id,
            cwd,
            placed_on,
            session_mode,
            bound_session_key,
            current_session_id,
            policies: policies.into(),
            settings: settings.into(),
            permissions: permissions.into(),
            consecutive_failures,
            made_by: made_by.map(Into::into),
            expires_at,
            created_at,
            updated_at,
        }
    }
}

/// The turn in which an agent has made an automation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeBy {
    /// The session of the turn, to which the automation is bound.
    pub session_id: SessionId,
    /// The run of the turn.
    pub run_id: RunId,
    /// The number of the turn on its seat, from 1.
    pub turn: i64,
    /// The name by which the agents of the session know the automation.
    pub name: String,
}

impl From<tools::MadeBy> for MadeBy {
    fn from(made_by: tools::MadeBy) -> Self {
        let tools::MadeBy {
            session,
            run,
            turn,
            name,
        } = made_by;
        Self {
            session_id: session,
            run_id: run,
            turn,
            name,
        }
    }
}

/// An instant at which an automation fires next, before jitter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpcomingRun {
    /// The instant in UTC.
    pub at: Timestamp,
    /// The instant as text for people, with its weekday, offset and zone.
    pub display: String,
    /// `true` if the instant is within quiet hours, so that its occurrence will be skipped.
    pub in_quiet_hours: bool,
}

/// An automation of a list: what people need to know of it at first sight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationItem {
    /// The ID of the automation.
    pub id: AutomationId,
    /// The name, unique for the tenant.
    pub name: String,
    /// The state of the automation.
    pub state: AutomationState,
    /// The reason why the automation is paused. Null if it is not paused.
    pub pause_reason: Option<String>,
    /// The reason why the automation needs attention. Null if it needs none.
    pub attention: Option<String>,
    /// Present if the automation needs a later version of Matins than the server that answers.
    #[serde(default)]
    pub newer_format: Option<NewerFormat>,
    /// The name of the instance on which the turns are placed, if it was removed. Null otherwise.
    #[serde(default)]
    pub removed_instance: Option<String>,
    /// The name of the agent.
    pub agent: String,
    /// The session in which each turn runs.
    pub session_mode: SessionMode,
    /// The session in which the next turn runs. Null if that session does not exist yet.
    pub session_id: Option<SessionId>,
    /// The instance on which a person has placed the turns. Null if any instance begins a session. A server of an earlier
    /// version sends none.
    #[serde(default)]
    pub placed_on: Option<InstanceId>,
    /// The triggers, the manual one first.
    pub triggers: Vec<Trigger>,
    /// The next instant at which a trigger fires, before jitter. Null if there is none, or if the automation is paused.
    pub next_run: Option<UpcomingRun>,
    /// The number of failures since the last success.
    pub consecutive_failures: i64,
    /// The outcomes of the newest inputs, the newest first: as many as the request asks for.
    pub outcomes: Vec<RunOutcome>,
    /// The instant at which the automation was created.
    pub created_at: Timestamp,
    /// The instant of the last change.
    pub updated_at: Timestamp,
}

/// The maximum number of outcomes of each automation in a list.
pub const MAX_LISTED_OUTCOMES: u32 = 30;

/// The numbers of automations that are not deleted. Each count stops at 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationCounts {
    /// The number of all of them.
    pub all: Count,
    /// The number of the enabled ones.
    pub enabled: Count,
    /// The number of the paused ones.
    pub paused: Count,
    /// The number of those that need a person: with a notice, or paused by something else than a person.
    pub attention: Count,
}

/// A page of automations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationPage {
    /// The automations that the server can read.
    pub items: Vec<AutomationItem>,
    /// The automations that the server cannot read, listed apart so that `items` has all others.
    pub unreadable: Vec<UnreadableAutomation>,
    /// The value of `after` that returns the next page. Null if this page is the last one.
    #[serde(default)]
    pub next: Option<String>,
    /// The numbers of automations with the text and the session of the request, whatever their state. Null unless the
    /// list is sorted.
    #[serde(default)]
    pub counts: Option<AutomationCounts>,
}

/// An automation that the server cannot read, because its stored data are corrupt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnreadableAutomation {
    /// The ID of the automation.
    pub id: AutomationId,
    /// The name of the automation.
    pub name: String,
    /// The part of the stored data that is corrupt, as text for people.
    pub unreadable: String,
}

/// The result of deleting an automation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationDeleted {
    /// The ID of the deleted automation.
    pub automation_id: AutomationId,
    /// The name of the deleted automation.
    pub name: String,
    /// The number of its sessions that were deleted.
    #[schema(minimum = 0)]
    pub sessions_deleted: u32,
    /// The sessions that were kept, because other automations are bound to them.
    pub sessions_kept: Vec<SessionId>,
}
