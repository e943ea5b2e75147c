//! An ACP agent that plays a [`Script`], which may misbehave.
//!
//! ```text
//! Script ── command() ──> `matins-testkit agent --script FILE`
//!   └ Step ...                 │ plays the steps of each prompt
//!                              └──> PromptLog ── check_turns_disjoint()
//! ```
//!
//! The agent speaks raw JSON lines without the protocol's SDK, so that it can break every rule. It keeps its sessions
//! in its home folder and locks each open one. It appends all events to a [`PromptLog`] there and syncs each line to
//! disk, so that a test can read the prompts of a killed agent. Read `script.rs` first.

mod agent;
mod goal;
mod process;
mod prompt_log;
mod resource_abuse;
mod script;
mod sessions;
mod tool_call;
mod turn;
mod wire;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use agent::run as run_agent;
pub use goal::{FIRST_VERSION, QUESTION_LINE};
pub use process::{fork_chain, grandchild, sleeper};
pub use prompt_log::{Event, LogEntry, OverlappingTurns, PromptLog};
pub use resource_abuse::fork_bomb;
pub use script::{Capabilities, Crash, OnRestore, Script, Setting, Step};

/// The name of the binary with the scripted agent and a guard.
const PROGRAM: &str = "matins-testkit";

/// Returns the path of the built `matins-testkit` in the target folder of the running test.
pub fn program_path() -> io::Result<PathBuf> {
    let test = std::env::current_exe()?;
    // Tests are in `target/<profile>/deps`, binaries one folder above.
    let found = test
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(PROGRAM));
    found
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| {
            let message = format!(
                "cannot find `{PROGRAM}` near `{}`: run `cargo build -p matins-testkit` first",
                test.display()
            );
            io::Error::new(io::ErrorKind::NotFound, message)
        })
}

impl Script {
    /// Writes the script into its home folder and returns the command that plays it.
    pub fn command(&self) -> io::Result<Vec<String>> {
        fs::create_dir_all(&self.home)?;
        let file = self.home.join("script.json");
        fs::write(&file, serde_json::to_vec_pretty(self)?)?;
        let program = path_text(&program_path()?)?;
        let mut command = vec![
            program,
            "agent".into(),
            "--script".into(),
            path_text(&file)?,
        ];
        if self.ignores_term {
            // A program inherits the ignored signals of the shell that executes it.
            let trap = ["/bin/sh", "-c", "trap '' TERM; exec \"$0\" \"$@\""];
            command.splice(0..0, trap.map(str::to_owned));
        }
        Ok(command)
    }

    /// Returns the path of the agent's prompt log.
    pub fn prompt_log_path(&self) -> PathBuf {
        self.home.join("ledger.jsonl")
    }
}

fn path_text(path: &Path) -> io::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a path is not UTF-8"))
}
