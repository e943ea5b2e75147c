//! Validates the working directories of requests, and the instances on which their turns are placed.

use std::path::Path;

use model::InstanceId;

use crate::{Error, Service};

/// Returns a valid working directory: an absolute path of a directory, which exists if it `is_here`, on the machine of
/// this process.
pub(crate) fn validate(given: Option<&str>, is_here: bool) -> Result<Option<String>, Error> {
    let Some(text) = given else { return Ok(None) };
    let path = Path::new(text);
    let refuse = |problem: &str| Err(invalid(text, problem));
    if !path.is_absolute() {
        return refuse("it is relative; accepted is an absolute path");
    }
    if !is_here {
        return Ok(Some(text.to_owned()));
    }
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(Some(text.to_owned())),
        Ok(_) => refuse("it is not a directory"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            refuse("it does not exist; accepted is an existing directory")
        }
        Err(error) => refuse(&error.to_string()),
    }
}

/// Returns the error for an invalid working directory.
pub(crate) fn invalid(given: &str, problem: impl Into<String>) -> Error {
    Error::invalid("cwd", given, problem).with_name("working directory")
}

impl Service {
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

    /// Returns `true` if turns that are placed there run on the machine of this process, or may.
    pub(crate) fn is_here(&self, placed_on: Option<InstanceId>) -> bool {
        let own = self.artifact_files.as_ref().map(|files| files.instance);
        placed_on.is_none_or(|instance| Some(instance) == own)
    }
}
