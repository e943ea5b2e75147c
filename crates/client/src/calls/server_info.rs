//! Operations on the server and the instances.

use api_types::{Instance, Page, ServerInfo, Whoami};

use crate::{Client, Error};

impl Client {
    /// Returns the version and the state of the server.
    pub async fn server(&self) -> Result<ServerInfo, Error> {
        self.get(&["server"]).fetch().await
    }

    /// Returns the identity and the permissions of the caller.
    pub async fn whoami(&self) -> Result<Whoami, Error> {
        self.get(&["whoami"]).fetch().await
    }

    /// Lists the instances by name.
    pub async fn instances(&self) -> Result<Page<Instance>, Error> {
        self.get(&["instances"]).fetch().await
    }

    /// Returns an instance, by its ID or its name.
    pub async fn instance(&self, instance: &str) -> Result<Instance, Error> {
        self.get(&["instances", instance]).fetch().await
    }

    /// Removes an instance, by its ID or its name.
    pub async fn remove_instance(&self, instance: &str) -> Result<Instance, Error> {
        self.delete(&["instances", instance]).fetch().await
    }
}
