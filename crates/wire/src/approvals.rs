//! Approvals, as people look at them and decide them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What somebody says with a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DecisionRequest {
    /// Why, for whoever looks at it later. The agent is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub comment: Option<String>,
}
