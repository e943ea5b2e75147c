//! Edits an automation by the same rules as a new one.

use api_types::{AutomationRequest, AutomationView, TriggerSpec};
use store::{AutomationEdit, NewAutomation};

use crate::{Error, Service, boxed};

impl Service {
    /// Replaces the definition of the automation that was read as `seen`, entirely or not at all. Returns the
    /// automation as [`Service::create_automation`] does. With `reset`, detaches the automation from its current
    /// session, so that the edit may change the agent and the directory.
    ///
    /// # Errors
    ///
    /// Returns an error if the request is invalid, or if the automation has changed since it was read.
    #[boxed]
    pub async fn edit_automation(
        &self,
        seen: &AutomationView,
        request: &AutomationRequest,
        reset: bool,
    ) -> Result<AutomationView, Error> {
        let now = self.now();
        let id = seen.automation.id;
        let before = definition_of(seen);
        let mut to = self.define(request, Some(&before), now).await?;
        // A request without a name keeps the present one.
        if to.name.is_empty() {
            to.name.clone_from(&before.name);
        }
        let edit = AutomationEdit {
            expected: &before,
            updated: &to,
            detach_session: reset,
        };
        self.store
            .edit_automation(self.tenant, id, edit, now)
            .await?;
        self.automation_view(self.store.automation(self.scope(), id).await?)
            .await
    }
}

/// Returns the definition of an automation as it was read, so that the store can refuse the edit if it has changed
/// since.
pub(crate) fn definition_of(seen: &AutomationView) -> NewAutomation {
    let automation = seen.automation.clone();
    let specs = seen.triggers.iter().map(|trigger| trigger.spec.clone());
    // Every automation has the manual trigger, so it is not part of a definition.
    let given = specs.filter(|spec| *spec != TriggerSpec::Manual {});
    NewAutomation {
        name: automation.name,
        prompt: automation.prompt,
        agent: automation.agent_id,
        cwd: automation.cwd,
        placed_on: automation.placed_on,
        session_mode: automation.session_mode,
        bound_session_key: automation.bound_session_key,
        policies: automation.policies.into(),
        settings: automation.settings.into(),
        permissions: automation.permissions.into(),
        triggers: given.map(Into::into).collect(),
    }
}
