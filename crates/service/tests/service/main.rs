//! What people ask for, against a real database in a file.

mod automations;
mod harnesses;
mod sessions;
mod world;
