//! A store for tests, and a row for every table.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use model::Timestamp;
use serde_json::json;
use store::{
    Database, Location, Scope,
    database::{Dialect, Error, Param, Row, Statement},
};
use testkit::databases::TestDatabase;
use uuid::Uuid;

/// The store of one test. The store is dropped before its database.
pub(crate) struct TestStore {
    pub(crate) database: Database,
    pub(crate) home: TestDatabase,
}

impl TestStore {
    pub(crate) async fn open(dialect: Dialect) -> Self {
        let migrate = async |url: &str| {
            store::open(&url.parse()?).await?.close().await;
            Ok(())
        };
        let home = match dialect {
            Dialect::Sqlite => TestDatabase::migrated_sqlite(migrate).await.unwrap(),
            Dialect::Postgres => TestDatabase::migrated_postgres(migrate).await.unwrap(),
        };
        let database = store::open(&home.url().parse().unwrap()).await.unwrap();
        Self { database, home }
    }

    /// Returns a store on SQLite in memory, for tests with thousands of transitions.
    pub(crate) async fn in_memory() -> Self {
        let database = store::open(&Location::SqliteMemory).await.unwrap();
        let home = TestDatabase::sqlite().unwrap();
        Self { database, home }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    pub(crate) fn location(&self) -> Location {
        self.home.url().parse().unwrap()
    }

    /// Creates an empty database of the same kind.
    pub(crate) fn fresh_database(&self) -> TestDatabase {
        match self.dialect() {
            Dialect::Sqlite => TestDatabase::sqlite().unwrap(),
            Dialect::Postgres => TestDatabase::empty_postgres().unwrap(),
        }
    }

    /// Inserts a row in a separate transaction.
    pub(crate) async fn insert(&self, table: &str, values: &Values) -> Result<(), Error> {
        self.run(Scope::System, &values.insert_into(table), values.params())
            .await?;
        Ok(())
    }

    /// Runs one statement in a separate transaction and returns its rows.
    pub(crate) async fn run(
        &self,
        scope: Scope,
        sql: &str,
        params: Vec<Param>,
    ) -> Result<Vec<Row>, Error> {
        let mut tx = self.database.begin(scope).await?;
        let rows = tx.fetch_all(statement(sql), params).await?;
        tx.commit().await?;
        Ok(rows)
    }

    /// Counts the rows of a table that are visible in a scope.
    pub(crate) async fn count(&self, scope: Scope, table: &str) -> i64 {
        let sql = format!("select count(*) as n from {table}");
        let rows = self.run(scope, &sql, vec![]).await.unwrap();
        rows[0].get("n").unwrap()
    }
}

/// Returns a statement with a text that only a test has.
pub(crate) fn statement(sql: &str) -> &'static Statement {
    let sql: &'static str = sql.to_owned().leak();
    Box::leak(Box::new(Statement::new("a test's statement", sql, sql)))
}

/// The values of a row to insert.
#[derive(Debug, Clone)]
pub(crate) struct Values(BTreeMap<&'static str, Param>);

impl Values {
    pub(crate) fn with(mut self, column: &'static str, value: impl Into<Param>) -> Self {
        self.0.insert(column, value.into());
        self
    }

    pub(crate) fn without(mut self, columns: &[&str]) -> Self {
        self.0.retain(|column, _| !columns.contains(column));
        self
    }

    /// Returns a row with one value.
    pub(crate) fn of(column: &str, value: Option<&Param>) -> Self {
        let column: &'static str = column.to_owned().leak();
        Self(BTreeMap::from([(column, value.unwrap().clone())]))
    }

    pub(crate) fn get(&self, column: &str) -> Option<&Param> {
        self.0.get(column)
    }

    /// Copies a column's value from another row.
    pub(crate) fn with_value_of(mut self, column: &str, from: &Self) -> Self {
        self.0
            .insert(column.to_owned().leak(), from.0[column].clone());
        self
    }

    pub(crate) fn insert_into(&self, table: &str) -> String {
        let columns: Vec<&str> = self.0.keys().copied().collect();
        let values: Vec<String> = (1..=columns.len()).map(|n| format!("${n}")).collect();
        let (columns, values) = (columns.join(", "), values.join(", "));
        format!("insert into {table} ({columns}) values ({values})")
    }

    pub(crate) fn params(&self) -> Vec<Param> {
        self.0.values().cloned().collect()
    }
}

/// Declares the values of a row.
macro_rules! values {
    ($($column:ident: $value:expr),* $(,)?) => {
        Values(BTreeMap::from([$((stringify!($column), Param::from($value))),*]))
    };
}

fn next() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns a new unique ID.
pub(crate) fn id() -> Uuid {
    Uuid::from_u128(u128::from(next()))
}

/// Returns a new unique instant.
pub(crate) fn instant() -> Timestamp {
    Timestamp::UNIX_EPOCH + Duration::from_secs(u64::from(next()))
}

fn name(of: &str) -> String {
    format!("{of} {}", next())
}

/// A tenant with one row in every table.
pub(crate) struct World {
    pub(crate) tenant: Uuid,
    /// A second task of the session, on which the first one can depend.
    other_task: Uuid,
    rows: BTreeMap<&'static str, Values>,
}

/// Every table, in an order in which referenced tables come first.
pub(crate) const TABLES: &[&str] = &[
    "tenants",
    "harnesses",
    "instances",
    "automations",
    "agent_sessions",
    "agent_definitions",
    "goals",
    "automation_triggers",
    "agent_tasks",
    "task_dependencies",
    "staged_tasks",
    "task_memories",
    "task_checks",
    "agent_runs",
    "task_reports",
    "agent_messages",
    "session_events",
    "automation_events",
    "feed_trims",
    "run_records",
    "run_heartbeats",
    "directory_refusals",
    "trigger_files",
    "run_live",
    "approvals",
    "questions",
    "agent_artifacts",
    "agent_memory_entries",
    "agent_credentials",
    "api_tokens",
    "sign_in_links",
    "idempotency_keys",
    "webhook_secrets",
    "webhook_receipts",
    "webhook_payloads",
    "notification_endpoints",
    "webhook_deliveries",
    "webhook_attempts",
    "spending",
];

impl World {
    pub(crate) async fn create(db: &TestStore) -> Self {
        let mut world = Self {
            tenant: id(),
            other_task: id(),
            rows: BTreeMap::new(),
        };
        for table in TABLES {
            if *table == "task_dependencies" {
                let other = world.row("agent_tasks").with("id", world.other_task);
                db.insert("agent_tasks", &other).await.unwrap();
            }
            let mut row = world.row(table);
            if *table == "tenants" {
                row = row.with("id", world.tenant);
            }
            db.insert(table, &row).await.unwrap();
            world.rows.insert(table, row);
        }
        world
    }

    /// Returns the stored row of a table.
    pub(crate) fn stored(&self, table: &str) -> &Values {
        &self.rows[table]
    }

    /// Returns the ID of the stored row of a table.
    pub(crate) fn id(&self, table: &str) -> Uuid {
        match self.rows[table].get("id") {
            Some(Param::Uuid(Some(id))) => *id,
            other => panic!("{table} has the id {other:?}"),
        }
    }

    /// Returns another row that could be stored, with a value in every column that is a reference.
    pub(crate) fn row(&self, table: &str) -> Values {
        let tenant_id = self.tenant;
        let at = instant();
        match table {
            "tenants" => values! { id: id(), name: name("tenant"), created_at: at },
            "harnesses" => values! {
                id: id(), tenant_id: tenant_id, name: name("agent"), config: json!({}),
                created_at: at, updated_at: at,
            },
            "instances" => values! {
                id: id(), tenant_id: tenant_id, name: name("instance"), kind: "host",
                state: "online", config: json!({}), created_at: at,
            },
            "automations" => values! {
                id: id(), tenant_id: tenant_id, name: name("automation"), kind: "user",
                prompt: "check", harness_id: self.id("harnesses"), session_mode: "fresh",
                policies: json!({}), settings: json!({}), permissions: json!([]),
                created_at: at, updated_at: at,
            },
            "agent_sessions" => values! {
                id: id(), tenant_id: tenant_id, kind: "interactive", type: "regular",
                state: "active", session_key: name("web:"), cwd: "/work",
                instance_id: self.id("instances"), schedule_id: self.id("automations"),
                created_at: at, updated_at: at,
            },
            "agent_definitions" => values! {
                id: id(), tenant_id: tenant_id, session_id: self.id("agent_sessions"),
                role: "worker", name: name("worker-"), harness_id: self.id("harnesses"),
                is_entry: false, instance_id: self.id("instances"), settings: json!({}),
                created_at: at, updated_at: at,
            },
            "automation_triggers" => values! {
                id: id(), tenant_id: tenant_id, automation_id: self.id("automations"),
                kind: "cron", spec: json!({}), next_scheduled_for: at, next_fire_at: at,
                created_at: at, updated_at: at,
            },
            "agent_tasks" => values! {
                id: id(), tenant_id: tenant_id, session_id: self.id("agent_sessions"),
                role: "worker", title: "task", description: "do it", status: "PENDING",
                number: i64::from(next()), key: name("key"), kind: "work", plan_version: 1_i64, unmet: 1_i64,
                priority: 5_i64, optional: false, review: false, seat_id: self.id("agent_definitions"),
                acceptance: json!([]), checks: json!([]), writes: json!([]), digest: vec![0_u8; 32],
                attempts: 0_i64, rounds: 0_i64, progress: json!({}), created_at: at, updated_at: at,
            },
            "task_dependencies" => values! {
                tenant_id: tenant_id, session_id: self.id("agent_sessions"),
                task_id: self.id("agent_tasks"), depends_on_id: self.other_task,
            },
            _ => self.row_of_work(table),
        }
    }

    /// Returns a new row of a table that belongs to a run or records its results.
    #[expect(clippy::too_many_lines, reason = "a table, one row for each table")]
    fn row_of_work(&self, table: &str) -> Values {
        let tenant_id = self.tenant;
        let at = instant();
        match table {
            "goals" => values! {
                session_id: self.id("agent_sessions"), tenant_id: tenant_id, text: "Draft it.", state: "active",
                team: json!({}), limits: json!({}), progress: json!({}), format: 1_i64, needs_format: 1_i64,
                created_at: at, updated_at: at,
            },
            "staged_tasks" => values! {
                session_id: self.id("agent_sessions"), key: name("key"), tenant_id: tenant_id, number: 1_i64,
                kind: "create", task: json!({}), format: 1_i64, needs_format: 1_i64, created_at: at, updated_at: at,
            },
            "task_memories" => values! {
                task_id: self.other_task, seat_id: self.id("agent_definitions"), review: self.rows.contains_key("task_memories"),
                tenant_id: tenant_id, session_id: self.id("agent_sessions"), instance_id: self.id("instances"),
                turns: 0_i64, created_at: at, updated_at: at,
            },
            "task_checks" => values! {
                task_id: if self.rows.contains_key("task_checks") { self.other_task } else { self.id("agent_tasks") }, tenant_id: tenant_id, session_id: self.id("agent_sessions"),
                seat_id: self.id("agent_definitions"), instance_id: self.id("instances"), status: "waiting",
                attempt: 0_i64, evidence: json!([]), created_at: at, updated_at: at,
            },
            "task_reports" => values! {
                input_id: id(), tenant_id: tenant_id, session_id: self.id("agent_sessions"),
                task_id: self.id("agent_tasks"), run_id: self.id("agent_runs"), kind: "result", status: "done",
                body: json!({}), format: 1_i64, needs_format: 1_i64, created_at: at, updated_at: at,
            },
            "agent_runs" => self.ended_run(),
            "agent_messages" => values! {
                id: id(), tenant_id: tenant_id, session_id: self.id("agent_sessions"),
                seq: i64::from(next()), run_id: self.id("agent_runs"),
                from_seat_id: self.id("agent_definitions"),
                to_seat_id: self.id("agent_definitions"), role: "user", kind: "message",
                content: "hello", metadata: json!({}), created_at: at,
            },
            "automation_events" => values! {
                automation_id: self.id("automations"), seq: i64::from(next()),
                tenant_id: tenant_id, kind: "automation", ref_id: self.id("automations"),
                body: json!({}), created_at: at,
            },
            "feed_trims" => values! {
                tenant_id: tenant_id, transaction_id: 0_i64, log_id: id(), seq: 1_i64,
            },
            "session_events" => values! {
                session_id: self.id("agent_sessions"), seq: i64::from(next()),
                tenant_id: tenant_id, kind: "run", ref_id: id(), body: json!({}), created_at: at,
            },
            "run_records" => values! {
                run_id: self.id("agent_runs"), tenant_id: tenant_id, created_at: at,
                updated_at: at,
            },
            "run_heartbeats" => values! {
                run_id: self.id("agent_runs"), tenant_id: tenant_id, worker_id: "w", beat_at: at,
            },
            "run_live" => values! {
                run_id: self.id("agent_runs"), position: i64::from(next()),
                tenant_id: tenant_id, text: "wor", written_at: at,
            },
            "approvals" => values! {
                id: id(), tenant_id: tenant_id, session_id: self.id("agent_sessions"),
                run_id: self.id("agent_runs"), automation_id: self.id("automations"),
                tool_kind: "execute", title: "rm", tool_call: "1", input: json!({}),
                input_cut: false, state: "pending", deadline_at: at, created_at: at,
            },
            "questions" => values! {
                id: id(), tenant_id: tenant_id, session_id: self.id("agent_sessions"),
                seat_id: self.id("agent_definitions"), run_id: self.id("agent_runs"),
                automation_id: self.id("automations"), input_id: id(), kind: "tool",
                text: "Which colour?", body: json!({}), format: 1_i64, needs_format: 1_i64,
                state: "pending", deadline_at: at, created_at: at,
            },
            "directory_refusals" => values! {
                run_id: self.id("agent_runs"), instance_id: id(), tenant_id: tenant_id, refused_at: at,
            },
            "trigger_files" => values! {
                run_id: self.id("agent_runs"), tenant_id: tenant_id, instance_id: self.id("instances"),
                named_at: at, attempt: 1_i64, failures: 0_i64, next_attempt_at: at, writes: 1_i64, written_at: at,
            },
            "agent_artifacts" => values! {
                id: id(), tenant_id: tenant_id, session_id: self.id("agent_sessions"),
                run_id: self.id("agent_runs"), name: name("report"), version: 1_i64,
                media_type: "text/plain", sha256: "0".repeat(64), size_bytes: 1_i64,
                instance_id: self.id("instances"), created_at: at,
            },
            "agent_memory_entries" => values! {
                id: id(), tenant_id: tenant_id, automation_id: self.id("automations"),
                key: name("key"), value: "value", size_bytes: 5_i64, confidence: 1.0, version: 1_i64,
                author: "agent", created_at: at, updated_at: at,
            },
            "agent_credentials" => values! {
                id: id(), tenant_id: tenant_id, name: name("key"), kind: "api_key",
                version: 1_i64, sealed: "gAAAA", created_at: at, updated_at: at,
            },
            "api_tokens" => values! {
                id: id(), tenant_id: tenant_id, role: "runtime", name: "laptop",
                kind: "token", shown: "mat_000000", hash: name("hash").into_bytes(),
                instance_id: self.id("instances"), created_at: at,
            },
            "sign_in_links" => values! {
                hash: name("hash").into_bytes(), tenant_id: tenant_id,
                token_id: self.id("api_tokens"), created_at: at, expires_at: at,
            },
            "idempotency_keys" => values! {
                tenant_id: tenant_id, key: name("key"), request_sha256: vec![0_u8],
                created_id: id(), status: 200_i64, response: json!({}), created_at: at,
            },
            "webhook_receipts" => values! {
                trigger_id: self.id("automation_triggers"), webhook_id: name("msg"),
                tenant_id: tenant_id, run_id: self.id("agent_runs"), received_at: at,
            },
            "webhook_secrets" => values! {
                trigger_id: self.id("automation_triggers"), tenant_id: tenant_id,
                secret: "whsec_", created_at: at, updated_at: at,
            },
            "webhook_payloads" => values! {
                run_id: self.id("agent_runs"), tenant_id: tenant_id, payload: "{}",
            },
            "notification_endpoints" => values! {
                id: id(), tenant_id: tenant_id, name: name("endpoint"),
                url: "https://example.org", events: json!([]),
                automation_id: self.id("automations"), secret: "whsec_", cursor: "0",
                created_at: at, updated_at: at,
            },
            "webhook_deliveries" => values! {
                id: id(), tenant_id: tenant_id, endpoint_id: self.id("notification_endpoints"),
                session_id: self.id("agent_sessions"), event_id: name("event"),
                kind: "message.published", body: "{}", state: "pending", next_attempt_at: at,
                created_at: at,
            },
            "webhook_attempts" => values! {
                delivery_id: self.id("webhook_deliveries"), number: i64::from(next()),
                tenant_id: tenant_id, status: 200_i64, started_at: at, ended_at: at,
            },
            "spending" => values! {
                tenant_id: tenant_id, spender_id: self.id("automations"),
                automation_id: self.id("automations"), day: at, currency: "USD",
                tokens: 1_i64, cost: 1_i64, turns: 1_i64, turn_ms: 1_i64,
            },
            other => panic!("no row for table {other}"),
        }
    }

    /// Returns a run of an occurrence that succeeded.
    fn ended_run(&self) -> Values {
        let at = instant();
        values! {
            id: id(), tenant_id: self.tenant, input_id: id(), attempt: 1_i64,
            status: "succeeded", origin: "occurrence", priority: 10_i64,
            session_id: self.id("agent_sessions"), seat_id: self.id("agent_definitions"),
            automation_id: self.id("automations"), trigger_id: self.id("automation_triggers"),
            task_id: self.id("agent_tasks"), scheduled_for: at, exclusive: false,
            content: "check", instance_id: self.id("instances"), worker_id: "w",
            claimed_at: at, started_at: at, ended_at: at, input_at: at, created_at: at,
        }
    }

    /// Returns a run that waits to be claimed.
    pub(crate) fn queued_run(&self) -> Values {
        self.ended_run().with("status", "queued").without(&[
            "worker_id",
            "claimed_at",
            "started_at",
            "ended_at",
        ])
    }
}
