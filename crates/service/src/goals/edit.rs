//! Changes of goals.

use api_types::{Change, Goal, GoalPatch};
use model::{
    goal::GoalBudget,
    team::{LIMIT_FIELDS, TeamLimits},
};
use store::{GoalChange, GoalView};

use super::{
    named,
    new_goal::{title_of, validate_budget, validate_goal, validate_until},
    team::{leave_worker_to_people, set_limit},
    view::GoalToEdit,
};
use crate::{Error, Service, boxed};

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
            Change::To(budget) => changes.push(GoalChange::Budget(validate_budget(budget)?)),
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
