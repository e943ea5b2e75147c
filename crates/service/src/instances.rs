//! Instances: the data folders in which agents run and keep their memories.

use api_types::{Instance, InstanceState};
use model::InstanceId;
use store::InstanceStatus;

use crate::{Error, Service, boxed, object_lookup::Reference};

impl Service {
    /// Lists the instances by name.
    #[boxed]
    pub async fn instances(&self) -> Result<Vec<Instance>, Error> {
        let found = self.store.instances(self.scope()).await?;
        Ok(found
            .into_iter()
            .map(|status| self.instance_view(status))
            .collect())
    }

    /// Returns the instance with this ID or name.
    #[boxed]
    pub async fn instance(&self, given: &str) -> Result<Instance, Error> {
        let mut all = self.instances().await?;
        let reference = Reference::parse(given, InstanceId::PREFIX);
        match reference.position(&all, |instance| (instance.id, &instance.name)) {
            Some(index) => Ok(all.swap_remove(index)),
            None => Err(Error::NotFound {
                what: "instance",
                given: given.into(),
                nearest: None,
            }),
        }
    }

    /// Returns the instance on which turns are placed, by its name or its ID.
    ///
    /// # Errors
    ///
    /// Returns an error that lists the instances if there is no such instance.
    pub(crate) async fn find_placement(
        &self,
        given: Option<&str>,
    ) -> Result<Option<InstanceId>, Error> {
        let Some(given) = given else { return Ok(None) };
        match self.instance(given).await {
            Ok(instance) => Ok(Some(instance.id)),
            Err(Error::NotFound { .. }) => {
                let all = self.instances().await?;
                let names: Vec<_> = all.into_iter().map(|instance| instance.name).collect();
                let problem = format!(
                    "there is no such instance; accepted are {}",
                    names.join(", ")
                );
                Err(Error::invalid("placed_on", given, problem).with_name("instance"))
            }
            Err(error) => Err(error),
        }
    }

    /// Removes an instance. The agent memories in its data folder count as lost, and queued runs that need them fail.
    ///
    /// # Errors
    ///
    /// Returns an error if a server is serving the instance.
    #[boxed]
    pub async fn remove_instance(&self, given: &str) -> Result<Instance, Error> {
        let found = self.instance(given).await?;
        self.store
            .remove_instance(self.tenant, found.id, self.now())
            .await?;
        Ok(found)
    }

    fn instance_view(&self, status: InstanceStatus) -> Instance {
        let online = status
            .server
            .as_ref()
            .is_some_and(|server| server.is_online(self.now()));
        let server = status.server;
        Instance {
            id: status.id,
            name: status.name,
            state: if online {
                InstanceState::Online
            } else {
                InstanceState::Offline
            },
            format: server.as_ref().map(|server| server.format),
            automations_too_new: status.unsupported_automations,
            version: server.as_ref().map(|server| server.version.clone()),
            worker: server.map(|server| server.worker),
            last_seen_at: status.last_seen_at,
            waiting_runs: status.queued_runs,
        }
    }
}
