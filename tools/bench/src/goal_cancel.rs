//! Measures the cancellation of a goal whose agents are at work, each with children of its own.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use agent::guard::MARKER_VARIABLE;
use anyhow::{Result, ensure};
use api_types::GoalMove;
use tokio::time::sleep;

use super::{
    goal_server::{GoalServer, new_task},
    programs::Programs,
};

/// The number of workers at work.
pub(crate) const WORKERS: u32 = 8;
/// The number of cancelled goals, one after the other.
const ROUNDS: usize = 5;
/// The least number of processes of a turn: the guard, the agent, and three below it.
const PROCESSES_OF_TURN: usize = 5;
/// The interval at which the processes are listed.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The time after which the benchmark gives up.
const END_TIMEOUT: Duration = Duration::from_mins(2);

/// The cancellations.
pub(crate) struct CancelMeasurement {
    /// The number of processes of the last goal, guards included.
    pub(crate) processes: usize,
    /// The times from the request until no process is left, sorted.
    pub(crate) times: Vec<Duration>,
}

/// Cancels goals on a new server.
pub(crate) async fn measure(
    programs: &Programs,
    home: &Path,
    database: &[&str],
) -> Result<CancelMeasurement> {
    let options = ["--stall", "--children"];
    let server = GoalServer::start(programs, home, database, WORKERS, &options).await?;
    let mut measured = CancelMeasurement {
        processes: 0,
        times: Vec::with_capacity(ROUNDS),
    };
    for _ in 0..ROUNDS {
        let before = server.prompts()?;
        let others = children(server.process.pid()?)?;
        let tasks = (0..WORKERS).map(|number| new_task(format!("task-{number}")));
        let goal = server.start_goal(tasks.collect()).await?;
        let workers = usize::try_from(WORKERS)?;
        server.wait_for_prompts(before.len() + workers).await?;
        let runs = server.prompts()?.into_keys();
        let runs = runs.filter(|run| !before.contains_key(run)).collect();
        let processes = Processes {
            runs,
            server: server.process.pid()?,
            others,
        };
        measured.processes = processes.wait_for(workers * PROCESSES_OF_TURN).await?;
        let began = Instant::now();
        server.client.move_goal(&goal, GoalMove::Cancel).await?;
        loop {
            let left = processes.list()?;
            if left.is_empty() {
                break;
            }
            ensure!(
                began.elapsed() < END_TIMEOUT,
                "{} processes are left {END_TIMEOUT:?} after the cancellation",
                left.len()
            );
            sleep(POLL_INTERVAL).await;
        }
        measured.times.push(began.elapsed());
    }
    server.process.stop().await?;
    measured.times.sort_unstable();
    Ok(measured)
}

/// The processes of the turns of a goal.
struct Processes {
    runs: BTreeSet<String>,
    server: u32,
    /// The children that the server had before the goal.
    others: BTreeSet<u32>,
}

impl Processes {
    /// Waits for at least this many processes, because an agent notes its prompt before it starts others. Returns their number.
    async fn wait_for(&self, least: usize) -> Result<usize> {
        let began = Instant::now();
        loop {
            let at_work = self.list()?.len();
            if at_work >= least {
                return Ok(at_work);
            }
            ensure!(
                began.elapsed() < END_TIMEOUT,
                "only {at_work} processes are at work"
            );
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Lists the living processes with the marker of a run, and the children of the server, which are guards.
    fn list(&self) -> Result<BTreeSet<u32>> {
        let mut found: BTreeSet<u32> = children(self.server)?
            .difference(&self.others)
            .copied()
            .collect();
        let is_marker = |variable: &[u8]| {
            let value = variable.strip_prefix(MARKER_VARIABLE.as_bytes());
            let value = value.and_then(|value| value.strip_prefix(b"="));
            let value = value.and_then(|value| std::str::from_utf8(value).ok());
            value.is_some_and(|run| self.runs.contains(run))
        };
        for process in all_processes()? {
            // A process may end between the listing and the reading, and those of other users cannot be read.
            let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(is_marker) {
                found.insert(process);
            }
        }
        Ok(found)
    }
}

fn all_processes() -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        found.extend(
            entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u32>().ok()),
        );
    }
    Ok(found)
}

/// Returns the living children of a process. Those that wait to be reaped have ended.
fn children(parent: u32) -> Result<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    for process in all_processes()? {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if living_parent(&stat) == Some(parent) {
            found.insert(process);
        }
    }
    Ok(found)
}

/// Returns the parent in the text of `/proc/<pid>/stat`. Returns `None` for a process that has ended.
fn living_parent(stat: &str) -> Option<u32> {
    // The name of the program is in parentheses, and can have spaces and parentheses itself.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let is_living = fields.next() != Some("Z");
    fields.next()?.parse().ok().filter(|_| is_living)
}

#[cfg(test)]
mod tests {
    use super::living_parent;

    #[test]
    fn parent_is_read_after_name_with_parentheses() {
        assert_eq!(living_parent("7 (a) Z) b) Z 3 7"), None);
        assert_eq!(living_parent("7 (a) S 4) b) S 3 7"), Some(3));
        assert_eq!(living_parent(""), None);
    }
}
