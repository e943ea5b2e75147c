//! Operations on the server and the caller.

use api_types::{ServerInfo, Whoami};

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
}
