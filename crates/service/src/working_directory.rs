//! Validates the working directories of requests.

use std::path::Path;

use model::InstanceId;

use crate::{Error, Service};

impl Service {
    /// `true` if turns are placed on another instance than the one of this server.
    pub(crate) fn is_on_other_instance(&self, placed_on: Option<InstanceId>) -> bool {
        let own = self.artifact_files.as_ref().map(|files| files.instance);
        placed_on.is_some() && placed_on != own
    }

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
        if self.is_on_other_instance(placed_on) {
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
}

/// Returns the error for an invalid working directory.
pub(crate) fn invalid(given: &str, problem: impl Into<String>) -> Error {
    Error::invalid("cwd", given, problem).with_name("working directory")
}
