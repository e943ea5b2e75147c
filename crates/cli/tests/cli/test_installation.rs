//! The installation of a test: a data folder, an environment, and the program.

use std::{
    fs::DirBuilder,
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio},
    sync::Arc,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use store::{Location, Scope, database::Statement};
use tempfile::TempDir;
use testkit::{
    databases::TestDatabase,
    scripted::{Script, Step},
};
use tokio::runtime::Builder;

pub(crate) const MATINS_PROGRAM: &str = env!("CARGO_BIN_EXE_matins");

pub(crate) struct TestInstallation {
    folder: Arc<TempDir>,
    /// The data folder's name.
    data_folder_name: &'static str,
    /// Variables beyond those that every command gets.
    environment: Vec<(&'static str, String)>,
}

/// The output and the exit code of a command.
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

    /// Returns the standard output. Panics if the command failed.
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

    /// Adds a variable to the environment of every command.
    pub(crate) fn with_env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Returns an installation with another data folder and the same folder and environment.
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

    /// Returns a command with a clean environment, in the folder of the test.
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
            // Any free port, because the servers of several tests run at the same time.
            .env("MATINS_LISTEN", "127.0.0.1:0")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::from_output(self.command(args).output().unwrap())
    }

    /// Runs a command that must succeed, and returns its JSON output.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.run(&args).expect_success()).unwrap()
    }

    /// Writes into the database without Matins.
    pub(crate) async fn execute_sql(&self, sql: &'static str) {
        let file = Location::SqliteFile(self.data_folder().join("matins.db"));
        let database = store::open(&file).await.unwrap();
        let statement = Box::leak(Box::new(Statement::new("a test's statement", sql, sql)));
        let mut tx = database.begin(Scope::System).await.unwrap();
        tx.execute(statement, Vec::new()).await.unwrap();
        tx.commit().await.unwrap();
        database.close().await;
    }

    /// Creates the data folder with a copy of a migrated SQLite file, if the folder does not exist. Migrating a new file
    /// takes longer than most commands.
    fn create_data_folder(&self) {
        let is_elsewhere = self
            .environment
            .iter()
            .any(|(name, _)| ["MATINS_DATABASE", "MATINS_SERVER"].contains(name));
        let folder = self.data_folder();
        if is_elsewhere || folder.exists() {
            return;
        }
        // The test may run in a runtime of its own, which a thread of that runtime must not block.
        let database = std::thread::spawn(migrated_database).join().unwrap();
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        std::fs::copy(database.file().unwrap(), folder.join("matins.db")).unwrap();
    }

    /// Adds the agent `slow`, whose turns never end within a test.
    pub(crate) fn slow_agent(&self) {
        self.create_data_folder();
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

    /// Adds the agent `scripted`, which plays steps for each of its prompts.
    pub(crate) fn add_scripted_agent(
        &self,
        prompts: impl IntoIterator<Item = Vec<Step>>,
    ) -> Script {
        self.create_data_folder();
        let mut script = Script::new(self.path().join("agent"));
        script.prompts = prompts.into_iter().collect();
        let command = script.command().unwrap();
        let command = command.iter().map(String::as_str);
        let add = ["agent", "add", "scripted", "--"].into_iter();
        self.run(&add.chain(command).collect::<Vec<_>>())
            .expect_success();
        script
    }

    /// Starts a command whose output can be read while it runs.
    pub(crate) fn start(&self, args: &[&str]) -> RunningCommand {
        Self::start_command(self.command(args))
    }

    /// Starts a program as [`Self::start`] starts this one.
    pub(crate) fn start_program(&self, program: &Path, args: &[&str]) -> RunningCommand {
        Self::start_command(self.command_with_program(program, args))
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

    /// Starts a server and waits until it is ready.
    pub(crate) fn serve(&self) -> RunningCommand {
        self.serve_with_program(Path::new(MATINS_PROGRAM))
    }

    /// Starts a server from the given program and waits until it is ready.
    pub(crate) fn serve_with_program(&self, program: &Path) -> RunningCommand {
        self.create_data_folder();
        let mut server = Self::start_command(self.command_with_program(program, &["serve"]));
        server.read_stdout_until("next run");
        server
    }

    /// Starts a server in a folder and waits until it is ready.
    pub(crate) fn serve_in(&self, folder: &Path) -> RunningCommand {
        self.create_data_folder();
        let mut command = self.command(&["serve"]);
        command.current_dir(folder);
        let mut server = Self::start_command(command);
        server.read_stdout_until("next run");
        server
    }

    /// Returns the network address of the server, from the file in the data folder.
    pub(crate) fn address(&self) -> String {
        let address = std::fs::read_to_string(self.data_folder().join("server.url"));
        address.unwrap().trim().to_owned()
    }

    /// Returns the token that the first server of the folder created.
    pub(crate) fn token(&self) -> String {
        let token = std::fs::read_to_string(self.data_folder().join("token"));
        token.unwrap().trim().to_owned()
    }

    /// Returns an installation on another machine, which uses this server with a token and has no data folder.
    pub(crate) fn remote(&self, token: &str) -> Self {
        let elsewhere = self.with_data_folder("elsewhere");
        elsewhere
            .with_env("MATINS_SERVER", self.address())
            .with_env("MATINS_TOKEN", token)
    }

    /// Runs a command with a text on its standard input.
    pub(crate) fn run_with_stdin(&self, args: &[&str], text: &str) -> CommandOutput {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that is refused at once closes its input, so ignore the error.
        child.stdin.take().unwrap().write_all(text.as_bytes()).ok();
        CommandOutput::from_output(child.wait_with_output().unwrap())
    }

    /// Polls until a condition holds, because no signal announces the conditions of these tests. Polls less and less
    /// often, because most conditions start a process. Panics after about two minutes.
    pub(crate) fn wait_for(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let mut pause = Duration::from_millis(25);
        for _ in 0..500 {
            if holds(self) {
                return;
            }
            std::thread::park_timeout(pause);
            pause = (pause * 5 / 4).min(Duration::from_millis(250));
        }
        panic!("timed out: {what}");
    }
}

/// A running command.
pub(crate) struct RunningCommand {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl RunningCommand {
    /// Reads standard output up to the line that contains `text`.
    pub(crate) fn read_stdout_until(&mut self, text: &str) -> String {
        read_until(&mut self.stdout, text)
    }

    /// Reads standard error up to the line that contains `text`.
    pub(crate) fn read_stderr_until(&mut self, text: &str) -> String {
        read_until(&mut self.stderr, text)
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Freezes the process at a moment when it does not hold the write lock of the SQLite file, because a frozen
    /// writer would block every other process.
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
            // The write lock is a byte of the shared memory file (wal.c, WAL_WRITE_LOCK).
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

    /// Kills the process, and waits for its end.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end of the command, and returns the output that was not read yet.
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

/// Returns a copy of the SQLite file that the first test of this build has migrated.
fn migrated_database() -> TestDatabase {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let migrate = async |url: &str| {
        store::open(&url.parse()?).await?.close().await;
        Ok(())
    };
    runtime
        .block_on(TestDatabase::migrated_sqlite(migrate))
        .unwrap()
}

fn read_until(stream: &mut impl BufRead, text: &str) -> String {
    let mut read = String::new();
    loop {
        let from = read.len();
        let bytes = stream.read_line(&mut read).unwrap();
        assert_ne!(bytes, 0, "the command ended before {text:?}: {read}");
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
