//! Tests of trigger folders on a real file system, beginning with folders and files that must be refused.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod delivering;
mod full_disk;
mod locking;
mod reading;
mod rejecting;
mod scanning;
mod stage;
