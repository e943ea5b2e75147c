//! Creates the first admin token when a server starts and the database has no token at all.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use api_types::TokenRequest;
use client::{Client, PageParams};
use model::access::Role;
use server::DataFolder;

use crate::{error::CliError, secret_file};

/// The name of the token in lists.
const TOKEN_NAME: &str = "first";
/// The prefix of all token secrets.
const SECRET_PREFIX: &str = "mat_";

/// Creates an admin token and writes its secret into the data folder, if there is no token yet. Returns the path of
/// the file if one was written. Does not overwrite a file of the same name that Matins did not write.
pub(super) async fn create_if_none(
    client: &Client,
    folder: &DataFolder,
) -> Result<Option<PathBuf>, CliError> {
    if !client.tokens(&PageParams::first(1)).await?.items.is_empty() {
        return Ok(None);
    }
    let path = folder.token_path();
    let failed = |source: io::Error| {
        CliError::environment(format!("cannot write the file {}", path.display()), source)
            .with_hint("`matins token create` creates a token and prints it")
    };
    if !is_replaceable(&path).map_err(failed)? {
        tracing::warn!(
            "no token was created: the file {} exists and was not written by Matins",
            path.display()
        );
        return Ok(None);
    }
    let request = TokenRequest {
        name: TOKEN_NAME.to_owned(),
        role: Role::Admin,
        scopes: None,
        expires_at: None,
    };
    let created = client.create_token(&request).await?;
    let secret = created.secret.unwrap_or_default();
    if let Err(error) = secret_file::replace(&path, &secret) {
        // Revoke the token, because its secret is lost.
        let token = created.token.id.to_string();
        client.revoke_token(&token, false).await?;
        return Err(failed(error));
    }
    Ok(Some(path))
}

/// `true` if the path is free, or if its file holds a token, which belongs to an earlier database.
fn is_replaceable(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
        Ok(found) if !found.is_file() => Ok(false),
        Ok(_) => {
            let mut begin = [0; SECRET_PREFIX.len()];
            let read = fs::File::open(path)?.read_exact(&mut begin);
            Ok(read.is_ok() && begin == SECRET_PREFIX.as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_free_path_or_token_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(is_replaceable(&path).unwrap());
        secret_file::replace(&path, "mat_one").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(is_replaceable(&path).unwrap());
        secret_file::replace(&path, "mat_two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "mat_two\n");
        for foreign in ["", "my notes", "ma"] {
            fs::write(&path, foreign).unwrap();
            assert!(!is_replaceable(&path).unwrap(), "{foreign:?}");
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(!is_replaceable(&path).unwrap());
    }
}
