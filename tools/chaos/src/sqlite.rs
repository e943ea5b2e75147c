//! The SQLite file of a server, which the test reads beside that server.
//!
//! The file is in WAL mode, so that readers and the server do not wait for each other. Each call opens a connection of
//! its own, because the server may be killed and started again between two calls.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

/// The name of the file in the data folder of a server.
const FILE_NAME: &str = "matins.db";
/// The query that returns a query for the rows of each table.
const DUMPS: &str = include_str!("sql/sqlite/dumps.sql");

/// A SQLite file.
#[derive(Debug)]
pub(crate) struct SqliteFile {
    path: PathBuf,
}

impl SqliteFile {
    /// Returns the file in the data folder of a server.
    pub(crate) fn in_data_folder(folder: &Path) -> Self {
        Self {
            path: folder.join(FILE_NAME),
        }
    }

    /// Returns the rows of a query, which has one column with a JSON object.
    pub(crate) async fn rows<T: DeserializeOwned>(&self, query: &'static str) -> Result<Vec<T>> {
        let mut connection = self.connect(true).await?;
        let rows: Vec<String> = sqlx::query_scalar(query).fetch_all(&mut connection).await?;
        connection.close().await?;
        rows.iter()
            .map(|row| serde_json::from_str(row))
            .collect::<Result<Vec<T>, _>>()
            .with_context(|| format!("cannot parse the rows of {query}"))
    }

    /// Executes a statement and returns the number of changed rows.
    pub(crate) async fn execute(&self, statement: &'static str) -> Result<u64> {
        let mut connection = self.connect(false).await?;
        let done = sqlx::query(statement).execute(&mut connection).await?;
        connection.close().await?;
        Ok(done.rows_affected())
    }

    /// Returns the rows of all tables as text.
    pub(crate) async fn dump(&self) -> Result<String> {
        let mut connection = self.connect(true).await?;
        let queries: Vec<String> = sqlx::query_scalar(DUMPS).fetch_all(&mut connection).await?;
        let mut lines = Vec::new();
        for query in queries {
            // The query consists of names of the schema.
            let rows = sqlx::query_scalar(AssertSqlSafe(query));
            let rows: Vec<String> = rows.fetch_all(&mut connection).await?;
            lines.extend(rows);
        }
        connection.close().await?;
        Ok(lines.join("\n"))
    }

    async fn connect(&self, is_read_only: bool) -> Result<SqliteConnection> {
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .read_only(is_read_only);
        let opened = SqliteConnection::connect_with(&options).await;
        opened.with_context(|| format!("cannot open `{}`", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};
    use sqlx::sqlite::SqliteJournalMode;

    use super::{
        super::{
            database::Database, folder_history::FolderHistory, goal_history::GoalHistory,
            history::History, queries,
        },
        *,
    };

    /// The folder with the migrations, which the test applies without the code of the product.
    const MIGRATIONS: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/store/migrations/sqlite"
    );

    /// Creates a file with the present schema and with one row in each table that the queries read.
    async fn create(folder: &Path) -> Database {
        let file = SqliteFile::in_data_folder(folder);
        let options = SqliteConnectOptions::new()
            .filename(&file.path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .foreign_keys(false);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        let entries = fs::read_dir(MIGRATIONS).unwrap();
        let mut migrations: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        migrations.sort();
        assert!(!migrations.is_empty());
        for migration in migrations {
            let statements = fs::read_to_string(migration).unwrap();
            let statements = sqlx::raw_sql(AssertSqlSafe(statements));
            statements.execute(&mut connection).await.unwrap();
        }
        let rows = sqlx::raw_sql(include_str!("sql/rows_for_tests.sql"));
        rows.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        Database::Sqlite(file)
    }

    #[tokio::test]
    async fn history_is_read_from_sqlite_file() {
        let folder = tempfile::tempdir().unwrap();
        let database = create(folder.path()).await;
        let homes: [&Path; 0] = [];
        let history = History::read(&database, &homes).await.unwrap();
        let [waiting, review] = history.runs.as_slice() else {
            panic!("{:?}", history.runs);
        };
        assert_eq!(waiting.id, "run_a1");
        assert_eq!(waiting.session.as_deref(), Some("ses_e1"));
        assert_eq!(waiting.automation.as_deref(), Some("aut_c1"));
        assert_eq!(waiting.trigger, Some(history.triggers[0].id.clone()));
        assert_eq!(
            (waiting.scheduled_for, waiting.started_at),
            (Some(10), None)
        );
        assert_eq!((&waiting.task, waiting.is_review), (&None, false));
        assert_eq!((&review.automation, &review.trigger), (&None, &None));
        assert!(review.is_review);
        assert_eq!(review.started_at, Some(8));
        assert_eq!(history.automations[0].policies, json!({ "queue_limit": 3 }));
        assert_eq!(history.triggers[0].spec, json!({ "kind": "every" }));
        assert_eq!(history.sessions[0].last_seq, 2);
        let [queued, done] = history.events.as_slice() else {
            panic!("{:?}", history.events);
        };
        assert_eq!(queued.reference, review.id);
        assert_eq!(queued.committed_at, Some(6));
        assert_eq!(Some(&done.reference), review.task.as_ref());
        assert_eq!(done.body, json!({ "status": "DONE" }));
        assert_eq!(history.automation_events[0].log, "aut_c1");
        assert_eq!(history.messages[0].run, None);
        let folders = FolderHistory::read(&database).await.unwrap();
        assert_eq!(folders.instances.len(), 1);
        assert!(folders.instances.contains("f3"), "{folders:?}");
        assert_eq!(review.instance.as_deref(), Some("f3"));
        assert_eq!(folders.payloads[0].run, waiting.id);
    }

    #[tokio::test]
    async fn progress_is_read_from_sqlite_file() {
        let folder = tempfile::tempdir().unwrap();
        let database = create(folder.path()).await;
        let expected = [
            (queries::BEHIND, json!({ "next": 20 })),
            (
                queries::OPEN,
                json!({ "id": "run_a1", "status": "deferred", "attempt": 1 }),
            ),
            (
                queries::QUEUE_LENGTHS,
                json!({ "automation": "aut_c1", "length": 1 }),
            ),
        ];
        for (query, row) in expected {
            let rows: Vec<Value> = database.rows(query).await.unwrap();
            assert_eq!(rows, [row]);
        }
    }

    #[tokio::test]
    async fn finished_task_in_sqlite_file_is_reopened_once() {
        let folder = tempfile::tempdir().unwrap();
        let database = create(folder.path()).await;
        for changed in [1, 0] {
            let reopened = database.execute(queries::REOPEN_TASKS).await.unwrap();
            assert_eq!(reopened, changed);
        }
        let goals = GoalHistory::read(&database, Vec::new()).await.unwrap();
        assert_eq!(goals.tasks[0].status, "READY");
        assert_eq!(goals.tasks[0].goal, "ses_e1");
    }

    #[tokio::test]
    async fn texts_of_sqlite_file_have_all_values() {
        let folder = tempfile::tempdir().unwrap();
        let database = create(folder.path()).await;
        let texts = database.texts().await.unwrap();
        let [(_, dump)] = texts.as_slice() else {
            panic!("{texts:?}");
        };
        for value in [
            "'It''s time.'",
            "'ticket-1'",
            "X'A1'",
            "'{\"queue_limit\": 3}'",
        ] {
            assert!(dump.contains(value), "{value}: {dump}");
        }
        assert_eq!(database.password(), None);
    }
}
