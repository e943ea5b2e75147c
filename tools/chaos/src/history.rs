//! All that happened, as four witnesses tell it: the database, the agents' own ledgers, those who followed
//! live, and those who asked.

use std::{collections::HashMap, path::Path};

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;
use testkit::scripted::Ledger;

use super::{postgres::Postgres, processes::Process};

/// Instants are microseconds since 1970.
pub(crate) type Instant = i64;

/// A row of `agent_runs`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) input: String,
    pub(crate) attempt: i64,
    pub(crate) failures: i64,
    pub(crate) status: String,
    pub(crate) origin: String,
    pub(crate) session: Option<String>,
    pub(crate) seat: Option<String>,
    pub(crate) automation: Option<String>,
    pub(crate) trigger: Option<String>,
    pub(crate) scheduled_for: Option<Instant>,
    pub(crate) missed_until: Option<Instant>,
    pub(crate) occurrences: i64,
    pub(crate) started_at: Option<Instant>,
    pub(crate) content: String,
    pub(crate) reason: Option<String>,
}

impl Run {
    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        !matches!(
            self.status.as_str(),
            "queued" | "deferred" | "delivered" | "running"
        )
    }

    /// A word for reports.
    pub(crate) fn told(&self) -> String {
        format!("{} ({}, attempt {})", self.id, self.status, self.attempt)
    }
}

/// A row of `automation_triggers`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Trigger {
    pub(crate) id: String,
    pub(crate) automation: String,
    pub(crate) spec: Value,
    pub(crate) created_at: Instant,
}

/// A row of `automations`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Automation {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) policies: Value,
}

/// A row of `agent_sessions`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) last_seq: i64,
}

/// A row of `session_events`, or of `automation_events`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Event {
    /// The session, or the automation.
    pub(crate) log: String,
    pub(crate) seq: i64,
    pub(crate) kind: String,
    /// As the trace shows it.
    pub(crate) reference: String,
    pub(crate) body: Value,
    /// By the database's own clock, whatever clock who wrote it had.
    pub(crate) committed_at: Option<Instant>,
}

/// A row of `agent_messages`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) run: Option<String>,
    pub(crate) role: String,
    pub(crate) kind: String,
}

/// What an agent noted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    /// The ledger that it stands in.
    pub(crate) ledger: usize,
    pub(crate) pid: u32,
    pub(crate) run: Option<String>,
    /// The agent's own session.
    pub(crate) session: Option<String>,
    pub(crate) what: What,
}

/// What of an agent's doings matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum What {
    /// A prompt came.
    Prompted,
    /// It was answered with this stop reason, or `error`.
    Finished(String),
    /// Another process had the session open, or a prompt was under way.
    Crowded,
    /// Anything else that shows that it lives.
    #[default]
    Else,
}

/// An event as it was sent to a reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) seq: i64,
    pub(crate) kind: String,
    pub(crate) reference: String,
    pub(crate) body: Value,
}

/// What one reader has seen of a session, over all its connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recording {
    pub(crate) reader: String,
    pub(crate) session: String,
    pub(crate) seen: Vec<Seen>,
    pub(crate) connections: u32,
    /// How often nobody answered.
    pub(crate) refused: u32,
}

impl Recording {
    /// The number of the last event.
    pub(crate) fn last(&self) -> i64 {
        self.seen.last().map_or(0, |seen| seen.seq)
    }
}

/// Something that somebody asked for, which is to happen once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) path: String,
    /// Words that nobody else has said; none for a fire.
    pub(crate) words: String,
    /// What was answered: the run.
    pub(crate) run: Option<String>,
    /// Why it was refused.
    pub(crate) refused: Option<String>,
    /// Whether nothing went wrong any more when it was asked for.
    pub(crate) calm: bool,
}

/// What a stranger was told of something that is there, and of something that is nowhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct Probe {
    pub(crate) path: String,
    pub(crate) there: (u16, Value),
    pub(crate) nowhere: (u16, Value),
}

/// What was measured while it went on, and at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// How many occurrences of each automation waited, at the most.
    pub(crate) waiting: HashMap<String, i64>,
    /// How often that was looked at.
    pub(crate) looks: usize,
    /// Resident memory of each server at the end, in KiB.
    pub(crate) resident: Vec<u64>,
    /// The most processes of agents at once, guards included.
    pub(crate) processes: usize,
}

/// Everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) runs: Vec<Run>,
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) automations: Vec<Automation>,
    pub(crate) sessions: Vec<Session>,
    /// Of sessions, by session and number.
    pub(crate) events: Vec<Event>,
    /// Of automations, the same.
    pub(crate) automation_events: Vec<Event>,
    pub(crate) messages: Vec<Message>,
    pub(crate) noted: Vec<Noted>,
    pub(crate) recordings: Vec<Recording>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) probes: Vec<Probe>,
    pub(crate) measured: Measured,
    /// What was left of agents when no run was open, and when all servers were gone.
    pub(crate) survivors: Vec<Process>,
    /// Where a secret was found that belongs nowhere, and how many places were searched.
    pub(crate) leaks: Vec<String>,
    pub(crate) searched: usize,
    /// What servers said that none should ever say, and how many lines of theirs were read.
    pub(crate) suspicious: Vec<String>,
    pub(crate) log_lines: usize,
    /// Until when every due instant must have its row.
    pub(crate) until: Instant,
    /// Servers that took part.
    pub(crate) servers: usize,
}

impl History {
    /// What database and ledgers tell.
    pub(crate) fn read(postgres: &Postgres, homes: &[impl AsRef<Path>]) -> Result<Self> {
        Ok(Self {
            runs: postgres.rows(include_str!("sql/runs.sql"))?,
            triggers: postgres.rows(include_str!("sql/triggers.sql"))?,
            automations: postgres.rows(include_str!("sql/automations.sql"))?,
            sessions: postgres.rows(include_str!("sql/sessions.sql"))?,
            events: postgres.rows(include_str!("sql/events.sql"))?,
            automation_events: postgres.rows(include_str!("sql/automation_events.sql"))?,
            messages: postgres.rows(include_str!("sql/messages.sql"))?,
            noted: read_ledgers(homes)?,
            ..Self::default()
        })
    }

    /// Runs by their ids.
    pub(crate) fn runs_by_id(&self) -> HashMap<&str, &Run> {
        self.runs.iter().map(|run| (run.id.as_str(), run)).collect()
    }
}

fn read_ledgers(homes: &[impl AsRef<Path>]) -> Result<Vec<Noted>> {
    use testkit::scripted::Event;
    let mut noted = Vec::new();
    for (ledger, home) in homes.iter().enumerate() {
        let entries = Ledger::read(&home.as_ref().join("ledger.jsonl"))?.entries;
        noted.extend(entries.into_iter().map(|entry| Noted {
            ledger,
            pid: entry.pid,
            run: entry.run,
            session: entry.session,
            what: match entry.event {
                Event::PromptReceived(_) => What::Prompted,
                Event::PromptFinished(reason) => What::Finished(reason),
                Event::SecondWriter | Event::PromptInPrompt => What::Crowded,
                _ => What::Else,
            },
        }));
    }
    Ok(noted)
}
