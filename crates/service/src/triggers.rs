//! The triggers of an automation, one by one.

use std::time::Duration;

use model::{TriggerId, policy::SessionMode, schedule::Spec};
use store::NewTrigger;
use wire::{
    AutomationView, Preview, PreviewRequest, SecretRotated, Trigger, TriggerRequest, TriggerSpec,
};

use crate::{
    Error, Service, definition,
    edit_automation::definition_of,
    fires,
    notifications::{answered, rotated_before},
};

impl Service {
    /// Reads one trigger of an automation: by its id or the beginning of that.
    pub async fn trigger(&self, automation: &str, given: &str) -> Result<Trigger, Error> {
        let view = self.automation(automation).await?;
        find(view.triggers, given)
    }

    /// Whether an automation has a trigger of an id that was reserved for it, or had one that was removed.
    pub async fn had_trigger(&self, view: &AutomationView, id: TriggerId) -> Result<bool, Error> {
        let had = self.store.had_trigger(self.scope(), view.automation.id, id);
        Ok(had.await?)
    }

    /// Adds a trigger to an automation that was read, and says whether it did: one that it has already is not
    /// added again. Where it is to be added to what was read `exactly`, and that is something else by now, it is
    /// refused. With an `id` that was reserved for it, one that is there already counts as added.
    pub async fn add_trigger(
        &self,
        view: &AutomationView,
        asked: &TriggerRequest,
        exactly: bool,
        id: Option<TriggerId>,
    ) -> Result<(AutomationView, bool), Error> {
        let there = view.triggers.iter().map(|it| it.spec.clone().into());
        let there: Vec<Spec> = there.collect();
        let request = view.request();
        let zone = request.zone.as_deref();
        let now = self.now();
        let spec = definition::spec(asked, "", zone, &there, now)?;
        let id = id.unwrap_or_else(|| TriggerId::generate(now, &*self.entropy));
        let seen = definition_of(view);
        let new = NewTrigger {
            id,
            spec: &spec,
            seen: exactly.then_some(&seen),
        };
        // What says the same is looked for where nobody else can add it meanwhile.
        let add = self
            .store
            .add_trigger_as(self.scope(), view.automation.id, new, now);
        let added = match add.await {
            Ok(is) => is == id,
            Err(store::Error::Made { .. }) => true,
            Err(error) => return Err(error.into()),
        };
        let view = self.automation(&view.automation.id.to_string()).await?;
        Ok((view, added))
    }

    /// The secret with which webhooks of a trigger are signed, for whoever is to sign them.
    pub async fn webhook_secret(&self, automation: &str, given: &str) -> Result<String, Error> {
        let trigger = self.trigger(automation, given).await?;
        let found = self.store.webhook_trigger(self.scope(), trigger.id).await?;
        let found = found.ok_or_else(|| no_webhook(given))?;
        Ok(found.secrets.current.reveal())
    }

    /// Gives a trigger another secret. The one that held so far holds for `overlap` as well. With the `key` of
    /// a request that was done before it gets none, and no secret is told.
    pub async fn rotate_webhook_secret(
        &self,
        automation: &str,
        given: &str,
        overlap: Duration,
        key: Option<&str>,
    ) -> Result<SecretRotated, Error> {
        let trigger = self.trigger(automation, given).await?;
        if trigger.spec != (TriggerSpec::Webhook {}) {
            return Err(no_webhook(given));
        }
        let now = self.now();
        let previous_until = now + overlap;
        let kept = rotated_before(previous_until);
        let answered = key.map(|key| answered(key, &kept));
        let rotated = self.store.rotate_webhook_secret(
            self.scope(),
            trigger.id,
            previous_until,
            answered,
            now,
        );
        match rotated.await {
            Ok(secret) => Ok(SecretRotated {
                secret: Some(secret.reveal()),
                previous_until,
            }),
            Err(store::Error::Made { .. }) => {
                let found = self.store.webhook_trigger(self.scope(), trigger.id).await?;
                let previous = found.and_then(|found| found.secrets.previous);
                Ok(SecretRotated {
                    secret: None,
                    previous_until: previous.map_or(previous_until, |(_, until)| until),
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a trigger from an automation that was read; what it has fired stays. Where it is to be removed
    /// from what was read `exactly`, and that is something else by now, it is refused.
    pub async fn remove_trigger(
        &self,
        view: &AutomationView,
        given: &str,
        exactly: bool,
    ) -> Result<AutomationView, Error> {
        let removed = find(view.triggers.clone(), given)?;
        if removed.spec == (TriggerSpec::Manual {}) {
            let problem = "it is the one that every automation has";
            return Err(Error::invalid("trigger", given, problem));
        }
        // By its id: there may be another webhook, which says the same and has another secret.
        let seen = definition_of(view);
        let seen = exactly.then_some(&seen);
        self.store
            .remove_trigger(self.scope(), removed.id, seen, self.now())
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
        // A preview names no session mode: fresh sessions are compatible with every policy.
        let policies = definition::policies(&request.policies, SessionMode::Fresh)?;
        Ok(Preview {
            next_fires: fires::of(specs.iter(), &policies.quiet_hours, now, count)?,
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
