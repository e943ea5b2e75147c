//! Operations on many runs: the filter, the number of matching runs, and the results.

use std::fmt;

use model::{
    RunId, Timestamp,
    run::{Origin, RunStatus},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::RunCancelled;

/// The number at which counts in lists stop, and the maximum number of runs that one request retries or cancels.
pub const MAX_COUNT: u32 = 500;

/// A number of items that stops at [`MAX_COUNT`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Count {
    /// The number, at most 500.
    #[schema(maximum = 500)]
    pub count: u32,
    /// `true` if there are more than `count`.
    pub more: bool,
}

impl Count {
    /// Returns the count of items of which at most `MAX_COUNT + 1` were read.
    pub fn of_read(read: usize) -> Self {
        let read = u32::try_from(read).unwrap_or(u32::MAX);
        Self {
            count: read.min(MAX_COUNT),
            more: read > MAX_COUNT,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.more { "+" } else { "" };
        write!(f, "{}{more}", self.count)
    }
}

/// The filter of an operation on many runs, with the fields of the list of runs.
///
/// An absent field accepts all runs. The last attempt at an input stands for the input, as in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunFilterRequest {
    /// The session of the runs: its ID, the beginning of its ID, or its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The automation of the runs: its name, its ID, or the beginning of its ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automation: Option<String>,
    /// The instance that executes the runs or did, or on which they wait: its name or its ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The statuses of the runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<RunStatus>,
    /// The origin of the inputs of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The `reason` of the runs, such as `sign_in`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The instant from which on the runs were created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// The instant before which the runs were created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
}

/// A request that retries or cancels many runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunBatchRequest {
    /// The runs.
    pub filter: RunFilterRequest,
    /// The number of matching runs that the operation can change, as the caller knows it: `retryable` or `cancellable`
    /// of the count of runs. If the number is another one, the server changes nothing.
    #[schema(minimum = 1, maximum = 500)]
    pub expected: u32,
}

/// The number of runs that match a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunCounts {
    /// The number of matching runs.
    pub matching: Count,
    /// The number of those that can be retried: failed, cancelled and stalled ones, apart from turns of tasks.
    pub retryable: Count,
    /// The number of those that can be cancelled: all that have not ended.
    pub cancellable: Count,
}

/// The result of the retry of many runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunsRetried {
    /// The runs that were retried, the oldest first.
    pub retried: Vec<RunRetried>,
    /// The runs that were not retried.
    pub refused: Vec<RunRefused>,
}

/// A run that was retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRetried {
    /// The run.
    pub run_id: RunId,
    /// The new attempt at the input of the run.
    pub attempt_id: RunId,
    /// The status of the new attempt.
    pub status: RunStatus,
}

/// The result of the cancellation of many runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunsCancelled {
    /// The runs that were cancelled.
    pub cancelled: Vec<RunCancelled>,
    /// The runs that were not cancelled.
    pub refused: Vec<RunRefused>,
}

/// A run that an operation on many runs did not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRefused {
    /// The run.
    pub run_id: RunId,
    /// The reason, for people.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_stops_at_its_maximum() {
        for (read, shown) in [(0, "0"), (500, "500"), (501, "500+")] {
            assert_eq!(Count::of_read(read).to_string(), shown);
        }
    }
}
