//! Triggers of automations, and their schedules.

use std::fmt;

use model::{
    AutomationId, Timestamp, TriggerId, entity,
    schedule::{Period, Spec},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request that creates a trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TriggerRequest {
    /// The trigger fires at the times of a cron expression.
    Cron {
        /// A cron expression: five fields, or six with the seconds first, or a name such as `@daily`.
        #[schema(min_length = 1)]
        expression: String,
        /// The IANA name of the time zone of the expression. If absent, `zone` of the request.
        #[serde(default)]
        zone: Option<String>,
    },
    /// The trigger fires at equal distances.
    Every {
        /// The distance: numbers with units, such as `90s`, `10m`, `1h30m` or `2d`.
        #[schema(min_length = 1)]
        period: String,
        /// The first instant, from which the distances count. If absent, one distance from now.
        #[serde(default)]
        #[schema(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")]
        anchor: Option<Timestamp>,
        /// The IANA name of the time zone of quiet hours and of displayed instants. If absent, `zone` of the request.
        #[serde(default)]
        zone: Option<String>,
    },
    /// The trigger fires once.
    At {
        /// The instant, such as `2026-05-04T09:00:00Z`. A time without an offset is a local time in the zone.
        #[schema(min_length = 1)]
        at: String,
        /// The IANA name of the time zone. If absent, `zone` of the request.
        #[serde(default)]
        zone: Option<String>,
    },
    /// The trigger fires when a signed request arrives.
    Webhook {},
}

impl TriggerRequest {
    /// Returns the request that creates a trigger with this schedule. Returns `None` for the manual trigger, because
    /// every automation has one.
    pub fn of(spec: &TriggerSpec) -> Option<Self> {
        Some(match spec.clone() {
            TriggerSpec::Cron { expression, zone } => Self::Cron {
                expression,
                zone: Some(zone),
            },
            TriggerSpec::Every {
                period,
                anchor,
                zone,
            } => Self::Every {
                period: period.to_string(),
                anchor: Some(anchor),
                zone: Some(zone),
            },
            TriggerSpec::At { at, zone } => Self::At {
                at: at.to_string(),
                zone: Some(zone),
            },
            TriggerSpec::Webhook {} => Self::Webhook {},
            TriggerSpec::Manual {} => return None,
        })
    }

    /// Returns the time zone of the trigger, to be changed. Returns `None` for a webhook, which has no zone.
    pub fn zone_mut(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::Cron { zone, .. } | Self::Every { zone, .. } | Self::At { zone, .. } => {
                Some(zone)
            }
            Self::Webhook {} => None,
        }
    }
}

/// A trigger of an automation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trigger {
    /// The ID of the trigger.
    pub id: TriggerId,
    /// The automation that the trigger fires.
    pub automation_id: AutomationId,
    /// The schedule on which the trigger fires.
    pub spec: TriggerSpec,
    /// The next due instant of the schedule. Null if there is none.
    pub next_scheduled_for: Option<Timestamp>,
    /// The instant at which the trigger fires next: the next due instant plus jitter. Null if there is none.
    pub next_fire_at: Option<Timestamp>,
    /// The last due instant that was processed. Null if none was.
    pub last_scheduled_for: Option<Timestamp>,
    /// The instant at which the trigger fired for the last time. Null if the trigger can fire again.
    pub done_at: Option<Timestamp>,
}

impl From<entity::Trigger> for Trigger {
    fn from(trigger: entity::Trigger) -> Self {
        let entity::Trigger {
            id,
            automation_id,
            spec,
            next_scheduled_for,
            next_fire_at,
            origin: _,
            last_scheduled_for,
            done_at,
        } = trigger;
        Self {
            id,
            automation_id,
            spec: spec.into(),
            next_scheduled_for,
            next_fire_at,
            last_scheduled_for,
            done_at,
        }
    }
}

/// The schedule of a trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TriggerSpec {
    /// The trigger fires at the times of a cron expression.
    Cron {
        /// A cron expression: five fields, or six with the seconds first, or a name such as `@daily`.
        expression: String,
        /// The IANA name of the time zone of the expression.
        zone: String,
    },
    /// The trigger fires at equal distances from an anchor, which is itself a due instant.
    Every {
        /// The distance between two due instants.
        period: Period,
        /// The anchor.
        anchor: Timestamp,
        /// The IANA name of the time zone of quiet hours and of displayed instants.
        zone: String,
    },
    /// The trigger fires once.
    At {
        /// The due instant.
        at: Timestamp,
        /// The IANA name of the time zone of quiet hours and of displayed instants.
        zone: String,
    },
    /// The trigger fires on request only.
    Manual {},
    /// The trigger fires when a signed request arrives.
    Webhook {},
}

macro_rules! same_specs {
    ($one:ty, $other:ty) => {
        impl From<$one> for $other {
            fn from(spec: $one) -> Self {
                type One = $one;
                match spec {
                    One::Cron { expression, zone } => Self::Cron { expression, zone },
                    One::Every {
                        period,
                        anchor,
                        zone,
                    } => Self::Every {
                        period,
                        anchor,
                        zone,
                    },
                    One::At { at, zone } => Self::At { at, zone },
                    One::Manual {} => Self::Manual {},
                    One::Webhook {} => Self::Webhook {},
                }
            }
        }
    };
}

same_specs!(Spec, TriggerSpec);
same_specs!(TriggerSpec, Spec);

impl fmt::Display for TriggerSpec {
    /// Formats the schedule for people: `cron 0 9 * * 1-5 (Europe/Prague)`, `every 10m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Spec::from(self.clone()).fmt(f)
    }
}
