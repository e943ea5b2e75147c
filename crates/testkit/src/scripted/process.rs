//! Processes that try to get away.

use std::{
    env, fs, io,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// How often something outside is looked at that sends no signal.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until there is this file.
pub(super) fn wait_for_file(path: &Path) {
    while !path.exists() {
        thread::sleep(POLL_INTERVAL);
    }
}

/// Starts this program with another subcommand. Standard output is inherited, so what is started
/// can hold it open.
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

/// The first of two forks: begins a session of its own, starts the second and leaves it.
pub fn grandchild(pid_file: &Path) -> io::Result<()> {
    rustix::process::setsid()?;
    start_subcommand("sleeper", pid_file, false)
}

/// Writes its id to the file and sleeps for good.
pub fn sleeper(pid_file: &Path) -> io::Result<()> {
    let fresh = pid_file.with_extension("new");
    fs::write(&fresh, std::process::id().to_string())?;
    fs::rename(fresh, pid_file)?;
    sleep_forever()
}

/// Sleeps until killed.
pub(super) fn sleep_forever() -> ! {
    loop {
        thread::park();
    }
}

/// How many processes a storm makes at the most, should nobody end it.
const FORK_CHAIN_LENGTH: u32 = 20_000;
/// Which of them makes the file.
const FORK_CHAIN_REPORTS_AT: u32 = 10;

/// Starts the next process of a storm, and ends.
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
