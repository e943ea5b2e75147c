//! Changes of goals.

use api_types::{
    Change, Goal, GoalBudgetPatch, GoalBudgetRequest, GoalPatch, MoneyPatch, MoneyRequest,
};
use model::{
    budget::{InvalidMoney, Money},
    goal::GoalBudget,
    team::{LIMIT_FIELDS, TeamLimits},
};
use store::{GoalChange, GoalView};

use super::{
    named,
    new_goal::{ACCEPTED_CURRENCY, title_of, validate_budget, validate_goal, validate_until},
    team::{leave_worker_to_people, set_limit},
    view::GoalToEdit,
};
use crate::{Error, Service, boxed};

/// The accepted amounts of a cost, in words.
const ACCEPTED_AMOUNT: &str =
    "accepted is a decimal number up to 1000000000 with at most six digits after the point";

impl Service {
    /// Changes the text, the limits, the budget and the time of a goal. A new text requests another plan, and changes a title
    /// that is the beginning of the old text.
    ///
    /// # Errors
    ///
    /// Returns an error that names the field if a value is invalid, a refusal with the state if the goal is over, and a conflict
    /// if somebody has changed these fields since `before` was read. Then no field changes.
    #[boxed]
    pub async fn edit_goal(&self, before: &GoalToEdit, patch: &GoalPatch) -> Result<Goal, Error> {
        let seen = &before.seen;
        let given = seen.session.to_string();
        // 1. Check all fields.
        let mut changes = Vec::new();
        if !patch.limits.is_empty() {
            changes.push(GoalChange::Limits(
                changed_limits(seen, patch, self.workers)?.graph,
            ));
        }
        match &patch.budget {
            Change::Keep => {}
            Change::Reset => changes.push(GoalChange::Budget(GoalBudget::default())),
            Change::To(patch) => {
                let budget = changed_budget(&seen.budget, patch)?;
                changes.push(GoalChange::Budget(budget));
            }
        }
        validate_until(patch.until, self.now())?;
        changes.extend(patch.until.map(GoalChange::Until));
        // The text comes last, because the plan that it requests needs the new limits.
        if let Some(text) = &patch.goal {
            let text = validate_goal(text)?;
            changes.push(GoalChange::Title {
                from: title_of(&seen.text),
                to: title_of(text),
            });
            changes.push(GoalChange::Edit(text.to_owned()));
        }
        // 2. Change all of them in one transaction.
        if !changes.is_empty() {
            let changed = self
                .store
                .edit_goal(self.tenant, seen, &changes, self.now());
            changed.await.map_err(|error| named(error, &given))?;
        }
        self.goal(&given).await
    }
}

/// Returns the limits of a goal with those of a patch.
fn changed_limits(
    goal: &GoalView,
    patch: &GoalPatch,
    workers: Option<u32>,
) -> Result<TeamLimits, Error> {
    let mut limits = goal.team.limits.clone();
    limits.graph = goal.limits.clone();
    for (name, value) in &patch.limits {
        set_limit(&mut limits, name, *value)?;
        // The hours follow from the team, which a goal keeps as it was at its start.
        if matches!(
            name.as_str(),
            "hours" | "question_hours" | "give_up_after_hours"
        ) {
            let others = LIMIT_FIELDS.iter().map(|limit| limit.name);
            let others: Vec<_> = others.filter(|other| !other.ends_with("hours")).collect();
            let problem = format!(
                "it is fixed at the start of a goal; `until` changes the time of the goal, and accepted limits are {}",
                others.join(", ")
            );
            let field = format!("limits.{name}");
            return Err(Error::invalid(field, &value.to_string(), problem));
        }
    }
    // Another server may have more workers than this one.
    if patch.limits.contains_key("parallel") {
        leave_worker_to_people(&mut limits, workers);
    }
    Ok(limits)
}

/// Returns the budget of a goal with the limits of a patch. A limit that the patch does not name keeps its value.
fn changed_budget(present: &GoalBudget, patch: &GoalBudgetPatch) -> Result<GoalBudget, Error> {
    let mut given = GoalBudgetRequest::default();
    if let Change::To(tokens) = &patch.tokens {
        given.tokens = Some(*tokens);
    }
    if let Change::To(cost) = &patch.cost {
        given.cost = Some(changed_cost(present.cost.as_ref(), cost)?);
    }
    let mut budget = validate_budget(&given)?;
    if patch.tokens == Change::Keep {
        budget.tokens = present.tokens;
    }
    if patch.cost == Change::Keep {
        budget.cost.clone_from(&present.cost);
    }
    Ok(budget)
}

/// Returns the cost of a budget with the fields of a patch.
fn changed_cost(present: Option<&Money>, patch: &MoneyPatch) -> Result<MoneyRequest, Error> {
    let given = |change: &Change<String>, present: Option<String>| match change {
        Change::To(given) => Some(given.clone()),
        Change::Keep => present,
        Change::Reset => None,
    };
    let missing = |field, expected: &str| Error::Missing {
        field,
        expected: expected.to_owned(),
    };
    let amount = given(&patch.amount, present.map(Money::amount));
    let amount = amount.ok_or_else(|| missing("budget.cost.amount", ACCEPTED_AMOUNT))?;
    let currency = present.map(|present| present.currency().to_owned());
    let currency = given(&patch.currency, currency);
    let currency = currency.ok_or_else(|| missing("budget.cost.currency", ACCEPTED_CURRENCY))?;
    match Money::parse(&amount, &currency) {
        Ok(cost) => Ok(cost.with_upper_case_code().into()),
        Err(InvalidMoney::Amount(_)) => Err(Error::invalid(
            "budget.cost.amount",
            &amount,
            ACCEPTED_AMOUNT,
        )),
        Err(InvalidMoney::Currency(_)) => Err(Error::invalid(
            "budget.cost.currency",
            &currency,
            ACCEPTED_CURRENCY,
        )),
    }
}
