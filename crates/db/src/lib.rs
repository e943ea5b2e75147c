//! PostgreSQL and SQLite behind one type, so that each statement is run by one function.
//!
//! ```text
//! Location + Schema -> open() -> Database -> begin(Scope) -> Tx -> Statement + Params -> Rows -> commit()
//!                                   |                                                              |
//!                                   +-> listen_address() -> Listener          CommitObserver <-----+
//! ```
//!
//! - [`open`] checks the database at a [`Location`], applies the missing migrations of a [`Schema`] and returns a
//!   [`Database`], which holds the connection pools.
//! - [`Database::begin`] begins a [`Tx`] in a [`Scope`]. The transaction runs [`Statement`]s with [`Param`]s and
//!   returns [`Row`]s. A [`CommitObserver`] learns of each commit with a recorded change.
//! - The dialects differ in the text of a statement and in the types of its columns. Both differences end here.
//!
//! Read `database.rs` first, then `tx.rs` and `statement.rs`; `opening/mod.rs` tells how a database is checked and
//! migrated.
//!
//! **Invariants:** the SQL of this crate names only one table, `schema_versions`, in which the migrator records the
//! migrations that it has applied; `store` creates that table and passes in every other statement. This is the only
//! crate that uses `sqlx`, and it exposes no driver type. Only `store` and tests import it.

mod database;
mod error;
mod limits;
mod listener;
mod named_params;
mod observer;
mod opening;
mod param;
mod pooling;
mod row;
mod schema;
mod scope;
mod statement;
mod template;
mod tx;

pub use database::{Database, PoolSize};
pub use error::Error;
pub use limits::MAX_POSTGRES_CONNECTIONS;
pub use listener::{ListenAddress, Listener, Notification};
#[doc(hidden)]
pub use named_params::{arrange, order, with_numbered_params};
pub use observer::CommitObserver;
pub use opening::{
    DatabaseExamination, InvalidLocation, Location, NeededProgram, OpenError, Server, examine,
    open, open_to_read,
};
pub use param::Param;
pub use pooling::PoolingMode;
pub use row::{FromColumn, Row};
pub use schema::{Migration, RunningServers, Schema};
pub use scope::Scope;
pub use statement::{Dialect, Statement, executed_statements};
pub use tx::Tx;
