//! The state of the PostgreSQL server, for its administrators.
//!
//! **Invariant:** no turn needs this module, and it changes nothing. On SQLite there is no server, and every function
//! returns `None`.

use model::Timestamp;

use crate::{
    Error, Scope, Store, boxed,
    database::{Dialect, MAX_POSTGRES_CONNECTIONS, PoolSize, Row, Tx},
};

/// The maximum number of connections of one process: those of its pool, and the one that listens.
const MAX_CONNECTIONS_PER_PROCESS: u32 = MAX_POSTGRES_CONNECTIONS + 1;
/// The maximum number of transactions of other clients that are listed.
const MAX_LISTED_TRANSACTIONS: u32 = 20;

/// The state of the server's vacuuming.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VacuumStatus {
    /// The beginning of the oldest open transaction that the role may see. Vacuum cannot remove rows that were
    /// changed since then until that transaction ends.
    pub oldest_transaction: Option<Timestamp>,
    /// The tables that change most.
    pub tables: Vec<DeadRows>,
}

/// The row counts of a table, as the server's statistics estimate them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadRows {
    /// The table.
    pub table: String,
    /// The number of dead rows that vacuum has not removed yet.
    pub dead: u64,
    /// The number of live rows.
    pub live: u64,
}

/// The privileges of this process's role in the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privileges {
    /// The role.
    pub role: String,
    /// `true` if the role may use the objects of the schema.
    pub may_use: bool,
    /// `true` if the role may create objects in the schema, as migrations do.
    pub may_create: bool,
    /// The tables that the role may not read or write, joined by commas.
    pub inaccessible_tables: Option<String>,
    /// The tables that another role owns, joined by commas. Migrations cannot change them.
    pub tables_of_other_roles: Option<String>,
}

/// An open transaction of another client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// The ID of the server process.
    pub process: i64,
    /// The role, if it is visible.
    pub role: Option<String>,
    /// The name that the client program reports.
    pub program: Option<String>,
    /// `true` if the transaction is idle, waiting for its client.
    pub idle: bool,
    /// The beginning of the transaction.
    pub started_at: Timestamp,
}

/// The state of a PostgreSQL server, as the role of this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresStatus {
    /// The privileges of the role.
    pub privileges: Privileges,
    /// The oldest open transactions of other clients, up to a limit.
    pub transactions: Vec<OpenTransaction>,
    /// The state of vacuuming.
    pub vacuum: VacuumStatus,
    /// `true` if the server vacuums automatically.
    pub autovacuum_enabled: bool,
    /// The tables of the schema for which automatic vacuuming is off, joined by commas.
    pub tables_without_autovacuum: Option<String>,
    /// The number of connections that the server allows to the role in this database.
    pub max_connections: u32,
    /// The number of connections of all clients.
    pub total_connections: u32,
    /// The number of connections of Matins to this database.
    pub matins_connections: u32,
    /// The maximum number of connections of one process of Matins.
    pub max_connections_per_process: u32,
}

impl Store {
    /// Returns the numbers of connections in the pool of this process. Returns `None` on SQLite.
    pub fn pool_size(&self) -> Option<PoolSize> {
        self.db.pool_size()
    }

    /// Returns the state of the server's vacuuming. Returns `None` on SQLite.
    #[boxed]
    pub async fn vacuum_status(&self) -> Result<Option<VacuumStatus>, Error> {
        if self.db.dialect() == Dialect::Sqlite {
            return Ok(None);
        }
        let mut tx = self.db.begin_read(Scope::System).await?;
        read_vacuum_status(&mut tx).await.map(Some)
    }

    /// Returns the state of the server. Returns `None` on SQLite.
    #[boxed]
    pub async fn postgres_status(&self) -> Result<Option<PostgresStatus>, Error> {
        if self.db.dialect() == Dialect::Sqlite {
            return Ok(None);
        }
        let mut tx = self.db.begin_read(Scope::System).await?;
        let transactions = tx
            .fetch_all(
                sql_of_postgres!("server/transactions"),
                params![MAX_LISTED_TRANSACTIONS],
            )
            .await?;
        let vacuum = read_vacuum_status(&mut tx).await?;
        let row = tx
            .fetch_one(sql_of_postgres!("server/status"), params![])
            .await?;
        Ok(Some(PostgresStatus {
            privileges: Privileges {
                role: row.get("role")?,
                may_use: row.get("may_use")?,
                may_create: row.get("may_create")?,
                inaccessible_tables: row.optional("inaccessible_tables")?,
                tables_of_other_roles: row.optional("tables_of_other_roles")?,
            },
            transactions: transactions
                .iter()
                .map(open_transaction)
                .collect::<Result<_, _>>()?,
            vacuum,
            autovacuum_enabled: row.get("autovacuum_enabled")?,
            tables_without_autovacuum: row.optional("tables_without_autovacuum")?,
            max_connections: row.get("connections_allowed")?,
            total_connections: row.get("total_connections")?,
            matins_connections: row.get("matins_connections")?,
            max_connections_per_process: MAX_CONNECTIONS_PER_PROCESS,
        }))
    }
}

async fn read_vacuum_status(tx: &mut Tx) -> Result<VacuumStatus, Error> {
    let oldest = tx
        .fetch_one(sql_of_postgres!("server/oldest_transaction"), params![])
        .await?;
    let tables = tx
        .fetch_all(sql_of_postgres!("server/dead_rows"), params![])
        .await?;
    Ok(VacuumStatus {
        oldest_transaction: oldest.optional("since")?,
        tables: tables.iter().map(dead_rows).collect::<Result<_, _>>()?,
    })
}

fn dead_rows(row: &Row) -> Result<DeadRows, Error> {
    let count = |column| {
        let count: i64 = row.get(column)?;
        Ok::<_, Error>(u64::try_from(count).unwrap_or(0))
    };
    Ok(DeadRows {
        table: row.get("name")?,
        dead: count("dead")?,
        live: count("live")?,
    })
}

fn open_transaction(row: &Row) -> Result<OpenTransaction, Error> {
    Ok(OpenTransaction {
        process: row.get("process")?,
        role: row.optional("role")?,
        program: row.optional("program")?,
        idle: row.get("idle")?,
        started_at: row.get("since")?,
    })
}
