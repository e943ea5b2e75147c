//! Whether a process belongs to a run: it, or a process above it, has the run's marker in its environment.

use std::{fs, io};

use rustix::process::Pid;

use super::{MARKER_VARIABLE, process::parent};

/// The most processes between a process and the first of the machine. An agent could nest processes without end.
const MAX_ANCESTORS: usize = 4096;
/// The number of readings after which the ancestors are given up. Each repetition needs a process that ended while its
/// child was read.
const MAX_READINGS: usize = 16;

/// Returns the marker of the run to which a process belongs. Returns `None` if it belongs to no run.
///
/// The guard itself has the marker in its environment, which the kernel keeps as it was when the guard started. An
/// agent that clears the environment of a process, or forks it twice, still has it below its guard.
///
/// A process of another user counts as one without a marker, because its environment is not readable.
///
/// # Errors
///
/// Returns an error if the process has ended, or if it has too many ancestors. The caller must refuse such a process.
pub fn run_of_process(pid: u32) -> io::Result<Option<String>> {
    let no_process = || io::Error::new(io::ErrorKind::NotFound, "the process has ended");
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(no_process)?;
    for _ in 0..MAX_READINGS {
        if parent(process).is_none() {
            return Err(no_process());
        }
        match read_upward(process)? {
            Ancestors::Marked(run) => return Ok(Some(run)),
            Ancestors::Unmarked => return Ok(None),
            Ancestors::Changed => {}
        }
    }
    Err(io::Error::other("the processes above it change too fast"))
}

/// What a process and those above it show.
enum Ancestors {
    /// The nearest marker.
    Marked(String),
    /// None of them has a marker.
    Unmarked,
    /// One of them ended meanwhile, so that its child has another parent by now.
    Changed,
}

/// Reads the markers from a process upward.
fn read_upward(from: Pid) -> io::Result<Ancestors> {
    let mut process = from;
    for _ in 0..MAX_ANCESTORS {
        if let Some(marker) = marker(process) {
            return Ok(Ancestors::Marked(marker));
        }
        let Some(above) = parent(process) else {
            return Ok(Ancestors::Changed);
        };
        match Pid::from_raw(above) {
            Some(above) => process = above,
            // The first process of the machine, or of this container.
            None => return Ok(Ancestors::Unmarked),
        }
    }
    Err(io::Error::other("too many processes stand above it"))
}

fn marker(process: Pid) -> Option<String> {
    let environ = fs::read(format!("/proc/{}/environ", process.as_raw_nonzero())).ok()?;
    let prefix = format!("{MARKER_VARIABLE}=");
    let mut variables = environ.split(|byte| *byte == 0);
    let marker = variables.find_map(|variable| variable.strip_prefix(prefix.as_bytes()))?;
    Some(String::from_utf8_lossy(marker).into_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn process_without_marked_ancestor_belongs_to_no_run() {
        assert_eq!(run_of_process(std::process::id()).unwrap(), None);
    }

    #[test]
    fn ended_process_is_an_error() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let error = run_of_process(child.id()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(run_of_process(0).is_err() && run_of_process(u32::MAX).is_err());
    }

    #[test]
    fn process_with_cleared_environment_belongs_to_run_of_its_ancestor() {
        // The shell with the marker stays, because it has a command after the inner one.
        let script = "env -i sh -c 'echo $$; read line; :'; :";
        let mut marked = Command::new("sh")
            .args(["-c", script])
            .env(MARKER_VARIABLE, "run_1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = marked.stdout.take().unwrap();
        io::BufRead::read_line(&mut io::BufReader::new(stdout), &mut line).unwrap();
        let inner: u32 = line.trim().parse().unwrap();
        assert_ne!(inner, marked.id());
        assert_eq!(run_of_process(inner).unwrap().as_deref(), Some("run_1"));
        drop(marked.stdin.take());
        marked.wait().unwrap();
    }
}
