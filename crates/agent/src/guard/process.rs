//! Processes as `/proc` shows them, and signals that cannot hit a reused process ID.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    time::Duration,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process};

use crate::exit::ResourceUsage;

/// One process. The time of its start tells it from a later process with the same ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) pid: Pid,
    /// The start in clock ticks since boot (field 22 of `/proc/<pid>/stat`).
    start_ticks: u64,
}

/// A row of the process table.
struct ProcessRow {
    process: Process,
    parent: i32,
    is_zombie: bool,
    threads: u64,
    /// The processor time of the process and of the children that it has reaped, in clock ticks.
    cpu_ticks: u64,
    resident_pages: u64,
}

impl ProcessRow {
    fn read(pid: Pid) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        Self::parse(pid, &stat)
    }

    fn parse(pid: Pid, stat: &str) -> Option<Self> {
        // The name stands in parentheses and may contain any character, even parentheses.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        // `rest` begins with field 5 of proc(5).
        let rest: Vec<u64> = fields.map(|field| field.parse().unwrap_or(0)).collect();
        let field = |number: usize| rest.get(number - 5).copied();
        Some(Self {
            process: Process {
                pid,
                start_ticks: field(22)?,
            },
            parent,
            is_zombie: matches!(state, "Z" | "X"),
            threads: field(20)?,
            cpu_ticks: (14..=17).filter_map(field).sum(),
            resident_pages: field(24)?,
        })
    }
}

/// What `/proc` tells about one process.
pub(super) enum ProcessReading {
    /// The process exists.
    Exists {
        process: Process,
        /// The ID of its parent, 0 if it has none here.
        parent: i32,
        /// `true` if it has ended and its parent does not know yet, or if its main thread has ended.
        is_zombie: bool,
    },
    /// No process has this ID.
    Ended,
    /// The process belongs to another user, and `/proc` does not show it.
    OfOtherUser,
}

/// Reads one process.
///
/// # Errors
///
/// Returns an error if `/proc` hides a process that this one could signal.
pub(super) fn read_process(pid: Pid) -> io::Result<ProcessReading> {
    let error = match fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
        Ok(stat) => {
            let row = ProcessRow::parse(pid, &stat);
            let row = row.ok_or_else(|| io::Error::other("cannot parse /proc/<pid>/stat"))?;
            return Ok(ProcessReading::Exists {
                process: row.process,
                parent: row.parent,
                is_zombie: row.is_zombie,
            });
        }
        Err(error) => error,
    };
    // A missing file proves nothing: `/proc` may be mounted so that it hides the processes of other users (`hidepid`).
    match test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => Ok(ProcessReading::Ended),
        Err(rustix::io::Errno::PERM) => Ok(ProcessReading::OfOtherUser),
        _ => Err(error),
    }
}

impl Process {
    /// Returns a process with the same ID that started before this one.
    #[cfg(test)]
    pub(super) fn started_earlier(self) -> Self {
        Self {
            start_ticks: self.start_ticks - 1,
            ..self
        }
    }

    /// Sends a signal. A process that has ended is no error.
    ///
    /// Opens the handle first and checks the identity afterwards, so that a new process with the same ID never gets
    /// the signal.
    pub(super) fn signal(self, signal: Signal) -> io::Result<()> {
        let handle = match pidfd_open(self.pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if ProcessRow::read(self.pid).is_none_or(|row| row.process != self) {
            return Ok(());
        }
        match pidfd_send_signal(handle, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns `true` if one variable (`NAME=value`) in the environment of the process passes `matches`.
    fn has_variable(self, matches: impl Fn(&[u8]) -> bool) -> bool {
        fs::read(format!("/proc/{}/environ", self.pid.as_raw_nonzero()))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(matches))
    }
}

/// Returns the process's share of its memory (PSS): memory that several processes share is divided by their number.
/// Returns `None` if the kernel does not report it or the process has ended.
fn proportional_bytes(pid: Pid) -> Option<u64> {
    let path = format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero());
    let rollup = fs::read_to_string(path).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The processes of the machine at about one instant. The methods skip zombies, because signals have no effect on
/// them. A process whose main thread has ended while other threads run also has the state of a zombie, so the methods
/// skip it as well.
pub(super) struct ProcessTable(Vec<ProcessRow>);

impl ProcessTable {
    pub(super) fn read() -> io::Result<Self> {
        let mut rows = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let pid = entry?.file_name().to_str().and_then(|n| n.parse().ok());
            let row = pid.and_then(Pid::from_raw).and_then(ProcessRow::read);
            rows.extend(row);
        }
        Ok(Self(rows))
    }

    /// Returns all descendants of `roots` that are no zombies, by their parent IDs. The roots are not included.
    ///
    /// Children of a zombie have got a new parent already, so links through zombies need no special case.
    pub(super) fn descendants(&self, roots: impl IntoIterator<Item = Pid>) -> Vec<Process> {
        let mut children: HashMap<i32, Vec<&ProcessRow>> = HashMap::new();
        for row in &self.0 {
            children.entry(row.parent).or_default().push(row);
        }
        let mut open: Vec<i32> = roots
            .into_iter()
            .map(|pid| pid.as_raw_nonzero().get())
            .collect();
        let mut seen: HashSet<i32> = open.iter().copied().collect();
        let mut found = Vec::new();
        while let Some(parent) = open.pop() {
            for row in children.get(&parent).into_iter().flatten() {
                let pid = row.process.pid.as_raw_nonzero().get();
                // A table that is read while IDs are reused may contain a cycle.
                if seen.insert(pid) {
                    open.push(pid);
                    if !row.is_zombie {
                        found.push(row.process);
                    }
                }
            }
        }
        found
    }

    /// Returns the resources that all descendants of `root` use. Shared memory counts for each of its processes, so
    /// the sum is never too low. Only if it exceeds `exact_above`, the exact shares are read, because reading them is
    /// expensive.
    pub(super) fn resource_usage_below(&self, root: Pid, exact_above: u64) -> ResourceUsage {
        let below: HashSet<Process> = self.descendants([root]).into_iter().collect();
        let rows = || self.0.iter().filter(|row| below.contains(&row.process));
        let page = rustix::param::page_size() as u64;
        let resident = |row: &ProcessRow| row.resident_pages * page;
        let mut memory = rows().map(resident).sum();
        if memory > exact_above {
            memory = rows()
                .map(|row| proportional_bytes(row.process.pid).unwrap_or_else(|| resident(row)))
                .sum();
        }
        let root_row = self.0.iter().find(|row| row.process.pid == root);
        // The guard, as the new parent, has reaped the orphans that have ended. Their time is in its own row.
        let ticks: u64 = rows().chain(root_row).map(|row| row.cpu_ticks).sum();
        ResourceUsage {
            memory_bytes: memory,
            processes: rows().map(|row| row.threads).sum(),
            cpu_time: Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()),
        }
    }

    /// Returns all processes with a variable that passes `matches`, and all their descendants, whose own environment
    /// may have been cleared. Never returns `except` or a zombie.
    pub(super) fn processes_with_variable(
        &self,
        matches: impl Fn(&[u8]) -> bool,
        except: Pid,
    ) -> Vec<Process> {
        let live = self
            .0
            .iter()
            .filter(|row| !row.is_zombie)
            .map(|row| row.process);
        let mut marked: Vec<Process> = live
            .filter(|process| process.pid != except && process.has_variable(&matches))
            .collect();
        let below = self.descendants(marked.iter().map(|process| process.pid));
        let seen: HashSet<Process> = marked.iter().copied().collect();
        marked.extend(
            below
                .into_iter()
                .filter(|process| process.pid != except && !seen.contains(process)),
        );
        marked
    }
}
