//! The documents `automations.settings` and `agent_definitions.settings`.

use std::collections::BTreeMap;

use model::entity::SeatSettings;
use serde::{Deserialize, Serialize};

use super::{BoxError, Document};

/// The mode and the settings of a seat, as a row holds them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub(crate) struct StoredSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    values: BTreeMap<String, String>,
}

impl Document for StoredSettings {
    type Domain = SeatSettings;

    fn of(settings: &SeatSettings) -> Self {
        let SeatSettings { mode, values } = settings.clone();
        Self { mode, values }
    }

    fn into_domain(self) -> Result<SeatSettings, BoxError> {
        Ok(SeatSettings {
            mode: self.mode,
            values: self.values,
        })
    }
}
