//! The document `automation_triggers.spec`.

use model::{
    Timestamp,
    schedule::{Period, Spec},
};
use serde::{Deserialize, Serialize};

use super::{BoxError, Document};

/// The schedule of a trigger, as a row holds it. A new kind of trigger must raise the format that the document needs,
/// because a server that does not know the kind cannot tell when it fires.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum StoredSpec {
    Cron {
        expression: String,
        #[serde(default = "utc")]
        zone: String,
    },
    Every {
        #[cfg_attr(test, schema(value_type = String))]
        period: Period,
        anchor: Timestamp,
        #[serde(default = "utc")]
        zone: String,
    },
    At {
        at: Timestamp,
        #[serde(default = "utc")]
        zone: String,
    },
    Manual {},
    Webhook {},
}

fn utc() -> String {
    "UTC".into()
}

impl Document for StoredSpec {
    type Domain = Spec;

    fn of(spec: &Spec) -> Self {
        match spec.clone() {
            Spec::Cron { expression, zone } => Self::Cron { expression, zone },
            Spec::Every {
                period,
                anchor,
                zone,
            } => Self::Every {
                period,
                anchor,
                zone,
            },
            Spec::At { at, zone } => Self::At { at, zone },
            Spec::Manual {} => Self::Manual {},
            Spec::Webhook {} => Self::Webhook {},
        }
    }

    fn into_domain(self) -> Result<Spec, BoxError> {
        Ok(match self {
            Self::Cron { expression, zone } => Spec::Cron { expression, zone },
            Self::Every {
                period,
                anchor,
                zone,
            } => Spec::Every {
                period,
                anchor,
                zone,
            },
            Self::At { at, zone } => Spec::At { at, zone },
            Self::Manual {} => Spec::Manual {},
            Self::Webhook {} => Spec::Webhook {},
        })
    }
}
