//! Automations and their triggers.

use model::{
    AutomationId, SessionId, Timestamp,
    entity::{Automation, Run, SeatSettings, Session, Trigger},
    permission::PermissionRules,
    policy::{Overlap, Policies, SessionMode},
    schedule::{Spec, Zone},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::SessionTarget;

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
    pub policies: Policies,
    /// The mode and the settings of its agents.
    #[serde(default)]
    pub settings: SeatSettings,
    /// Rules for its turns, beyond those of the harness.
    #[serde(default)]
    pub permissions: PermissionRules,
}

/// When an automation is to fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TriggerRequest {
    /// At the times of a cron expression.
    Cron {
        /// Five fields, or six with the seconds in front, or a name such as `@daily`.
        #[schema(min_length = 1)]
        expression: String,
        /// The IANA name of the zone in which the fields are read.
        #[serde(default)]
        zone: Option<String>,
    },
    /// At equal distances.
    Every {
        /// The distance: numbers with their units, such as `90s`, `10m`, `1h30m` or `2d`.
        #[schema(min_length = 1)]
        period: String,
        /// Where counting starts, and the first instant; absent: one distance from now.
        #[serde(default)]
        #[schema(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")]
        anchor: Option<Timestamp>,
        /// The IANA name of the zone in which quiet hours are read and instants shown.
        #[serde(default)]
        zone: Option<String>,
    },
    /// Once.
    At {
        /// The instant: `2026-05-04T09:00:00Z`, or a time on the clocks of the zone without an offset.
        #[schema(min_length = 1)]
        at: String,
        /// The IANA name of the zone.
        #[serde(default)]
        zone: Option<String>,
    },
    /// When a signed request arrives.
    Webhook {},
}

impl TriggerRequest {
    /// What asks for a trigger as it is; nothing for the one that every automation has.
    pub fn of(spec: &Spec) -> Option<Self> {
        Some(match spec.clone() {
            Spec::Cron { expression, zone } => Self::Cron {
                expression,
                zone: Some(zone),
            },
            Spec::Every {
                period,
                anchor,
                zone,
            } => Self::Every {
                period: period.to_string(),
                anchor: Some(anchor),
                zone: Some(zone),
            },
            Spec::At { at, zone } => Self::At {
                at: at.to_string(),
                zone: Some(zone),
            },
            Spec::Webhook {} => Self::Webhook {},
            Spec::Manual {} => return None,
        })
    }

    /// The zone that it names.
    pub fn zone_mut(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::Cron { zone, .. } | Self::Every { zone, .. } | Self::At { zone, .. } => {
                Some(zone)
            }
            Self::Webhook {} => None,
        }
    }
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
            policies: Policies::default(),
            settings: SeatSettings::default(),
            permissions: PermissionRules::default(),
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
    /// What would have to be asked for to make this automation as it is; changed, it is what an edit
    /// asks for.
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
            policies: automation.policies.clone(),
            settings: automation.settings.clone(),
            permissions: automation.permissions.clone(),
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
pub struct AutomationList {
    /// Those that can be read.
    pub automations: Vec<AutomationView>,
    /// Those that cannot: they hide no other.
    pub unreadable: Vec<UnreadableAutomation>,
    /// What `after` takes for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    pub policies: Policies,
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
