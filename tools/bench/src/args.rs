//! What is asked of the benchmarks.

use std::path::PathBuf;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Subject {
    /// A turn beside a bare client of the protocol.
    Turn,
    /// Start, memory and questions of a server that has nothing to do.
    Server,
    /// Runs a second, without agents, beside riverqueue.
    Throughput,
    /// Queued runs that go to their end, without agents, on PostgreSQL.
    Drain,
    /// Everything that is due at one instant.
    Due,
    /// How late runs are claimed that are due at each of 60 seconds, on PostgreSQL.
    Lag,
    /// From a commit to a reader elsewhere, beside a bare notification, on PostgreSQL.
    Notify,
    /// Claims and the scheduler's looks with a long history, beside none, on PostgreSQL.
    History,
    /// The drain beside a transaction that reads all the time, on PostgreSQL.
    LongRead,
    /// Live traces that many read, while connections are cut and the server is killed.
    Traces,
}

/// The two databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DatabaseKind {
    /// A file of SQLite.
    Sqlite,
    /// A server of PostgreSQL.
    Postgres,
}

/// Measure, and print what was measured and against what
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to measure; everything unless some are named
    #[arg(value_enum)]
    pub(crate) subjects: Vec<Subject>,
    /// Turns of each kind
    #[arg(long, default_value_t = 200)]
    pub(crate) turns: usize,
    /// Idle schedules of the server
    #[arg(long, default_value_t = 10_000)]
    pub(crate) schedules: u32,
    /// Runs, and jobs of the other queue
    #[arg(long, default_value_t = 20_000)]
    pub(crate) runs: usize,
    /// Triggers that are due at one instant
    #[arg(long, default_value_t = 100_000)]
    pub(crate) triggers: u32,
    /// Readers of live traces
    #[arg(long, default_value_t = 10_000)]
    pub(crate) readers: usize,
    /// Sessions that they read, in each of which something happens every second
    #[arg(long, default_value_t = 100)]
    pub(crate) sessions: usize,
    /// For how long it is measured how late events come
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u64,
    /// Queued runs that are drained
    #[arg(long, default_value_t = 100_000)]
    pub(crate) queued: usize,
    /// Runs that are under way at once while they are drained
    #[arg(long, default_value_t = 4096)]
    pub(crate) in_flight: usize,
    /// Drain without the other queues beside it
    #[arg(long)]
    pub(crate) without_peers: bool,
    /// How often what is drained is drained, by turns
    #[arg(long, default_value_t = 1)]
    pub(crate) rounds: usize,
    /// Schedules that are due at each of 60 seconds
    #[arg(long, default_value_t = 1000)]
    pub(crate) due_each_second: u32,
    /// Notifications, claims and looks of the scheduler whose latency is measured
    #[arg(long, default_value_t = 1000)]
    pub(crate) operations: u32,
    /// Runs of the long history; each takes about a kilobyte of the disk
    #[arg(long, default_value_t = 10_000_000)]
    pub(crate) ended: u64,
    /// Triggers beside them that are not due
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) idle_triggers: u64,
    /// Where runs are measured that go through a database alone; both unless one is named
    #[arg(long, value_enum)]
    pub(crate) database: Option<DatabaseKind>,
    /// Where databases are made: the disk that is measured
    #[arg(long, default_value = "target/bench")]
    pub(crate) folder: PathBuf,
}
