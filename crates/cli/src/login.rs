//! Stores the address and the token of a remote server in a file that only its owner can read.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{
    environment,
    error::{CliError, Exit},
};

/// The maximum number of bytes that are read from the file.
const MAX_LOGIN_FILE_BYTES: u64 = 64 << 10;

/// A remote server and the token for it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// The address of the server.
    pub(crate) server: String,
    /// The token.
    pub(crate) token: String,
}

impl Login {
    /// `true` if the token is for this server.
    pub(crate) fn is_for_server(&self, server: &str) -> bool {
        let bare = |address: &str| address.trim_end_matches('/').to_owned();
        bare(&self.server) == bare(server)
    }
}

/// Returns the path of the file. Returns `None` if there is no home directory.
pub(crate) fn path() -> Option<PathBuf> {
    environment::config_folder().map(|folder| folder.join("login.toml"))
}

/// Reads the file. Returns `None` if it does not exist.
///
/// # Errors
///
/// Refuses a file that the group or other users may read, because it contains a token.
pub(crate) fn read(path: &Path) -> Result<Option<Login>, CliError> {
    let failed = |source: io::Error| CliError::environment(failed_action(path), source);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // Check the opened file, not the path, so that the file cannot be exchanged in between.
    let mode = file.metadata().map_err(failed)?.mode();
    if mode & 0o077 != 0 {
        let message = format!(
            "{}: other users can read the token in it (mode {:03o})",
            failed_action(path),
            mode & 0o777
        );
        return Err(CliError::message(Exit::Environment, message)
            .with_hint(format!("run `chmod 600 {}`", path.display())));
    }
    let mut text = String::new();
    file.take(MAX_LOGIN_FILE_BYTES)
        .read_to_string(&mut text)
        .map_err(failed)?;
    toml::from_str(&text).map(Some).map_err(|error| {
        // Use the bare message, because the full error of the parser quotes the text, which contains the token.
        let message = format!("{}: {}", failed_action(path), error.message());
        CliError::message(Exit::Environment, message)
            .with_hint("`matins login URL` replaces it, `matins logout` removes it")
    })
}

/// Writes the file with mode 0600, and replaces an existing one atomically.
pub(crate) fn write(path: &Path, login: &Login) -> Result<(), CliError> {
    let failed = |source: io::Error| {
        CliError::environment(format!("cannot write the file {}", path.display()), source)
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder).map_err(failed)?;
    let text = toml::to_string(login).map_err(|error| {
        CliError::message(Exit::Failed, format!("cannot encode the login: {error}"))
    })?;
    // `NamedTempFile` creates files with mode 0600.
    let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Removes the file. Returns `true` if it existed.
pub(crate) fn remove(path: &Path) -> Result<bool, CliError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => {
            let message = format!("cannot remove the file {}", path.display());
            Err(CliError::environment(message, error))
        }
    }
}

fn failed_action(path: &Path) -> String {
    format!("cannot use the file {}", path.display())
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn login() -> Login {
        Login {
            server: "https://h".into(),
            token: "mat_secret".into(),
        }
    }

    #[test]
    fn login_file_is_readable_by_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/login.toml");
        assert!(read(&path).unwrap().is_none());
        write(&path, &login()).unwrap();
        write(&path, &login()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert!(read(&path).unwrap() == Some(login()));
        assert!(remove(&path).unwrap());
        assert!(!remove(&path).unwrap());
    }

    #[test]
    fn login_readable_by_others_is_refused_without_token_in_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("login.toml");
        write(&path, &login()).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let refused = read(&path).err().unwrap();
        assert!(
            refused.full_message().contains("mode 640"),
            "{}",
            refused.full_message()
        );
        fs::write(&path, "server = \"h\"\ntoken = mat_secret").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let refused = read(&path).err().unwrap();
        assert!(
            !refused.full_message().contains("mat_secret"),
            "{}",
            refused.full_message()
        );
    }
}
