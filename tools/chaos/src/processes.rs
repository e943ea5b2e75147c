//! The agent processes of the test, read from `/proc`.

use std::{fs, path::Path};

use agent::guard::MARKER_VARIABLE;
use rustix::process::{Pid, Signal, kill_process};

/// The text in the commands of goals' checks by which their processes are known.
pub(crate) const CHECK_MARKER: &str = "matins-chaos-check";

/// A live process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    /// The command line.
    pub(crate) command: String,
    /// The ID of the run in the process's environment.
    pub(crate) run: Option<String>,
}

impl Process {
    /// `true` if the process is a guard, and `false` if it is an agent or a descendant of an agent.
    pub(crate) fn is_guard(&self) -> bool {
        self.command.starts_with("matins guard")
    }

    /// `true` if the process runs the command of a check.
    pub(crate) fn is_check(&self) -> bool {
        !self.is_guard() && self.command.contains(CHECK_MARKER)
    }
}

/// Returns the agents of the test, their guards and their descendants: the processes that name `folder` in their
/// command line or environment and belong to a run or run the scripted agent. Servers are not among them.
pub(crate) fn find_agents(folder: &Path) -> Vec<Process> {
    let folder = folder.to_string_lossy();
    let marker = format!("{MARKER_VARIABLE}=");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            // Skip a process that ends during the scan. The environment of another user's process is unreadable and
            // counts as empty. A zombie has neither a command line nor an environment, so it does not match.
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let environment = String::from_utf8_lossy(&environment);
            let mut variables = environment.split('\0');
            let run = variables.find_map(|variable| variable.strip_prefix(&marker));
            let ours = command.contains(&*folder) || environment.contains(&*folder);
            let agents = run.is_some()
                || command.contains("matins-testkit")
                || command.contains(CHECK_MARKER);
            (ours && agents).then(|| Process {
                pid,
                parent: parent_of(pid).unwrap_or(0),
                run: run.map(str::to_owned),
                command: command.trim().to_owned(),
            })
        })
        .collect()
}

/// Returns the ID of a process's parent. Returns `None` if the process has ended.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Search the end of the program's name from the right, because the name may itself contain `) `.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

/// Sends a signal to a process. Returns `false` if the process does not exist.
pub(crate) fn signal(pid: i32, signal: Signal) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// Returns the resident memory of a process, in KiB. Returns `None` if the process has ended.
pub(crate) fn resident_kib(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
