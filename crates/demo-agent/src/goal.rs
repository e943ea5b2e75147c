//! The turns of a goal, in which the agent plays each role of a team: it plans, works, judges and reports.
//!
//! The agent acts as a real one does, by the tools of Matins, and reports only files that it has written or read. One
//! fault is part of the play: the first version of a summary lacks its last line, so that the judge sends the summary back.
//!
//! - `prompt::GoalPrompt` is the request of a turn; `blocks` reads its fences.
//! - `plan`, `work`, `judge` and `report` are the roles.
//! - `workplace::Workplace` is the part of the world that a role can change.

mod blocks;
mod judge;
mod plan;
mod prompt;
mod report;
#[cfg(test)]
mod tests;
mod work;
mod workplace;

use std::path::{Path, PathBuf};

use super::session::Memory;

use prompt::{GoalPrompt, PlanRequest, ReviewRequest, TaskLine, WorkRequest};
pub(super) use workplace::{TurnWorkplace, WorkError};
use workplace::{Workplace, say};

/// The beginning of an acceptance line that the agent can check: each name in backticks has to occur in the file.
const NAMES: &str = "It names ";
/// The words by which the first request of a seat tells that the seat works on a goal.
const GOAL_SEAT: &str = "of a goal that several agents work on";
/// An acceptance line that the agent can check.
const WORD_COUNT: &str = "Its last line is the number of its words.";
/// The beginning of the last line of a file that satisfies [`WORD_COUNT`].
const WORD_COUNT_LINE: &str = "Words: ";

/// A turn of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GoalTurn {
    role: Role,
    cwd: PathBuf,
}

/// The work of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    Plan(PlanRequest),
    Replan {
        goal: String,
        failed: Vec<TaskLine>,
        /// The role of the tasks that replace others.
        worker: String,
    },
    Work(WorkState),
    /// A task whose request this session does not hold.
    Forgotten(String),
    Review(ReviewRequest),
    Check(Vec<TaskLine>),
    Report {
        tasks: Vec<TaskLine>,
        questions: Vec<String>,
    },
    Messages(usize),
}

/// The state of a task, from the prompts of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct WorkState {
    request: WorkRequest,
    /// The answers to questions.
    answers: Vec<String>,
    /// The findings of the last round. Empty in the first round.
    findings: Vec<String>,
}

/// The requests of a session before the last one.
#[derive(Default)]
struct Earlier {
    /// The last task, with those before it.
    tasks: Vec<WorkState>,
    plan: Option<PlanRequest>,
    /// The last turn that was no reminder.
    last: Option<Role>,
    /// `true` if a request has said that the seat works on a goal.
    is_in_goal: bool,
}

impl Earlier {
    /// Reads a prompt. Returns the work that it asks for.
    fn read(&mut self, request: &str) -> Option<Role> {
        self.is_in_goal |= request.contains(GOAL_SEAT);
        let role = match GoalPrompt::parse(request)? {
            GoalPrompt::Plan(plan) => {
                self.plan = Some(plan.clone());
                Role::Plan(plan)
            }
            GoalPrompt::Replan { goal, failed } => Role::Replan {
                goal,
                failed,
                worker: plan::worker_role(self.plan.as_ref()).to_owned(),
            },
            GoalPrompt::Work(request) => {
                self.tasks.retain(|task| task.request.key != request.key);
                self.tasks.push(WorkState {
                    request,
                    ..WorkState::default()
                });
                Role::Work(self.tasks.last()?.clone())
            }
            GoalPrompt::Rework { key, findings } => {
                let found = self.tasks.iter_mut().find(|task| task.request.key == key);
                match found {
                    Some(task) => {
                        task.findings = findings;
                        Role::Work(task.clone())
                    }
                    None => Role::Forgotten(key),
                }
            }
            GoalPrompt::Answer(answers) => {
                let task = self.tasks.last_mut()?;
                task.answers.extend(answers);
                Role::Work(task.clone())
            }
            GoalPrompt::Review(review) => Role::Review(review),
            GoalPrompt::Check(tasks) => Role::Check(tasks),
            GoalPrompt::Report { tasks, questions } => Role::Report { tasks, questions },
            // Other sessions have several seats, too.
            GoalPrompt::Messages(count) => self.is_in_goal.then_some(Role::Messages(count))?,
            GoalPrompt::Reminder => self.last.clone()?,
        };
        self.last = Some(role.clone());
        Some(role)
    }
}

impl GoalTurn {
    /// Returns the work that the newest request of a session asks for. Returns `None` if it is no prompt of a goal.
    pub(super) fn parse(memory: &Memory) -> Option<Self> {
        let (newest, before) = memory.turns.split_last()?;
        let mut earlier = Earlier::default();
        for turn in before {
            earlier.read(&turn.request);
        }
        Some(Self {
            role: earlier.read(&newest.request)?,
            cwd: memory.cwd.clone(),
        })
    }

    /// Does the work of the turn.
    ///
    /// # Errors
    ///
    /// Returns an error if the turn was cancelled, or if a tool that it needs refuses.
    pub(super) fn run(&self, workplace: &mut dyn Workplace) -> Result<(), WorkError> {
        match &self.role {
            Role::Plan(request) => plan::plan(workplace, request),
            Role::Replan {
                goal,
                failed,
                worker,
            } => plan::replan(workplace, goal, failed, worker),
            Role::Work(state) => work::work(workplace, &self.cwd, state),
            Role::Forgotten(key) => work::report_forgotten(workplace, key),
            Role::Review(request) => judge::review(workplace, &self.cwd, request),
            Role::Check(tasks) => judge::check(workplace, &self.cwd, tasks),
            Role::Report { tasks, questions } => {
                report::report(workplace, tasks, questions);
                Ok(())
            }
            Role::Messages(count) => {
                let word = if *count == 1 { "message" } else { "messages" };
                say(workplace, &format!("I have read {count} {word}."));
                say(
                    workplace,
                    "No model thinks here, so messages change nothing of my work.",
                );
                Ok(())
            }
        }
    }
}

/// Returns the title of a conversation that begins with a prompt of a goal. Returns `None` for another request.
pub(super) fn title(request: &str) -> Option<String> {
    GoalPrompt::parse(request)?.title()
}

/// Returns the number of words of a text.
fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Returns the file of a directory, or `None` if the path leads out of it.
fn path_below(cwd: &Path, path: &str) -> Option<PathBuf> {
    let inside = |part| matches!(part, std::path::Component::Normal(_));
    let path = Path::new(path);
    (!path.as_os_str().is_empty() && path.components().all(inside)).then(|| cwd.join(path))
}
