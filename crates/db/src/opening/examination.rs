//! The result of examining a database.

/// The result of examining a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseExamination {
    /// The database system and its version, such as `SQLite 3.51.3`.
    pub program: String,
    /// The schema's version; 0 if there is no schema yet.
    pub version: i64,
    /// The schema version to which this program would migrate it.
    pub latest: i64,
    /// The size of the database, in bytes.
    pub bytes: u64,
}

impl DatabaseExamination {
    pub(super) fn new(program: &str, found: &str, version: i64, latest: i64, bytes: i64) -> Self {
        Self {
            program: format!("{program} {found}"),
            version,
            latest,
            bytes: u64::try_from(bytes).unwrap_or(0),
        }
    }
}
