//! What a PostgreSQL server tells of itself to those who look after it.
//!
//! **Invariant:** nothing here is needed to take a turn, and nothing is changed. On SQLite there is no server, and
//! every answer is none.

use model::Timestamp;

use crate::{
    Error, Scope, Store,
    database::{Dialect, POSTGRES_CONNECTIONS, PoolSize, Row, Tx},
};

/// How many connections one process opens at the most: those of its pool, and the one that listens.
const CONNECTIONS_OF_A_PROCESS: u32 = POSTGRES_CONNECTIONS + 1;
/// How many transactions of others are listed.
const TRANSACTIONS_LISTED: u32 = 20;

/// How well the server cleans up behind what is changed and removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upkeep {
    /// Since when the oldest transaction is open, of those that the role may see. Nothing that was changed since
    /// is cleaned up before its end.
    pub oldest_transaction: Option<Timestamp>,
    /// The tables that change most.
    pub tables: Vec<DeadRows>,
}

/// The rows of a table, as the server's statistics estimate them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadRows {
    /// The table.
    pub table: String,
    /// Rows that nobody sees any more and that are not cleaned up yet.
    pub dead: u64,
    /// Rows that are there.
    pub live: u64,
}

/// What the role of this process may do in the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privileges {
    /// The role.
    pub role: String,
    /// Whether it may use what the schema holds.
    pub may_use: bool,
    /// Whether it may make something in the schema, as later versions do.
    pub may_create: bool,
    /// Tables that it may not read or write, joined by commas.
    pub refused: Option<String>,
    /// Tables that another role owns, so that later versions cannot change them, joined by commas.
    pub of_others: Option<String>,
}

/// A transaction that somebody else has open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// The id of the server's process.
    pub process: i64,
    /// The role, where it can be seen.
    pub role: Option<String>,
    /// What the program calls itself.
    pub program: Option<String>,
    /// Whether it waits for its client to go on.
    pub idle: bool,
    /// When the transaction began.
    pub since: Timestamp,
}

/// A PostgreSQL server, as the role of this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// What the role may do.
    pub privileges: Privileges,
    /// The oldest transactions that others have open, some of them.
    pub transactions: Vec<Backend>,
    /// How well it cleans up.
    pub upkeep: Upkeep,
    /// Whether it cleans up by itself.
    pub cleans: bool,
    /// Tables of the schema that it does not clean up by itself, joined by commas.
    pub left_out: Option<String>,
    /// How many connections it allows to the role in this database.
    pub connections_allowed: u32,
    /// How many connections all its clients have.
    pub connections_of_all: u32,
    /// How many of them are of Matins and in this database.
    pub connections_of_matins: u32,
    /// How many one process of Matins opens at the most.
    pub connections_of_a_process: u32,
}

impl Store {
    /// How many connections the pool of this process has; none on SQLite.
    pub fn connections(&self) -> Option<PoolSize> {
        self.db.pool_size()
    }

    /// Looks at how well the server cleans up; none on SQLite.
    pub async fn upkeep(&self) -> Result<Option<Upkeep>, Error> {
        if self.db.dialect() == Dialect::Sqlite {
            return Ok(None);
        }
        let mut tx = self.db.read(Scope::System).await?;
        upkeep(&mut tx).await.map(Some)
    }

    /// Looks at the server; none on SQLite.
    pub async fn server(&self) -> Result<Option<Server>, Error> {
        if self.db.dialect() == Dialect::Sqlite {
            return Ok(None);
        }
        let mut tx = self.db.read(Scope::System).await?;
        let transactions = tx
            .fetch_all(
                sql_of_postgres!("server/transactions"),
                params![TRANSACTIONS_LISTED],
            )
            .await?;
        let upkeep = upkeep(&mut tx).await?;
        let row = tx
            .fetch_one(sql_of_postgres!("server/standing"), params![])
            .await?;
        Ok(Some(Server {
            privileges: Privileges {
                role: row.get("role")?,
                may_use: row.get("may_use")?,
                may_create: row.get("may_create")?,
                refused: row.optional("refused")?,
                of_others: row.optional("of_others")?,
            },
            transactions: transactions.iter().map(backend).collect::<Result<_, _>>()?,
            upkeep,
            cleans: row.get("cleans")?,
            left_out: row.optional("left_out")?,
            connections_allowed: row.get("connections_allowed")?,
            connections_of_all: row.get("connections_of_all")?,
            connections_of_matins: row.get("connections_of_matins")?,
            connections_of_a_process: CONNECTIONS_OF_A_PROCESS,
        }))
    }
}

async fn upkeep(tx: &mut Tx) -> Result<Upkeep, Error> {
    let oldest = tx
        .fetch_one(sql_of_postgres!("server/oldest_transaction"), params![])
        .await?;
    let tables = tx
        .fetch_all(sql_of_postgres!("server/dead_rows"), params![])
        .await?;
    Ok(Upkeep {
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

fn backend(row: &Row) -> Result<Backend, Error> {
    Ok(Backend {
        process: row.get("process")?,
        role: row.optional("role")?,
        program: row.optional("program")?,
        idle: row.get("idle")?,
        since: row.get("since")?,
    })
}
