//! The policies of an automation.

use model::{
    approval::OnUnmatched,
    policy::{CatchUp, OnCrash, Overlap, RunReports},
    precheck,
    schedule::{self, MAX_QUIET_WINDOWS},
    tools::{AgentCron, ToolAccess},
};
use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ArrayBuilder, ObjectBuilder, RefOr, schema::Schema, schema::Type},
};

use crate::{
    Budget, BudgetPatch, BudgetRequest, Change,
    document::{document, same_fields},
};

document! {
    /// The rules for an automation's occurrences and turns.
    model::policy::Policies => Policies, PoliciesRequest, PoliciesPatch {
        /// The treatment of an occurrence while an earlier run of the automation is not over. Null means `allow` for
        /// fresh sessions and `queue` for all others.
        overlap: Option<Overlap> => Option<Overlap>, Overlap;
        /// The maximum number of the automation's runs that wait. A further occurrence is skipped.
        #[schema(minimum = 1)]
        queue_limit: u32;
        /// The missed due instants that get a run later.
        catch_up: CatchUp;
        /// The maximum age of a missed instant that gets a run, in seconds.
        catch_up_window_seconds: u64;
        /// The span over which the instants of firing are spread, in seconds.
        jitter_seconds: u32;
        /// The windows of the day in which occurrences are skipped.
        quiet_hours: QuietHours;
        /// The maximum duration of a turn, in seconds.
        #[schema(minimum = 1)]
        timeout_seconds: u32;
        /// The maximum silence of an agent during a turn, in seconds.
        #[schema(minimum = 1)]
        inactivity_seconds: u32;
        /// The retries after a failure of the machinery, such as an agent that did not start or a worker that was
        /// lost.
        retry: Retry => RetryRequest, RetryPatch;
        /// The treatment of a run whose agent was lost after it may have received the prompt.
        on_crash: OnCrash;
        /// The number of consecutive failures after which the automation pauses itself. 0 means never.
        pause_after_failures: u32;
        /// The limits of the usage of the automation's runs.
        budget: Budget => BudgetRequest, BudgetPatch;
        /// The answer to permission requests that no rule covers.
        on_unmatched: OnUnmatched;
        /// The maximum wait of such a request for the decision of a person, in seconds.
        #[schema(minimum = 1)]
        ask_seconds: u32;
        /// A command that decides before the turn of each occurrence whether the turn runs. Null means that every
        /// turn runs.
        precheck: Option<Precheck> => each Option<PrecheckRequest>, PrecheckPatch;
        /// The tools of Matins that the agent gets in the automation's turns, at most those that its configuration gives.
        tools: ToolAccess;
        /// The treatment of automations that the agent makes in the automation's turns: `ask` leaves them paused until a
        /// person accepts them.
        agent_cron: AgentCron;
        /// `on` lets a prompt of the automation begin with a report of the runs of its session that ended without success
        /// since the last turn that succeeded.
        run_reports: RunReports;
    }
}

document! {
    /// The number of attempts after failures of the machinery, and the waits between them.
    model::policy::Retry => Retry, RetryRequest, RetryPatch {
        /// The maximum number of attempts, including the first one.
        #[schema(minimum = 1)]
        attempts: u32;
        /// The wait after the first failed attempt, in seconds. The wait doubles with each further attempt.
        backoff_seconds: u32;
        /// The maximum wait, in seconds.
        backoff_max_seconds: u32;
    }
}

/// A command that decides before the turn of each occurrence whether the turn runs. Exit code 1 skips the occurrence;
/// with any other end the turn runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Precheck {
    /// The program and its arguments.
    #[schema(min_items = 1)]
    pub command: Vec<String>,
    /// The maximum duration of the command, in seconds.
    #[schema(minimum = 1)]
    pub timeout_seconds: u32,
}

/// A command that decides before the turn of each occurrence whether the turn runs. Exit code 1 skips the occurrence;
/// with any other end the turn runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PrecheckRequest {
    /// The program and its arguments.
    #[schema(min_items = 1)]
    pub command: Vec<String>,
    /// The maximum duration of the command, in seconds. Default: 60.
    #[serde(default = "default_precheck_timeout")]
    #[schema(minimum = 1)]
    pub timeout_seconds: u32,
}

/// The changes of a precheck (merge patch, RFC 7396).
///
/// A field that is absent keeps its value, and null restores the default of the field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrecheckPatch {
    /// The program and its arguments. Required if the automation has no precheck yet.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1)]
    pub command: Change<Vec<String>>,
    /// The maximum duration of the command, in seconds.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub timeout_seconds: Change<u32>,
}

fn default_precheck_timeout() -> u32 {
    precheck::Precheck::new(Vec::new()).timeout_seconds
}

same_fields! {
    precheck::Precheck, Precheck { command, timeout_seconds }
    precheck::Precheck, PrecheckRequest { command, timeout_seconds }
}

/// Windows of the day, each in the form `22:00-07:00`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    try_from = "Vec<schedule::QuietWindow>",
    into = "Vec<schedule::QuietWindow>"
)]
pub struct QuietHours(schedule::QuietHours);

impl TryFrom<Vec<schedule::QuietWindow>> for QuietHours {
    type Error = schedule::Error;

    fn try_from(windows: Vec<schedule::QuietWindow>) -> Result<Self, Self::Error> {
        schedule::QuietHours::new(windows).map(Self)
    }
}

impl From<QuietHours> for Vec<schedule::QuietWindow> {
    fn from(hours: QuietHours) -> Self {
        hours.0.windows().to_vec()
    }
}

impl From<schedule::QuietHours> for QuietHours {
    fn from(hours: schedule::QuietHours) -> Self {
        Self(hours)
    }
}

impl From<QuietHours> for schedule::QuietHours {
    fn from(hours: QuietHours) -> Self {
        hours.0
    }
}

impl PartialSchema for QuietHours {
    fn schema() -> RefOr<Schema> {
        let window = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "A window of the day from its start to before its end. If the end comes first, it lies on the next \
                 day.",
            ))
            .pattern(Some(
                "^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$",
            ))
            .examples(["22:00-07:00"]);
        ArrayBuilder::new()
            .items(window)
            .max_items(Some(MAX_QUIET_WINDOWS))
            .into()
    }
}

impl ToSchema for QuietHours {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn request_without_fields_has_every_default() {
        let request: PoliciesRequest = serde_json::from_value(json!({})).unwrap();
        let expected = json!({
            "overlap": null,
            "queue_limit": 100,
            "catch_up": "latest",
            "catch_up_window_seconds": 24 * 60 * 60,
            "jitter_seconds": 0,
            "quiet_hours": [],
            "timeout_seconds": 30 * 60,
            "inactivity_seconds": 10 * 60,
            "retry": { "attempts": 3, "backoff_seconds": 10, "backoff_max_seconds": 600 },
            "on_crash": "retry",
            "pause_after_failures": 5,
            "budget": {
                "run": { "tokens": null, "cost": null },
                "day": { "tokens": null, "cost": null, "turns": null, "minutes": null },
                "month": { "tokens": null, "cost": null, "turns": null, "minutes": null },
            },
            "on_unmatched": "deny",
            "ask_seconds": 10 * 60,
            "precheck": null,
            "tools": "all",
            "agent_cron": "deny",
            "run_reports": "on",
        });
        assert_eq!(serde_json::to_value(&request).unwrap(), expected);
        let domain = model::policy::Policies::from(request);
        assert_eq!(domain, model::policy::Policies::default());
        let response = Policies::from(domain);
        assert_eq!(serde_json::to_value(response).unwrap(), expected);
    }

    #[test]
    fn unknown_key_is_refused_in_a_request_and_ignored_in_a_response() {
        for unknown in [
            json!({ "later": 1 }),
            json!({ "retry": { "later": 1 } }),
            json!({ "budget": { "day": { "later": 1 } } }),
        ] {
            assert!(serde_json::from_value::<PoliciesRequest>(unknown.clone()).is_err());
            assert!(serde_json::from_value::<PoliciesPatch>(unknown.clone()).is_err());
            let response: Policies = serde_json::from_value(unknown).unwrap();
            assert_eq!(response, Policies::default());
        }
    }

    #[test]
    fn patch_with_one_field_serializes_that_field_alone() {
        let patch = PoliciesPatch {
            overlap: Change::To(Overlap::Skip),
            precheck: Change::Reset,
            ..PoliciesPatch::default()
        };
        let json = json!({ "overlap": "skip", "precheck": null });
        assert_eq!(serde_json::to_value(&patch).unwrap(), json);
        assert_eq!(
            serde_json::from_value::<PoliciesPatch>(json).unwrap(),
            patch
        );
    }
}
