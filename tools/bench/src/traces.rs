//! Measures live traces with many readers: the latency of events and the memory for each reader. Also checks that no
//! reader misses an event or receives one twice while connections are closed and the server is killed.

use std::{
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use api_types::{Change, SessionPatch, SessionRequest};
use client::{Client, SocketAddress, Trace, TraceItem, TraceSubject};
use model::Timestamp;
use serde::Deserialize;
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval_at, sleep, timeout},
};

use super::{fixture, idle_server::ServerProcess, programs::Programs};

/// The interval between two events of a session.
const EVENT_PERIOD: Duration = Duration::from_secs(1);
/// The time for which the server works before its memory is read.
const WARM_UP: Duration = Duration::from_secs(5);
/// The number of readers that connect at once.
const READERS_PER_BATCH: usize = 200;
/// The number of times that the server is killed.
const SERVER_KILLS: u32 = 3;
/// The time before and after each kill of the server.
const KILL_INTERVAL: Duration = Duration::from_secs(8);
/// The maximum time until all readers have connected, and until all have read the last events.
const CATCH_UP_TIMEOUT: Duration = Duration::from_mins(2);

/// The size of the benchmark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) readers: usize,
    pub(crate) sessions: usize,
    pub(crate) seconds: u64,
}

/// The result of the benchmark.
#[derive(Debug)]
pub(crate) struct TraceMeasurement {
    /// The time from the `created_at` of each event, which is before its commit, to its reader; sorted.
    pub(crate) latencies: Vec<Duration>,
    /// The resident memory of the server before the readers, in KiB.
    pub(crate) resident_before_kib: u64,
    /// The resident memory of the server with all readers, in KiB.
    pub(crate) resident_with_readers_kib: u64,
    /// The number of events that all readers have received.
    pub(crate) events: u64,
    /// The number of connections that readers closed.
    pub(crate) dropped_connections: u64,
    /// The number of connections that broke.
    pub(crate) broken_connections: u64,
    /// The number of gaps in the received sequence numbers.
    pub(crate) missed_events: u64,
    /// The number of events that a reader had received before.
    pub(crate) repeated_events: u64,
    /// The number of readers that have not received the last event of their session in time.
    pub(crate) lagging_readers: usize,
}

/// The state of a reader that it shares with the benchmark.
#[derive(Default)]
struct ReaderState {
    last_seq: AtomicI64,
    events: AtomicU64,
    broken: AtomicU64,
    missed: AtomicU64,
    repeated: AtomicU64,
    reconnect: Notify,
}

/// The signals to all readers.
#[derive(Default)]
struct ReaderSignals {
    measuring: AtomicBool,
    finished: AtomicBool,
}

#[derive(Deserialize)]
struct EventTime {
    created_at: Timestamp,
}

/// Starts a server, writers and readers, and measures them; then closes connections and kills the server.
pub(crate) async fn measure(
    programs: &Programs,
    folder: &Path,
    load: Load,
) -> Result<TraceMeasurement> {
    raise_open_file_limit(load.readers)?;
    let address = free_address()?;
    let mut server = ServerProcess::start_at(programs, folder, "error", address, &[]).await?;
    let socket = SocketAddress::for_path(&folder.join("matins.sock"))?;
    let writer = Client::with_socket(socket, fixture::system_entropy())?;
    let token = std::fs::read_to_string(folder.join("token"))?;
    let client = Client::with_address(
        &format!("http://{address}"),
        token.trim(),
        fixture::system_entropy(),
    )?;

    let sessions = create_sessions(&writer, load.sessions).await?;
    let mut writers = JoinSet::new();
    let begin = Instant::now();
    for (number, session) in sessions.iter().enumerate() {
        let phase = EVENT_PERIOD.mul_f64(fraction(number, load.sessions));
        writers.spawn(write_events(writer.clone(), session.clone(), begin + phase));
    }
    sleep(WARM_UP).await;
    let before = server.resident_kib()?;

    let signals = Arc::new(ReaderSignals::default());
    let mut reading = JoinSet::new();
    let mut readers = Vec::with_capacity(load.readers);
    for number in 0..load.readers {
        let session = &sessions[number % load.sessions];
        let reader = Arc::new(ReaderState::default());
        readers.push(Arc::clone(&reader));
        reading.spawn(read_trace(
            client.clone(),
            session.clone(),
            reader,
            Arc::clone(&signals),
        ));
        if number % READERS_PER_BATCH == READERS_PER_BATCH - 1 {
            wait_until_all_read(&readers, 1).await?;
        }
    }
    wait_until_all_read(&readers, 1).await?;
    sleep(WARM_UP).await;

    signals.measuring.store(true, Relaxed);
    sleep(Duration::from_secs(load.seconds)).await;
    let resident_with_readers_kib = server.resident_kib()?;
    signals.measuring.store(false, Relaxed);

    // Let the readers reconnect, one tenth after the other.
    for tenth in 0..10 {
        for reader in readers.iter().skip(tenth).step_by(10) {
            reader.reconnect.notify_one();
        }
        sleep(EVENT_PERIOD / 2).await;
    }
    for _ in 0..SERVER_KILLS {
        sleep(KILL_INTERVAL).await;
        server.stop().await?;
        server = ServerProcess::start_at(programs, folder, "error", address, &[]).await?;
    }
    sleep(KILL_INTERVAL).await;
    writers.shutdown().await;

    let behind = wait_until_caught_up(&writer, &sessions, &readers).await?;
    signals.finished.store(true, Relaxed);
    for reader in &readers {
        reader.reconnect.notify_one();
    }
    let mut latencies = Vec::new();
    while let Some(read) = reading.join_next().await {
        latencies.extend(read??);
    }
    server.stop().await?;
    latencies.sort_unstable();
    let sum = |count: fn(&ReaderState) -> &AtomicU64| {
        readers
            .iter()
            .map(|reader| count(reader).load(Relaxed))
            .sum()
    };
    Ok(TraceMeasurement {
        latencies,
        resident_before_kib: before,
        resident_with_readers_kib,
        events: sum(|reader| &reader.events),
        dropped_connections: u64::try_from(load.readers)?,
        broken_connections: sum(|reader| &reader.broken),
        missed_events: sum(|reader| &reader.missed),
        repeated_events: sum(|reader| &reader.repeated),
        lagging_readers: behind,
    })
}

/// Raises the limit of open files of this process and of the server that it starts. Each reader needs one connection in
/// either.
fn raise_open_file_limit(readers: usize) -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let needed = u64::try_from(readers)? + 500;
    ensure!(
        maximum.is_none_or(|maximum| maximum >= needed),
        "{readers} readers need {needed} open files, but the system allows {maximum:?}: see `ulimit -Hn`"
    );
    let current = maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum })?;
    Ok(())
}

/// Returns a free address. Every restarted server uses the same one, so that the readers find it again.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn fraction(number: usize, of: usize) -> f64 {
    number as f64 / of as f64
}

/// Creates draft sessions, in which no agent runs.
async fn create_sessions(client: &Client, count: usize) -> Result<Vec<String>> {
    let mut sessions = Vec::with_capacity(count);
    for _ in 0..count {
        let request = SessionRequest {
            agent: Some("demo".into()),
            draft: true,
            ..SessionRequest::default()
        };
        sessions.push(client.create_session(&request).await?.id.to_string());
    }
    Ok(sessions)
}

/// Writes one event into a session in each period, by a change of its title. Skips the event while the server is down.
async fn write_events(client: Client, session: String, begin: Instant) {
    let mut ticks = interval_at(begin, EVENT_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    for number in 0_u64.. {
        ticks.tick().await;
        let title = Change::To(format!("Title {number} of a conversation"));
        client
            .edit_session(&session, &SessionPatch { title }, None)
            .await
            .ok();
    }
}

/// Reads the trace of a session from its beginning until the end of the benchmark. Returns the latencies of the events
/// that arrived during the measurement.
async fn read_trace(
    client: Client,
    session: String,
    reader: Arc<ReaderState>,
    signals: Arc<ReaderSignals>,
) -> Result<Vec<Duration>> {
    let subject = TraceSubject::Session(session);
    let mut latencies = Vec::new();
    let mut trace: Trace = client.trace(subject.clone(), Some("0".to_owned()));
    loop {
        let item = tokio::select! {
            item = trace.next() => item?,
            () = reader.reconnect.notified() => {
                if signals.finished.load(Relaxed) {
                    return Ok(latencies);
                }
                let last = reader.last_seq.load(Relaxed).to_string();
                trace = client.trace(subject.clone(), Some(last));
                continue;
            }
        };
        let event = match item {
            TraceItem::Event(event) => event.frame,
            TraceItem::Disconnected { .. } => {
                reader.broken.fetch_add(1, Relaxed);
                continue;
            }
        };
        let number: i64 = event
            .last_event_id
            .parse()
            .context("the ID of an event is no number")?;
        let last = reader.last_seq.load(Relaxed);
        if number <= last {
            reader.repeated.fetch_add(1, Relaxed);
        } else if number > last + 1 {
            reader.missed.fetch_add(1, Relaxed);
        }
        reader.last_seq.store(number.max(last), Relaxed);
        reader.events.fetch_add(1, Relaxed);
        if signals.measuring.load(Relaxed) {
            let EventTime { created_at } = serde_json::from_str(&event.data)?;
            latencies.push(fixture::now().since(created_at));
        }
    }
}

/// Waits until every reader has received an event with at least this number.
async fn wait_until_all_read(readers: &[Arc<ReaderState>], number: i64) -> Result<()> {
    let all = async {
        while readers
            .iter()
            .any(|reader| reader.last_seq.load(Relaxed) < number)
        {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let done = timeout(CATCH_UP_TIMEOUT, all).await;
    done.context("some readers have not connected in time")
}

/// Waits until every reader has received the last event of its session. Returns the number of readers that have not in
/// time.
async fn wait_until_caught_up(
    client: &Client,
    sessions: &[String],
    readers: &[Arc<ReaderState>],
) -> Result<usize> {
    let mut last = Vec::with_capacity(sessions.len());
    for session in sessions {
        last.push(client.session(session).await?.value.session.last_seq);
    }
    let behind = || {
        let all = readers.iter().zip(last.iter().cycle());
        all.filter(|(reader, last)| reader.last_seq.load(Relaxed) != **last)
            .count()
    };
    let all = async {
        while behind() > 0 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(CATCH_UP_TIMEOUT, all).await.ok();
    Ok(behind())
}
