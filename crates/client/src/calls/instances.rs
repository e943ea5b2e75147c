//! Operations on instances.

use api_types::{Instance, InstanceCheck, InstanceRequest, Page, RuntimeToken};

use crate::{Client, Error, boxed};

impl Client {
    /// Lists the instances by name.
    #[boxed]
    pub async fn instances(&self) -> Result<Page<Instance>, Error> {
        self.get(&["instances"]).fetch().await
    }

    /// Returns an instance, by its ID or its name.
    #[boxed]
    pub async fn instance(&self, instance: &str) -> Result<Instance, Error> {
        self.get(&["instances", instance]).fetch().await
    }

    /// Adds an instance with a folder. The response has the secret of its runtime's token, unless it repeats an earlier one
    /// that was lost on its way.
    #[boxed]
    pub async fn add_instance(&self, request: &InstanceRequest) -> Result<RuntimeToken, Error> {
        self.post(&["instances"])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }

    /// Checks an instance, by its ID or its name.
    #[boxed]
    pub async fn check_instance(&self, instance: &str) -> Result<InstanceCheck, Error> {
        self.post(&["instances", instance, "check"]).fetch().await
    }

    /// Replaces the token of the runtime of an instance, by its ID or its name.
    #[boxed]
    pub async fn rotate_runtime_token(&self, instance: &str) -> Result<RuntimeToken, Error> {
        self.post(&["instances", instance, "token"]).fetch().await
    }

    /// Removes an instance, by its ID or its name.
    #[boxed]
    pub async fn remove_instance(&self, instance: &str) -> Result<Instance, Error> {
        self.delete(&["instances", instance]).fetch().await
    }
}
