//! Processes as `/proc` shows them, and signals that cannot hit a reused process id.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    time::Duration,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::exit::Used;

/// One process, told apart from a later one of the same id by the time of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) pid: Pid,
    /// In clock ticks since boot (field 22 of `/proc/<pid>/stat`).
    started: u64,
}

/// A row of the process table.
struct Row {
    process: Process,
    parent: i32,
    zombie: bool,
    threads: u64,
    /// Its own and that of the children it has waited for, in clock ticks.
    ticks: u64,
    resident_pages: u64,
}

impl Row {
    fn read(pid: Pid) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        // The name stands in brackets and may hold anything, brackets too.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        // From field 5 of proc(5) on.
        let rest: Vec<u64> = fields.map(|field| field.parse().unwrap_or(0)).collect();
        let field = |number: usize| rest.get(number - 5).copied();
        Some(Self {
            process: Process {
                pid,
                started: field(22)?,
            },
            parent,
            zombie: matches!(state, "Z" | "X"),
            threads: field(20)?,
            ticks: (14..=17).filter_map(field).sum(),
            resident_pages: field(24)?,
        })
    }
}

impl Process {
    /// Sends a signal; a process that is gone already is no error.
    ///
    /// The handle is opened first and the identity checked after, so that a process that got the
    /// same id meanwhile is never hit.
    pub(super) fn signal(self, signal: Signal) -> io::Result<()> {
        let handle = match pidfd_open(self.pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if Row::read(self.pid).is_none_or(|row| row.process != self) {
            return Ok(());
        }
        match pidfd_send_signal(handle, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the process has such a variable (`NAME=value`) in its environment.
    fn has_variable(self, such: impl Fn(&[u8]) -> bool) -> bool {
        fs::read(format!("/proc/{}/environ", self.pid.as_raw_nonzero()))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(such))
    }
}

/// A process's share of the memory that it has in use: what it shares with others is divided by their
/// number. `None` where the kernel does not tell, or the process is gone.
fn proportional_bytes(pid: Pid) -> Option<u64> {
    let path = format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero());
    let rollup = fs::read_to_string(path).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The live processes at about one instant; zombies are left out, for nothing can stop or kill them.
pub(super) struct Table(Vec<Row>);

impl Table {
    pub(super) fn read() -> io::Result<Self> {
        let mut rows = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let pid = entry?.file_name().to_str().and_then(|n| n.parse().ok());
            let row = pid.and_then(Pid::from_raw).and_then(Row::read);
            rows.extend(row);
        }
        Ok(Self(rows))
    }

    /// All live descendants of `roots`, by the links to parents; the roots are not among them.
    ///
    /// A zombie's children have a new parent already, so links through zombies need no care.
    pub(super) fn descendants(&self, roots: impl IntoIterator<Item = Pid>) -> Vec<Process> {
        let mut children: HashMap<i32, Vec<&Row>> = HashMap::new();
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
                // A table read while ids are reused may show a circle.
                if seen.insert(pid) {
                    open.push(pid);
                    if !row.zombie {
                        found.push(row.process);
                    }
                }
            }
        }
        found
    }

    /// What all descendants of `root` use. Memory that they share counts for each of them, so the sum
    /// is never too low; where it is above `closer`, their exact shares are asked for, which is dear.
    pub(super) fn used_below(&self, root: Pid, closer: u64) -> Used {
        let below: HashSet<Process> = self.descendants([root]).into_iter().collect();
        let rows = || self.0.iter().filter(|row| below.contains(&row.process));
        let page = rustix::param::page_size() as u64;
        let resident = |row: &Row| row.resident_pages * page;
        let mut memory = rows().map(resident).sum();
        if memory > closer {
            memory = rows()
                .map(|row| proportional_bytes(row.process.pid).unwrap_or_else(|| resident(row)))
                .sum();
        }
        let own = self.0.iter().find(|row| row.process.pid == root);
        // What was orphaned and has ended, its new parent, the guard, has waited for.
        let ticks: u64 = rows().chain(own).map(|row| row.ticks).sum();
        Used {
            memory,
            processes: rows().map(|row| row.threads).sum(),
            cpu: Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()),
        }
    }

    /// All live processes with such a variable in their environment, and all their descendants, whose
    /// own environment may have been cleared. `except` is never among them.
    pub(super) fn marked(&self, such: impl Fn(&[u8]) -> bool, except: Pid) -> Vec<Process> {
        let live = self
            .0
            .iter()
            .filter(|row| !row.zombie)
            .map(|row| row.process);
        let mut marked: Vec<Process> = live
            .filter(|process| process.pid != except && process.has_variable(&such))
            .collect();
        let below = self.descendants(marked.iter().map(|process| process.pid));
        let known: HashSet<Process> = marked.iter().copied().collect();
        marked.extend(
            below
                .into_iter()
                .filter(|process| process.pid != except && !known.contains(process)),
        );
        marked
    }
}
