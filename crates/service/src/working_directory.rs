//! Validates the working directories of requests, and the instances on which their turns are placed.

use std::path::Path;

use model::InstanceId;

use crate::{Error, Service};

impl Service {
    /// Returns a valid working directory: an absolute path of an existing directory. While several servers are online,
    /// another one may have a directory that this server does not have, and an instance on which the turns are placed
    /// has directories of its own.
    pub(crate) async fn validate_directory(
        &self,
        given: Option<&str>,
        placed_on: Option<InstanceId>,
    ) -> Result<Option<String>, Error> {
        let Some(text) = given else { return Ok(None) };
        let path = Path::new(text);
        let refuse = |problem: &str| Err(invalid(text, problem));
        if !path.is_absolute() {
            return refuse("it is relative; accepted is an absolute path");
        }
        let own = self.artifact_files.as_ref().map(|files| files.instance);
        if placed_on.is_some() && placed_on != own {
            return Ok(Some(text.to_owned()));
        }
        let found = std::fs::metadata(path);
        let is_directory = found.as_ref().is_ok_and(std::fs::Metadata::is_dir);
        let may_be_elsewhere =
            placed_on.is_none() && self.store.count_online_servers(self.now()).await? > 1;
        if is_directory || may_be_elsewhere {
            return Ok(Some(text.to_owned()));
        }
        match found {
            Ok(_) => refuse("it is not a directory"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                refuse("it does not exist; accepted is an existing directory")
            }
            Err(error) => refuse(&error.to_string()),
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
}

/// Returns the error for an invalid working directory.
pub(crate) fn invalid(given: &str, problem: impl Into<String>) -> Error {
    Error::invalid("cwd", given, problem).with_name("working directory")
}
