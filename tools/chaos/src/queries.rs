//! The queries with which the test reads the rows of the servers, without any code of the product.

/// A query, or a statement that changes rows, in the words of each database. A query for SQLite returns each row as a JSON
/// object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query {
    pub(crate) postgres: &'static str,
    pub(crate) sqlite: &'static str,
}

/// Returns the query with a name, from the folders of both databases.
macro_rules! query {
    ($name:literal) => {
        Query {
            postgres: include_str!(concat!("sql/postgres/", $name, ".sql")),
            sqlite: include_str!(concat!("sql/sqlite/", $name, ".sql")),
        }
    };
}

pub(crate) const AUTOMATION_EVENTS: Query = query!("automation_events");
pub(crate) const AUTOMATIONS: Query = query!("automations");
pub(crate) const BEHIND: Query = query!("behind");
pub(crate) const EVENTS: Query = query!("events");
pub(crate) const FOLDER_INSTANCES: Query = query!("folder_instances");
pub(crate) const MESSAGES: Query = query!("messages");
pub(crate) const OPEN: Query = query!("open");
pub(crate) const PAYLOADS: Query = query!("payloads");
pub(crate) const QUEUE_LENGTHS: Query = query!("queue_lengths");
/// The defect of `--break goals`.
pub(crate) const REOPEN_TASKS: Query = query!("reopen_tasks");
pub(crate) const RUNS: Query = query!("runs");
pub(crate) const SESSIONS: Query = query!("sessions");
pub(crate) const TASKS: Query = query!("tasks");
pub(crate) const TRIGGERS: Query = query!("triggers");
