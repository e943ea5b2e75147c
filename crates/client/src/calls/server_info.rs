//! Operations on the server and the instances.

use api_types::{Instance, Page, ServerInfo, Whoami};

use crate::{Client, Error, boxed};

impl Client {
    /// Returns the version and the state of the server.
    #[boxed]
    pub async fn server(&self) -> Result<ServerInfo, Error> {
        self.get(&["server"]).fetch().await
    }

    /// Returns the identity and the permissions of the caller.
    #[boxed]
    pub async fn whoami(&self) -> Result<Whoami, Error> {
        self.get(&["whoami"]).fetch().await
    }

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

    /// Removes an instance, by its ID or its name.
    #[boxed]
    pub async fn remove_instance(&self, instance: &str) -> Result<Instance, Error> {
        self.delete(&["instances", instance]).fetch().await
    }
}
