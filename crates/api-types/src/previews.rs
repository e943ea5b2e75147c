//! Previews of schedules, and of the next run of an automation.

use model::{Timestamp, policy::SessionMode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AutomationRequest, BudgetUsage, OnUnmatched, PermissionRules, PoliciesRequest, Session,
    TriggerRequest, UpcomingRun,
};

/// A request for the next instants at which triggers would fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// The triggers.
    #[schema(min_items = 1)]
    pub triggers: Vec<TriggerRequest>,
    /// The IANA name of the time zone of all triggers that name none. Default: UTC. Refused if no trigger has a schedule.
    #[serde(default)]
    pub zone: Option<String>,
    /// The policies. Only the quiet hours affect the preview.
    #[serde(default)]
    pub policies: PoliciesRequest,
    /// The maximum number of instants. Default: 5.
    #[serde(default = "default_preview_count")]
    #[schema(minimum = 1, maximum = 100)]
    pub count: u32,
}

const fn default_preview_count() -> u32 {
    5
}

/// The next instants at which the triggers of a request would fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Preview {
    /// The instants in order.
    pub upcoming_runs: Vec<UpcomingRun>,
    /// The next change of clocks that concerns a fixed time of each trigger, within a year. Empty if there is none.
    #[serde(default)]
    pub clock_changes: Vec<ClockChange>,
}

/// A change of clocks that concerns a fixed time of a schedule: the time never shows, or shows twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClockChange {
    /// `true` if clocks go forward and the time never shows; `false` if they go back and the time shows twice.
    pub is_gap: bool,
    /// The instant at which the trigger fires for this time.
    pub at: Timestamp,
    /// The change as text for people.
    pub text: String,
}

/// A request to compute the next run of an automation without starting it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DryRunRequest {
    /// The automation: its name, its ID, or the beginning of its ID. If absent, `definition` is that of a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automation: Option<String>,
    /// The definition in place of the stored one, as an edit would write it. If absent, the stored one counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<AutomationRequest>,
}

/// What the next run of an automation would be. Nothing was stored, and no agent was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryRun {
    /// The name of the agent.
    pub agent: String,
    /// The kind of session in which the turn would run.
    pub session_mode: SessionMode,
    /// The session in which the turn would run. Null if the run would create one.
    pub session: Option<Session>,
    /// The working directory. Null if the session would get a folder of its own.
    pub cwd: Option<String>,
    /// The prompt as the agent would receive it. The payload of a webhook is empty in it.
    pub prompt: String,
    /// The template of the prompt.
    pub prompt_ref: crate::PromptRef,
    /// The instant for which the prompt was rendered: the next due one, or now.
    pub scheduled_for: Timestamp,
    /// The permission rules of the agent and of the automation together.
    pub permissions: PermissionRules,
    /// The answer to permission requests that no rule covers.
    pub on_unmatched: OnUnmatched,
    /// The budget and the usage that counts against it. Null for a new automation.
    pub usage: Option<BudgetUsage>,
    /// The next runs.
    pub upcoming_runs: Vec<UpcomingRun>,
    /// The next change of clocks that concerns a fixed time of each trigger, within a year. Empty if there is none.
    pub clock_changes: Vec<ClockChange>,
}
