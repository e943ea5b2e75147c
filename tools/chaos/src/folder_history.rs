//! The part of the history that belongs to instances in folders.

use std::collections::{BTreeMap, HashSet};

use anyhow::Result;
use serde::Deserialize;

use super::{database::Database, queries};

/// The records of the instances in folders.
#[derive(Debug, Clone, Default)]
pub(crate) struct FolderHistory {
    /// The IDs of the instances.
    pub(crate) instances: HashSet<String>,
    /// The process IDs of all runtimes.
    pub(crate) runtime_pids: HashSet<u32>,
    /// The process IDs of all servers. In a long test, the system uses a number again.
    pub(crate) server_pids: HashSet<u32>,
    /// The files of foreign programs.
    pub(crate) foreign_files: Vec<ForeignFile>,
    /// The data of the files that fired an automation.
    pub(crate) payloads: Vec<Payload>,
    /// The names of the files that waited in the folders at the end.
    pub(crate) waiting_files: Vec<String>,
    /// The rejected files and their reasons, by name, with their content.
    pub(crate) rejected: BTreeMap<String, String>,
}

/// A file that another program has dropped into the folder of an instance.
#[derive(Debug, Clone, Default)]
pub(crate) struct ForeignFile {
    pub(crate) name: String,
    /// The unique text in its parameters.
    pub(crate) ticket: String,
    /// `true` if the file names no automation, so that it must be rejected.
    pub(crate) is_broken: bool,
}

/// The data of a file, in the database.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Payload {
    pub(crate) run: String,
    pub(crate) payload: String,
}

/// An instance with a folder, in the database.
#[derive(Debug, Deserialize)]
struct FolderRow {
    id: String,
}

impl FolderHistory {
    /// Reads the rows of the database. The other fields stay empty.
    pub(crate) async fn read(database: &Database) -> Result<Self> {
        let instances: Vec<FolderRow> = database.rows(queries::FOLDER_INSTANCES).await?;
        Ok(Self {
            instances: instances.into_iter().map(|row| row.id).collect(),
            payloads: database.rows(queries::PAYLOADS).await?,
            ..Self::default()
        })
    }
}
