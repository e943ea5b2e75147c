//! The triggers of an automation: reading, adding, removing, rotating the secret of a webhook, previewing.

use std::time::Duration;

use api_types::{
    AutomationView, Preview, PreviewRequest, SecretRotated, Trigger, TriggerRequest, TriggerSpec,
};
use model::{Timestamp, TriggerId, policy::SessionMode, schedule::Spec};
use store::NewTrigger;

use crate::{
    Error, Service, boxed, definition, dry_run,
    edit_automation::definition_of,
    notifications::{recorded_response, replayed_rotation},
    upcoming_runs,
};

impl Service {
    /// Returns one trigger of an automation, by its ID or an ID prefix.
    #[boxed]
    pub async fn trigger(&self, automation: &str, given: &str) -> Result<Trigger, Error> {
        let view = self.automation(automation).await?;
        find_trigger(view.triggers, given)
    }

    /// `true` if an automation has, or once had, a trigger with this reserved ID. A removed trigger counts, so that a
    /// repeated request does not add it again.
    #[boxed]
    pub async fn had_trigger(&self, view: &AutomationView, id: TriggerId) -> Result<bool, Error> {
        let had = self.store.had_trigger(self.scope(), view.automation.id, id);
        Ok(had.await?)
    }

    /// Adds a trigger to the automation that was read as `view`. Returns the automation, and `true` if the trigger
    /// was added: an equal trigger is not added twice. With a reserved `id`, a trigger that an earlier request has
    /// added counts as added.
    ///
    /// # Errors
    ///
    /// Returns an error if the trigger is invalid, or, with `exactly`, if the automation has changed since it was
    /// read.
    #[boxed]
    pub async fn add_trigger(
        &self,
        view: &AutomationView,
        request: &TriggerRequest,
        exactly: bool,
        id: Option<TriggerId>,
    ) -> Result<(AutomationView, bool), Error> {
        let present = view.triggers.iter().map(|it| it.spec.clone().into());
        let present: Vec<Spec> = present.collect();
        let automation = view.request();
        let zone = automation.zone.as_deref();
        let now = self.now();
        let spec = definition::validate_trigger(request, "", zone, &present, now)?;
        let id = id.unwrap_or_else(|| TriggerId::generate(now, &*self.entropy));
        let seen = definition_of(view);
        let new = NewTrigger {
            reserved: Some(id),
            spec: &spec,
            expected: exactly.then_some(&seen),
        };
        // The store compares with the present triggers under the lock of the automation. A comparison here could miss
        // an equal trigger that a concurrent request adds.
        let add = self
            .store
            .add_trigger(self.scope(), view.automation.id, new, now);
        let added = match add.await {
            Ok(existing_or_added) => existing_or_added == id,
            // An earlier request with this ID has added the trigger.
            Err(store::Error::AlreadyCreated { .. }) => true,
            Err(error) => return Err(error.into()),
        };
        let view = self.automation(&view.automation.id.to_string()).await?;
        Ok((view, added))
    }

    /// Returns the secret that signs the webhooks of a trigger.
    #[boxed]
    pub async fn webhook_secret(&self, automation: &str, given: &str) -> Result<String, Error> {
        let trigger = self.trigger(automation, given).await?;
        let found = self.store.webhook_trigger(self.scope(), trigger.id).await?;
        let found = found.ok_or_else(|| webhook_not_found(given))?;
        Ok(found.secrets.current.reveal())
    }

    /// Replaces the secret of a webhook trigger and returns the new one. The old secret stays valid for `overlap`. If
    /// an earlier request with the same idempotency `key` has replaced the secret, changes nothing and returns no
    /// secret, because a secret is shown only once.
    #[boxed]
    pub async fn rotate_webhook_secret(
        &self,
        automation: &str,
        given: &str,
        overlap: Duration,
        key: Option<&str>,
    ) -> Result<SecretRotated, Error> {
        let trigger = self.trigger(automation, given).await?;
        if trigger.spec != (TriggerSpec::Webhook {}) {
            return Err(webhook_not_found(given));
        }
        let now = self.now();
        let previous_until = now + overlap;
        let response = replayed_rotation(previous_until);
        let recorded = key.map(|key| recorded_response(key, &response));
        let rotated = self.store.rotate_webhook_secret(
            self.scope(),
            trigger.id,
            previous_until,
            recorded,
            now,
        );
        match rotated.await {
            Ok(secret) => Ok(SecretRotated {
                secret: Some(secret.reveal()),
                previous_until,
            }),
            Err(store::Error::AlreadyCreated { .. }) => {
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

    /// Removes a trigger from the automation that was read as `view`. Runs that the trigger has fired stay.
    ///
    /// # Errors
    ///
    /// Returns an error if the trigger is the manual one, or, with `exactly`, if the automation has changed since it
    /// was read.
    #[boxed]
    pub async fn remove_trigger(
        &self,
        view: &AutomationView,
        given: &str,
        exactly: bool,
    ) -> Result<AutomationView, Error> {
        let removed = find_trigger(view.triggers.clone(), given)?;
        if removed.spec == (TriggerSpec::Manual {}) {
            let problem = "it is the manual trigger, which every automation has";
            return Err(Error::invalid("trigger", given, problem));
        }
        // Remove by ID and not by comparison: another webhook trigger has an equal definition and another secret.
        let seen = definition_of(view);
        let seen = exactly.then_some(&seen);
        self.store
            .remove_trigger(self.scope(), removed.id, seen, self.now())
            .await?;
        self.automation(&view.automation.id.to_string()).await
    }

    /// Returns the next runs of the triggers of a request. Stores nothing.
    pub fn preview_runs(&self, request: &PreviewRequest) -> Result<Preview, Error> {
        let now = self.now();
        if request.triggers.is_empty() {
            let problem = "expected at least one trigger";
            return Err(Error::invalid("triggers", "[]", problem));
        }
        let specs =
            definition::validate_triggers(&request.triggers, request.zone.as_deref(), &[], now)?;
        if !(1..=MAX_PREVIEW_RUNS).contains(&request.count) {
            let problem = format!("accepted are 1 to {MAX_PREVIEW_RUNS}");
            return Err(Error::invalid("count", &request.count.to_string(), problem));
        }
        let count = request.count as usize;
        // The request names no session mode. Fresh sessions are compatible with every policy.
        let policies = definition::validate_policies(&request.policies, SessionMode::Fresh)?;
        Ok(Preview {
            upcoming_runs: upcoming_runs::upcoming_of_triggers(
                specs.iter(),
                &policies.quiet_hours,
                now,
                Timestamp::MAX,
                count,
            )?,
            clock_changes: dry_run::clock_changes(&specs, now)?,
        })
    }
}

/// The highest number of instants in a preview.
const MAX_PREVIEW_RUNS: u32 = 100;

fn webhook_not_found(given: &str) -> Error {
    Error::NotFound {
        what: "webhook trigger",
        given: given.chars().take(80).collect(),
        nearest: None,
    }
}

fn find_trigger(triggers: Vec<Trigger>, given: &str) -> Result<Trigger, Error> {
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
