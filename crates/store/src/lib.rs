//! The contract of the store, with PostgreSQL and SQLite behind it.
