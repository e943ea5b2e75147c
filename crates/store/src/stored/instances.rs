//! The document `instances.config`.

use model::trigger_file::{InstanceFolder, InstanceKind};
use serde::{Deserialize, Serialize};

use crate::{Error, database::Row};

/// The configuration of an instance, as a row holds it. The row of a host is empty.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StoredInstanceConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_folder: Option<String>,
}

impl StoredInstanceConfig {
    /// Returns the document of an instance with a folder.
    pub(crate) fn of_folder(folder: &InstanceFolder) -> Self {
        let InstanceFolder { path, runtime_path } = folder.clone();
        Self {
            folder: Some(path),
            runtime_folder: runtime_path,
        }
    }

    fn into_folder(self) -> Option<InstanceFolder> {
        Some(InstanceFolder {
            path: self.folder?,
            runtime_path: self.runtime_folder,
        })
    }
}

/// Returns the folder in a row with the column `config`. Returns `None` if the instance has none.
pub(crate) fn instance_folder(row: &Row) -> Result<Option<InstanceFolder>, Error> {
    Ok(row.json::<StoredInstanceConfig>("config")?.into_folder())
}

/// Returns the kind in a row with the columns `kind` and `config`.
pub(crate) fn instance_kind(row: &Row) -> Result<InstanceKind, Error> {
    let kind: String = row.get("kind")?;
    Ok(match kind.as_str() {
        "host" => InstanceKind::Host,
        "directory" => match instance_folder(row)? {
            Some(folder) => InstanceKind::Directory(folder),
            None => InstanceKind::Unknown(kind),
        },
        _ => InstanceKind::Unknown(kind),
    })
}
