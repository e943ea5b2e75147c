//! Changing an automation, by the rules of making one.

use store::{AutomationEdit, NewAutomation};
use wire::{AutomationRequest, AutomationView, TriggerSpec};

use crate::{Error, Service};

impl Service {
    /// Makes an automation that was read as `seen` what is asked for, all of it or nothing, and answers
    /// as [`Service::create_automation`] does. Where it says something else by now, it is refused. With
    /// `reset` it lets go of its current session, and may so change what that one keeps.
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
        if to.name.is_empty() {
            to.name.clone_from(&before.name);
        }
        let edit = AutomationEdit {
            seen: &before,
            to: &to,
            reset,
        };
        self.store
            .edit_automation(self.tenant, id, edit, now)
            .await?;
        self.automation_view(self.store.automation(self.scope(), id).await?)
            .await
    }
}

/// Returns the definition of an automation as it was read, so that the store can refuse an edit of one that has
/// changed since.
pub(crate) fn definition_of(seen: &AutomationView) -> NewAutomation {
    let automation = seen.automation.clone();
    let specs = seen.triggers.iter().map(|trigger| trigger.spec.clone());
    let given = specs.filter(|spec| *spec != TriggerSpec::Manual {});
    NewAutomation {
        name: automation.name,
        prompt: automation.prompt,
        harness: automation.harness_id,
        cwd: automation.cwd,
        session_mode: automation.session_mode,
        bound_session_key: automation.bound_session_key,
        policies: automation.policies.into(),
        settings: automation.settings.into(),
        permissions: automation.permissions.into(),
        triggers: given.map(Into::into).collect(),
    }
}
