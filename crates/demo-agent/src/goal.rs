//! The turns of a goal, in which the agent plays each role of a team: it plans, works, judges and reports.
//!
//! The agent acts as a real one does, by the tools of Matins, and reports only files that it has written or read. One
//! fault is part of the play: the first version of a summary lacks its last line, so that the judge sends the summary back.
//!
//! - `prompt::GoalPrompt` is the request of a turn; `blocks` reads its fences.
//! - `plan`, `work`, `judge` and `report` are the roles.
//! - `files` has what the agent checks in files.
//! - `workplace::Workplace` is the part of the world that a role can change.

mod blocks;
mod files;
mod judge;
mod plan;
mod prompt;
mod report;
#[cfg(test)]
mod tests;
mod work;
mod workplace;

use std::path::{Path, PathBuf};

use prompt::{GoalPrompt, PlanRequest, ReviewRequest, TaskLine};
use work::WorkState;
pub(super) use workplace::{TurnWorkplace, WorkError};
use workplace::{Workplace, send_text};

/// The words by which the first request of a seat tells that the seat works on a goal.
const GOAL_SEAT: &str = "of a goal that several agents work on";

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
    /// `requests` are all requests of the session, oldest first.
    pub(super) fn parse(cwd: &Path, requests: &[&str]) -> Option<Self> {
        let (newest, before) = requests.split_last()?;
        let mut earlier = Earlier::default();
        for request in before {
            earlier.read(request);
        }
        Some(Self {
            role: earlier.read(newest)?,
            cwd: cwd.to_owned(),
        })
    }

    /// Does the work of the turn.
    ///
    /// # Errors
    ///
    /// Returns an error if the turn was cancelled, or if a tool that it needs refuses.
    pub(super) fn run(&self, workplace: &mut dyn Workplace) -> Result<(), WorkError> {
        match &self.role {
            Role::Plan(request) => plan::plan(workplace, &self.cwd, request),
            Role::Replan {
                goal,
                failed,
                worker,
            } => plan::replan(workplace, &self.cwd, goal, failed, worker),
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
                send_text(workplace, &format!("I have read {count} {word}."));
                send_text(
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
