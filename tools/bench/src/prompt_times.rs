//! The instants at which an agent received its prompts, one line each in a file that all its processes append to.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result};
use tokio::time::{sleep, timeout};

/// The length of a line: nanoseconds since 1970 in 20 digits, and the line break.
const LINE_BYTES: u64 = 21;
/// The interval at which the file is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// The maximum time until a prompt arrives.
const PROMPT_TIMEOUT: Duration = Duration::from_mins(1);

/// Returns the time since 1970. Benchmark and agent are processes of one machine, so that they have one clock.
pub(crate) fn now() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}

/// Appends the present instant to a file.
pub(crate) fn append(path: &Path) -> io::Result<()> {
    let line = format!("{:020}\n", now().as_nanos());
    let mut file = File::options().create(true).append(true).open(path)?;
    file.write_all(line.as_bytes())
}

/// Appends the present instant and a run to a file.
pub(crate) fn append_run(path: &Path, run: &str) -> io::Result<()> {
    let line = format!("{} {run}\n", now().as_nanos());
    let mut file = File::options().create(true).append(true).open(path)?;
    file.write_all(line.as_bytes())
}

/// Returns the instant of the first prompt of each run in a file of [`append_run`], as a time since 1970. A file that does
/// not exist has no prompt yet.
pub(crate) fn first_prompts(path: &Path) -> Result<HashMap<String, Duration>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let mut prompts = HashMap::new();
    for line in text.lines() {
        let (nanos, run) = line.split_once(' ').context("a prompt has no run")?;
        let at = Duration::from_nanos(nanos.parse()?);
        prompts.entry(run.to_owned()).or_insert(at);
    }
    Ok(prompts)
}

/// A file of instants, which the benchmark reads.
pub(crate) struct PromptTimes {
    path: PathBuf,
    /// The number of lines that have been read.
    read: u64,
}

impl PromptTimes {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, read: 0 }
    }

    /// Returns the number of prompts so far.
    pub(crate) fn count(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |file| file.len() / LINE_BYTES)
    }

    /// Waits for the next prompt, and returns its instant as a time since 1970.
    pub(crate) async fn next(&mut self) -> Result<Duration> {
        let came = async {
            while self.count() <= self.read {
                sleep(POLL_INTERVAL).await;
            }
        };
        let came = timeout(PROMPT_TIMEOUT, came).await;
        came.context("the agent received no prompt in time")?;
        let text = fs::read_to_string(&self.path)?;
        let line = text.lines().nth(usize::try_from(self.read)?);
        let nanos: u64 = line.context("the file of prompts is too short")?.parse()?;
        self.read += 1;
        Ok(Duration::from_nanos(nanos))
    }
}
