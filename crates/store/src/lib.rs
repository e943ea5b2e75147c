//! The contract of the store, with PostgreSQL and SQLite behind it.
//!
//! **Invariant:** the only crate with SQL. [`open`] checks a database, brings it to this version
//! and gives a [`Database`]; everything else is a transition in one transaction.

#[macro_use]
pub mod database;
pub mod opening;

pub use database::{Database, Scope};
pub use opening::{Location, OpenError, open};
