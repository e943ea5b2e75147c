//! The schema that a database is brought to. The crate that names tables declares it.

/// One step from a version of the schema to the next.
#[derive(Debug)]
pub struct Migration {
    /// Its version. Versions count from 1 without gaps.
    pub version: i64,
    /// Its name in `schema_versions`.
    pub name: &'static str,
    /// The earliest version whose programs may go on while the schema has this one: they write nothing that this
    /// version's program takes for something else, and find all that they ask for.
    pub works_with: i64,
    /// Its text for PostgreSQL.
    pub postgres: &'static str,
    /// Its text for SQLite.
    pub sqlite: &'static str,
}

/// A schema: its migrations, and the statements that surround them on PostgreSQL.
///
/// The first migration creates the table `schema_versions (version, name, ...)`. The migrator reads and writes that
/// table by itself, because it has to read the version before it knows which statements the schema understands.
#[derive(Debug)]
pub struct Schema {
    /// All migrations in their order; at least one.
    pub migrations: &'static [Migration],
    /// How to list the running servers that a migration would break.
    pub running_servers: RunningServers,
    /// A query whose one boolean is `true` if rows name transactions that this server has not begun yet, i.e. if
    /// the database was restored from another server.
    pub is_from_another_server: &'static str,
    /// The statements that bring such rows in order, separated by semicolons.
    pub adopt_from_another_server: &'static str,
}

/// The query for the servers that run.
#[derive(Debug)]
pub struct RunningServers {
    /// The table that the query reads. The first versions of the schema do not have it.
    pub table: &'static str,
    /// A query for the workers' names, joined by commas, of the servers whose version is below `$1` and which have
    /// shown themselves within `$2` seconds; null if there are none.
    pub earlier_than: &'static str,
}

impl Schema {
    /// Returns the version that this program needs.
    pub const fn latest(&self) -> i64 {
        self.migrations[self.migrations.len() - 1].version
    }

    /// Returns the migrations that are missing after `version`.
    pub(crate) fn after(&self, version: i64) -> impl Iterator<Item = &'static Migration> {
        let is_missing = move |migration: &&Migration| migration.version > version;
        self.migrations.iter().filter(is_missing)
    }

    /// Returns the earliest version whose programs may go on once the migrations after `version` are applied.
    pub(crate) fn works_with_after(&self, version: i64) -> i64 {
        self.after(version)
            .map(|migration| migration.works_with)
            .max()
            .unwrap_or(0)
    }
}

/// The version of this program, which a schema that it applies names.
pub(crate) const PROGRAM: &str = env!("CARGO_PKG_VERSION");
