//! The checks of a database after a process was aborted.
//!
//! Each point adds rows to the one database of a test. The checks are statements over all of them, so that a point late in
//! a test costs little more than the first one.

use std::collections::BTreeSet;

use model::{RunId, entity::Run, run::RunStatus};
use store::{
    RunFilter, Scope, Store,
    database::{Dialect, Row, Statement},
    params,
};
use testkit::invariants::VIOLATION_QUERIES;

/// The tables that [`snapshot`] compares.
const TABLES: [&str; 10] = [
    "agent_definitions",
    "agent_messages",
    "agent_runs",
    "agent_sessions",
    "automation_triggers",
    "automations",
    "run_heartbeats",
    "run_live",
    "run_records",
    "session_events",
];

/// The rules of a finished history: for each violation, the query that returns the runs. Both databases understand them.
const END_VIOLATIONS: [(&str, &str); 2] = [
    (
        "I3: a run without a visible end",
        "select r.id from agent_runs r where r.session_id is not null and not exists \
         (select 1 from agent_messages m where m.session_id = r.session_id and m.run_id = r.id \
         and m.metadata ->> 'outcome' = r.status)",
    ),
    (
        "I3: a run whose end is not in the log, or twice",
        "select r.id from agent_runs r where r.session_id is not null and 1 <> \
         (select count(*) from session_events e where e.session_id = r.session_id \
         and e.kind = 'run' and e.ref_id = r.id and e.body ->> 'status' = r.status)",
    ),
];

/// Returns the runs of a filter, oldest first.
pub(crate) async fn runs_of_filter(store: &Store, filter: RunFilter) -> Vec<Run> {
    loop {
        match store.runs(Scope::System, filter.clone(), 10_000).await {
            Ok(mut runs) => {
                runs.reverse();
                return runs;
            }
            // Hundreds of processes at once may leave a connection idle for longer than the database permits.
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
    }
}

/// Returns all runs, oldest first.
pub(crate) async fn runs_oldest_first(store: &Store) -> Vec<Run> {
    runs_of_filter(store, RunFilter::default()).await
}

/// Returns the runs that are not over, oldest first.
pub(crate) async fn open_runs(store: &Store) -> Vec<Run> {
    let filter = RunFilter {
        statuses: vec![
            RunStatus::Queued,
            RunStatus::Deferred,
            RunStatus::Delivered,
            RunStatus::Running,
        ],
        ..RunFilter::default()
    };
    runs_of_filter(store, filter).await
}

/// Returns a statement with a text that only these tests have.
fn statement(sql: String) -> &'static Statement {
    let sql: &'static str = sql.leak();
    Box::leak(Box::new(Statement::new("a check", sql, sql)))
}

/// Returns the first row that must not be there, and the rule that it breaks.
async fn find_violation(
    store: &Store,
    queries: &[(&str, &str)],
) -> Result<Option<String>, store::Error> {
    let mut tx = store.database().begin_read(Scope::System).await?;
    for (what, finding) in queries {
        let found: Vec<Row> = tx
            .fetch_all(statement((*finding).to_owned()), params![])
            .await?;
        if !found.is_empty() {
            return Ok(Some(format!("there is {what}: {found:?}")));
        }
    }
    Ok(None)
}

/// Checks that no query finds a violation.
async fn check_queries(store: &Store, queries: &[(&str, &str)]) {
    let violation = loop {
        match find_violation(store, queries).await {
            Ok(violation) => break violation,
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
    };
    assert_eq!(violation, None);
}

/// Checks the invariants of every state (I1, I2, I4, I5).
pub(crate) async fn check_state(store: &Store) {
    check_queries(store, VIOLATION_QUERIES).await;
}

/// Checks the invariants of a finished history (I3, I6). `ended_well` are the runs whose agents report that they ended
/// their turns.
pub(crate) async fn check_history(store: &Store, ended_well: &BTreeSet<RunId>) {
    check_state(store).await;
    for run in runs_oldest_first(store).await {
        assert!(run.status().is_over(), "I3: {run:#?} is not over");
        assert!(
            run.status() != RunStatus::Succeeded || ended_well.contains(&run.id),
            "I6: {run:#?} succeeded without its agent's word"
        );
    }
    check_queries(store, &END_VIOLATIONS).await;
}

/// Returns the rows of the tables, to compare before and after.
pub(crate) async fn snapshot(store: &Store) -> BTreeSet<String> {
    let mut tx = store.database().begin_read(Scope::System).await.unwrap();
    let texts: Vec<String> = match tx.dialect() {
        Dialect::Postgres => TABLES
            .iter()
            .map(|table| format!("select '{table} ' || cast({table} as text) as line from {table}"))
            .collect(),
        Dialect::Sqlite => {
            let columns = "select t.name, group_concat('quote(\"' || c.name || '\")', ' || '' '' || ') \
                 as columns from sqlite_schema t, pragma_table_info(t.name) c \
                 where t.type = 'table' group by t.name";
            let tables = tx.fetch_all(statement(columns.to_owned()), params![]);
            let mut texts = Vec::new();
            for row in tables.await.unwrap() {
                let (table, columns): (String, String) =
                    (row.get("name").unwrap(), row.get("columns").unwrap());
                if TABLES.contains(&table.as_str()) {
                    texts.push(format!(
                        "select '{table} ' || {columns} as line from {table}"
                    ));
                }
            }
            texts
        }
    };
    assert_eq!(texts.len(), TABLES.len(), "{texts:?}");
    let all = statement(texts.join(" union all "));
    let rows = tx.fetch_all(all, params![]).await.unwrap();
    rows.iter().map(|row| row.get("line").unwrap()).collect()
}
