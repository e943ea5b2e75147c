//! The tasks of a goal that planners make, workers do and judges judge.
//!
//! **Invariant:** no call moves a task. The end of the successful turn does, with the newest report of the turn.

use model::{
    TaskId,
    goal::{
        NewTask, Refusal, ReportBody, ReportFault, ReportStatus, ReportedFinding, Step, TaskKind,
        TaskStatus, WaitsFor, names_task,
    },
    nearest::nearest,
};
use store::{CallingTurn, GoalTask, StagedCancellation, StagedTask, TaskContent, TaskReport};

use super::RunTools;
use crate::{Error, boxed, excerpt, naming};

/// The number of tasks in one answer to an agent.
const PAGE_ITEMS: usize = 50;
/// The number of characters of a result in a list.
const LISTED_RESULT_CHARS: usize = 200;

/// The result of a task, as its agent reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskResult {
    /// The key of the task. `None`: that of the turn.
    pub task: Option<String>,
    /// `true` if the task is done, and `false` if it has failed.
    pub is_done: bool,
    /// The result, or the reason of the failure.
    pub result: Option<String>,
    /// The names of artifacts of the session.
    pub artifacts: Vec<String>,
    /// The proposal of further work.
    pub follow_up: Option<String>,
}

/// A reported result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedTask {
    /// The key of the task.
    pub key: String,
}

/// The verdict of a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskVerdict {
    /// The judge accepts.
    Accept {
        /// The evidence.
        evidence: Vec<String>,
        /// The findings that the judge notes without sending the work back.
        notes: Vec<ReportedFinding>,
    },
    /// The judge sends the work back, with these findings.
    SendBack(Vec<ReportedFinding>),
}

/// A stored verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedTask {
    /// The key of the task.
    pub key: String,
    /// The round of checks and reviews, from 1.
    pub round: u32,
    /// The IDs of the findings that count in this round. The others are notes.
    pub counted: Vec<String>,
    /// `true` if the verdict accepts: it says so, or none of its findings counts.
    pub accepts: bool,
}

/// The filter of a list of tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// The key of a task. The key of a task with items names one task for each item.
    pub task: Option<String>,
    /// The status.
    pub status: Option<String>,
    /// The key after which the page begins.
    pub after: Option<String>,
}

/// A task of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTask {
    /// The key.
    pub key: String,
    /// The title.
    pub title: String,
    /// The kind.
    pub kind: TaskKind,
    /// The status.
    pub status: TaskStatus,
    /// The step of a running task.
    pub step: Option<Step>,
    /// The seat that has the turn, or gets it.
    pub seat: Option<String>,
    /// The number of rounds in which checks or the judge sent the task back.
    pub round: u32,
    /// The thing for which the task waits. `None` if it waits for nothing.
    pub waits_for: Option<String>,
    /// The result, shortened in a list of several tasks.
    pub result: Option<String>,
    /// The content, if the query names this task alone.
    pub content: Option<TaskContent>,
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskList {
    /// The tasks, in the order of their publication.
    pub tasks: Vec<ListedTask>,
    /// The version of the plan.
    pub plan_version: i64,
    /// The key after which further tasks begin. `None` if there are no more.
    pub next: Option<String>,
    /// The keys of the tasks that the planner has staged.
    pub staged: Vec<String>,
    /// The keys of the tasks whose cancellation the planner has staged.
    pub cancelled: Vec<String>,
}

impl RunTools {
    /// Stages a task of a planner, or replaces the staged one with the same key.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the turn is none of a planner, or if the goal is over.
    #[boxed]
    pub async fn create_task(&self, new: &NewTask) -> Result<StagedTask, Error> {
        naming::validate_content("description", &new.description)?;
        for line in &new.acceptance {
            naming::validate_content("acceptance", line)?;
        }
        let (store, now) = (&self.service.store, self.service.now());
        Ok(store.create_task(&self.caller, new, now).await?)
    }

    /// Stages the cancellation of a task by a planner, or withdraws a staged task.
    ///
    /// # Errors
    ///
    /// Returns an error if no open task has the key, if the turn is none of a planner, or if the goal is over.
    #[boxed]
    pub async fn cancel_task(&self, key: &str) -> Result<StagedCancellation, Error> {
        let (store, now) = (&self.service.store, self.service.now());
        Ok(store.stage_cancellation(&self.caller, key, now).await?)
    }

    /// Withdraws the staged cancellation of a task by a planner. Returns the number of staged changes that are left.
    ///
    /// # Errors
    ///
    /// Returns an error if the plan cancels no task of the key, if the turn is none of a planner, or if the goal is over.
    #[boxed]
    pub async fn keep_task(&self, key: &str) -> Result<usize, Error> {
        let (store, now) = (&self.service.store, self.service.now());
        Ok(store.withdraw_cancellation(&self.caller, key, now).await?)
    }

    /// Stores the result of the task of a turn, or replaces it.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the task is not that of the turn, if the session lacks an artifact, or if the
    /// goal is over.
    #[boxed]
    pub async fn report_task(&self, report: &TaskResult) -> Result<ReportedTask, Error> {
        let now = self.service.now();
        let turn = self.turn(now).await?;
        let store = &self.service.store;
        // 1. Check the task.
        if let Some(given) = &report.task
            && let Some(own) = store.task_of_turn(&turn).await?
            && let Some(fault) = ReportFault::of_task(given, &own.key)
        {
            let reason = fault.to_string();
            return Err(Error::NotAllowed { reason });
        }
        // 2. Check the fields.
        let stored = TaskReport {
            status: if report.is_done {
                ReportStatus::Done
            } else {
                ReportStatus::Failed
            },
            body: ReportBody {
                result: text(report.result.as_deref()),
                artifacts: report.artifacts.clone(),
                follow_up: text(report.follow_up.as_deref()),
                ..ReportBody::default()
            },
        };
        check_report(&stored.body)?;
        for name in &report.artifacts {
            self.check_artifact(&turn, name).await?;
        }
        // 3. Store the report.
        let reported = store.report_task(&self.caller, &stored, now).await?;
        Ok(ReportedTask { key: reported.key })
    }

    /// Stores the verdict of a judge about the task of its turn, or replaces it.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the verdict would count as none because evidence or findings are missing, if
    /// the turn judges nothing, or if the goal is over.
    #[boxed]
    pub async fn judge_task(&self, verdict: &TaskVerdict) -> Result<JudgedTask, Error> {
        let mut report = TaskReport {
            status: ReportStatus::Accept,
            body: ReportBody::default(),
        };
        match verdict {
            TaskVerdict::Accept { evidence, notes } => {
                report.body.evidence.clone_from(evidence);
                report.body.findings.clone_from(notes);
            }
            TaskVerdict::SendBack(findings) => {
                report.status = ReportStatus::SendBack;
                report.body.findings.clone_from(findings);
            }
        }
        check_report(&report.body)?;
        let now = self.service.now();
        let store = &self.service.store;
        let stored = store.report_task(&self.caller, &report, now).await?;
        Ok(JudgedTask {
            key: stored.key,
            round: stored.round,
            accepts: stored.counted.is_empty(),
            counted: stored.counted,
        })
    }

    /// Lists the tasks of the goal.
    ///
    /// # Errors
    ///
    /// Returns an error if the session has no goal, or if a key or the status is unknown.
    #[boxed]
    pub async fn list_tasks(&self, query: &TaskQuery) -> Result<TaskList, Error> {
        let now = self.service.now();
        let store = &self.service.store;
        let found = store.list_tasks(&self.caller, now).await?;
        // 1. Choose the tasks.
        let status = query.status.as_deref().map(parse_status).transpose()?;
        let key = query.task.as_deref();
        let matches = |task: &&GoalTask| {
            status.is_none_or(|status| task.status == status)
                && key.is_none_or(|key| names_task(key, &task.key))
        };
        if let Some(key) = key {
            find_key(&found.tasks, key)?;
        }
        let first = match &query.after {
            Some(after) => find_key(&found.tasks, after)? + 1,
            None => 0,
        };
        let mut page: Vec<&GoalTask> = found.tasks[first..].iter().filter(matches).collect();
        let has_more = page.len() > PAGE_ITEMS;
        page.truncate(PAGE_ITEMS);
        // 2. Read the content of a single task.
        let single = match (key, &page[..]) {
            (Some(_), [single]) => Some(single.id),
            _ => None,
        };
        let mut content = match single {
            Some(id) => Some(store.task_content(&self.caller, id, now).await?),
            None => None,
        };
        let tasks = page.iter().map(|task| listed(task, single, &mut content));
        let tasks: Vec<ListedTask> = tasks.collect();
        Ok(TaskList {
            next: tasks
                .last()
                .filter(|_| has_more)
                .map(|last| last.key.clone()),
            tasks,
            plan_version: found.plan_version,
            staged: found
                .staged
                .tasks
                .into_iter()
                .map(|task| task.key)
                .collect(),
            cancelled: found.staged.drops,
        })
    }

    /// Refuses the name of an artifact that the session does not have, because later turns could not get it.
    async fn check_artifact(&self, turn: &CallingTurn, name: &str) -> Result<(), Error> {
        let scope = self.service.scope();
        let store = &self.service.store;
        let found = store.artifact_by_name(scope, turn.session.id, name, None);
        if found.await?.is_some() {
            return Ok(());
        }
        Err(Error::NotFound {
            what: "artifact",
            given: name.to_owned(),
            nearest: None,
        })
    }
}

fn listed(
    task: &GoalTask,
    single: Option<TaskId>,
    content: &mut Option<TaskContent>,
) -> ListedTask {
    let waits_for = task.waits_for.to_string();
    let result = task.result.as_deref();
    let is_single = single == Some(task.id);
    ListedTask {
        key: task.key.clone(),
        title: task.title.clone(),
        kind: task.kind,
        status: task.status,
        step: task.step,
        seat: task.seat.clone(),
        round: task.round,
        waits_for: (task.waits_for != WaitsFor::Nothing).then_some(waits_for),
        result: result.map(|result| {
            if is_single {
                result.to_owned()
            } else {
                excerpt(result, LISTED_RESULT_CHARS)
            }
        }),
        content: content.take_if(|_| is_single),
    }
}

/// Returns the position of the first task that a key names.
fn find_key(tasks: &[GoalTask], key: &str) -> Result<usize, Error> {
    let found = tasks.iter().position(|task| names_task(key, &task.key));
    found.ok_or_else(|| Error::NotFound {
        what: "task",
        given: key.to_owned(),
        nearest: nearest(key, tasks.iter().map(|task| task.key.as_str())).map(str::to_owned),
    })
}

fn parse_status(given: &str) -> Result<TaskStatus, Error> {
    let parsed = given.to_uppercase().parse();
    parsed.map_err(|_| {
        let accepted: Vec<&str> = TaskStatus::ALL
            .iter()
            .map(|status| status.as_str())
            .collect();
        Error::invalid("status", given, format!("use {}", accepted.join(", ")))
    })
}

/// Checks the limits of a report. Returns its first fault as the error of a field.
fn check_report(body: &ReportBody) -> Result<(), Error> {
    let Err(faults) = body.check() else {
        return Ok(());
    };
    let mut faults = faults.into_iter();
    faults
        .next()
        .map_or(Ok(()), |fault| Err(field_error(fault)))
}

fn field_error(fault: ReportFault) -> Error {
    match fault {
        ReportFault::Task(fault) => store::Error::Goal(Refusal::Plan(vec![fault])).into(),
        ReportFault::Empty { field, .. } => Error::invalid(field, "", "it is empty"),
        ReportFault::Length {
            field,
            value,
            length,
            accepted,
        } => {
            let problem = format!("it has {length} bytes, accepted are up to {accepted}");
            Error::invalid(field, &value, problem)
        }
        ReportFault::Entries {
            field,
            count,
            accepted,
        } => {
            let problem = format!("accepted are up to {accepted} entries");
            Error::invalid(field, &count.to_string(), problem)
        }
        ReportFault::RepeatedId(id) => {
            let problem = "two findings have it; each ID is accepted once";
            Error::invalid("findings.id", &id, problem)
        }
        ReportFault::OtherTask { .. }
        | ReportFault::UnknownArtifact(_)
        | ReportFault::Criterion { .. } => store::Error::Goal(Refusal::Report(fault)).into(),
    }
}

/// Returns a text, unless it is empty.
fn text(given: Option<&str>) -> Option<String> {
    given
        .filter(|given| !given.trim().is_empty())
        .map(str::to_owned)
}
