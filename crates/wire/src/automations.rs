//! Automations.

use model::{
    AutomationId, HarnessId, SessionId, TenantId, Timestamp,
    automation::AutomationState,
    entity,
    policy::{Overlap, SessionMode},
    schedule::Zone,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Change, PermissionRules, PermissionRulesRequest, Policies, PoliciesPatch, PoliciesRequest, Run,
    SeatSettings, SeatSettingsPatch, SeatSettingsRequest, Session, SessionTarget, Trigger,
    TriggerRequest,
};

/// An automation that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AutomationRequest {
    /// Its name; absent: made from the prompt.
    #[serde(default)]
    #[schema(min_length = 1)]
    pub name: Option<String>,
    /// What the agent is asked.
    #[schema(min_length = 1)]
    pub prompt: String,
    /// When it fires; none: on demand only.
    #[serde(default)]
    pub triggers: Vec<TriggerRequest>,
    /// The IANA name of the zone of those triggers that name none; absent: UTC.
    #[serde(default)]
    pub zone: Option<String>,
    /// Where its turns go.
    #[serde(default)]
    pub session: SessionTarget,
    /// The harness, by its name or its id; absent: that of the session to which it is bound.
    #[serde(default)]
    pub harness: Option<String>,
    /// The working directory, absolute; absent: a folder of each session's own, or that of the
    /// session to which it is bound.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Its policies.
    #[serde(default)]
    pub policies: PoliciesRequest,
    /// The mode and the settings of its agents.
    #[serde(default)]
    pub settings: SeatSettingsRequest,
    /// Rules for its turns, beyond those of the harness.
    #[serde(default)]
    pub permissions: PermissionRulesRequest,
}

/// The fields of an automation that change (merge patch, RFC 7396).
///
/// A field that is not named keeps its value, and null gives it its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AutomationPatch {
    /// Its name.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>, min_length = 1)]
    pub name: Change<String>,
    /// The prompt of its agent. It has no default, so that null is refused.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>, min_length = 1)]
    pub prompt: Change<String>,
    /// All its triggers but the manual one.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<Vec<TriggerRequest>>)]
    pub triggers: Change<Vec<TriggerRequest>>,
    /// The IANA name of the zone of the triggers that name none.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub zone: Change<String>,
    /// The session of its turns.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<SessionTarget>)]
    pub session: Change<SessionTarget>,
    /// The harness, by its name or its ID.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub harness: Change<String>,
    /// The working directory, absolute.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub cwd: Change<String>,
    /// Its policies.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<PoliciesPatch>)]
    pub policies: Change<PoliciesPatch>,
    /// The mode and the settings of its agents.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<SeatSettingsPatch>)]
    pub settings: Change<SeatSettingsPatch>,
    /// All rules for its turns, beside those of the harness.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<PermissionRulesRequest>)]
    pub permissions: Change<PermissionRulesRequest>,
}

impl AutomationRequest {
    /// Asks for a prompt, with defaults for everything else.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            name: None,
            prompt: prompt.into(),
            triggers: Vec::new(),
            zone: None,
            session: SessionTarget::Fresh,
            harness: None,
            cwd: None,
            policies: PoliciesRequest::default(),
            settings: SeatSettingsRequest::default(),
            permissions: PermissionRulesRequest::default(),
        }
    }

    /// Reads every trigger that is there in another zone. Instants and distances stay what they are:
    /// their zone says how they are shown and when it is quiet.
    pub fn in_zone(&mut self, zone: &Zone) {
        for trigger in &mut self.triggers {
            if let Some(named) = trigger.zone_mut() {
                *named = Some(zone.name().to_owned());
            }
        }
        self.zone = Some(zone.name().to_owned());
    }
}

/// An automation with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationView {
    /// The automation.
    #[serde(flatten)]
    pub automation: Automation,
    /// The name of its harness.
    pub harness: String,
    /// Its triggers, the manual one first.
    pub triggers: Vec<Trigger>,
    /// Its next fires, before jitter.
    pub next_fires: Vec<Fire>,
    /// The session that its next turn goes to, where it has one.
    pub session: Option<Session>,
    /// Present if the automation needs a later version of Matins than the server that answers. That server neither
    /// fires it nor begins its runs, and what it cannot read shows defaults; a person may still pause and delete it.
    #[serde(default)]
    pub newer_format: Option<NewerFormat>,
    /// The overlap policy that holds: what its policies name, else that of where its turns go.
    pub overlap: Overlap,
    /// Its newest runs, the newest first.
    pub last_runs: Vec<Run>,
}

impl AutomationView {
    /// Returns the request that creates this automation as it is. Changed, it is the request of an edit.
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
            harness: Some(self.harness.clone()),
            cwd: automation.cwd.clone(),
            policies: model::policy::Policies::from(automation.policies.clone()).into(),
            settings: entity::SeatSettings::from(automation.settings.clone()).into(),
            permissions: model::permission::PermissionRules::from(automation.permissions.clone())
                .into(),
        }
    }
}

/// The document format that an automation needs, beside the one that a server honours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewerFormat {
    /// The least format whose servers honour the automation.
    #[schema(minimum = 2)]
    pub needed: i64,
    /// The highest format that the server honours.
    #[schema(minimum = 1)]
    pub honoured: i64,
}

/// An automation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Automation {
    /// Its ID.
    pub id: AutomationId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// Its name, unique for the tenant.
    pub name: String,
    /// Says whether its triggers fire.
    pub state: AutomationState,
    /// The reason of its pause.
    pub pause_reason: Option<String>,
    /// A problem that a person should look at.
    pub attention: Option<String>,
    /// The prompt of its agent.
    pub prompt: String,
    /// The harness that starts the agent.
    pub harness_id: HarnessId,
    /// The working directory of its sessions. Null: each session has a folder of its own.
    pub cwd: Option<String>,
    /// Says into which sessions its turns go.
    pub session_mode: SessionMode,
    /// The key of the session to which it is bound.
    pub bound_session_key: Option<String>,
    /// The session of its next turn, for `continuous`.
    pub current_session_id: Option<SessionId>,
    /// Its policies.
    pub policies: Policies,
    /// The mode and the settings of its seats.
    pub settings: SeatSettings,
    /// Rules for its turns, beside those of the harness.
    pub permissions: PermissionRules,
    /// The number of inputs that failed for good since the last success.
    pub consecutive_failures: i64,
    /// The instant of its creation.
    pub created_at: Timestamp,
    /// The instant of its last change.
    pub updated_at: Timestamp,
}

impl From<entity::Automation> for Automation {
    fn from(automation: entity::Automation) -> Self {
        let entity::Automation {
            id,
            // The view says it beside what the server honours.
            needs_format: _,
            tenant_id,
            name,
            state,
            pause_reason,
            attention,
            prompt,
            harness_id,
            cwd,
            session_mode,
            bound_session_key,
            current_session_id,
            policies,
            settings,
            permissions,
            consecutive_failures,
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
            harness_id,
            cwd,
            session_mode,
            bound_session_key,
            current_session_id,
            policies: policies.into(),
            settings: settings.into(),
            permissions: permissions.into(),
            consecutive_failures,
            created_at,
            updated_at,
        }
    }
}

/// One of the next fires, before jitter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fire {
    /// The instant.
    pub at: Timestamp,
    /// The instant with its weekday, offset and zone.
    pub shown: String,
    /// Whether it falls into quiet hours, so that it will be skipped.
    pub quiet: bool,
}

/// A page of automations, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationPage {
    /// The automations that the server can read.
    pub items: Vec<AutomationView>,
    /// The automations that the server cannot read. They hide no other.
    pub unreadable: Vec<UnreadableAutomation>,
    /// The value of `after` for the next page. Null: this is the last one.
    #[serde(default)]
    pub next: Option<String>,
}

/// An automation that is there and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnreadableAutomation {
    /// Its id.
    pub id: AutomationId,
    /// Its name.
    pub name: String,
    /// What makes no sense about it.
    pub unreadable: String,
}

/// What became of a wish to delete an automation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationDeleted {
    /// The automation.
    pub automation_id: AutomationId,
    /// Its name.
    pub name: String,
    /// How many of its sessions were deleted.
    #[schema(minimum = 0)]
    pub sessions_deleted: u32,
    /// Sessions that stay because other automations are bound to them.
    pub sessions_kept: Vec<SessionId>,
}

/// When something would fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// The triggers.
    #[schema(min_items = 1)]
    pub triggers: Vec<TriggerRequest>,
    /// The IANA name of the zone of those triggers that name none; absent: UTC.
    #[serde(default)]
    pub zone: Option<String>,
    /// The policies: their quiet hours show.
    #[serde(default)]
    pub policies: PoliciesRequest,
    /// How many fires are shown at the most.
    #[serde(default = "shown_fires")]
    #[schema(minimum = 1, maximum = 100)]
    pub count: u32,
}

const fn shown_fires() -> u32 {
    5
}

/// The next fires that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Preview {
    /// The fires, in order.
    pub next_fires: Vec<Fire>,
}
