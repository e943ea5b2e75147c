//! The command line arguments of `cargo xtask bench`.

use std::path::PathBuf;

/// A benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Subject {
    /// Duration of a turn, compared with a bare client of the protocol
    Turn,
    /// Latency of a turn in a folder, compared with one on the server; 10,000 waiting files; an idle runtime
    Runtime,
    /// Start time, memory and database statements of an idle server
    Server,
    /// Runs per second without agents, compared with riverqueue
    Throughput,
    /// Runs per second from a full queue without agents, compared with plain SQL and other queues, on PostgreSQL
    Drain,
    /// Time until the runs of many triggers that are due at the same instant are committed
    Due,
    /// Time that ten people wait for each message to twenty sessions whose turns begin and end meanwhile
    People,
    /// Time of the web page's requests with a thousand automations and a hundred thousand runs
    Page,
    /// Lag between the due instants and the claims of runs that are due at each of 60 seconds, on PostgreSQL
    Lag,
    /// Latency from a commit to a reader in another process, compared with a bare notification, on PostgreSQL
    Notify,
    /// Duration of claims and scheduler ticks with a long history, compared with none, on PostgreSQL
    History,
    /// Runs per second from a full queue during a long read-only transaction, on PostgreSQL
    LongRead,
    /// Latency of the tools of a hundred agents that call one each second, and the cost of starting `matins mcp`
    Tools,
    /// Latency between the tasks of goals, duration of large plans, and of a cancellation with all its processes
    Goals,
    /// Latency and memory of many live traces, while connections are cut and the server is killed
    Traces,
}

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DatabaseKind {
    /// SQLite file
    Sqlite,
    /// PostgreSQL server
    Postgres,
}

/// Run the benchmarks, and print each figure beside its baseline
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Benchmarks to run; all by default
    #[arg(value_enum)]
    pub(crate) subjects: Vec<Subject>,
    /// Number of turns of each kind
    #[arg(long, default_value_t = 200)]
    pub(crate) turns: usize,
    /// Number of files that wait when the runtime starts
    #[arg(long, default_value_t = 10_000)]
    pub(crate) files: usize,
    /// Number of schedules of the idle server
    #[arg(long, default_value_t = 10_000)]
    pub(crate) schedules: u32,
    /// Number of runs, and of jobs of the other queue, for throughput
    #[arg(long, default_value_t = 20_000)]
    pub(crate) runs: usize,
    /// Number of messages that the people send
    #[arg(long, default_value_t = 5000)]
    pub(crate) messages: usize,
    /// Number of times that each request of the page is sent
    #[arg(long, default_value_t = 300)]
    pub(crate) requests: usize,
    /// Number of triggers that are due at the same instant
    #[arg(long, default_value_t = 100_000)]
    pub(crate) triggers: u32,
    /// Number of readers of live traces
    #[arg(long, default_value_t = 10_000)]
    pub(crate) readers: usize,
    /// Number of sessions that the readers follow; each has one event per second
    #[arg(long, default_value_t = 100)]
    pub(crate) sessions: usize,
    /// Duration of the measurement of the latencies of traces and of tools, in seconds
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u64,
    /// Number of tasks of a goal whose tasks depend on each other, and of one whose tasks do not
    #[arg(long, default_value_t = 200)]
    pub(crate) tasks: usize,
    /// Number of queued runs to drain
    #[arg(long, default_value_t = 100_000)]
    pub(crate) queued: usize,
    /// Maximum number of concurrent runs during a drain
    #[arg(long, default_value_t = 4096)]
    pub(crate) in_flight: usize,
    /// Skip the other queues
    #[arg(long)]
    pub(crate) without_peers: bool,
    /// Number of times that each drain is repeated, alternating with its baseline
    #[arg(long, default_value_t = 1)]
    pub(crate) rounds: usize,
    /// Number of schedules that are due at each of 60 seconds
    #[arg(long, default_value_t = 1000)]
    pub(crate) due_each_second: u32,
    /// Number of measured notifications, claims and scheduler ticks
    #[arg(long, default_value_t = 1000)]
    pub(crate) operations: u32,
    /// Number of ended runs in the long history; each takes about 1 kB on disk
    #[arg(long, default_value_t = 10_000_000)]
    pub(crate) ended: u64,
    /// Number of triggers in the long history; none of them is due
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) idle_triggers: u64,
    /// Database of the benchmarks that run on both; both by default
    #[arg(long, value_enum)]
    pub(crate) database: Option<DatabaseKind>,
    /// Folder for the databases; its disk is the measured one
    #[arg(long, default_value = "target/bench")]
    pub(crate) folder: PathBuf,
}
