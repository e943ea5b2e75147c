//! The server itself, and the instances where agents live.

use wire::{Instance, Page, ServerInfo, Whoami};

use crate::{Client, Error};

impl Client {
    /// Shows what answers.
    pub async fn server(&self) -> Result<ServerInfo, Error> {
        self.get(&["server"]).fetch().await
    }

    /// Shows who asks.
    pub async fn whoami(&self) -> Result<Whoami, Error> {
        self.get(&["whoami"]).fetch().await
    }

    /// Lists the instances by name.
    pub async fn instances(&self) -> Result<Page<Instance>, Error> {
        self.get(&["instances"]).fetch().await
    }

    /// Shows an instance, by its id or its name.
    pub async fn instance(&self, instance: &str) -> Result<Instance, Error> {
        self.get(&["instances", instance]).fetch().await
    }

    /// Gives an instance up, by its id or its name.
    pub async fn remove_instance(&self, instance: &str) -> Result<Instance, Error> {
        self.delete(&["instances", instance]).fetch().await
    }
}
