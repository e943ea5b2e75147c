//! Processes of the machine, as tests see them.

use std::{fs, io};

use agent::guard::MARKER_VARIABLE;
use rustix::process::Pid;

/// A process that lives, or is a zombie that nobody has taken the status of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: Pid,
    /// Its program and arguments.
    pub command: Vec<String>,
}

/// All processes whose environment has the marker of an agent's run.
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
        // One that ends meanwhile, or is somebody else's, has no environment to be read.
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

/// Whether a process of this id lives, for one without a marker.
pub fn is_alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let state = stat.ok().and_then(|stat| {
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.bytes().next()
    });
    state.is_some_and(|state| state != b'Z')
}
