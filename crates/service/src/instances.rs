//! Instances: the places where agents run.

use wire::Instance;

use crate::{Error, Service};

impl Service {
    /// Lists the instances by name.
    pub async fn instances(&self) -> Result<Vec<Instance>, Error> {
        let found = self.store.instances(self.scope()).await?;
        let instances = found.into_iter().map(|one| Instance {
            id: one.id,
            name: one.name,
            last_seen_at: one.last_seen_at,
            waiting: one.waiting,
        });
        Ok(instances.collect())
    }
}
