//! A data folder of a test's own, and the binary beside it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio},
    sync::Arc,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use store::{Location, Scope, database::Statement};
use tempfile::TempDir;

pub(crate) const MATINS_PROGRAM: &str = env!("CARGO_BIN_EXE_matins");

pub(crate) struct TestInstallation {
    folder: Arc<TempDir>,
    /// The data folder's name.
    data_folder_name: &'static str,
    /// Variables beyond those that every command gets.
    environment: Vec<(&'static str, String)>,
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    fn from_output(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// What it printed, where it was done.
    pub(crate) fn expect_success(self) -> String {
        assert_eq!(self.code, 0, "{self:#?}");
        self.stdout
    }
}

impl TestInstallation {
    pub(crate) fn new() -> Self {
        Self {
            folder: Arc::new(tempfile::tempdir().unwrap()),
            data_folder_name: "data",
            environment: Vec::new(),
        }
    }

    /// The same with a variable in the environment of every command.
    pub(crate) fn with_env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Another instance, with a data folder of its own, of what else is the same.
    pub(crate) fn with_data_folder(&self, data: &'static str) -> Self {
        Self {
            folder: Arc::clone(&self.folder),
            data_folder_name: data,
            environment: self.environment.clone(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data_folder(&self) -> PathBuf {
        self.folder.path().join(self.data_folder_name)
    }

    /// A command with an environment of its own, in the test's folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_with_program(Path::new(MATINS_PROGRAM), args)
    }

    fn command_with_program(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("TZ", "UTC")
            .env("MATINS_DATA", self.data_folder())
            // Servers of several tests run side by side.
            .env("MATINS_LISTEN", "127.0.0.1:0")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::from_output(self.command(args).output().unwrap())
    }

    /// The JSON answer of a command that is done.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.run(&args).expect_success()).unwrap()
    }

    /// Writes into the database behind the back of everything.
    pub(crate) async fn execute_sql(&self, sql: &'static str) {
        let file = Location::SqliteFile(self.data_folder().join("matins.db"));
        let database = store::open(&file).await.unwrap();
        let statement = Box::leak(Box::new(Statement::new("a test's statement", sql, sql)));
        let mut tx = database.begin(Scope::System).await.unwrap();
        tx.execute(statement, Vec::new()).await.unwrap();
        tx.commit().await.unwrap();
        database.close().await;
    }

    /// Adds an agent whose agent takes as long for a turn as nobody waits.
    pub(crate) fn slow_agent(&self) {
        let home = self.folder.path().join("slow");
        let home = home.to_str().unwrap();
        let command = [
            "agent",
            "add",
            "slow",
            "--",
            MATINS_PROGRAM,
            "demo-agent",
            "--home",
            home,
            "--pace",
            "3600000",
        ];
        self.run(&command).expect_success();
    }

    /// Starts a command whose output is read as it comes.
    pub(crate) fn start(&self, args: &[&str]) -> RunningCommand {
        Self::start_command(self.command(args))
    }

    fn start_command(mut command: Command) -> RunningCommand {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        RunningCommand {
            child,
            stdout,
            stderr,
        }
    }

    /// Starts a server and waits until it serves.
    pub(crate) fn serve(&self) -> RunningCommand {
        self.serve_with_program(Path::new(MATINS_PROGRAM))
    }

    /// Starts a server from a file of its own and waits until it serves.
    pub(crate) fn serve_with_program(&self, program: &Path) -> RunningCommand {
        let mut server = Self::start_command(self.command_with_program(program, &["serve"]));
        server.read_stdout_until("next fire");
        server
    }

    /// Where whoever serves is reached, as it has noted down.
    pub(crate) fn address(&self) -> String {
        let noted = std::fs::read_to_string(self.data_folder().join("server.url"));
        noted.unwrap().trim().to_owned()
    }

    /// The token that the first server of the folder made.
    pub(crate) fn token(&self) -> String {
        let token = std::fs::read_to_string(self.data_folder().join("token"));
        token.unwrap().trim().to_owned()
    }

    /// Somebody elsewhere who asks whoever serves here with a token, and has no data folder.
    pub(crate) fn remote(&self, token: &str) -> Self {
        let elsewhere = self.with_data_folder("elsewhere");
        elsewhere
            .with_env("MATINS_SERVER", self.address())
            .with_env("MATINS_TOKEN", token)
    }

    /// Runs a command that reads a text.
    pub(crate) fn run_with_stdin(&self, args: &[&str], text: &str) -> CommandOutput {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that refuses at once reads nothing.
        child.stdin.take().unwrap().write_all(text.as_bytes()).ok();
        CommandOutput::from_output(child.wait_with_output().unwrap())
    }

    /// Waits until something holds. The outside world gives no signal for what is waited for here.
    pub(crate) fn wait_for(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let pause = std::time::Duration::from_millis(50);
        for _ in 0..600 {
            if holds(self) {
                return;
            }
            std::thread::park_timeout(pause);
        }
        panic!("in vain: {what}");
    }
}

/// A command that goes on.
pub(crate) struct RunningCommand {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl RunningCommand {
    /// Reads its output up to the line that says `text`.
    pub(crate) fn read_stdout_until(&mut self, text: &str) -> String {
        read_until(&mut self.stdout, text)
    }

    /// Reads what it tells beside its output up to the line that says `text`.
    pub(crate) fn read_stderr_until(&mut self, text: &str) -> String {
        read_until(&mut self.stderr, text)
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Stops it in mid-air, at a moment when it has not locked the SQLite file for all others: whoever freezes a
    /// process that writes has frozen the database.
    pub(crate) fn freeze(&self) {
        loop {
            self.signal(Signal::STOP);
            let id = self.process_id();
            let is_stopped = || {
                let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
                stat.rsplit(')')
                    .next()
                    .unwrap()
                    .trim_start()
                    .starts_with('T')
            };
            while !is_stopped() {
                std::thread::yield_now();
            }
            // The lock of whoever writes is a byte of the file of shared memory (wal.c, WAL_WRITE_LOCK).
            let locks = std::fs::read_to_string("/proc/locks").unwrap();
            let writes = |line: &str| {
                line.contains(&format!(" WRITE {id} ")) && line.trim_end().ends_with(" 120 120")
            };
            if !locks.lines().any(writes) {
                return;
            }
            self.signal(Signal::CONT);
            std::thread::yield_now();
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it has ended, and gives what was not read yet.
    pub(crate) fn end(mut self) -> CommandOutput {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        CommandOutput {
            code,
            stdout,
            stderr,
        }
    }
}

fn read_until(stream: &mut impl BufRead, text: &str) -> String {
    let mut read = String::new();
    loop {
        let from = read.len();
        let bytes = stream.read_line(&mut read).unwrap();
        assert_ne!(bytes, 0, "it ended before {text:?}: {read}");
        if read[from..].contains(text) {
            return read;
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
