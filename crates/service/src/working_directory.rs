//! Validates the working directories of requests.

use std::path::Path;

use crate::Error;

/// Returns a valid working directory: an absolute path of an existing directory.
pub(crate) fn validate(given: Option<&str>) -> Result<Option<String>, Error> {
    let Some(text) = given else { return Ok(None) };
    let path = Path::new(text);
    let refuse = |problem: &str| Err(invalid(text, problem));
    if !path.is_absolute() {
        return refuse("it is relative; accepted is an absolute path");
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
