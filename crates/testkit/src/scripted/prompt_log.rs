//! The log that scripted agents write to disk: their prompts, answers and sessions.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use agent::guard::MARKER_VARIABLE;
use serde::{Deserialize, Serialize};

/// An entry of a prompt log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The agent's process.
    pub pid: u32,
    /// The run whose marker the agent's environment has. `None` if it has no marker.
    #[serde(default)]
    pub run: Option<String>,
    /// Microseconds since 1970, by the system's clock.
    pub at: u64,
    /// The agent's own session. `None` if the event belongs to none.
    pub session: Option<String>,
    /// The event.
    pub event: Event,
}

/// An event of a scripted agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The client signed in with this method.
    SignedIn(String),
    /// `session/new`, with the working directory and the names of the MCP servers.
    New(String, Vec<String>),
    /// `session/resume`, with the same values.
    Resume(String, Vec<String>),
    /// `session/load`, with the same values.
    Load(String, Vec<String>),
    /// `session/set_mode`.
    ModeSet(String),
    /// `session/set_config_option`.
    SettingSet(String, String),
    /// A prompt arrived with this block before its last one.
    BlockReceived(String),
    /// A prompt arrived, with the whole text of its last block.
    PromptReceived(String),
    /// The agent answered a prompt with this stop reason, or with `error`.
    PromptFinished(String),
    /// `session/cancel`.
    Cancel,
    /// The client answered a permission request with this option or outcome.
    PermissionAnswered(String),
    /// Another process had the session open.
    SecondWriter,
    /// A prompt arrived while the same process was answering another one.
    OverlappingPrompt,
    /// `session/close`.
    Close,
    /// The agent's input ended.
    EndOfInput,
}

/// Two overlapping turns of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlappingTurns {
    /// The session.
    pub session: String,
    /// The entry that shows the overlap.
    pub entry: Box<LogEntry>,
}

/// The prompt log of one home folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptLog {
    /// The entries in the order in which the agents wrote them.
    pub entries: Vec<LogEntry>,
}

impl PromptLog {
    /// Reads a prompt log. A missing file gives an empty log. Skips an incomplete last line, which a killed agent can
    /// leave.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let entries = whole
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// Returns the events without their processes and times.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.entries.iter().map(|entry| &entry.event)
    }

    /// Returns the texts of all prompts, in order.
    pub fn prompts(&self) -> Vec<&str> {
        let texts = self.events().filter_map(|event| match event {
            Event::PromptReceived(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the texts of all blocks that came before prompts, in order.
    pub fn blocks_before_prompts(&self) -> Vec<&str> {
        let texts = self.events().filter_map(|event| match event {
            Event::BlockReceived(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Checks that the turns of each session do not overlap.
    ///
    /// A turn ends with its answer. A turn without an answer, because its agent died, ends with the last entry of its
    /// process: another process may begin a turn then, but the first process must write no further entry.
    pub fn check_turns_disjoint(&self) -> Result<(), OverlappingTurns> {
        // `turns` has the process of the last turn and whether that turn is open. `dead` has the processes whose open
        // turn was followed by a turn of another process.
        let mut turns: HashMap<&str, (u32, bool)> = HashMap::new();
        let mut dead: HashMap<&str, Vec<u32>> = HashMap::new();
        for entry in &self.entries {
            let Some(session) = entry.session.as_deref() else {
                continue;
            };
            let wrote_after_death = dead
                .get(session)
                .is_some_and(|dead| dead.contains(&entry.pid));
            let overlaps = wrote_after_death
                || matches!(entry.event, Event::SecondWriter | Event::OverlappingPrompt);
            if overlaps {
                return Err(OverlappingTurns {
                    session: session.into(),
                    entry: Box::new(entry.clone()),
                });
            }
            match &entry.event {
                Event::PromptReceived(_) => {
                    if let Some((pid, true)) = turns.insert(session, (entry.pid, true)) {
                        dead.entry(session).or_default().push(pid);
                    }
                }
                Event::PromptFinished(_) => {
                    turns.insert(session, (entry.pid, false));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Appends entries to a prompt log.
pub(super) struct PromptLogWriter {
    file: File,
    run: Option<String>,
}

impl PromptLogWriter {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the scripted agent is a process of its own"
        )]
        let run = std::env::var(MARKER_VARIABLE).ok();
        Ok(Self { file, run })
    }

    /// Writes one entry and waits until it is on disk.
    pub(super) fn append(&mut self, session: Option<&str>, event: Event) -> io::Result<()> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the scripted agent is a process of its own"
        )]
        let now = SystemTime::now();
        let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let entry = LogEntry {
            pid: std::process::id(),
            run: self.run.clone(),
            at: u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX),
            session: session.map(str::to_owned),
            event,
        };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt_log(events: &[(u32, Event)]) -> PromptLog {
        let entries = events.iter().zip(0..).map(|((pid, event), at)| LogEntry {
            pid: *pid,
            run: None,
            at,
            session: Some("s".into()),
            event: event.clone(),
        });
        PromptLog {
            entries: entries.collect(),
        }
    }

    fn prompt_received() -> Event {
        Event::PromptReceived("x".into())
    }

    fn prompt_finished() -> Event {
        Event::PromptFinished("end_turn".into())
    }

    #[test]
    fn consecutive_turns_in_prompt_log_are_disjoint() {
        let turns = [
            (1, prompt_received()),
            (1, prompt_finished()),
            (2, prompt_received()),
            (2, prompt_finished()),
        ];
        assert_eq!(prompt_log(&turns).check_turns_disjoint(), Ok(()));
        let after_a_crash = [
            (1, prompt_received()),
            (2, prompt_received()),
            (2, prompt_finished()),
        ];
        assert_eq!(prompt_log(&after_a_crash).check_turns_disjoint(), Ok(()));
    }

    #[test]
    fn prompt_log_turn_ending_after_next_began_overlaps() {
        let turns = [
            (1, prompt_received()),
            (2, prompt_received()),
            (1, prompt_finished()),
        ];
        assert_eq!(
            prompt_log(&turns)
                .check_turns_disjoint()
                .unwrap_err()
                .entry
                .pid,
            1
        );
        let writers = [(1, prompt_received()), (2, Event::SecondWriter)];
        assert_eq!(
            prompt_log(&writers)
                .check_turns_disjoint()
                .unwrap_err()
                .entry
                .pid,
            2
        );
    }
}
