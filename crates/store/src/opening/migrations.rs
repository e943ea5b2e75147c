//! The versions of the schema, the same ones for both databases.
//!
//! Append only: a version that was released is never edited. All that is missing is applied in one
//! transaction together with the note of it, under a lock; so two processes cannot both apply it
//! and an interruption leaves nothing half done.

/// One step from a version of the schema to the next.
pub(super) struct Migration {
    /// Counts from 1 without gaps.
    pub(super) version: i64,
    pub(super) name: &'static str,
    /// The earliest version whose programs may go on while the schema has this one: they write nothing that
    /// this version's program takes for something else, and find all that they ask for.
    pub(super) works_with: i64,
    pub(super) postgres: &'static str,
    pub(super) sqlite: &'static str,
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        migration!($version, $name, works_with $version)
    };
    ($version:literal, $name:literal, works_with $works_with:literal) => {
        Migration {
            version: $version,
            name: $name,
            works_with: $works_with,
            postgres: include_str!(concat!("../../migrations/postgres/", $name, ".sql")),
            sqlite: include_str!(concat!("../../migrations/sqlite/", $name, ".sql")),
        }
    };
}

/// All versions in their order.
pub(super) const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_foundation"),
    migration!(2, "0002_history_costs_nothing"),
    migration!(3, "0003_less_to_write"),
    migration!(4, "0004_api"),
    migration!(5, "0005_order_of_commits"),
    migration!(6, "0006_webhooks"),
    migration!(7, "0007_budgets"),
    migration!(8, "0008_approvals"),
    migration!(9, "0009_fleet"),
    migration!(10, "0010_coordinator"),
    migration!(11, "0011_cheaper_wakes", works_with 10),
    migration!(12, "0012_room_for_updates", works_with 10),
    migration!(13, "0013_document_formats", works_with 10),
];

/// The version of this program, which a schema that it applies names.
pub(super) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The version that this program needs.
pub(crate) const LATEST: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// The earliest version whose programs may go on once what is missing after `version` is applied.
pub(super) fn work_with(version: i64) -> i64 {
    after(version)
        .map(|migration| migration.works_with)
        .max()
        .unwrap_or(0)
}

/// What is missing after `version`.
pub(super) fn after(version: i64) -> impl Iterator<Item = &'static Migration> {
    MIGRATIONS
        .iter()
        .filter(move |migration| migration.version > version)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn both_databases_have_the_same_versions_and_each_is_listed() {
        let listed: BTreeSet<String> = MIGRATIONS
            .iter()
            .zip(1..)
            .map(|(migration, expected)| {
                assert_eq!(migration.version, expected);
                assert!(migration.name.starts_with(&format!("{expected:04}_")));
                assert!((1..=expected).contains(&migration.works_with));
                format!("{}.sql", migration.name)
            })
            .collect();
        for dialect in ["postgres", "sqlite"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("migrations")
                .join(dialect);
            let files = fs::read_dir(folder).unwrap();
            let files: BTreeSet<String> = files
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            assert_eq!(files, listed, "{dialect}");
        }
    }
}
