//! What a claim and a look of the scheduler cost in an empty system and in one with a long history, by
//! turns on one server.
//!
//! The history is copied from rows that the product has written: one automation fires, its run is claimed
//! and ends, and SQL multiplies what that has left, so that every column is what the product writes. The
//! references are not checked while it is loaded; they hold by the way the ids are made.

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

/// How many runs a session of the history has had.
const RUNS_PER_SESSION: u64 = 100;
/// One in so many sessions still has its transcript and its log; retention has trimmed the others'.
const SESSIONS_PER_TRANSCRIPT: u64 = 10;
/// How many rows one statement makes.
const CHUNK_ROWS: u64 = 500_000;
/// As many operations come before what is measured.
const WARM_UP_OPERATIONS: u32 = 50;

/// How much history there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistorySize {
    /// Runs that have ended.
    pub(crate) ended_runs: u64,
    /// Triggers that are not due, each of an automation of its own.
    pub(crate) idle_triggers: u64,
}

/// Times of one database, sorted.
#[derive(Default)]
pub(crate) struct Times {
    pub(crate) ticks: Vec<Duration>,
    pub(crate) claims: Vec<Duration>,
}

/// What was measured.
pub(crate) struct HistoryMeasurement {
    pub(crate) empty: Times,
    pub(crate) full: Times,
    /// How long the loading took, and what it has filled.
    pub(crate) load_time: Duration,
    pub(crate) database_size: String,
}

/// A database with an automation that fires each second of a clock that is moved by hand.
struct MeasuredDatabase {
    _folder: TempDir,
    database: Database,
    fixture: Fixture,
    host: Host,
    now: Timestamp,
    times: Times,
}

/// Measures `operations` of each kind.
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
        // The run from which the history is copied.
        system.fire_and_claim().await?;
        Ok(system)
    }

    /// Fires one instant and claims its run, which ends then. Gives what the look and the claim took.
    async fn fire_and_claim(&mut self) -> Result<(Duration, Duration)> {
        self.now = self.now + Duration::from_secs(1);
        let (world, now) = (&self.fixture, self.now);
        let started = Instant::now();
        let tick = scheduler::tick(&self.host, now).await?;
        let looked = started.elapsed();
        ensure!(tick.started == 1, "{} runs were fired", tick.started);
        let started = Instant::now();
        let claim = world
            .store
            .claim(&world.worker, world.instance, 4, None, now);
        let claimed = claim.await?;
        let took = started.elapsed();
        ensure!(claimed.len() == 1, "{} runs were claimed", claimed.len());
        let run = claimed.first().context("nothing was claimed")?.run;
        let begun = world.store.begin(run, &world.worker, world.instance, now);
        ensure!(
            matches!(begun.await?, StartReply::Started(_)),
            "it has not begun"
        );
        let finished = TurnResult {
            answer: "Nothing is due today.".into(),
            acp_session_id: Some(AcpSessionId::new("bench")),
            turn_ended: true,
            ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
        };
        let settled = world.store.finish(run, &world.worker, &finished, now);
        ensure!(
            settled.await? == WriteOutcome::Committed,
            "it has not ended"
        );
        Ok((looked, took))
    }

    /// Gives its times, and drops its database.
    async fn finish(mut self, server: &PostgresServer) -> Result<Times> {
        self.fixture.store.database().close().await;
        server.drop_database(&self.database).await?;
        self.times.ticks.sort_unstable();
        self.times.claims.sort_unstable();
        Ok(self.times)
    }
}

/// Makes an id of a kind and a number: of version 7, in the order of the numbers, older than any other.
const CREATE_ID_FUNCTION: &str = "create function pg_temp.made(kind text, number bigint) returns uuid language sql \
     immutable as $$ select cast(lpad(to_hex(1717986918400 + number), 12, '0') || '7' || kind || '8' \
     || lpad(to_hex(number), 15, '0') as uuid) $$";

/// What the only run has left, by table; of its automation's triggers the one that fires.
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

/// Columns of a table that are not copied, and what they hold instead.
type ColumnOverrides = Vec<(&'static str, String)>;

/// The statement that copies what is kept of a table, numbered from `$1` to below `$2`. The server is asked
/// for the columns, so that one that is new is copied like the others.
async fn copy_statement(
    connection: &mut PgConnection,
    table: &str,
    own: &ColumnOverrides,
) -> Result<String> {
    let statement = "select cast(attname as text) from pg_attribute \
         where attrelid = cast($1 as regclass) and attnum > 0 and not attisdropped order by attnum";
    let columns: Vec<String> = sqlx::query_scalar(statement)
        .bind(table)
        .fetch_all(connection)
        .await?;
    let named: Vec<&String> = own
        .iter()
        .filter_map(|(name, _)| columns.iter().find(|column| column == name))
        .collect();
    ensure!(named.len() == own.len(), "{table} has only {named:?}");
    let values: Vec<String> = columns
        .iter()
        .map(|column| {
            let own = own.iter().find(|(name, _)| name == column);
            own.map_or_else(|| format!("template.{column}"), |(_, value)| value.clone())
        })
        .collect();
    Ok(format!(
        "insert into {table} ({}) select {} from pg_temp.only_{table} template \
         cross join generate_series($1, $2 - 1) number",
        columns.join(", "),
        values.join(", ")
    ))
}

/// Loads the history, and looks at the tables.
async fn load_history(database: &Database, history: HistorySize) -> Result<()> {
    let mut connection = database.connect_superuser().await?;
    // Neither references nor triggers: nobody is to be woken.
    connection
        .execute("set search_path = automation; set session_replication_role = replica")
        .await?;
    connection.execute(CREATE_ID_FUNCTION).await?;
    for (table, only) in TEMPLATE_TABLES {
        let keep = format!("create temporary table only_{table} as select * from {table} {only}");
        connection.execute(AssertSqlSafe(keep)).await?;
    }
    for (table, count, own) in history.table_copies() {
        let statement = copy_statement(&mut connection, table, &own).await?;
        copy_all(&mut connection, count, &statement).await?;
    }
    connection.close().await?;
    Ok(())
}

impl HistorySize {
    /// The tables that are filled, with the numbers of their rows, or of the runs that have rows there, and
    /// the columns that are not copied.
    fn table_copies(self) -> [(&'static str, u64, ColumnOverrides); 8] {
        let sessions = self.ended_runs.div_ceil(RUNS_PER_SESSION);
        let shown = sessions.div_ceil(SESSIONS_PER_TRANSCRIPT) * RUNS_PER_SESSION;
        let shown = shown.min(self.ended_runs);
        let automations = self.idle_triggers.max(1);
        let made = |kind: &str, number: &str| format!("pg_temp.made('{kind}', {number})");
        let of_session = format!("number / {RUNS_PER_SESSION}");
        let run = made("001", "number");
        let session = made("003", &of_session);
        let seat = made("004", &of_session);
        let automation = |number: &str| made("005", &format!("{number} % {automations}"));
        let trigger = made("006", &format!("{of_session} % {automations}"));
        let message = |role: &str| {
            let (input, answer) = (made("007", "number"), made("008", "number"));
            format!("case {role} when 'user' then {input} else {answer} end")
        };
        // Each run has as many numbers as the only one.
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
            ("id", made("005", "number")),
            ("name", "'idle ' || number".into()),
        ];
        let triggers = vec![
            ("id", made("006", "number")),
            ("automation_id", made("005", "number")),
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
            ("id", made("003", "number")),
            ("schedule_id", automation("number")),
            (
                "last_seq",
                format!("template.last_seq * {RUNS_PER_SESSION}"),
            ),
        ];
        let seats = vec![
            ("id", made("004", "number")),
            ("session_id", made("003", "number")),
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
            ("session_events", shown, events),
            ("agent_messages", shown, messages),
            ("run_records", shown, records),
            ("agent_sessions", sessions, own_sessions),
            ("agent_definitions", sessions, seats),
            ("agent_runs", self.ended_runs, runs),
        ]
    }
}

/// Runs a statement for all numbers below `count`, some at once.
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

/// What the database takes on the disk, and of that the runs.
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
