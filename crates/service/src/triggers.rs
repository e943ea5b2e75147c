//! The triggers of an automation, one by one.

use std::time::Duration;

use model::{TriggerId, entity::Trigger, schedule::Spec};
use wire::{AutomationView, Preview, PreviewRequest, SecretRotated, TriggerRequest};

use crate::{Error, Service, definition, fires};

impl Service {
    /// Reads one trigger of an automation: by its id or the beginning of that.
    pub async fn trigger(&self, automation: &str, given: &str) -> Result<Trigger, Error> {
        let view = self.automation(automation).await?;
        find(view.triggers, given)
    }

    /// Adds a trigger to an automation, and says whether it did: one that it has already is not added again.
    pub async fn add_trigger(
        &self,
        automation: &str,
        asked: &TriggerRequest,
    ) -> Result<(AutomationView, bool), Error> {
        let view = self.automation(automation).await?;
        let there: Vec<Spec> = view.triggers.iter().map(|it| it.spec.clone()).collect();
        let request = view.request();
        let one = std::slice::from_ref(asked);
        let specs = definition::specs(one, request.zone.as_deref(), &there, self.now())?;
        if specs.iter().all(|spec| there.contains(spec)) {
            return Ok((view, false));
        }
        for spec in &specs {
            self.store
                .add_trigger(self.scope(), view.automation.id, spec, self.now())
                .await?;
        }
        let view = self.automation(&view.automation.id.to_string()).await?;
        Ok((view, true))
    }

    /// The secret with which webhooks of a trigger are signed, for whoever is to sign them.
    pub async fn webhook_secret(&self, automation: &str, given: &str) -> Result<String, Error> {
        let trigger = self.trigger(automation, given).await?;
        let found = self.store.webhook_trigger(self.scope(), trigger.id).await?;
        let found = found.ok_or_else(|| no_webhook(given))?;
        Ok(found.secrets.current.reveal())
    }

    /// Gives a trigger another secret. The one that held so far holds for `overlap` as well.
    pub async fn rotate_webhook_secret(
        &self,
        automation: &str,
        given: &str,
        overlap: Duration,
    ) -> Result<SecretRotated, Error> {
        let trigger = self.trigger(automation, given).await?;
        if trigger.spec != (Spec::Webhook {}) {
            return Err(no_webhook(given));
        }
        let now = self.now();
        let previous_until = now + overlap;
        let secret = self
            .store
            .rotate_webhook_secret(self.scope(), trigger.id, previous_until, now)
            .await?;
        Ok(SecretRotated {
            secret: Some(secret.reveal()),
            previous_until,
        })
    }

    /// Removes a trigger from an automation; what it has fired stays.
    pub async fn remove_trigger(
        &self,
        automation: &str,
        given: &str,
    ) -> Result<AutomationView, Error> {
        let view = self.automation(automation).await?;
        let removed = find(view.triggers, given)?;
        if removed.spec == (Spec::Manual {}) {
            let problem = "it is the one that every automation has";
            return Err(Error::invalid("trigger", given, problem));
        }
        // By its id: there may be another webhook, which says the same and has another secret.
        self.store
            .remove_trigger(self.scope(), removed.id, self.now())
            .await?;
        self.automation(&view.automation.id.to_string()).await
    }

    /// Works out when triggers would fire from now on.
    pub fn preview(&self, request: &PreviewRequest) -> Result<Preview, Error> {
        let now = self.now();
        if request.triggers.is_empty() {
            let problem = "at least one trigger is expected";
            return Err(Error::invalid("triggers", "[]", problem));
        }
        let specs = definition::specs(&request.triggers, request.zone.as_deref(), &[], now)?;
        if !(1..=MOST_FIRES).contains(&request.count) {
            let problem = format!("accepted are 1 to {MOST_FIRES}");
            return Err(Error::invalid("count", &request.count.to_string(), problem));
        }
        let count = request.count as usize;
        let quiet = &request.policies.quiet_hours;
        Ok(Preview {
            next_fires: fires::of(specs.iter(), quiet, now, count)?,
        })
    }
}

/// How many fires a preview shows at the most.
const MOST_FIRES: u32 = 100;

fn no_webhook(given: &str) -> Error {
    Error::NotFound {
        what: "webhook trigger",
        given: given.chars().take(80).collect(),
        nearest: None,
    }
}

fn find(triggers: Vec<Trigger>, given: &str) -> Result<Trigger, Error> {
    let bare = given.strip_prefix("trg_").unwrap_or(given);
    let named = |trigger: &Trigger| {
        let digits = trigger.id.uuid().simple().to_string();
        !bare.is_empty() && digits.starts_with(bare)
    };
    let mut found = triggers.into_iter().filter(named);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(other)) => Err(Error::Ambiguous {
            what: "trigger",
            given: given.to_owned(),
            candidates: [one.id, other.id].map(|id: TriggerId| id.to_string()),
        }),
        (None, _) => Err(Error::NotFound {
            what: "trigger",
            given: given.chars().take(80).collect(),
            nearest: None,
        }),
    }
}
