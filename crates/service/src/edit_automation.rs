//! Changing an automation, by the rules of making one.

use std::path::PathBuf;

use model::{
    policy::SessionMode,
    schedule::{Spec, Zone},
};
use store::{AutomationEdit, NewAutomation};

use crate::{AutomationRequest, AutomationView, Error, Service, SessionTarget, Timing};

impl AutomationView {
    /// What would have to be asked for to make this automation as it is; changed, it is what an edit
    /// asks for.
    pub fn request(&self) -> AutomationRequest {
        let automation = &self.automation;
        let key = automation.bound_session_key.clone();
        let zone = self.triggers.iter().find_map(|it| zone_of(&it.spec));
        let timed = self
            .triggers
            .iter()
            .filter(|trigger| trigger.spec != Spec::Manual {});
        AutomationRequest {
            name: Some(automation.name.clone()),
            prompt: automation.prompt.clone(),
            timings: timed
                .map(|trigger| Timing::Exactly(trigger.spec.clone()))
                .collect(),
            zone: zone.map_or_else(|| Zone::utc().name().to_owned(), str::to_owned),
            session: match automation.session_mode {
                SessionMode::Fresh => SessionTarget::Fresh,
                SessionMode::Continuous => SessionTarget::Continuous,
                SessionMode::Bound => SessionTarget::Bound(key.unwrap_or_default()),
            },
            harness: Some(self.harness.clone()),
            cwd: automation.cwd.clone().map(PathBuf::from),
            policies: automation.policies.clone(),
            settings: automation.settings.clone(),
            permissions: automation.permissions.clone(),
        }
    }
}

impl AutomationRequest {
    /// Reads every timing that is there in another zone. Instants and distances stay what they are:
    /// their zone says how they are shown and when it is quiet.
    pub fn in_zone(&mut self, zone: &str) -> Result<(), Error> {
        let parsed = Zone::parse(zone)?;
        for timing in &mut self.timings {
            if let Timing::Exactly(
                Spec::Cron { zone, .. } | Spec::Every { zone, .. } | Spec::At { zone, .. },
            ) = timing
            {
                parsed.name().clone_into(zone);
            }
        }
        parsed.name().clone_into(&mut self.zone);
        Ok(())
    }
}

fn zone_of(spec: &Spec) -> Option<&str> {
    match spec {
        Spec::Cron { zone, .. } | Spec::Every { zone, .. } | Spec::At { zone, .. } => Some(zone),
        Spec::Manual {} | Spec::Webhook {} => None,
    }
}

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
        let before = NewAutomation::of(&seen.automation, &seen.triggers);
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
