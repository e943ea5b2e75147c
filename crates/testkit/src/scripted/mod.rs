//! An ACP agent that does what a script says, misbehaving included.
//!
//! It speaks raw JSON lines without the protocol's SDK, so that it can break every rule; it runs as
//! `matins-testkit agent --script FILE`. Its sessions live in its home folder, locked while open;
//! what happens to it goes to a [`Ledger`] there, synced to disk line by line, so that what a killed
//! agent was told is known afterwards.

mod agent;
mod process;
mod prompt_log;
mod resource_abuse;
mod script;
mod sessions;
mod turn;
mod wire;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use agent::run as run_agent;
pub use process::{fork_chain, grandchild, sleeper};
pub use prompt_log::{Event, LogEntry, OverlappingTurns, PromptLog};
pub use resource_abuse::fork_bomb;
pub use script::{Capabilities, Crash, OnRestore, Script, Setting, Step};

/// The name of the binary that holds the scripted agent and a guard.
const PROGRAM: &str = "matins-testkit";

/// Finds the built `matins-testkit` in the target folder of the running test.
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
                "no {PROGRAM} near {}: run `cargo build -p matins-testkit` first",
                test.display()
            );
            io::Error::new(io::ErrorKind::NotFound, message)
        })
}

impl Script {
    /// Writes the script into its home folder and answers the command that plays it.
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
            // An ignored signal stays ignored in what is executed.
            let trap = ["/bin/sh", "-c", "trap '' TERM; exec \"$0\" \"$@\""];
            command.splice(0..0, trap.map(str::to_owned));
        }
        Ok(command)
    }

    /// Where the agent's ledger is.
    pub fn prompt_log_path(&self) -> PathBuf {
        self.home.join("ledger.jsonl")
    }
}

fn path_text(path: &Path) -> io::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a path is no UTF-8"))
}
