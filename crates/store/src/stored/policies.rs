//! The document `automations.policies`.

use model::{
    approval::OnUnmatched,
    policy::{CatchUp, OnCrash, Overlap, Policies, Retry, RunReports},
    precheck::Precheck,
    schedule::QuietHours,
    tools::{AgentCron, ToolAccess},
};
use serde::{Deserialize, Serialize};

use super::{BoxError, Document, budget::StoredBudget};

/// Policies of an automation, as a row holds them. A key that is absent has its default.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub(crate) struct StoredPolicies {
    overlap: Option<Overlap>,
    queue_limit: u32,
    catch_up: CatchUp,
    catch_up_window_seconds: u64,
    jitter_seconds: u32,
    quiet_hours: QuietHours,
    timeout_seconds: u32,
    inactivity_seconds: u32,
    retry: StoredRetry,
    on_crash: OnCrash,
    pause_after_failures: u32,
    budget: StoredBudget,
    unruled: OnUnmatched,
    ask_seconds: u32,
    precheck: Option<StoredPrecheck>,
    // Programs that do not know these keys give agents no tools.
    #[serde(skip_serializing_if = "is_default_access")]
    tools: ToolAccess,
    #[serde(skip_serializing_if = "is_default_cron")]
    agent_cron: AgentCron,
    // Programs that do not know this key send no reports.
    #[serde(skip_serializing_if = "is_default_reports")]
    run_reports: RunReports,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_default_reports(run_reports: &RunReports) -> bool {
    *run_reports == Policies::default().run_reports
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_default_access(tools: &ToolAccess) -> bool {
    *tools == Policies::default().tools
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_default_cron(agent_cron: &AgentCron) -> bool {
    *agent_cron == Policies::default().agent_cron
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
struct StoredRetry {
    attempts: u32,
    backoff_seconds: u32,
    backoff_max_seconds: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct StoredPrecheck {
    command: Vec<String>,
    #[serde(default = "precheck_timeout")]
    timeout_seconds: u32,
}

fn precheck_timeout() -> u32 {
    Precheck::new(Vec::new()).timeout_seconds
}

impl Document for StoredPolicies {
    type Domain = Policies;

    fn of(policies: &Policies) -> Self {
        // Destructure without `..`, so that a new policy does not compile until it is stored.
        let Policies {
            overlap,
            queue_limit,
            catch_up,
            catch_up_window_seconds,
            jitter_seconds,
            quiet_hours,
            timeout_seconds,
            inactivity_seconds,
            retry,
            on_crash,
            pause_after_failures,
            budget,
            on_unmatched: unruled,
            ask_seconds,
            precheck,
            tools,
            agent_cron,
            run_reports,
        } = policies.clone();
        Self {
            overlap,
            queue_limit,
            catch_up,
            catch_up_window_seconds,
            jitter_seconds,
            quiet_hours,
            timeout_seconds,
            inactivity_seconds,
            retry: retry.into(),
            on_crash,
            pause_after_failures,
            budget: StoredBudget::of(&budget),
            unruled,
            ask_seconds,
            precheck: precheck.map(Into::into),
            tools,
            agent_cron,
            run_reports,
        }
    }

    fn into_domain(self) -> Result<Policies, BoxError> {
        Ok(Policies {
            overlap: self.overlap,
            queue_limit: self.queue_limit,
            catch_up: self.catch_up,
            catch_up_window_seconds: self.catch_up_window_seconds,
            jitter_seconds: self.jitter_seconds,
            quiet_hours: self.quiet_hours,
            timeout_seconds: self.timeout_seconds,
            inactivity_seconds: self.inactivity_seconds,
            retry: self.retry.into(),
            on_crash: self.on_crash,
            pause_after_failures: self.pause_after_failures,
            budget: self.budget.into_domain()?,
            on_unmatched: self.unruled,
            ask_seconds: self.ask_seconds,
            precheck: self.precheck.map(Into::into),
            tools: self.tools,
            agent_cron: self.agent_cron,
            run_reports: self.run_reports,
        })
    }

    fn needs_format(&self) -> i64 {
        self.budget.needs_format()
    }
}

impl Default for StoredPolicies {
    fn default() -> Self {
        Self::of(&Policies::default())
    }
}

impl Default for StoredRetry {
    fn default() -> Self {
        Retry::default().into()
    }
}

impl From<Retry> for StoredRetry {
    fn from(retry: Retry) -> Self {
        let Retry {
            attempts,
            backoff_seconds,
            backoff_max_seconds,
        } = retry;
        Self {
            attempts,
            backoff_seconds,
            backoff_max_seconds,
        }
    }
}

impl From<StoredRetry> for Retry {
    fn from(stored: StoredRetry) -> Self {
        Self {
            attempts: stored.attempts,
            backoff_seconds: stored.backoff_seconds,
            backoff_max_seconds: stored.backoff_max_seconds,
        }
    }
}

impl From<Precheck> for StoredPrecheck {
    fn from(precheck: Precheck) -> Self {
        let Precheck {
            command,
            timeout_seconds,
        } = precheck;
        Self {
            command,
            timeout_seconds,
        }
    }
}

impl From<StoredPrecheck> for Precheck {
    fn from(stored: StoredPrecheck) -> Self {
        Self {
            command: stored.command,
            timeout_seconds: stored.timeout_seconds,
        }
    }
}
