//! Turns whose storage is the API, as a runtime's: requests with the token of an instance, through all routes.

use std::{path::PathBuf, sync::Arc};

use client::Client;
use daemon::{Host, TurnStores};
use model::{
    Entropy, InstanceId, TenantId, Timestamp, TokenId,
    access::{Role, secret::TokenSecret},
};
use runtime::{ApiTurnStore, TurnContext};
use store::{NewToken, Store};
use turn::TurnStore;

pub(crate) use crate::routes::routes;

/// Opens storage ports over the API of a server in this process.
pub(crate) struct ApiTurnStores {
    /// The token of the runtime.
    pub(crate) token: String,
    pub(crate) session_folders: PathBuf,
}

impl ApiTurnStores {
    /// Returns the conditions of the turns of a host.
    pub(crate) fn context(&self, host: &Host) -> TurnContext {
        let client = Client::in_process(routes(host), Arc::clone(&host.entropy));
        TurnContext {
            client: client
                .with_token(&self.token)
                .unwrap()
                .runtime(host.worker.clone()),
            clock: Arc::clone(&host.clock),
            entropy: Arc::clone(&host.entropy),
            session_folders: self.session_folders.clone(),
            lease: host.settings.lease(),
        }
    }
}

impl TurnStores for ApiTurnStores {
    fn open(&self, host: &Host, directory: Option<String>) -> Box<dyn TurnStore> {
        Box::new(ApiTurnStore::new(self.context(host), directory))
    }
}

/// Creates the token of the runtime of an instance. Returns its secret.
pub(crate) async fn runtime_token(
    store: &Store,
    tenant: TenantId,
    instance: InstanceId,
    entropy: &dyn Entropy,
) -> String {
    let now = Timestamp::UNIX_EPOCH;
    let secret = TokenSecret::generate(entropy);
    let new = NewToken {
        id: TokenId::generate(now, entropy),
        name: "runtime".into(),
        role: Role::Runtime,
        scopes: None,
        hash: secret.hash(),
        secret_prefix: secret.display_prefix().into(),
        made_by: None,
        expires_at: None,
    };
    let created = store.create_runtime_token(tenant, instance, &new, now);
    created.await.unwrap();
    secret.reveal().to_owned()
}
