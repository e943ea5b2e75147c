//! The document `goals.budget`.

use model::goal::GoalBudget;
use serde::{Deserialize, Serialize};

use crate::stored::{BoxError, Document, budget::StoredMoney};

/// The budget of a goal, as its row holds it. An amount that is absent or null has no limit.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StoredGoalBudget {
    tokens: Option<u64>,
    cost: Option<StoredMoney>,
}

impl Document for StoredGoalBudget {
    type Domain = GoalBudget;

    fn of(budget: &GoalBudget) -> Self {
        let GoalBudget { tokens, cost } = budget;
        Self {
            tokens: *tokens,
            cost: cost.as_ref().map(StoredMoney::of),
        }
    }

    fn into_domain(self) -> Result<GoalBudget, BoxError> {
        Ok(GoalBudget {
            tokens: self.tokens,
            cost: self.cost.map(StoredMoney::into_domain).transpose()?,
        })
    }
}
