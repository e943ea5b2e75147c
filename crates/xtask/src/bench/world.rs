//! A database to measure on.

use std::{path::Path, sync::Arc};

use anyhow::Result;
use model::{
    Entropy, HarnessId, InstanceId, TenantId, Timestamp, WorkerId, harness::HarnessConfig,
};
use store::{Location, Store};

/// A database with what runs need.
pub struct World {
    pub store: Store,
    pub entropy: Arc<dyn Entropy>,
    pub tenant: TenantId,
    pub harness: HarnessId,
    pub instance: InstanceId,
    pub worker: WorkerId,
}

/// The system's clock.
pub fn now() -> Timestamp {
    Timestamp::from_jiff(jiff::Timestamp::now())
}

struct Random;

impl Entropy for Random {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system has randomness");
    }
}

impl World {
    /// Opens a new database below `folder`.
    pub async fn open(folder: &Path) -> Result<Self> {
        let entropy: Arc<dyn Entropy> = Arc::new(Random);
        let location = Location::SqliteFile(folder.join("matins.db"));
        let store = Store::new(
            store::open(&location).await?,
            Arc::clone(&entropy),
            folder.join("sessions"),
        );
        let tenant = store.ensure_tenant("default", now()).await?;
        let instance = InstanceId::generate(now(), &*entropy);
        store
            .register_host(tenant, instance, "bench", now())
            .await?;
        let harness = store
            .put_harness(
                tenant,
                "bench",
                &HarnessConfig::new(vec!["true".into()]),
                None,
                now(),
            )
            .await?
            .id;
        let worker = WorkerId::generate("bench", std::process::id(), &*entropy);
        Ok(Self {
            store,
            entropy,
            tenant,
            harness,
            instance,
            worker,
        })
    }
}
