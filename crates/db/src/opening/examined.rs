//! The result of examining a database.

/// What a look at a database found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// The database's program with its version, such as `SQLite 3.51.3`.
    pub program: String,
    /// The schema's version; 0 where there is none yet.
    pub version: i64,
    /// The version that this program brings it to.
    pub latest: i64,
    /// The size, in bytes.
    pub bytes: u64,
}

impl Examined {
    pub(super) fn new(program: &str, found: &str, version: i64, latest: i64, bytes: i64) -> Self {
        Self {
            program: format!("{program} {found}"),
            version,
            latest,
            bytes: u64::try_from(bytes).unwrap_or(0),
        }
    }
}
