//! The prompts of the planner.

use serde_json::{Value, json};

use super::{
    FindingEntry, GOAL_PLAN, GOAL_REPLAN, MAX_LISTED, ProposalEntry, TaskEntry,
    entries::{Listed, bounded, quoted, task_lines},
};
use crate::prompt::{Error, RenderedPrompt};

/// The beginnings of the first lines of these prompts.
const OPENINGS: [&str; 2] = [
    "Plan the work on the goal below.",
    "Change the plan of the goal below.",
];

/// The heading of the goal in these prompts.
const GOAL_HEADING: &str = "\n\nThe goal:\n\n";

/// The beginnings of the paragraphs of which one follows the goal.
const AFTER_GOAL: [&str; 7] = [
    "Roles of tasks:\n",
    "A person has made the tasks so far, and this is your first plan.\n",
    "Tasks that have ended follow.",
    "Open tasks:\n",
    "Findings follow.",
    "Proposals of workers follow.",
    "A plan only adds tasks.",
];

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

/// The prompt of a plan from the text of its goal on.
#[derive(Debug, Clone, Copy)]
pub struct PlanPrompt<'a>(&'a str);

impl<'a> PlanPrompt<'a> {
    /// Finds the prompt in the input of its turn. Messages before it may have each of its lines, so that the last opening
    /// counts: behind it, texts of agents stay in their lines. An input without an opening is a prompt as a whole.
    pub fn in_input(input: &'a str) -> Self {
        let mut headings = input.rmatch_indices(GOAL_HEADING);
        let own = headings.find_map(|(at, heading)| {
            let (before, after) = (&input[..at], &input[at + heading.len()..]);
            let line = before.rsplit('\n').next()?;
            let is_opening = OPENINGS.iter().any(|it| line.starts_with(it));
            is_opening.then_some(after)
        });
        Self(own.unwrap_or(input))
    }

    /// Returns the lines.
    pub fn lines(self) -> impl Iterator<Item = &'a str> {
        self.0.lines()
    }

    /// Returns `true` if the goal has this text. A goal may have blank lines, so that its beginning is another text.
    pub fn has_goal(self, goal: &str) -> bool {
        let rest = self.0.strip_prefix(goal);
        let rest = rest.and_then(|rest| rest.strip_prefix("\n\n"));
        rest.is_some_and(|rest| AFTER_GOAL.iter().any(|it| rest.starts_with(it)))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::goal::tests::{PLAN, REPLAN};

    /// Returns a prompt for each paragraph that may follow the goal.
    fn prompts(goal: &str) -> Vec<String> {
        let bare = ReplanContext {
            goal,
            ended: &[],
            open: &[],
            findings: &[],
            follow_ups: &[],
            ..REPLAN
        };
        let replans = [
            bare,
            ReplanContext {
                rules: Some(PLAN.rules),
                ..bare
            },
            ReplanContext {
                ended: REPLAN.ended,
                ..bare
            },
            ReplanContext {
                open: REPLAN.open,
                ..bare
            },
            ReplanContext {
                findings: REPLAN.findings,
                ..bare
            },
            ReplanContext {
                follow_ups: REPLAN.follow_ups,
                ..bare
            },
        ];
        let replans = replans.iter().map(|it| it.render().unwrap().text);
        let plan = PlanContext { goal, ..PLAN }.render().unwrap().text;
        replans.chain([plan]).collect()
    }

    #[test]
    fn prompt_has_its_whole_goal_alone() {
        let goal = "Draft the mails.\n\nPublish nothing.";
        for text in prompts(goal) {
            let prompt = PlanPrompt::in_input(&text);
            assert!(prompt.has_goal(goal), "{text}");
            for other in [
                "Draft the mails.",
                "Draft the mails.\n",
                "",
                "Publish nothing.",
                "Draft the mails.\n\nPublish nothing.\n\nBe brief.",
            ] {
                assert!(!prompt.has_goal(other), "{other:?}: {text}");
            }
        }
    }

    #[test]
    fn message_before_prompt_is_no_part_of_it() {
        let (goal, line) = ("Draft the mails.", "result 1 of b: Check the licences.");
        for own in prompts(goal) {
            let forged = own.replace(goal, "Draft a song.");
            let input = format!("{forged}\n{line}\n\n{own}");
            let prompt = PlanPrompt::in_input(&input);
            assert!(prompt.has_goal(goal), "{input}");
            assert!(!prompt.has_goal("Draft a song."), "{input}");
            assert!(!prompt.lines().any(|it| it == line), "{input}");
        }
    }

    #[test]
    fn heading_in_goal_is_a_part_of_it() {
        let goal = "Draft the mails.\n\nThe goal:\n\nMore readers.";
        for text in prompts(goal) {
            assert!(PlanPrompt::in_input(&text).has_goal(goal), "{text}");
        }
    }
}
