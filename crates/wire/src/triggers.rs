//! Triggers of automations.

use std::fmt;

use model::{
    AutomationId, Timestamp, TriggerId, entity,
    schedule::{Period, Spec},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// Returns the request that creates a trigger with this schedule. Returns `None` for the manual trigger, which
    /// every automation has.
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

/// A trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trigger {
    /// Its ID.
    pub id: TriggerId,
    /// The automation that it fires.
    pub automation_id: AutomationId,
    /// The schedule on which it fires.
    pub spec: TriggerSpec,
    /// The next instant that the schedule names.
    pub next_scheduled_for: Option<Timestamp>,
    /// The instant at which that one fires, spread by jitter.
    pub next_fire_at: Option<Timestamp>,
    /// The last instant that was processed.
    pub last_scheduled_for: Option<Timestamp>,
    /// The instant at which it fired for the last time ever.
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
        /// Five fields, or six with the seconds in front, or a name such as `@daily`.
        expression: String,
        /// The IANA name of the zone in which the fields are read.
        zone: String,
    },
    /// The trigger fires at equal distances from an anchor, which is itself an instant of the schedule.
    Every {
        /// The distance.
        period: Period,
        /// The first instant of the schedule.
        anchor: Timestamp,
        /// The IANA name of the zone in which quiet hours are read and instants shown.
        zone: String,
    },
    /// The trigger fires once.
    At {
        /// The instant.
        at: Timestamp,
        /// The IANA name of the zone in which quiet hours are read and the instant shown.
        zone: String,
    },
    /// The trigger fires on demand only.
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
    /// Writes the short form for people: `cron 0 9 * * 1-5 (Europe/Prague)`, `every 10m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Spec::from(self.clone()).fmt(f)
    }
}
