//! Instances: the folders in which agents run and keep their memories.

use std::path::{Component, Path};

use api_types::{
    AddedInstanceKind, Instance, InstanceKind, InstanceRequest, InstanceState, RuntimeToken,
};
use model::{
    InstanceId, TokenId,
    access::{Role, secret::TokenSecret},
    trigger_file,
};
use store::{InstanceStatus, NewInstance, NewToken};

use crate::{Error, Service, boxed, naming, object_lookup::Reference};

/// The longest path of a folder, in bytes: the limit of Linux.
const MAX_FOLDER_BYTES: usize = 4096;

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

    /// Returns the ID of the instance with this ID or name. The whole ID finds a removed instance as well.
    pub(crate) async fn find_instance(&self, given: &str) -> Result<InstanceId, Error> {
        match self.instance(given).await {
            Ok(instance) => Ok(instance.id),
            Err(error @ Error::NotFound { .. }) => {
                let Ok(id) = given.parse() else {
                    return Err(error);
                };
                let removed = self.removed_instance(Some(id)).await?;
                removed.map(|_| id).ok_or(error)
            }
            Err(error) => Err(error),
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

    /// Returns the name of an instance that was removed. Returns `None` if there is none, or if it was not removed.
    pub(crate) async fn removed_instance(
        &self,
        instance: Option<InstanceId>,
    ) -> Result<Option<String>, Error> {
        match instance {
            Some(id) => Ok(self.store.removed_instance(self.scope(), id).await?),
            None => Ok(None),
        }
    }

    /// Adds an instance with a folder, and the token of its runtime, which `made_by` makes. With a reserved `id`, returns the
    /// instance that an earlier request has added, without the secret.
    ///
    /// # Errors
    ///
    /// Returns an error if the request is invalid or the name is in use.
    #[boxed]
    pub async fn add_instance(
        &self,
        request: &InstanceRequest,
        made_by: Option<TokenId>,
        id: Option<InstanceId>,
    ) -> Result<RuntimeToken, Error> {
        if let Some(id) = id
            && let Ok(instance) = self.instance(&id.to_string()).await
        {
            return Ok(RuntimeToken {
                instance,
                secret: None,
            });
        }
        let name = naming::validate_new_name("name", &request.name, None)
            .map_err(|error| error.with_name("instance name"))?;
        let AddedInstanceKind::Directory = request.kind;
        let path = validate_folder("folder", &request.folder)?;
        let runtime_path = match &request.runtime_folder {
            Some(given) => Some(validate_folder("runtime_folder", given)?),
            None => None,
        };
        let now = self.now();
        let new = NewInstance {
            id: id.unwrap_or_else(|| InstanceId::generate(now, &*self.entropy)),
            name,
            folder: trigger_file::InstanceFolder { path, runtime_path },
        };
        let (secret, token) = self.new_runtime_token(&new.name, made_by);
        self.store
            .add_instance(self.tenant, &new, &token, now)
            .await?;
        Ok(RuntimeToken {
            instance: self.instance(&new.id.to_string()).await?,
            secret: Some(secret.reveal().to_owned()),
        })
    }

    /// Replaces the token of the runtime of an instance. The earlier token is invalid from then on.
    ///
    /// # Errors
    ///
    /// Returns an error if the instance has no runtime.
    #[boxed]
    pub async fn rotate_runtime_token(
        &self,
        given: &str,
        made_by: Option<TokenId>,
    ) -> Result<RuntimeToken, Error> {
        let instance = self.instance(given).await?;
        if instance.kind != InstanceKind::Directory {
            let problem = "it has no runtime; accepted is an instance of the kind `directory`";
            return Err(Error::invalid("instance", &instance.name, problem));
        }
        let (secret, token) = self.new_runtime_token(&instance.name, made_by);
        self.store
            .create_runtime_token(self.tenant, instance.id, &token, self.now())
            .await?;
        Ok(RuntimeToken {
            instance,
            secret: Some(secret.reveal().to_owned()),
        })
    }

    fn new_runtime_token(&self, name: &str, made_by: Option<TokenId>) -> (TokenSecret, NewToken) {
        let secret = TokenSecret::generate(&*self.entropy);
        let token = NewToken {
            id: TokenId::generate(self.now(), &*self.entropy),
            name: format!("runtime of {name}"),
            role: Role::Runtime,
            scopes: None,
            hash: secret.hash(),
            secret_prefix: secret.display_prefix().to_owned(),
            made_by,
            expires_at: None,
        };
        (secret, token)
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
        let (kind, folder) = match status.kind {
            trigger_file::InstanceKind::Host => (InstanceKind::Host, None),
            trigger_file::InstanceKind::Directory(folder) => {
                (InstanceKind::Directory, Some(folder))
            }
            trigger_file::InstanceKind::Unknown(_) => (InstanceKind::Unknown, None),
        };
        Instance {
            id: status.id,
            name: status.name,
            kind,
            runtime_folder: folder
                .as_ref()
                .and_then(|folder| folder.runtime_path.clone()),
            folder: folder.map(|folder| folder.path),
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
            waiting_runs: status.queued_runs + status.delivered_runs,
            delivered_runs: status.delivered_runs,
        }
    }
}

/// Returns a valid folder of an instance: an absolute path without `..`, because a server and a runtime use it from
/// different directories.
fn validate_folder(field: &'static str, given: &str) -> Result<String, Error> {
    let path = Path::new(given);
    let is_plain = path.is_absolute() && path.components().all(|part| part != Component::ParentDir);
    if is_plain && given.len() <= MAX_FOLDER_BYTES && !given.chars().any(char::is_control) {
        return Ok(given.to_owned());
    }
    let problem =
        format!("accepted is an absolute path of at most {MAX_FOLDER_BYTES} bytes without `..`");
    Err(Error::invalid(field, given, problem).with_name(field))
}
