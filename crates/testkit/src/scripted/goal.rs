//! The seats of a goal, which the scripted agent plays without a memory: each prompt alone decides its calls.

use serde_json::{Value, json};

/// The words in the description of a task whose worker asks a person before it works.
pub const QUESTION_LINE: &str = "Ask the person first.";
/// The beginning of an acceptance line of a task whose first version the judge sends back.
pub const FIRST_VERSION: &str = "It is not the first version";

/// The turn that a prompt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoalTurn {
    Plan,
    /// A turn that changes a plan. The agent changes nothing.
    Replan,
    /// The work on a task, which asks a person first.
    Question,
    Work,
    /// The work after findings or an answer.
    WorkAgain,
    Accept,
    SendBack,
    Report,
}

/// The first line of a prompt, and its turn.
const OPENINGS: [(&str, GoalTurn); 12] = [
    ("Plan the work on the goal below.", GoalTurn::Plan),
    ("Change the plan of the goal below.", GoalTurn::Replan),
    ("Work on the task `", GoalTurn::Work),
    ("Your result of the task `", GoalTurn::WorkAgain),
    ("Your question was answered.", GoalTurn::WorkAgain),
    ("Judge the result of the task `", GoalTurn::Accept),
    ("Judge the whole goal below.", GoalTurn::Accept),
    ("Write the report on the goal below", GoalTurn::Report),
    (
        "Your turn ended without the call of `create_task`",
        GoalTurn::Plan,
    ),
    (
        "Your turn ended without the call of `update_task`",
        GoalTurn::WorkAgain,
    ),
    (
        "Your turn ended without the call of `judge_task`",
        GoalTurn::Accept,
    ),
    ("The plan was refused.", GoalTurn::Plan),
];

impl GoalTurn {
    /// Returns the turn that a prompt asks for. Returns `None` if the prompt belongs to no goal.
    pub(super) fn parse(prompt: &str) -> Option<Self> {
        // The rules of the seat, or a note about an interrupted attempt, can precede the first line.
        let turn = prompt.lines().find_map(|line| {
            let opening = OPENINGS
                .iter()
                .find(|(opening, _)| line.starts_with(opening));
            opening.map(|(_, turn)| *turn)
        })?;
        Some(match turn {
            Self::Work if prompt.contains(QUESTION_LINE) => Self::Question,
            Self::Accept if prompt.contains(FIRST_VERSION) && prompt.contains("Version 1.") => {
                Self::SendBack
            }
            turn => turn,
        })
    }

    /// Returns the calls of tools. `plan` has the tasks of the first plan.
    pub(super) fn calls(self, plan: &[Value]) -> Vec<(&'static str, Value)> {
        let result = |version| {
            let result = format!("Version {version}.");
            vec![("update_task", json!({"status": "done", "result": result}))]
        };
        let judge = |verdict| vec![("judge_task", verdict)];
        match self {
            Self::Plan => {
                let tasks = plan.iter().cloned();
                tasks.map(|task| ("create_task", task)).collect()
            }
            Self::Replan | Self::Report => Vec::new(),
            Self::Question => {
                let question = json!({"question": "Which one?", "options": ["one", "other"], "default": "one"});
                vec![("ask_person", question)]
            }
            Self::Work => result(1),
            Self::WorkAgain => result(2),
            Self::Accept => judge(json!({"verdict": "accept", "evidence": ["read the result"]})),
            Self::SendBack => {
                let finding = json!({"id": "version", "text": "It is the first version.", "severity": "blocker"});
                judge(json!({"verdict": "send_back", "findings": [finding]}))
            }
        }
    }

    /// Returns the answer of the turn. The answer names no task, so that the report of a goal has its tasks from the rows.
    pub(super) fn answer(self) -> String {
        format!("{self:?}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_decides_turn() {
        let cases = [
            ("Hello", None),
            (
                "The rules.\n\nPlan the work on the goal below. You make",
                Some(GoalTurn::Plan),
            ),
            ("Work on the task `a`: A", Some(GoalTurn::Work)),
            (
                "Work on the task `a`: A\n\nAsk the person first.",
                Some(GoalTurn::Question),
            ),
            (
                "Your question was answered. Go on",
                Some(GoalTurn::WorkAgain),
            ),
            (
                "Judge the result of the task `a`: A\n\nVersion 1.",
                Some(GoalTurn::Accept),
            ),
            (
                "Judge the result of the task `a`: A\n1. It is not the first version.\n\nVersion 1.",
                Some(GoalTurn::SendBack),
            ),
            (
                "Judge the result of the task `a`: A\n1. It is not the first version.\n\nVersion 2.",
                Some(GoalTurn::Accept),
            ),
        ];
        for (prompt, turn) in cases {
            assert_eq!(GoalTurn::parse(prompt), turn, "{prompt}");
        }
    }

    #[test]
    fn plan_calls_create_task_for_each_task() {
        let plan = [json!({"key": "a"}), json!({"key": "b"})];
        let calls = GoalTurn::Plan.calls(&plan);
        assert_eq!(calls.len(), 2);
        assert!(calls.iter().all(|(tool, _)| *tool == "create_task"));
        assert!(GoalTurn::Replan.calls(&plan).is_empty());
    }
}
