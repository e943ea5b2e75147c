//! Operations on automations and their triggers.

use api_types::{
    AutomationDeleted, AutomationPage, AutomationPatch, AutomationRequest, AutomationView,
    BudgetUsage, DryRun, DryRunRequest, Page, Preview, PreviewRequest, Run, RunItem, Trigger,
    TriggerRequest,
};
use http::Method;
use model::{automation::AutomationState, run::RunStatus};

use super::{PageParams, Tagged, comma_separated};
use crate::{Client, Error, boxed};

/// The filter of a list of automations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AutomationFilter {
    /// The accepted state.
    pub state: Option<AutomationState>,
    /// A text that the name contains.
    pub text: Option<String>,
    /// The session in which the turns run, by its key, its ID or a prefix of its ID.
    pub session: Option<String>,
    /// The requested part of the list.
    pub page: PageParams,
}

impl Client {
    /// Lists automations, the newest first.
    #[boxed]
    pub async fn automations(&self, filter: &AutomationFilter) -> Result<AutomationPage, Error> {
        self.get(&["automations"])
            .query_param("state", filter.state)
            .query_param("text", filter.text.as_ref())
            .query_param("session", filter.session.as_ref())
            .page(&filter.page)
            .fetch()
            .await
    }

    /// Creates an automation.
    #[boxed]
    pub async fn create_automation(
        &self,
        request: &AutomationRequest,
    ) -> Result<AutomationView, Error> {
        let call = self.post(&["automations"]);
        call.json(request).idempotent().fetch().await
    }

    /// Returns the instants at which triggers would fire. Creates nothing.
    #[boxed]
    pub async fn preview_runs(&self, request: &PreviewRequest) -> Result<Preview, Error> {
        let call = self.post(&["automations", "preview"]);
        call.json(request).fetch().await
    }

    /// Returns what the next run of an automation would be. Creates nothing.
    #[boxed]
    pub async fn dry_run(&self, request: &DryRunRequest) -> Result<DryRun, Error> {
        let call = self.post(&["automations", "dry-run"]);
        call.json(request).fetch().await
    }

    /// Returns an automation, by its name, its ID or a prefix of its ID.
    #[boxed]
    pub async fn automation(&self, automation: &str) -> Result<Tagged<AutomationView>, Error> {
        self.get(&["automations", automation]).fetch_tagged().await
    }

    /// Returns the budget of an automation, and its usage.
    #[boxed]
    pub async fn automation_usage(&self, automation: &str) -> Result<BudgetUsage, Error> {
        let call = self.get(&["automations", automation, "usage"]);
        call.fetch().await
    }

    /// Replaces an automation. With an entity tag, the server refuses if the automation has changed since. With
    /// `reset`, the automation leaves its current session.
    #[boxed]
    pub async fn replace_automation(
        &self,
        automation: &str,
        request: &AutomationRequest,
        reset: bool,
        seen: Option<&str>,
    ) -> Result<AutomationView, Error> {
        let call = self.call(Method::PUT, &["automations", automation]);
        let call = call.flag("reset", reset).json(request).if_match(seen);
        call.fetch().await
    }

    /// Changes some fields of an automation (merge patch, RFC 7396). `seen` and `reset` are as in
    /// [`Self::replace_automation`].
    #[boxed]
    pub async fn edit_automation(
        &self,
        automation: &str,
        patch: &AutomationPatch,
        reset: bool,
        seen: Option<&str>,
    ) -> Result<AutomationView, Error> {
        let call = self.call(Method::PATCH, &["automations", automation]);
        let call = call.flag("reset", reset).json(patch).if_match(seen);
        call.fetch().await
    }

    /// Deletes an automation, and its sessions if `with_sessions` is set.
    #[boxed]
    pub async fn delete_automation(
        &self,
        automation: &str,
        with_sessions: bool,
    ) -> Result<AutomationDeleted, Error> {
        let call = self.delete(&["automations", automation]);
        call.flag("with_sessions", with_sessions).fetch().await
    }

    /// Fires an automation now.
    #[boxed]
    pub async fn fire_automation(&self, automation: &str) -> Result<Run, Error> {
        let call = self.post(&["automations", automation, "fire"]);
        call.idempotent().fetch().await
    }

    /// Pauses an automation.
    #[boxed]
    pub async fn pause_automation(&self, automation: &str) -> Result<AutomationView, Error> {
        self.post(&["automations", automation, "pause"])
            .fetch()
            .await
    }

    /// Resumes a paused automation.
    #[boxed]
    pub async fn resume_automation(&self, automation: &str) -> Result<AutomationView, Error> {
        self.post(&["automations", automation, "resume"])
            .fetch()
            .await
    }

    /// Makes an automation leave its current session, so that its next run creates another.
    #[boxed]
    pub async fn reset_automation(&self, automation: &str) -> Result<AutomationView, Error> {
        self.post(&["automations", automation, "reset"])
            .fetch()
            .await
    }

    /// Lists the occurrences of an automation, the newest first.
    #[boxed]
    pub async fn occurrences(
        &self,
        automation: &str,
        statuses: &[RunStatus],
        part: &PageParams,
    ) -> Result<Page<RunItem>, Error> {
        let call = self.get(&["automations", automation, "occurrences"]);
        call.query_param("status", comma_separated(statuses))
            .page(part)
            .fetch()
            .await
    }

    /// Lists the triggers of an automation.
    #[boxed]
    pub async fn triggers(&self, automation: &str) -> Result<Page<Trigger>, Error> {
        self.get(&["automations", automation, "triggers"])
            .fetch()
            .await
    }

    /// Returns a trigger of an automation, by its ID or a prefix of its ID.
    #[boxed]
    pub async fn trigger(&self, automation: &str, trigger: &str) -> Result<Trigger, Error> {
        self.get(&["automations", automation, "triggers", trigger])
            .fetch()
            .await
    }

    /// Adds a trigger to an automation. With an entity tag, the server refuses if the automation has changed since.
    #[boxed]
    pub async fn add_trigger(
        &self,
        automation: &str,
        request: &TriggerRequest,
        seen: Option<&str>,
    ) -> Result<AutomationView, Error> {
        let call = self.post(&["automations", automation, "triggers"]);
        call.json(request).if_match(seen).idempotent().fetch().await
    }

    /// Removes a trigger from an automation, by its ID or a prefix of its ID. With an entity tag, the server refuses
    /// if the automation has changed since.
    #[boxed]
    pub async fn remove_trigger(
        &self,
        automation: &str,
        trigger: &str,
        seen: Option<&str>,
    ) -> Result<AutomationView, Error> {
        let call = self.delete(&["automations", automation, "triggers", trigger]);
        call.if_match(seen).fetch().await
    }
}
