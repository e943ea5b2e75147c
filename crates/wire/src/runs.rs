//! Runs, as people look at them and call them off.

use model::{
    RunId,
    entity::{Run, RunRecord},
    run::RunStatus,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Waiting;

/// One run with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// All attempts at the same input, the first one first.
    pub attempts: Vec<Run>,
    /// Whether it had an internal record and retention has removed it.
    pub record_trimmed: bool,
}

/// The internal record of a run, for those who may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRecordView {
    /// What was really sent, and what went wrong in full; absent where there is none yet, or none any more.
    pub record: Option<RunRecord>,
}

/// A run that was called off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunCancelled {
    /// The run.
    pub run_id: RunId,
    /// Where it is by now: one that was running ends as soon as its agent has stopped.
    pub status: RunStatus,
}

/// The answer that a running turn has written so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveText {
    /// The text from the position that was asked for.
    pub text: String,
    /// The position of its end, in bytes.
    #[schema(minimum = 0)]
    pub end: i64,
}
