//! Measures a runtime: the latency of a turn in a folder beside one on the server, the memory while thousands of files are
//! drained, and an idle runtime.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use api_types::RunView;
use client::{Client, RunFilter};
use model::run::RunStatus;
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    bare_client,
    folder::new_folder,
    programs::Programs,
    prompt_times,
    runtime_process::{FolderServer, INSTANCE, RuntimeProcess, create_folder, waiting_files},
    statistics::{format_quantiles, ms, quantile},
};

/// The number of turns before the measured ones.
const WARM_UP_TURNS: usize = 5;
/// The interval at which files and runs are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The interval at which the progress of the drain is polled.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// The maximum time of one step of a turn.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum time for each file, from its run's message to its end.
const TIMEOUT_PER_FILE: Duration = Duration::from_millis(500);
/// The number of requests at once that create the runs of the files.
const REQUESTS_AT_ONCE: usize = 32;
/// The time before an idle runtime is measured, so that the threads of its start have ended. Each waits 15 s for more work,
/// and the poll after 10 s may be the last work of one of them.
const SETTLE_PAUSE: Duration = Duration::from_secs(30);
/// The time for which the wake-ups are counted.
const COUNT_PERIOD: Duration = Duration::from_mins(1);

/// The result of the benchmark. All times are sorted.
pub(crate) struct RuntimeMeasurement {
    /// The times from the start of the agent by a bare client until the agent has its prompt.
    bare_client: Vec<Duration>,
    /// The times from the rename of a file into the folder until the agent has its prompt.
    file_to_prompt: Vec<Duration>,
    /// The times from the request that sends a message until the agent on the server has its prompt.
    message_to_prompt: Vec<Duration>,
    drain: DrainMeasurement,
    idle: IdleMeasurement,
}

/// The drain of many files.
struct DrainMeasurement {
    files: usize,
    took: Duration,
    /// The resident memory when a twentieth, half and all but a twentieth of the files are done, in KiB.
    resident_kib: [u64; 3],
}

/// An idle runtime.
struct IdleMeasurement {
    resident_kib: u64,
    wake_ups_per_second: f64,
}

/// Measures a runtime, in three folders one after the other.
pub(crate) async fn measure(
    programs: &Programs,
    folder: &Path,
    turns: usize,
    files: usize,
) -> Result<RuntimeMeasurement> {
    let home = new_folder(folder)?;
    let idle = measure_idle(programs, home.path()).await?;
    let home = new_folder(folder)?;
    let mut latencies = Latencies::start(programs, home.path()).await?;
    for turn in 0..WARM_UP_TURNS + turns {
        if turn == WARM_UP_TURNS {
            latencies.forget();
        }
        latencies.take_turns().await?;
    }
    let (bare_client, file_to_prompt, message_to_prompt) = latencies.finish();
    let home = new_folder(folder)?;
    let drain = measure_drain(programs, home.path(), files).await?;
    Ok(RuntimeMeasurement {
        bare_client,
        file_to_prompt,
        message_to_prompt,
        drain,
        idle,
    })
}

/// Turns of three kinds, by turns.
struct Latencies {
    server: FolderServer,
    _runtime: RuntimeProcess,
    /// The folder of the runtime, into which this program renames the files that the server has delivered.
    watched: PathBuf,
    /// The session whose turns the runtime takes.
    placed: String,
    /// The session whose turns the server takes.
    local: String,
    /// The agent's session of the bare client.
    bare_session: Option<String>,
    bare_client: Vec<Duration>,
    file_to_prompt: Vec<Duration>,
    message_to_prompt: Vec<Duration>,
}

impl Latencies {
    async fn start(programs: &Programs, home: &Path) -> Result<Self> {
        let server = FolderServer::start(programs, home).await?;
        // The server writes into another folder, as into a volume that a third program copies, so that this program
        // knows the instant at which a file comes.
        let watched = create_folder(&home.join("watched"))?;
        let runtime = server.start_runtime(programs, &watched).await?;
        Ok(Self {
            placed: server.create_session(Some(INSTANCE)).await?,
            local: server.create_session(None).await?,
            server,
            _runtime: runtime,
            watched,
            bare_session: None,
            bare_client: Vec::new(),
            file_to_prompt: Vec::new(),
            message_to_prompt: Vec::new(),
        })
    }

    /// Takes one turn of each kind.
    async fn take_turns(&mut self) -> Result<()> {
        // 1. A bare client.
        let began = prompt_times::now();
        let session = self.bare_session.take();
        let session = bare_client::run_turn(&self.server.agent, &self.watched, session).await?;
        self.bare_session = Some(session);
        let took = self.since(began).await?;
        self.bare_client.push(took);
        // 2. A runtime.
        let run = self
            .server
            .client
            .send_message(&self.placed, "Hello")
            .await?;
        let delivered = self.delivered_file().await?;
        let name = delivered.file_name().context("the file has no name")?;
        let began = prompt_times::now();
        fs::rename(&delivered, self.watched.join(name))?;
        let took = self.since(began).await?;
        self.file_to_prompt.push(took);
        self.wait_until_succeeded(&run.id.to_string()).await?;
        // 3. The server.
        let began = prompt_times::now();
        let run = self
            .server
            .client
            .send_message(&self.local, "Hello")
            .await?;
        let took = self.since(began).await?;
        self.message_to_prompt.push(took);
        self.wait_until_succeeded(&run.id.to_string()).await
    }

    /// Returns the time from an instant until the next prompt.
    async fn since(&mut self, began: Duration) -> Result<Duration> {
        Ok(self.server.prompts.next().await?.saturating_sub(began))
    }

    /// Waits for the file that the server delivers.
    async fn delivered_file(&self) -> Result<PathBuf> {
        let delivered = async {
            loop {
                if let Some(file) = waiting_files(&self.server.delivered)?.pop() {
                    return anyhow::Ok(file);
                }
                sleep(POLL_INTERVAL).await;
            }
        };
        let delivered = timeout(STEP_TIMEOUT, delivered).await;
        delivered.context("the server delivered no file in time")?
    }

    /// Waits for the end of a run, and until no file waits.
    async fn wait_until_succeeded(&self, run: &str) -> Result<()> {
        let ended = async {
            loop {
                let RunView { run, .. } = self.server.client.run(run).await?;
                if run.status.is_over() {
                    ensure!(run.status == RunStatus::Succeeded, "{run:?}");
                    break;
                }
                sleep(POLL_INTERVAL).await;
            }
            while !waiting_files(&self.watched)?.is_empty() {
                sleep(POLL_INTERVAL).await;
            }
            anyhow::Ok(())
        };
        let ended = timeout(STEP_TIMEOUT, ended).await;
        ended.with_context(|| format!("{run} did not end in time"))?
    }

    /// Forgets all times so far.
    fn forget(&mut self) {
        self.bare_client.clear();
        self.file_to_prompt.clear();
        self.message_to_prompt.clear();
    }

    /// Returns the sorted times: of the bare client, of the runtime, and of the server.
    fn finish(mut self) -> (Vec<Duration>, Vec<Duration>, Vec<Duration>) {
        let times = [
            &mut self.bare_client,
            &mut self.file_to_prompt,
            &mut self.message_to_prompt,
        ];
        for times in times {
            times.sort_unstable();
        }
        (
            self.bare_client,
            self.file_to_prompt,
            self.message_to_prompt,
        )
    }
}

/// Lets a server deliver `files` files, then starts a runtime and reads its memory while it takes the turns.
async fn measure_drain(programs: &Programs, home: &Path, files: usize) -> Result<DrainMeasurement> {
    let server = Arc::new(FolderServer::start(programs, home).await?);
    let limit = TIMEOUT_PER_FILE.saturating_mul(u32::try_from(files)?);
    // 1. Queue a run of a session of its own for each file.
    let requests = Arc::new(Semaphore::new(REQUESTS_AT_ONCE));
    let mut sending = JoinSet::new();
    for _ in 0..files {
        let permit = Arc::clone(&requests).acquire_owned().await?;
        let server = Arc::clone(&server);
        sending.spawn(async move {
            let session = server.create_session(Some(INSTANCE)).await?;
            server.client.send_message(&session, "Hello").await?;
            drop(permit);
            anyhow::Ok(())
        });
    }
    while let Some(sent) = sending.join_next().await {
        sent??;
    }
    let folder = server.delivered.clone();
    let delivered = async {
        while waiting_files(&folder)?.len() < files {
            sleep(PROGRESS_INTERVAL).await;
        }
        anyhow::Ok(())
    };
    let delivered = timeout(limit, delivered).await;
    delivered.context("the server did not deliver all files in time")??;
    // 2. Drain the files.
    let began = Instant::now();
    let runtime = server.start_runtime(programs, &folder).await?;
    let mut resident_kib = [0; 3];
    let drained = async {
        let marks = [files / 20, files / 2, files - files / 20];
        for (resident, mark) in resident_kib.iter_mut().zip(marks) {
            wait_for_prompts(&server, mark).await?;
            *resident = runtime.resident_kib()?;
        }
        wait_for_prompts(&server, files).await?;
        while !waiting_files(&folder)?.is_empty() {
            sleep(PROGRESS_INTERVAL).await;
        }
        anyhow::Ok(())
    };
    let drained = timeout(limit, drained).await;
    drained.context("the runtime did not take all turns in time")??;
    let took = began.elapsed();
    // 3. Check that each run has one turn.
    let prompts = server.prompts.count();
    let successes = count_successes(&server.client).await?;
    ensure!(
        prompts == u64::try_from(files)? && successes == files,
        "{files} files, {prompts} prompts, {successes} successes"
    );
    Ok(DrainMeasurement {
        files,
        took,
        resident_kib,
    })
}

/// Counts the inputs that succeeded. The overview counts no more than some thousands.
async fn count_successes(client: &Client) -> Result<usize> {
    let mut filter = RunFilter::default();
    filter.runs.status = vec![RunStatus::Succeeded];
    let mut count = 0;
    loop {
        let page = client.runs(&filter).await?;
        count += page.items.len();
        filter.page.after = page.next;
        if filter.page.after.is_none() {
            return Ok(count);
        }
    }
}

async fn wait_for_prompts(server: &FolderServer, count: usize) -> Result<()> {
    let count = u64::try_from(count)?;
    while server.prompts.count() < count {
        sleep(PROGRESS_INTERVAL).await;
    }
    Ok(())
}

async fn measure_idle(programs: &Programs, home: &Path) -> Result<IdleMeasurement> {
    let server = FolderServer::start(programs, home).await?;
    let runtime = server.start_runtime(programs, &server.delivered).await?;
    sleep(SETTLE_PAUSE).await;
    Ok(IdleMeasurement {
        wake_ups_per_second: runtime.wake_ups_per_second(COUNT_PERIOD).await?,
        resident_kib: runtime.resident_kib()?,
    })
}

/// Prints the report.
pub(crate) fn print(measured: &RuntimeMeasurement) {
    let RuntimeMeasurement {
        bare_client: bare,
        file_to_prompt: file,
        message_to_prompt: message,
        drain,
        idle,
    } = measured;
    let beyond = |times: &[Duration], part| ms(quantile(times, part)) - ms(quantile(bare, part));
    println!(
        "\nA turn in a folder, with an agent that answers at once (SQLite, {} alternating turns of each kind)\n\
         \x20 bare client, from its start to the prompt       {}\n\
         \x20 runtime, from the file in the folder            {}, {:+.2} ms, p99 {:+.2} ms  (median at most +20 ms)\n\
         \x20 server, from the request with the message       {}, {:+.2} ms, p99 {:+.2} ms",
        bare.len(),
        format_quantiles(bare),
        format_quantiles(file),
        beyond(file, 0.5),
        beyond(file, 0.99),
        format_quantiles(message),
        beyond(message, 0.5),
        beyond(message, 0.99),
    );
    let [begin, middle, end] = drain.resident_kib.map(megabytes);
    println!(
        "\n{} files that wait when the runtime starts, up to 4 turns at once\n\
         \x20 turns in a second                               {:8.0}\n\
         \x20 resident memory at 5, 50 and 95 percent         {begin:8.1} MB, {middle:.1} MB, {end:.1} MB  (no growth)",
        drain.files,
        f64::from(u32::try_from(drain.files).unwrap_or(u32::MAX)) / drain.took.as_secs_f64(),
    );
    println!(
        "\nAn idle runtime\n\
         \x20 resident memory                                 {:8.1} MB  (at most 15 MB)\n\
         \x20 wake-ups of its threads in a second             {:8.2}     (at most 1)",
        megabytes(idle.resident_kib),
        idle.wake_ups_per_second,
    );
}

fn megabytes(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) * 1024.0 / 1e6
}
