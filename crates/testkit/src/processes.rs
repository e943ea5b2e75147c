//! Searches for the processes of agents, which must not outlive their runs.

use std::{fs, io};

use agent::guard::MARKER_VARIABLE;
use rustix::process::Pid;

/// A living process, or a zombie whose exit status its parent has not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The process ID.
    pub pid: Pid,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// Returns all processes whose environment has the marker of a run.
pub fn processes_with_marker(marker: &str) -> io::Result<Vec<Process>> {
    let assignment = format!("{MARKER_VARIABLE}={marker}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            continue;
        };
        // Skip a process that ends meanwhile or belongs to another user: its environment cannot be read.
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        let mut variables = environ.split(|byte| *byte == 0);
        if variables.any(|variable| variable == assignment.as_bytes()) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            let command = line.split_terminator('\0').map(str::to_owned).collect();
            found.push(Process { pid, command });
        }
    }
    Ok(found)
}

/// Returns `true` if a process with this ID lives. It needs no marker. A zombie does not count.
pub fn is_alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let state = stat.ok().and_then(|stat| {
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.bytes().next()
    });
    state.is_some_and(|state| state != b'Z')
}
