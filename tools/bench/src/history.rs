//! Measures claims and scheduler ticks on a database without history and on one with a long history, alternating on one
//! server.
//!
//! The history consists of copies of rows that the product has written: one automation fires, its run is claimed and
//! ends, and SQL multiplies the resulting rows, so that every column has realistic values. Foreign keys are not checked
//! during the load; they hold because of the way in which [`CREATE_ID_FUNCTION`] derives the IDs.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use daemon::{Host, scheduler};
use model::{
    AcpSessionId, Timestamp,
    outcome::{Outcome, StopReason},
    policy::Policies,
    schedule::Spec,
    turn::{StartReply, TurnResult, WriteOutcome},
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tempfile::TempDir;

use super::{
    due::new_automation,
    fixture::Fixture,
    folder::new_folder,
    loops::{SystemClock, host_without_agents},
};
use crate::postgres::{Database, PostgresServer};

/// The number of runs of each session of the history.
const RUNS_PER_SESSION: u64 = 100;
/// The distance between sessions that still have a transcript and a log. Retention has trimmed those of the others.
const SESSIONS_PER_TRANSCRIPT: u64 = 10;
/// The maximum number of rows that one statement creates.
const CHUNK_ROWS: u64 = 500_000;
/// The number of operations before the measured ones.
const WARM_UP_OPERATIONS: u32 = 50;

/// The size of the history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistorySize {
    /// The number of ended runs.
    pub(crate) ended_runs: u64,
    /// The number of triggers that are not due, each with its own automation.
    pub(crate) idle_triggers: u64,
}

/// The durations on one database, sorted.
#[derive(Default)]
pub(crate) struct Times {
    pub(crate) ticks: Vec<Duration>,
    pub(crate) claims: Vec<Duration>,
}

/// The result of the benchmark.
pub(crate) struct HistoryMeasurement {
    pub(crate) empty: Times,
    pub(crate) full: Times,
    /// The duration of the load.
    pub(crate) load_time: Duration,
    /// A description of the size of the database with history.
    pub(crate) database_size: String,
}

/// A database with an automation that fires every second of a manual clock.
struct MeasuredDatabase {
    _folder: TempDir,
    database: Database,
    fixture: Fixture,
    host: Host,
    now: Timestamp,
    times: Times,
}

/// Measures `operations` claims and ticks on each database.
pub(crate) async fn measure(
    server: &PostgresServer,
    folder: &Path,
    history: HistorySize,
    operations: u32,
) -> Result<HistoryMeasurement> {
    let mut empty = MeasuredDatabase::create(server, folder, "matins_empty").await?;
    let mut full = MeasuredDatabase::create(server, folder, "matins_full").await?;
    let started = Instant::now();
    load_history(&full.database, history).await?;
    let loading = started.elapsed();
    empty.database.vacuum_and_checkpoint().await?;
    full.database.vacuum_and_checkpoint().await?;
    let size = measure_database_size(&full.database).await?;
    for round in 0..WARM_UP_OPERATIONS + operations {
        for system in [&mut empty, &mut full] {
            let (tick, claim) = system.fire_and_claim().await?;
            if round >= WARM_UP_OPERATIONS {
                system.times.ticks.push(tick);
                system.times.claims.push(claim);
            }
        }
    }
    Ok(HistoryMeasurement {
        empty: empty.finish(server).await?,
        full: full.finish(server).await?,
        load_time: loading,
        database_size: size,
    })
}

impl MeasuredDatabase {
    async fn create(server: &PostgresServer, folder: &Path, name: &str) -> Result<Self> {
        let folder = new_folder(folder)?;
        let database = server.create_database(name).await?;
        let world = Fixture::open_postgres(&database, folder.path()).await?;
        let host = host_without_agents(&world, Arc::new(SystemClock), 1, folder.path())?;
        let now: Timestamp = "2026-11-22T08:00:00Z".parse()?;
        let every_second = Spec::Cron {
            expression: "* * * * * *".into(),
            zone: "UTC".into(),
        };
        let mut new = new_automation(0, world.agent, every_second);
        new.policies = Policies {
            pause_after_failures: 0,
            ..Policies::default()
        };
        world
            .store
            .create_automation(world.tenant, None, &new, now)
            .await?;
        let mut system = Self {
            _folder: folder,
            database,
            fixture: world,
            host,
            now,
            times: Times::default(),
        };
        // Create the run from which the history is copied.
        system.fire_and_claim().await?;
        Ok(system)
    }

    /// Fires one instant, claims its run and ends it. Returns the durations of the tick and of the claim.
    async fn fire_and_claim(&mut self) -> Result<(Duration, Duration)> {
        self.now = self.now + Duration::from_secs(1);
        let (world, now) = (&self.fixture, self.now);
        let started = Instant::now();
        let tick = scheduler::tick(&self.host, now).await?;
        let tick_time = started.elapsed();
        ensure!(
            tick.started == 1,
            "the tick fired {} runs instead of 1",
            tick.started
        );
        let started = Instant::now();
        let claim = world
            .store
            .claim(&world.worker, world.instance, 4, None, now);
        let claimed = claim.await?;
        let claim_time = started.elapsed();
        ensure!(
            claimed.len() == 1,
            "the worker claimed {} runs instead of 1",
            claimed.len()
        );
        let run = claimed.first().context("the worker claimed no run")?.run;
        let start = world
            .store
            .begin(run, &world.worker, world.instance, now, None);
        ensure!(
            matches!(start.await?, StartReply::Started(_)),
            "the run did not start"
        );
        let finished = TurnResult {
            answer: "Nothing is due today.".into(),
            acp_session_id: Some(AcpSessionId::new("bench")),
            turn_ended: true,
            ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
        };
        let outcome = world.store.finish(run, &world.worker, &finished, now);
        ensure!(
            outcome.await? == WriteOutcome::Committed,
            "the end of the run was not committed"
        );
        Ok((tick_time, claim_time))
    }

    /// Drops the database and returns the sorted durations.
    async fn finish(mut self, server: &PostgresServer) -> Result<Times> {
        self.fixture.store.database().close().await;
        server.drop_database(&self.database).await?;
        self.times.ticks.sort_unstable();
        self.times.claims.sort_unstable();
        Ok(self.times)
    }
}

/// Creates a function that derives a UUID of version 7 from a kind and a number. The IDs have the order of the numbers,
/// and all are older than those of the product.
const CREATE_ID_FUNCTION: &str = "create function pg_temp.made(kind text, number bigint) returns uuid language sql \
     immutable as $$ select cast(lpad(to_hex(1717986918400 + number), 12, '0') || '7' || kind || '8' \
     || lpad(to_hex(number), 15, '0') as uuid) $$";

/// The tables with rows of the only run, each with a condition that selects the row to copy.
const TEMPLATE_TABLES: [(&str, &str); 8] = [
    ("automations", ""),
    ("automation_triggers", "where kind = 'cron'"),
    ("agent_sessions", ""),
    ("agent_definitions", ""),
    ("agent_runs", ""),
    ("agent_messages", ""),
    ("session_events", ""),
    ("run_records", ""),
];

/// The columns of a table that are not copied, each with the expression of its value.
type ColumnOverrides = Vec<(&'static str, String)>;

/// Returns the statement that copies the template rows of a table once for each number from `$1` to below `$2`. The
/// columns come from the catalogue of the server, so that the statement also copies new columns.
async fn copy_statement(
    connection: &mut PgConnection,
    table: &str,
    overrides: &ColumnOverrides,
) -> Result<String> {
    let statement = "select cast(attname as text) from pg_attribute \
         where attrelid = cast($1 as regclass) and attnum > 0 and not attisdropped order by attnum";
    let columns: Vec<String> = sqlx::query_scalar(statement)
        .bind(table)
        .fetch_all(connection)
        .await?;
    let found: Vec<&String> = overrides
        .iter()
        .filter_map(|(name, _)| columns.iter().find(|column| column == name))
        .collect();
    ensure!(
        found.len() == overrides.len(),
        "the table `{table}` has only the columns {found:?} of the expected ones"
    );
    let values: Vec<String> = columns
        .iter()
        .map(|column| {
            let replaced = overrides.iter().find(|(name, _)| name == column);
            replaced.map_or_else(|| format!("template.{column}"), |(_, value)| value.clone())
        })
        .collect();
    Ok(format!(
        "insert into {table} ({}) select {} from pg_temp.only_{table} template \
         cross join generate_series($1, $2 - 1) number",
        columns.join(", "),
        values.join(", ")
    ))
}

/// Copies the rows of the only run until the database has the history.
async fn load_history(database: &Database, history: HistorySize) -> Result<()> {
    let mut connection = database.connect_superuser().await?;
    // This setting disables foreign keys and triggers: the load would otherwise send a notification for each row.
    connection
        .execute("set search_path = automation; set session_replication_role = replica")
        .await?;
    connection.execute(CREATE_ID_FUNCTION).await?;
    for (table, condition) in TEMPLATE_TABLES {
        let template =
            format!("create temporary table only_{table} as select * from {table} {condition}");
        connection.execute(AssertSqlSafe(template)).await?;
    }
    for (table, count, overrides) in history.table_copies() {
        let statement = copy_statement(&mut connection, table, &overrides).await?;
        copy_all(&mut connection, count, &statement).await?;
    }
    connection.close().await?;
    Ok(())
}

impl HistorySize {
    /// Returns the tables to fill, each with the count of numbers (of rows, or of the runs with rows in the table) and
    /// the columns that are not copied.
    fn table_copies(self) -> [(&'static str, u64, ColumnOverrides); 8] {
        let sessions = self.ended_runs.div_ceil(RUNS_PER_SESSION);
        let with_transcript = sessions.div_ceil(SESSIONS_PER_TRANSCRIPT) * RUNS_PER_SESSION;
        let with_transcript = with_transcript.min(self.ended_runs);
        let automations = self.idle_triggers.max(1);
        let id = |kind: &str, number: &str| format!("pg_temp.made('{kind}', {number})");
        let of_session = format!("number / {RUNS_PER_SESSION}");
        let run = id("001", "number");
        let session = id("003", &of_session);
        let seat = id("004", &of_session);
        let automation = |number: &str| id("005", &format!("{number} % {automations}"));
        let trigger = id("006", &format!("{of_session} % {automations}"));
        let message = |role: &str| {
            let (input, answer) = (id("007", "number"), id("008", "number"));
            format!("case {role} when 'user' then {input} else {answer} end")
        };
        // Each run takes as many sequence numbers of its session as the only run did.
        let seq = format!(
            "template.seq + (number % {RUNS_PER_SESSION}) \
             * (select last_seq from pg_temp.only_agent_sessions)"
        );
        let far = "timestamptz '2100-01-01T00:00:00Z'".to_owned();
        let at = "timestamptz '2024-06-10T00:00:00Z' + make_interval(secs => number)".to_owned();
        let about = message("template.body ->> 'role'");
        let about = format!("case template.kind when 'run' then {run} else {about} end");
        let from = format!("case when template.from_seat_id is not null then {seat} end");
        let automations_of = vec![
            ("id", id("005", "number")),
            ("name", "'idle ' || number".into()),
        ];
        let triggers = vec![
            ("id", id("006", "number")),
            ("automation_id", id("005", "number")),
            ("next_scheduled_for", far.clone()),
            ("next_fire_at", far),
        ];
        let events = vec![
            ("session_id", session.clone()),
            ("seq", seq.clone()),
            ("ref_id", about),
        ];
        let messages = vec![
            ("id", message("template.role")),
            ("session_id", session.clone()),
            ("seq", seq),
            ("run_id", run.clone()),
            ("from_seat_id", from),
        ];
        let records = vec![("run_id", run.clone())];
        let own_sessions = vec![
            ("id", id("003", "number")),
            ("schedule_id", automation("number")),
            (
                "last_seq",
                format!("template.last_seq * {RUNS_PER_SESSION}"),
            ),
        ];
        let seats = vec![
            ("id", id("004", "number")),
            ("session_id", id("003", "number")),
            ("turns", RUNS_PER_SESSION.to_string()),
        ];
        let mut runs = vec![
            ("id", run.clone()),
            ("input_id", run),
            ("session_id", session),
            ("seat_id", seat),
            ("automation_id", automation(&of_session)),
            ("trigger_id", trigger),
        ];
        let times = [
            "scheduled_for",
            "input_at",
            "created_at",
            "claimed_at",
            "started_at",
        ];
        runs.extend(times.map(|time| (time, at.clone())));
        runs.push(("ended_at", at));
        [
            ("automations", automations, automations_of),
            ("automation_triggers", automations, triggers),
            ("session_events", with_transcript, events),
            ("agent_messages", with_transcript, messages),
            ("run_records", with_transcript, records),
            ("agent_sessions", sessions, own_sessions),
            ("agent_definitions", sessions, seats),
            ("agent_runs", self.ended_runs, runs),
        ]
    }
}

/// Runs a statement for all numbers below `count`, in chunks.
async fn copy_all(connection: &mut PgConnection, count: u64, statement: &str) -> Result<()> {
    let mut from = 0;
    while from < count {
        let to = count.min(from + CHUNK_ROWS);
        sqlx::query(AssertSqlSafe(statement.to_owned()))
            .bind(i64::try_from(from)?)
            .bind(i64::try_from(to)?)
            .execute(&mut *connection)
            .await?;
        from = to;
    }
    Ok(())
}

/// Returns a description of the size of the database and of its largest tables.
async fn measure_database_size(database: &Database) -> Result<String> {
    let mut connection = database.connect_superuser().await?;
    let statement = "select pg_size_pretty(pg_database_size(current_database())) || ', of that ' \
         || pg_size_pretty(pg_total_relation_size('automation.agent_runs')) || ' for ' \
         || (select count(*) from automation.agent_runs) || ' runs and ' \
         || pg_size_pretty(pg_total_relation_size('automation.automation_triggers')) || ' for ' \
         || (select count(*) from automation.automation_triggers) || ' triggers'";
    let size = sqlx::query_scalar(statement)
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    Ok(size)
}
