//! Commands of `matins` and a server, in the data folder of a test.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::Duration,
};

use serde_json::Value;
use testkit::{acp_lines::AgentCommand, model_server::ModelServer};

/// Returns the command of one kind of agent, for a model server and a folder.
pub(crate) type LaunchAgent = fn(&ModelServer, &Path) -> anyhow::Result<AgentCommand>;

/// The pause between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The number of polls before a test fails: ten minutes. The test runner ends most tests earlier.
const MAX_POLLS: u32 = 3000;

fn command(data: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_matins"));
    command
        .args(args)
        .env_clear()
        .env("MATINS_DATA", data)
        .env("MATINS_LISTEN", "127.0.0.1:0")
        .env("MATINS_WORKERS", "8")
        .stdin(Stdio::null());
    command
}

/// Runs a command that may fail.
pub(crate) fn matins_output(data: &Path, args: &[&str]) -> Output {
    command(data, args).output().unwrap()
}

/// Runs a command, and returns its output.
pub(crate) fn matins(data: &Path, args: &[&str]) -> Vec<u8> {
    let output = matins_output(data, args);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {told}\n{output:?}");
    output.stdout
}

pub(crate) fn matins_json(data: &Path, args: &[&str]) -> Value {
    let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
    serde_json::from_slice(&matins(data, &args)).unwrap()
}

/// Adds the agent `real` with these options.
pub(crate) fn add_agent(data: &Path, launch: &AgentCommand, options: &[&str]) {
    let mut add = vec!["agent", "add", "real"];
    add.extend(options);
    let variables = launch.env.iter();
    let variables: Vec<_> = variables
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    for variable in &variables {
        add.extend(["--env", variable]);
    }
    add.extend(["--", launch.command.to_str().unwrap()]);
    add.extend(launch.args.iter().map(String::as_str));
    matins(data, &add);
}

/// Polls until a condition holds, because no signal announces the conditions of these tests.
pub(crate) fn wait_for(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..MAX_POLLS {
        if holds() {
            return;
        }
        std::thread::park_timeout(POLL_INTERVAL);
    }
    panic!("timed out: {what}");
}

/// A command whose output is read while it runs. Drop kills it.
pub(crate) struct RunningCommand {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl RunningCommand {
    pub(crate) fn start(data: &Path, args: &[&str]) -> Self {
        let mut child = command(data, args).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// Starts a server, and waits until it is ready.
    pub(crate) fn serve(data: &Path) -> Self {
        let mut server = Self::start(data, &["serve"]);
        while !server.read_line().contains("next run") {}
        server
    }

    /// Reads the next line of the output.
    pub(crate) fn read_line(&mut self) -> String {
        let mut line = String::new();
        let bytes = self.stdout.read_line(&mut line).unwrap();
        assert_ne!(bytes, 0, "the command ended");
        line
    }

    /// Kills the process, and waits for its end.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
