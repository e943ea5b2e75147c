//! Automations and their triggers.

use http::Method;
use model::{automation::AutomationState, run::RunStatus};
use wire::{
    AutomationDeleted, AutomationPage, AutomationPatch, AutomationRequest, AutomationView, Page,
    Preview, PreviewRequest, Run, Session, Spending, Trigger, TriggerRequest,
};

use super::{Part, Tagged};
use crate::{Client, Error};

/// Which automations a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AutomationFilter {
    /// Whether they are enabled or paused.
    pub state: Option<AutomationState>,
    /// A text in their names.
    pub text: Option<String>,
    /// The session to which their turns go: its key, its id or the beginning of that.
    pub session: Option<String>,
    /// Which part.
    pub part: Part,
}

impl Client {
    /// Lists automations, the newest first.
    pub async fn automations(&self, filter: &AutomationFilter) -> Result<AutomationPage, Error> {
        self.get(&["automations"])
            .ask("state", filter.state)
            .ask("text", filter.text.as_ref())
            .ask("session", filter.session.as_ref())
            .part(&filter.part)
            .fetch()
            .await
    }

    /// Makes an automation.
    pub async fn create_automation(
        &self,
        request: &AutomationRequest,
    ) -> Result<AutomationView, Error> {
        let call = self.post(&["automations"]);
        call.json(request).once().fetch().await
    }

    /// Tells when triggers would fire, without making anything.
    pub async fn preview_fires(&self, request: &PreviewRequest) -> Result<Preview, Error> {
        let call = self.post(&["automations", "preview"]);
        call.json(request).fetch().await
    }

    /// Shows an automation, by its name, its id or the beginning of that.
    pub async fn automation(&self, automation: &str) -> Result<Tagged<AutomationView>, Error> {
        self.get(&["automations", automation]).fetch_tagged().await
    }

    /// Tells what an automation has used, and what it may use.
    pub async fn automation_spending(&self, automation: &str) -> Result<Spending, Error> {
        let call = self.get(&["automations", automation, "spending"]);
        call.fetch().await
    }

    /// Makes an automation what is asked for: with a tag, the one that was seen alone. With `reset` it lets
    /// go of its current session.
    pub async fn replace_automation(
        &self,
        automation: &str,
        request: &AutomationRequest,
        reset: bool,
        seen: Option<&str>,
    ) -> Result<AutomationView, Error> {
        let call = self.call(Method::PUT, &["automations", automation]);
        let call = call.flag("reset", reset).json(request).seen(seen);
        call.fetch().await
    }

    /// Changes some fields of an automation (a merge patch, RFC 7396).
    pub async fn edit_automation(
        &self,
        automation: &str,
        patch: &AutomationPatch,
        reset: bool,
        seen: Option<&str>,
    ) -> Result<AutomationView, Error> {
        let call = self.call(Method::PATCH, &["automations", automation]);
        let call = call.flag("reset", reset).json(patch).seen(seen);
        call.fetch().await
    }

    /// Deletes an automation; its sessions stay, unless they are to go, too.
    pub async fn delete_automation(
        &self,
        automation: &str,
        with_sessions: bool,
    ) -> Result<AutomationDeleted, Error> {
        let call = self.delete(&["automations", automation]);
        call.flag("with_sessions", with_sessions).fetch().await
    }

    /// Fires an automation now.
    pub async fn fire_automation(&self, automation: &str) -> Result<Run, Error> {
        let call = self.post(&["automations", automation, "fire"]);
        call.once().fetch().await
    }

    /// Pauses an automation.
    pub async fn pause_automation(&self, automation: &str) -> Result<AutomationView, Error> {
        self.post(&["automations", automation, "pause"])
            .fetch()
            .await
    }

    /// Lets a paused automation go on.
    pub async fn resume_automation(&self, automation: &str) -> Result<AutomationView, Error> {
        self.post(&["automations", automation, "resume"])
            .fetch()
            .await
    }

    /// Lets an automation let go of its current session.
    pub async fn reset_automation(&self, automation: &str) -> Result<AutomationView, Error> {
        self.post(&["automations", automation, "reset"])
            .fetch()
            .await
    }

    /// Lists the occurrences of an automation, the newest first.
    pub async fn occurrences(
        &self,
        automation: &str,
        status: Option<RunStatus>,
        part: &Part,
    ) -> Result<Page<Run>, Error> {
        let call = self.get(&["automations", automation, "occurrences"]);
        call.ask("status", status).part(part).fetch().await
    }

    /// Lists the triggers of an automation.
    pub async fn triggers(&self, automation: &str) -> Result<Page<Trigger>, Error> {
        self.get(&["automations", automation, "triggers"])
            .fetch()
            .await
    }

    /// Shows a trigger of an automation, by its id or the beginning of that.
    pub async fn trigger(&self, automation: &str, trigger: &str) -> Result<Trigger, Error> {
        self.get(&["automations", automation, "triggers", trigger])
            .fetch()
            .await
    }

    /// Adds a trigger to an automation: with a tag, to the one that was seen alone.
    pub async fn add_trigger(
        &self,
        automation: &str,
        request: &TriggerRequest,
        seen: Option<&str>,
    ) -> Result<AutomationView, Error> {
        let call = self.post(&["automations", automation, "triggers"]);
        call.json(request).seen(seen).once().fetch().await
    }

    /// Removes a trigger from an automation, by its id or the beginning of that: with a tag, from the one that
    /// was seen alone.
    pub async fn remove_trigger(
        &self,
        automation: &str,
        trigger: &str,
        seen: Option<&str>,
    ) -> Result<AutomationView, Error> {
        let call = self.delete(&["automations", automation, "triggers", trigger]);
        call.seen(seen).fetch().await
    }
}
