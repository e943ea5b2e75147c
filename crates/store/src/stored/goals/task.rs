//! The documents `agent_tasks.progress`, `staged_tasks.task` and `task_reports.body`.

use std::collections::BTreeSet;

use model::goal::{NewTask, Progress, ReportBody, ReportedFinding, SeatNo, Severity};
use serde::{Deserialize, Serialize};

use crate::stored::{BoxError, Document};

/// The counters of a task, without its attempts.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StoredProgress {
    rounds: u32,
    reviews: u32,
    reminded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<usize>,
    judge_reminded: bool,
    judge_misses: u32,
    unreported: bool,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    findings: BTreeSet<String>,
    equal_findings: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_check: Option<(String, String)>,
    equal_checks: u32,
}

impl StoredProgress {
    pub(super) fn of(progress: &Progress) -> Self {
        Self {
            rounds: progress.rounds,
            reviews: progress.reviews,
            reminded: progress.reminded,
            home: progress.home.map(|seat| seat.0),
            judge: progress.judge.map(|seat| seat.0),
            judge_reminded: progress.judge_reminded,
            judge_misses: progress.judge_misses,
            unreported: progress.unreported,
            findings: progress.findings.clone(),
            equal_findings: progress.equal_findings,
            failed_check: progress.failed_check.clone(),
            equal_checks: progress.equal_checks,
        }
    }

    /// Returns the counters, with the number of attempts, which the whole goal does not have.
    pub(super) fn into_progress(self, attempts: u32) -> Progress {
        Progress {
            attempts,
            rounds: self.rounds,
            reviews: self.reviews,
            reminded: self.reminded,
            home: self.home.map(SeatNo),
            judge: self.judge.map(SeatNo),
            judge_reminded: self.judge_reminded,
            judge_misses: self.judge_misses,
            unreported: self.unreported,
            findings: self.findings,
            equal_findings: self.equal_findings,
            failed_check: self.failed_check,
            equal_checks: self.equal_checks,
        }
    }
}

/// The facts about the state of a task that have no columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TaskState {
    /// The counters.
    pub(crate) progress: Progress,
    /// The seat of the turn, or the one that gets the answer.
    pub(crate) seat: Option<SeatNo>,
    /// The check that cannot run.
    pub(crate) broken_check: Option<String>,
    /// The number of open questions.
    pub(crate) questions: u32,
    /// `true` if the judge of the task asks.
    pub(crate) of_judge: bool,
    /// The names behind the reason of a failure.
    pub(crate) about: Vec<String>,
    /// The reasons for which the last report was refused, until the reminder has told them.
    pub(crate) refusals: Vec<String>,
}

/// The facts about the state of a task, as its row holds them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredTaskState {
    #[serde(flatten)]
    progress: StoredProgress,
    #[serde(default)]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seat: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken_check: Option<String>,
    #[serde(default)]
    questions: u32,
    #[serde(default)]
    of_judge: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    about: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refusals: Vec<String>,
}

impl Document for StoredTaskState {
    type Domain = TaskState;

    fn of(state: &TaskState) -> Self {
        let state = state.clone();
        Self {
            progress: StoredProgress::of(&state.progress),
            attempts: state.progress.attempts,
            seat: state.seat.map(|seat| seat.0),
            broken_check: state.broken_check,
            questions: state.questions,
            of_judge: state.of_judge,
            about: state.about,
            refusals: state.refusals,
        }
    }

    fn into_domain(self) -> Result<TaskState, BoxError> {
        Ok(TaskState {
            progress: self.progress.into_progress(self.attempts),
            seat: self.seat.map(SeatNo),
            broken_check: self.broken_check,
            questions: self.questions,
            of_judge: self.of_judge,
            about: self.about,
            refusals: self.refusals,
        })
    }
}

/// A staged task, as its row holds it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredNewTask {
    key: String,
    title: String,
    description: String,
    role: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    acceptance: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    checks: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    writes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replaces: Vec<String>,
    priority: u8,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    review: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    each: Vec<String>,
}

impl Document for StoredNewTask {
    type Domain = NewTask;

    fn of(task: &NewTask) -> Self {
        let task = task.clone();
        Self {
            key: task.key,
            title: task.title,
            description: task.description,
            role: task.role,
            depends_on: task.depends_on,
            acceptance: task.acceptance,
            checks: task.checks,
            writes: task.writes,
            replaces: task.replaces,
            priority: task.priority,
            optional: task.optional,
            review: task.review,
            each: task.each,
        }
    }

    fn into_domain(self) -> Result<NewTask, BoxError> {
        Ok(NewTask {
            key: self.key,
            title: self.title,
            description: self.description,
            role: self.role,
            depends_on: self.depends_on,
            acceptance: self.acceptance,
            checks: self.checks,
            writes: self.writes,
            replaces: self.replaces,
            priority: self.priority,
            optional: self.optional,
            review: self.review,
            each: self.each,
        })
    }
}

/// The content of a report, as its row holds it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StoredReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    follow_up: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<StoredFinding>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredFinding {
    id: String,
    text: String,
    severity: Severity,
    #[serde(default)]
    regression: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criterion: Option<u32>,
}

impl Document for StoredReport {
    type Domain = ReportBody;

    fn of(body: &ReportBody) -> Self {
        let body = body.clone();
        let findings = body.findings.into_iter().map(|finding| StoredFinding {
            id: finding.id,
            text: finding.text,
            severity: finding.severity,
            regression: finding.regression,
            criterion: finding.criterion,
        });
        Self {
            result: body.result,
            artifacts: body.artifacts,
            follow_up: body.follow_up,
            evidence: body.evidence,
            findings: findings.collect(),
        }
    }

    fn into_domain(self) -> Result<ReportBody, BoxError> {
        let findings = self.findings.into_iter().map(|finding| ReportedFinding {
            id: finding.id,
            text: finding.text,
            severity: finding.severity,
            regression: finding.regression,
            criterion: finding.criterion,
        });
        Ok(ReportBody {
            result: self.result,
            artifacts: self.artifacts,
            follow_up: self.follow_up,
            evidence: self.evidence,
            findings: findings.collect(),
        })
    }
}
