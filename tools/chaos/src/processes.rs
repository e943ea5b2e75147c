//! Processes of this machine, as the kernel tells of them.

use std::{fs, path::Path};

use agent::guard::MARKER_VARIABLE;
use rustix::process::{Pid, Signal, kill_process};

/// A process that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    /// Its program and arguments.
    pub(crate) command: String,
    /// The run whose marker its environment has.
    pub(crate) run: Option<String>,
}

impl Process {
    /// Whether it is a guard, rather than an agent or what that has started.
    pub(crate) fn is_guard(&self) -> bool {
        self.command.starts_with("matins guard")
    }
}

/// All processes that name `folder` in their command or environment, but the servers: agents, their guards
/// and whatever they have started.
pub(crate) fn of_agents(folder: &Path) -> Vec<Process> {
    let folder = folder.to_string_lossy();
    let marker = format!("{MARKER_VARIABLE}=");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            // One that ends meanwhile, or is somebody else's, has neither. A zombie has them no more.
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let environment = String::from_utf8_lossy(&environment);
            let mut variables = environment.split('\0');
            let run = variables.find_map(|variable| variable.strip_prefix(&marker));
            let ours = command.contains(&*folder) || environment.contains(&*folder);
            let agents = run.is_some() || command.contains("matins-testkit");
            (ours && agents).then(|| Process {
                pid,
                parent: parent(pid).unwrap_or(0),
                run: run.map(str::to_owned),
                command: command.trim().to_owned(),
            })
        })
        .collect()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name may hold anything, brackets included.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

/// Sends a signal; one that is gone does not get it. Gives whether it was sent.
pub(crate) fn signal(pid: i32, signal: Signal) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// Resident memory of a process, in KiB.
pub(crate) fn resident(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
