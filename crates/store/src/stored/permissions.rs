//! The document `automations.permissions`, which is also a part of an agent's configuration.

use model::permission::{PermissionRule, PermissionRules, Verdict};
use serde::{Deserialize, Serialize};

use super::{BoxError, Document};

/// Rules for permission requests, as a row holds them.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(transparent)]
pub(crate) struct StoredPermissions(Vec<StoredRule>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct StoredRule {
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    verdict: Verdict,
}

impl Document for StoredPermissions {
    type Domain = PermissionRules;

    fn of(rules: &PermissionRules) -> Self {
        Self(rules.0.iter().map(StoredRule::of).collect())
    }

    fn into_domain(self) -> Result<PermissionRules, BoxError> {
        Ok(self.into_rules())
    }
}

impl StoredPermissions {
    pub(super) fn into_rules(self) -> PermissionRules {
        PermissionRules(self.0.into_iter().map(StoredRule::into_rule).collect())
    }
}

impl StoredRule {
    fn of(rule: &PermissionRule) -> Self {
        let PermissionRule {
            tool,
            title,
            verdict,
        } = rule.clone();
        Self {
            tool,
            title,
            verdict,
        }
    }

    fn into_rule(self) -> PermissionRule {
        PermissionRule {
            tool: self.tool,
            title: self.title,
            verdict: self.verdict,
        }
    }
}
