//! Files of other programs in the trigger folder of an instance, which request runs of automations.

use model::{AutomationId, InputId, InstanceId, RunId, entity::Automation, limits};
use store::KeyClaim;

use crate::{Error, Service, boxed, object_lookup::Reference};

/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 200;

/// The digest of each request. A key is made of the file's name and content, so it belongs to no other file.
const REQUEST_DIGEST: [u8; 32] = [0; 32];

impl Service {
    /// Creates a run of an automation that is placed on an instance, because a file in the instance's trigger folder
    /// requests it. `payload` is the data of the file, which the agent receives between fences. Requests with one `key`
    /// create one run, for as long as keys are kept.
    ///
    /// # Errors
    ///
    /// Returns a refusal if the instance has no such automation, if the automation is not enabled, or if the payload is
    /// too long. The key is then released, so that the same file can be tried again.
    #[boxed]
    pub async fn fire_by_file(
        &self,
        instance: InstanceId,
        automation: &str,
        payload: &str,
        key: &str,
    ) -> Result<RunId, Error> {
        if payload.len() > limits::CONTENT_BYTES {
            let accepted = format!(
                "`task` and `params` have {} bytes; accepted are up to {}",
                payload.len(),
                limits::CONTENT_BYTES
            );
            return Err(Error::invalid("params", "", accepted));
        }
        if key.len() > MAX_KEY_BYTES {
            let accepted = format!("accepted are up to {MAX_KEY_BYTES} bytes");
            return Err(Error::invalid("key", key, accepted));
        }
        // 1. Reserve the ID of the input, so that a request that is repeated after a crash finds the first run.
        let key = format!("{instance} {key}");
        let proposed = InputId::generate(self.now(), &*self.entropy).uuid();
        let claim = self.store.claim_idempotency_key(
            self.tenant,
            &key,
            &REQUEST_DIGEST,
            proposed,
            self.now(),
        );
        let input = match claim.await? {
            KeyClaim::New(id) | KeyClaim::Repeated { id, .. } => InputId::from_uuid(id),
            KeyClaim::OtherRequest => {
                let problem = "the key belongs to another request";
                return Err(Error::invalid("key", &key, problem));
            }
        };
        if let Some(run) = self.first_run_of_input(Some(input)).await? {
            return Ok(run.id);
        }
        // 2. Fire.
        let fired = self.fire_input_by_file(instance, automation, payload, input);
        let error = match fired.await {
            Ok(run) => return Ok(run),
            Err(error) => error,
        };
        if error.kind().is_refusal() {
            self.store
                .release_idempotency_key(self.tenant, &key)
                .await?;
        }
        Err(error)
    }

    async fn fire_input_by_file(
        &self,
        instance: InstanceId,
        automation: &str,
        payload: &str,
        input: InputId,
    ) -> Result<RunId, Error> {
        let found = self.automation_of_instance(instance, automation).await?;
        let (tenant, id, now) = (self.tenant, found.id, self.now());
        let fired = self
            .store
            .fire_by_file(tenant, id, Some(input), instance, payload, now);
        let run = self.run_of_input(Some(input), fired.await).await?;
        Ok(run.id)
    }

    /// Returns the automation with this full ID or name. A file names no ID prefix, because a prefix that is unique today
    /// is not so tomorrow.
    ///
    /// # Errors
    ///
    /// Returns the same error for an automation that does not exist and for one that is not placed on the instance.
    async fn automation_of_instance(
        &self,
        instance: InstanceId,
        given: &str,
    ) -> Result<Automation, Error> {
        let reference = Reference::parse(given, AutomationId::PREFIX);
        let mut found = None;
        if let Some(id) = reference.id() {
            found = match self.store.automation(self.scope(), id).await {
                Err(store::Error::NotFound { .. }) => None,
                automation => Some(automation?),
            };
        }
        if let (None, Some(name)) = (&found, reference.name()) {
            found = self.store.automation_by_name(self.tenant, name).await?;
        }
        found
            .filter(|automation| automation.placed_on == Some(instance))
            .ok_or_else(|| Error::NoAutomationOfInstance {
                given: given.to_owned(),
            })
    }
}
