//! Measures the tools of agents: a server that takes the turns of many seats, whose agents call a tool once a second.
//!
//! The agents hold their turns open, and this process starts `matins mcp` for each with the file of its run, as the agent
//! would. So the calls are real messages of MCP from a process of the program, through the socket of the tools, to a
//! transaction of the database.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use api_types::SessionRequest;
use client::{Client, SocketAddress};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::JoinSet,
    time::{MissedTickBehavior, interval_at, sleep, timeout},
};

use super::{
    fixture,
    folder::new_folder,
    idle_server::{ANY_LOCAL_PORT, ServerProcess, process_status_kib},
    postgres::PostgresServer,
    programs::Programs,
    statistics::{format_quantiles, ms, quantile},
};

/// The number of seats, each with a running turn.
const SEATS: usize = 100;
/// The interval between two calls of a seat.
const CALL_PERIOD: Duration = Duration::from_secs(1);
/// The number of calls of each seat before the measured ones.
const WARM_UP_CALLS: u64 = 4;
/// The highest number of measured calls of each seat: a turn writes at most fifty entries, and every other call writes.
const MAX_CALLS: u64 = 90;
/// The number of measured starts of `matins mcp`.
const START_SAMPLES: usize = 50;
/// The maximum time until all turns run.
const START_TIMEOUT: Duration = Duration::from_mins(2);
/// The interval at which the begun turns are counted.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The result of the benchmark on one database. All times are sorted.
#[derive(Debug)]
pub(crate) struct ToolsMeasurement {
    /// The times from a call of `remember`, which writes, to its answer.
    writes: Vec<Duration>,
    /// The times from a call of `recall`, which reads, to its answer.
    reads: Vec<Duration>,
    /// The times from the start of `matins mcp` to its answer to `initialize`, without other calls meanwhile.
    starts: Vec<Duration>,
    /// The highest peak of the resident memory of a `matins mcp`, in KiB.
    peak_kib: u64,
}

/// Measures a server on a SQLite file.
pub(crate) async fn measure_sqlite(
    programs: &Programs,
    folder: &Path,
    calls: u64,
) -> Result<ToolsMeasurement> {
    let home = new_folder(folder)?;
    measure(programs, home.path(), &[], calls).await
}

/// Measures a server on a PostgreSQL database.
pub(crate) async fn measure_postgres(
    programs: &Programs,
    server: &PostgresServer,
    folder: &Path,
    calls: u64,
) -> Result<ToolsMeasurement> {
    let home = new_folder(folder)?;
    let database = server.create_database("matins_tools").await?;
    let options = ["--database", database.url.as_str()];
    let measured = measure(programs, home.path(), &options, calls).await?;
    server.drop_database(&database).await?;
    Ok(measured)
}

async fn measure(
    programs: &Programs,
    folder: &Path,
    database: &[&str],
    calls: u64,
) -> Result<ToolsMeasurement> {
    add_agent(programs, folder, database).await?;
    let workers = SEATS.to_string();
    let options = [database, &["--workers", workers.as_str()]].concat();
    let server =
        ServerProcess::start_at(programs, folder, "error", ANY_LOCAL_PORT, &options).await?;
    let socket = SocketAddress::for_path(&folder.join("matins.sock"))?;
    let client = Client::with_socket(socket, fixture::system_entropy())?;
    for _ in 0..SEATS {
        let request = SessionRequest {
            agent: Some("holder".into()),
            ..SessionRequest::default()
        };
        let session = client.create_session(&request).await?.id.to_string();
        client.send_message(&session, "Hold your turn.").await?;
    }
    let run_files = wait_for_turns(folder).await?;

    let (mut starts, mut peak_kib) = (Vec::with_capacity(START_SAMPLES), 0);
    for number in 0..START_SAMPLES {
        let began = Instant::now();
        let pipe = Pipe::start(programs, &run_files[number % run_files.len()]).await?;
        starts.push(began.elapsed());
        pipe.stop().await?;
    }
    let mut pipes = Vec::with_capacity(run_files.len());
    for run_file in &run_files {
        pipes.push(Pipe::start(programs, run_file).await?);
    }
    let begin = tokio::time::Instant::now() + CALL_PERIOD;
    let mut calling = JoinSet::new();
    for (number, pipe) in (0_u32..).zip(pipes) {
        let phase = CALL_PERIOD / u32::try_from(SEATS)? * number;
        // Agents do not write in step, so that each second has as many writes as reads.
        let writes_first = number % 2 == 0;
        let schedule = (begin + phase, writes_first);
        calling.spawn(call_each_second(pipe, schedule, calls.min(MAX_CALLS)));
    }
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    while let Some(called) = calling.join_next().await {
        let called = called??;
        writes.extend(called.writes);
        reads.extend(called.reads);
        peak_kib = peak_kib.max(called.peak_kib);
    }

    let running = client.overview(None).await?.counts.running;
    ensure!(
        running == u64::try_from(SEATS)?,
        "{running} turns run at the end instead of {SEATS}"
    );
    server.stop().await?;
    for times in [&mut writes, &mut reads, &mut starts] {
        times.sort_unstable();
    }
    Ok(ToolsMeasurement {
        writes,
        reads,
        starts,
        peak_kib,
    })
}

/// Lets the product create its data folder, with an agent that holds each turn open.
async fn add_agent(programs: &Programs, folder: &Path, database: &[&str]) -> Result<()> {
    let status = Command::new(&programs.matins)
        .args(["--data".as_ref(), folder.as_os_str()])
        .args(database)
        .args(["agent", "add", "holder", "--"])
        .args(programs.stalling_agent())
        .stdout(Stdio::null())
        .status()
        .await?;
    ensure!(status.success(), "`matins agent add` ended with {status}");
    Ok(())
}

/// Waits until all turns run. Returns the files of their runs.
async fn wait_for_turns(folder: &Path) -> Result<Vec<PathBuf>> {
    let all = async {
        loop {
            let files = run_files(folder);
            if files.len() >= SEATS {
                return files;
            }
            sleep(POLL_INTERVAL).await;
        }
    };
    let files = timeout(START_TIMEOUT, all).await;
    files.context("some turns have not begun in time")
}

fn run_files(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let workers = entries(&folder.join("runs")).into_iter();
    workers.flat_map(|worker| entries(&worker)).collect()
}

/// The calls of one seat.
struct SeatCalls {
    writes: Vec<Duration>,
    reads: Vec<Duration>,
    peak_kib: u64,
}

/// Calls `remember` and `recall` by turns, once in each period. Begins with `remember` if `writes_first`.
async fn call_each_second(
    mut pipe: Pipe,
    (begin, writes_first): (tokio::time::Instant, bool),
    calls: u64,
) -> Result<SeatCalls> {
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    let mut ticks = interval_at(begin, CALL_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in 0..WARM_UP_CALLS + calls {
        ticks.tick().await;
        let is_write = (number % 2 == 0) == writes_first;
        let params = if is_write {
            let arguments = json!({
                "key": format!("build.{number}"), "value": "green, all tests passed", "confidence": 0.9,
            });
            json!({"name": "remember", "arguments": arguments})
        } else {
            json!({"name": "recall", "arguments": {"prefix": "build"}})
        };
        let began = Instant::now();
        let answer = pipe.request("tools/call", &params).await?;
        let took = began.elapsed();
        ensure!(
            answer["structuredContent"]["ok"] == true,
            "the call was refused: {answer}"
        );
        if number >= WARM_UP_CALLS {
            let times = if is_write { &mut writes } else { &mut reads };
            times.push(took);
        }
    }
    let peak_kib = pipe.peak_kib()?;
    pipe.stop().await?;
    Ok(SeatCalls {
        writes,
        reads,
        peak_kib,
    })
}

/// A `matins mcp` with its pipes; killed when it is dropped.
struct Pipe {
    process: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    last_id: u64,
}

impl Pipe {
    /// Starts a pipe to the tools of a run, and waits for the answer to `initialize`.
    async fn start(programs: &Programs, run_file: &Path) -> Result<Self> {
        let mut process = Command::new(&programs.matins)
            .arg("mcp")
            .env("MATINS_RUN_FILE", run_file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let mut pipe = Self {
            process,
            input: input.context("`matins mcp` has no standard input")?,
            lines: BufReader::new(output.context("`matins mcp` has no standard output")?).lines(),
            last_id: 0,
        };
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1.0.0"},
        });
        pipe.request("initialize", &params).await?;
        pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await?;
        Ok(pipe)
    }

    async fn send(&mut self, message: &Value) -> Result<()> {
        let line = format!("{message}\n");
        Ok(self.input.write_all(line.as_bytes()).await?)
    }

    /// Sends a request, and returns its result.
    async fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        while let Some(line) = self.lines.next_line().await? {
            let mut message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                ensure!(message["error"].is_null(), "{method}: {}", message["error"]);
                return Ok(message["result"].take());
            }
        }
        bail!("`matins mcp` ended before it answered to {method}")
    }

    /// Returns the peak of the resident memory, in KiB.
    fn peak_kib(&self) -> Result<u64> {
        let process = self.process.id().context("`matins mcp` has ended")?;
        process_status_kib(process, "VmHWM:")
    }

    /// Closes the input, and waits for the end of the process.
    async fn stop(self) -> Result<()> {
        let Self {
            mut process, input, ..
        } = self;
        drop(input);
        process.wait().await?;
        Ok(())
    }
}

/// Prints the report of one database.
pub(crate) fn print(database: &str, measured: &ToolsMeasurement) {
    let peak = f64::from(u32::try_from(measured.peak_kib).unwrap_or(u32::MAX)) * 1024.0 / 1e6;
    println!(
        "\n{SEATS} seats whose agents call a tool once a second, each through its `matins mcp` ({database}, {} calls)\n\
         \x20 `remember`, from the call to the answer     {}  (p99 at most 20 ms)\n\
         \x20 `recall`, from the call to the answer       {}  (p99 at most 20 ms)\n\
         \x20 `matins mcp`, to its answer of `initialize` {:8.2} ms, p99 {:.2} ms  (at most 50 ms)\n\
         \x20 peak memory of each `matins mcp`            {peak:8.1} MB  (at most 15 MB)",
        measured.writes.len() + measured.reads.len(),
        format_quantiles(&measured.writes),
        format_quantiles(&measured.reads),
        ms(quantile(&measured.starts, 0.5)),
        ms(quantile(&measured.starts, 0.99)),
    );
}
