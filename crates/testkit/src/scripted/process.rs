//! Processes that try to escape their guard.

use std::{
    env, fs, io,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// The interval of polls, for example for a file.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until a file exists.
pub(super) fn wait_for_file(path: &Path) {
    while !path.exists() {
        thread::sleep(POLL_INTERVAL);
    }
}

/// Starts this program with another subcommand. The new process inherits the standard output, so that it can hold the
/// output open after the agent's end.
pub(super) fn start_subcommand(
    subcommand: &str,
    file: &Path,
    clear_environment: bool,
) -> io::Result<()> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(subcommand).arg(file).stdin(Stdio::null());
    if clear_environment {
        command.env_clear();
    }
    command.spawn().map(drop)
}

/// Runs the first of two forks: starts a new session of processes, starts the second fork, and ends.
pub fn grandchild(pid_file: &Path) -> io::Result<()> {
    rustix::process::setsid()?;
    start_subcommand("sleeper", pid_file, false)
}

/// Runs the second fork: writes its process ID to the file and sleeps until killed.
pub fn sleeper(pid_file: &Path) -> io::Result<()> {
    let temporary = pid_file.with_extension("new");
    fs::write(&temporary, std::process::id().to_string())?;
    fs::rename(temporary, pid_file)?;
    sleep_forever()
}

/// Sleeps until killed.
pub(super) fn sleep_forever() -> ! {
    loop {
        thread::park();
    }
}

/// The maximum number of processes of a chain, in case the guard does not end it.
const FORK_CHAIN_LENGTH: u32 = 20_000;
/// The number of the process that creates the file.
const FORK_CHAIN_REPORTS_AT: u32 = 10;

/// Starts the next process of a chain, and ends.
pub fn fork_chain(file: &Path, number: u32) -> io::Result<()> {
    if number == FORK_CHAIN_REPORTS_AT {
        fs::write(file, "")?;
    }
    if number < FORK_CHAIN_LENGTH {
        let mut next = Command::new(env::current_exe()?);
        next.arg("storm")
            .arg(file)
            .arg((number + 1).to_string())
            .stdin(Stdio::null())
            .spawn()?;
    }
    Ok(())
}
