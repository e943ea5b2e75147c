//! The declaration of a schema, to which the migrator brings a database. The crate that names the tables provides it.

/// One step from a version of the schema to the next.
#[derive(Debug)]
pub struct Migration {
    /// The version that the step leads to. Versions count from 1 without gaps.
    pub version: i64,
    /// The migration's name in `schema_versions`.
    pub name: &'static str,
    /// The earliest version whose programs may go on while the schema has this one. Those programs write no value
    /// that this version's program misreads, and find every table and column that they query.
    pub works_with: i64,
    /// The SQL text for PostgreSQL.
    pub postgres: &'static str,
    /// The SQL text for SQLite.
    pub sqlite: &'static str,
}

/// A schema: its migrations, and the statements that surround them on PostgreSQL.
///
/// The first migration creates the table `schema_versions (version, name, ...)`. The migrator itself reads and writes
/// that table, because it has to know the version before it can choose statements that fit the schema.
#[derive(Debug)]
pub struct Schema {
    /// All migrations in the order of their versions. The list must not be empty.
    pub migrations: &'static [Migration],
    /// The query for the running servers that a migration would break.
    pub running_servers: RunningServers,
    /// A query that returns one boolean: `true` if rows name transactions that this server has not begun yet, which
    /// means that the database was restored from another server.
    pub is_from_another_server: &'static str,
    /// The statements that renumber such rows, separated by semicolons.
    pub adopt_from_another_server: &'static str,
}

/// The query for the running servers.
#[derive(Debug)]
pub struct RunningServers {
    /// The table that the query reads. The first versions of the schema do not have it.
    pub table: &'static str,
    /// A query for the names, joined by commas, of the workers of those servers whose version is below `$1` and whose
    /// last heartbeat is at most `$2` seconds old. It returns null if there are none.
    pub earlier_than: &'static str,
}

impl Schema {
    /// Returns the version that this program needs.
    pub const fn latest(&self) -> i64 {
        self.migrations[self.migrations.len() - 1].version
    }

    /// Returns the migrations that follow `version`.
    pub(crate) fn migrations_after(
        &self,
        version: i64,
    ) -> impl Iterator<Item = &'static Migration> {
        let is_missing = move |migration: &&Migration| migration.version > version;
        self.migrations.iter().filter(is_missing)
    }

    /// Returns the earliest version whose programs may go on once the migrations after `version` are applied.
    pub(crate) fn works_with_after_migrating(&self, version: i64) -> i64 {
        self.migrations_after(version)
            .map(|migration| migration.works_with)
            .max()
            .unwrap_or(0)
    }
}

/// The version of this program. Each migration that the program applies records it.
pub(crate) const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");
