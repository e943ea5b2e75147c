//! Whether a process belongs to a run: it, or a process above it, has the run's marker in its environment.

use std::{fs, io};

use rustix::process::Pid;

use super::{
    MARKER_VARIABLE,
    process::{Process, ProcessReading, read_process},
};

/// The most processes between a process and the first of the machine. An agent could nest processes without end.
const MAX_ANCESTORS: usize = 4096;
/// The number of readings after which the ancestors are given up. Each repetition needs a process that ended while its
/// child was read.
const MAX_READINGS: usize = 16;

/// A process that is known by its ID and the time of its start, so that a later process with the same ID is another one.
#[derive(Debug, Clone, Copy)]
pub struct KnownProcess(Process);

impl KnownProcess {
    /// Returns the process with this ID.
    ///
    /// # Errors
    ///
    /// Returns an error if there is none, or if it cannot be read.
    pub fn with_id(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        match read_process(pid.ok_or_else(ended)?)? {
            ProcessReading::Exists {
                process,
                is_zombie: false,
                ..
            } => Ok(Self(process)),
            _ => Err(ended()),
        }
    }

    /// Returns the marker of the run to which the process belongs. Returns `None` if it belongs to no run.
    ///
    /// The guard itself has the marker in its environment, which the kernel keeps as it was when the guard started. An
    /// agent that clears the environment of a process, or forks it twice, still has it below its guard.
    ///
    /// A process of another user counts as one without a marker, because its environment is not readable.
    ///
    /// # Errors
    ///
    /// Returns an error if the process has ended, if `/proc` cannot be read, or if the process has too many ancestors.
    /// The caller must refuse such a process.
    pub fn run(self) -> io::Result<Option<String>> {
        for _ in 0..MAX_READINGS {
            if !self.is_alive()? {
                return Err(ended());
            }
            match read_upward(self.0)? {
                Ancestors::Marked(run) => return Ok(Some(run)),
                // A process that has ended meanwhile may have given its ID to one without a marker.
                Ancestors::Unmarked if self.is_alive()? => return Ok(None),
                Ancestors::Unmarked | Ancestors::Changed => {}
            }
        }
        Err(io::Error::other("the processes above it change too fast"))
    }

    fn is_alive(self) -> io::Result<bool> {
        Ok(match read_process(self.0.pid)? {
            ProcessReading::Exists {
                process, is_zombie, ..
            } => process == self.0 && !is_zombie,
            ProcessReading::Ended | ProcessReading::OfOtherUser => false,
        })
    }
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the process has ended")
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
fn read_upward(from: Process) -> io::Result<Ancestors> {
    let mut process = from.pid;
    for _ in 0..MAX_ANCESTORS {
        if let Some(marker) = marker(process)? {
            return Ok(Ancestors::Marked(marker));
        }
        let Some(above) = parent(process)? else {
            return Ok(Ancestors::Changed);
        };
        let Some(above) = Pid::from_raw(above) else {
            // The first process of the machine, or of this container.
            return Ok(Ancestors::Unmarked);
        };
        match read_process(above)? {
            ProcessReading::OfOtherUser => return Ok(Ancestors::Unmarked),
            ProcessReading::Ended => return Ok(Ancestors::Changed),
            ProcessReading::Exists { .. } => {}
        }
        // Another process may have got the ID of a parent that has ended. The child then has another parent.
        if parent(process)? != Some(above.as_raw_nonzero().get()) {
            return Ok(Ancestors::Changed);
        }
        process = above;
    }
    Err(io::Error::other("too many processes stand above it"))
}

/// Returns the ID of the parent, 0 if there is none. Returns `None` if the process has ended. A process whose main thread
/// has ended still has its children.
fn parent(process: Pid) -> io::Result<Option<i32>> {
    Ok(match read_process(process)? {
        ProcessReading::Exists { parent, .. } => Some(parent),
        ProcessReading::Ended | ProcessReading::OfOtherUser => None,
    })
}

fn marker(process: Pid) -> io::Result<Option<String>> {
    let environ = match fs::read(format!("/proc/{}/environ", process.as_raw_nonzero())) {
        Ok(environ) => environ,
        // Another user's process, or one that has ended, which the reading of its parent tells.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound
            ) || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) =>
        {
            return Ok(None);
        }
        // Too many open files, for example. Without the environment nobody can tell.
        Err(error) => return Err(error),
    };
    let prefix = format!("{MARKER_VARIABLE}=");
    let mut variables = environ.split(|byte| *byte == 0);
    let marker = variables.find_map(|variable| variable.strip_prefix(prefix.as_bytes()));
    Ok(marker.map(|marker| String::from_utf8_lossy(marker).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn run_of_process(pid: u32) -> io::Result<Option<String>> {
        KnownProcess::with_id(pid)?.run()
    }

    #[test]
    fn process_without_marked_ancestor_belongs_to_no_run() {
        assert_eq!(run_of_process(std::process::id()).unwrap(), None);
    }

    #[test]
    fn ended_process_is_an_error() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let known = KnownProcess::with_id(child.id()).unwrap();
        assert_eq!(known.run().unwrap(), None);
        drop(child.stdin.take());
        child.wait().unwrap();
        let error = known.run().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(run_of_process(0).is_err() && run_of_process(u32::MAX).is_err());
    }

    #[test]
    fn later_process_with_same_id_is_an_error() {
        let mut other = KnownProcess::with_id(std::process::id()).unwrap();
        other.0 = other.0.started_earlier();
        let error = other.run().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
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
