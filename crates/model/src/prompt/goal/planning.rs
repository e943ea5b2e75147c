//! The prompts of the planner.

use serde_json::{Value, json};

use super::{
    FindingEntry, GOAL_PLAN, GOAL_REPLAN, MAX_LISTED, ProposalEntry, TaskEntry,
    entries::{Listed, bounded, quoted, task_lines},
};
use crate::prompt::{Error, RenderedPrompt};

/// A role that a planner can give tasks.
#[derive(Debug, Clone, Copy)]
pub struct RoleEntry<'a> {
    /// The name.
    pub name: &'a str,
    /// The number of seats.
    pub seats: usize,
}

/// The limits that a planner has to know.
#[derive(Debug, Clone, Copy)]
pub struct PlanLimits {
    /// The highest number of tasks of this plan.
    pub plan: u32,
    /// The highest number of tasks of the goal.
    pub tasks: u32,
    /// The highest number of turns at a time.
    pub parallel: u32,
    /// The highest number of later plans.
    pub replans: u32,
}

/// The facts that a planner learns with its first plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanRules<'a> {
    /// The roles, without that of the planner.
    pub roles: &'a [RoleEntry<'a>],
    /// The limits.
    pub limits: PlanLimits,
    /// The names of the checks.
    pub checks: &'a [&'a str],
}

/// The facts of the first plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanContext<'a> {
    /// The goal.
    pub goal: &'a str,
    /// The rules.
    pub rules: PlanRules<'a>,
    /// The rest of the budget. `None` if the goal has no budget.
    pub budget_left: Option<&'a str>,
    /// The keys of the tasks that an earlier attempt has staged.
    pub staged: &'a [&'a str],
    /// The keys of memory entries, the ones to be listed first.
    pub memory_keys: &'a [&'a str],
}

/// The facts of a later plan.
#[derive(Debug, Clone, Copy)]
pub struct ReplanContext<'a> {
    /// The goal.
    pub goal: &'a str,
    /// The reason for the plan.
    pub reason: &'a str,
    /// The rules, if the planner has made no plan: a person has made the tasks.
    pub rules: Option<PlanRules<'a>>,
    /// The tasks that have ended, the ones to be listed first.
    pub ended: &'a [TaskEntry<'a>],
    /// The number of tasks that `ended` lacks.
    pub ended_more: usize,
    /// The open tasks, the ones to be listed first.
    pub open: &'a [TaskEntry<'a>],
    /// The number of tasks that `open` lacks.
    pub open_more: usize,
    /// The findings of judges and checks, the ones to be listed first.
    pub findings: &'a [FindingEntry<'a>],
    /// The proposals of workers, the ones to be listed first.
    pub follow_ups: &'a [ProposalEntry<'a>],
    /// The number of plans that are possible after this one.
    pub replans_left: u32,
    /// The keys of the tasks that an earlier turn of this plan has staged.
    pub staged: &'a [&'a str],
    /// The keys of the tasks whose cancellation such a turn has staged.
    pub cancelled: &'a [&'a str],
}

impl PlanLimits {
    fn value(&self) -> Value {
        let Self {
            plan,
            tasks,
            parallel,
            replans,
        } = self;
        json!({ "plan": plan, "tasks": tasks, "parallel": parallel, "replans": replans })
    }
}

impl PlanRules<'_> {
    fn role_values(&self) -> Vec<Value> {
        let roles = self.roles.iter();
        let values = roles.map(|role| json!({ "name": role.name, "seats": role.seats }));
        values.collect()
    }
}

impl PlanContext<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        let listed = self.memory_keys.len().min(MAX_LISTED);
        let memory_keys = &self.memory_keys[..listed];
        GOAL_PLAN.render(json!({
            "goal": self.goal,
            "roles": self.rules.role_values(),
            "limits": self.rules.limits.value(),
            "budget_left": self.budget_left,
            "checks": quoted(self.rules.checks),
            "staged": quoted(self.staged),
            "memory_keys": quoted(memory_keys),
            "memory_keys_more": self.memory_keys.len() - memory_keys.len(),
        }))
    }
}

impl ReplanContext<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        let (ended, left_out) = bounded(self.ended);
        let ended = Listed::tasks(&ended);
        let findings = Listed::findings(self.findings);
        let follow_ups = Listed::proposals(self.follow_ups);
        GOAL_REPLAN.render(json!({
            "goal": self.goal,
            "reason": self.reason,
            "roles": self.rules.map(|rules| rules.role_values()),
            "limits": self.rules.map(|rules| rules.limits.value()),
            "checks": self.rules.and_then(|rules| quoted(rules.checks)),
            "ended": ended.lines,
            "ended_more": ended.more + self.ended_more,
            "results_left_out": left_out,
            "open": task_lines(self.open),
            "open_more": Listed::tasks(self.open).more + self.open_more,
            "findings": findings.lines,
            "findings_more": findings.more,
            "follow_ups": follow_ups.lines,
            "follow_ups_more": follow_ups.more,
            "replans_left": self.replans_left,
            "staged": quoted(self.staged),
            "cancelled": quoted(self.cancelled),
        }))
    }
}
