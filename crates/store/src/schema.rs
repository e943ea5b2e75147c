//! The schema: its versions, which are the same for both databases.
//!
//! Append only: never edit a released version. The migrator applies all missing versions and records them in one
//! transaction, under a lock, so that two processes cannot both apply a version and an interruption leaves no version
//! half applied.

use db::{Migration, RunningServers, Schema};

macro_rules! migration {
    ($version:literal, $name:literal) => {
        migration!($version, $name, works_with $version)
    };
    ($version:literal, $name:literal, works_with $works_with:literal) => {
        Migration {
            version: $version,
            name: $name,
            works_with: $works_with,
            postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
            sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
        }
    };
}

/// All versions in ascending order.
const MIGRATIONS: &[Migration] = &[
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
    migration!(14, "0014_zone_rules", works_with 10),
    migration!(15, "0015_minutes_of_turns", works_with 10),
    migration!(16, "0016_token_makers", works_with 10),
    migration!(17, "0017_approval_inputs", works_with 10),
    migration!(18, "0018_removed_agents", works_with 10),
    migration!(19, "0019_run_secrets", works_with 10),
    migration!(20, "0020_tools", works_with 10),
    migration!(21, "0021_memory", works_with 10),
    migration!(22, "0022_questions", works_with 10),
    migration!(23, "0023_run_reports", works_with 10),
    migration!(24, "0024_artifacts", works_with 10),
    migration!(25, "0025_placement", works_with 10),
    migration!(26, "0026_directories", works_with 10),
    migration!(27, "0027_trigger_files", works_with 10),
    migration!(28, "0028_instance_folders", works_with 10),
    migration!(29, "0029_seats", works_with 10),
    migration!(30, "0030_seat_messages", works_with 10),
    migration!(31, "0031_goals", works_with 10),
    migration!(32, "0032_task_memories", works_with 10),
    migration!(33, "0033_checks", works_with 10),
    migration!(34, "0034_shorter_searches", works_with 10),
    migration!(35, "0035_goal_lists", works_with 10),
];

/// The schema to which `db` brings a database.
pub(crate) static SCHEMA: Schema = Schema {
    migrations: MIGRATIONS,
    running_servers: RunningServers {
        table: "automation.servers",
        earlier_than: "select string_agg(worker_id, ', ' order by worker_id) from automation.servers \
             where schema_version < $1 and stopped_at is null \
             and instance_id not in (select id from automation.instances where kind <> 'host') \
             and seen_at >= clock_timestamp() - make_interval(secs => $2)",
    },
    // No row of a transaction that the server has not begun is visible, so a row that names such a transaction comes
    // from another server with higher numbers. New events would sort before it, and readers of the feed would miss
    // them.
    is_from_another_server: "select coalesce(max(greatest( \
           (select max(e.transaction_id) from session_events e where e.tenant_id = t.id), \
           (select max(e.transaction_id) from automation_events e where e.tenant_id = t.id), \
           (select f.transaction_id from feed_trims f where f.tenant_id = t.id))), 0) \
         >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint from tenants t",
    adopt_from_another_server: "update session_events set transaction_id = 0 where transaction_id <> 0; \
         update automation_events set transaction_id = 0 where transaction_id <> 0; \
         update feed_trims set transaction_id = 0, seq = 1, \
           log_id = '00000000-0000-0000-0000-000000000000'",
};

/// The version of the schema that this program needs.
pub(crate) const LATEST_VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn migration_files_of_both_databases_match_list() {
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
