//! The history of a test, from four independent sources: the database, the agents' prompt logs, the recordings of
//! the readers, and the requests of the people. The checks read nothing else.

use std::{collections::HashMap, path::Path};

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;
use testkit::scripted::PromptLog;

use super::{
    database::Database, folder_history::FolderHistory, goal_history::GoalHistory,
    processes::Process, queries,
};

/// An instant in microseconds since 1970-01-01 UTC.
pub(crate) type UnixMicros = i64;

/// A row of `agent_runs`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Run {
    pub(crate) id: String,
    /// The ID of the input, which all attempts at it share.
    pub(crate) input: String,
    /// The number of the attempt, from 1.
    pub(crate) attempt: i64,
    /// The number of failed attempts at the input before this one.
    pub(crate) failures: i64,
    pub(crate) status: String,
    pub(crate) origin: String,
    pub(crate) session: Option<String>,
    pub(crate) seat: Option<String>,
    pub(crate) automation: Option<String>,
    pub(crate) trigger: Option<String>,
    /// The due instant, or the first one of a range of missed instants.
    pub(crate) scheduled_for: Option<UnixMicros>,
    /// The last instant of a range of missed instants.
    pub(crate) missed_until: Option<UnixMicros>,
    /// The number of due instants that the row covers.
    pub(crate) occurrences: i64,
    pub(crate) started_at: Option<UnixMicros>,
    /// The ID of the instance to which the run belongs.
    pub(crate) instance: Option<String>,
    /// The worker that has claimed the run last.
    pub(crate) worker: Option<String>,
    /// The ID of the task of a goal, without a prefix.
    pub(crate) task: Option<String>,
    /// The kind of the task's turn, such as `work` or `review`.
    pub(crate) task_prompt: Option<String>,
    /// `true` if the turn judges the task.
    pub(crate) is_review: bool,
    pub(crate) content: String,
    pub(crate) reason: Option<String>,
}

/// `true` if a run with this status has ended.
pub(crate) fn is_end(status: &str) -> bool {
    !matches!(status, "queued" | "deferred" | "delivered" | "running")
}

impl Run {
    /// `true` if the run has ended.
    pub(crate) fn has_ended(&self) -> bool {
        is_end(&self.status)
    }

    /// Formats the ID, status and attempt for reports.
    pub(crate) fn format_attempt(&self) -> String {
        format!("{} ({}, attempt {})", self.id, self.status, self.attempt)
    }
}

/// A row of `automation_triggers`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Trigger {
    pub(crate) id: String,
    pub(crate) automation: String,
    pub(crate) spec: Value,
    pub(crate) created_at: UnixMicros,
}

/// A row of `automations`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Automation {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) policies: Value,
    /// The ID of the instance on which the automation is placed.
    pub(crate) placed_on: Option<String>,
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
    /// The ID of the session or automation to which the log belongs.
    pub(crate) log: String,
    pub(crate) seq: i64,
    pub(crate) kind: String,
    /// The ID of the row that the event is about, in the form of the trace. Approvals are an exception: their IDs
    /// have no prefix here.
    pub(crate) reference: String,
    pub(crate) body: Value,
    /// The instant of the commit by the database's clock, so that a server with a wrong clock cannot distort it. SQLite
    /// records no commits, so that this is the instant that the server has written into the event.
    pub(crate) committed_at: Option<UnixMicros>,
}

/// A row of `agent_messages`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) run: Option<String>,
    pub(crate) role: String,
    pub(crate) kind: String,
}

/// An entry of an agent's prompt log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PromptLogEntry {
    /// The index of the prompt log, which is unique for each agent and tenant.
    pub(crate) log_index: usize,
    pub(crate) pid: u32,
    /// The run in the environment of the agent's process.
    pub(crate) run: Option<String>,
    /// The agent's own session ID.
    pub(crate) session: Option<String>,
    pub(crate) kind: PromptLogKind,
    /// The text of the prompt. Empty for the other kinds.
    pub(crate) text: String,
}

/// The kind of an entry of a prompt log, as far as the checks distinguish it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum PromptLogKind {
    /// The agent received a prompt.
    Prompted,
    /// The agent answered the prompt with this stop reason, or with `error`.
    Finished(String),
    /// Another process had the session open, or the process received a prompt during another prompt.
    Overlapped,
    /// Any other entry. It shows that the process was alive.
    #[default]
    Other,
}

/// An event as a reader received it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReceivedEvent {
    pub(crate) seq: i64,
    pub(crate) kind: String,
    pub(crate) reference: String,
    pub(crate) body: Value,
}

/// The events of a session that one reader received over all its connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct TraceRecording {
    pub(crate) reader: String,
    pub(crate) session: String,
    pub(crate) received: Vec<ReceivedEvent>,
    pub(crate) connections: u32,
    /// The number of failed attempts to open the trace.
    pub(crate) failed_opens: u32,
}

impl TraceRecording {
    /// Returns the sequence number of the last event, or 0 if the reader received none.
    pub(crate) fn last_seq(&self) -> i64 {
        self.received.last().map_or(0, |seen| seen.seq)
    }
}

/// A person's request with an idempotency key. The server must execute it exactly once.
#[derive(Debug, Clone, Default)]
pub(crate) struct PersonRequest {
    pub(crate) path: String,
    /// The text of the message, which is unique in the test. Empty for a request to fire an automation.
    pub(crate) text: String,
    /// The ID of the run in the response. `None` if the server refused the request or no server answered.
    pub(crate) run: Option<String>,
    /// The status and body of a refusal.
    pub(crate) refusal: Option<String>,
    /// `true` if the person sent the request after the last fault.
    pub(crate) is_after_faults: bool,
}

/// The responses to a stranger, a user of another tenant, who asks for an existing object and for one that does not
/// exist. Both responses must be the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Probe {
    pub(crate) path: String,
    pub(crate) existing: (u16, Value),
    pub(crate) missing: (u16, Value),
}

/// The measurements during the test and at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measurements {
    /// The maximum number of waiting occurrences of each automation.
    pub(crate) max_waiting: HashMap<String, i64>,
    /// The number of successful measurements of the queues.
    pub(crate) queue_samples: usize,
    /// Resident memory of each server and runtime at the end, in KiB.
    pub(crate) resident_kib: Vec<u64>,
    /// The maximum number of agent processes at the same time, guards included.
    pub(crate) max_processes: usize,
}

/// The records of all sources.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) runs: Vec<Run>,
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) automations: Vec<Automation>,
    pub(crate) sessions: Vec<Session>,
    /// The events of all sessions, ordered by session and sequence number.
    pub(crate) events: Vec<Event>,
    /// The events of all automations, ordered by automation and sequence number.
    pub(crate) automation_events: Vec<Event>,
    pub(crate) messages: Vec<Message>,
    pub(crate) prompt_log: Vec<PromptLogEntry>,
    pub(crate) recordings: Vec<TraceRecording>,
    pub(crate) requests: Vec<PersonRequest>,
    pub(crate) probes: Vec<Probe>,
    pub(crate) measurements: Measurements,
    /// The agent processes that were alive when no run was open or, if there were none, after the stop of all
    /// servers.
    pub(crate) survivors: Vec<Process>,
    /// The places in which a secret was found.
    pub(crate) leaks: Vec<String>,
    /// The number of searches: one for each secret in each place.
    pub(crate) secret_searches: usize,
    /// The lines of server logs that report a panic or a violated constraint.
    pub(crate) suspicious_lines: Vec<String>,
    /// The number of lines in all server logs.
    pub(crate) log_lines: usize,
    /// The instant up to which every due instant must have its row.
    pub(crate) due_until: UnixMicros,
    /// The number of servers and runtimes.
    pub(crate) server_count: usize,
    /// The records of the instances in folders. `None` if the test has none.
    pub(crate) folders: Option<FolderHistory>,
    /// The records of the goals. `None` if the test has none.
    pub(crate) goals: Option<GoalHistory>,
}

impl History {
    /// Reads the rows of the database and the prompt logs of the agents. The other fields stay empty.
    pub(crate) async fn read(database: &Database, homes: &[impl AsRef<Path>]) -> Result<Self> {
        Ok(Self {
            runs: database.rows(queries::RUNS).await?,
            triggers: database.rows(queries::TRIGGERS).await?,
            automations: database.rows(queries::AUTOMATIONS).await?,
            sessions: database.rows(queries::SESSIONS).await?,
            events: database.rows(queries::EVENTS).await?,
            automation_events: database.rows(queries::AUTOMATION_EVENTS).await?,
            messages: database.rows(queries::MESSAGES).await?,
            prompt_log: read_prompt_logs(homes)?,
            ..Self::default()
        })
    }

    /// Returns the runs by their IDs.
    pub(crate) fn runs_by_id(&self) -> HashMap<&str, &Run> {
        self.runs.iter().map(|run| (run.id.as_str(), run)).collect()
    }
}

/// Reads the prompt logs of all agents. The entries of one log stay in the order in which the agent wrote them.
fn read_prompt_logs(homes: &[impl AsRef<Path>]) -> Result<Vec<PromptLogEntry>> {
    use testkit::scripted::Event;
    let mut noted = Vec::new();
    for (ledger, home) in homes.iter().enumerate() {
        let entries = PromptLog::read(&home.as_ref().join("ledger.jsonl"))?.entries;
        noted.extend(entries.into_iter().map(|entry| PromptLogEntry {
            log_index: ledger,
            pid: entry.pid,
            run: entry.run,
            session: entry.session,
            text: match &entry.event {
                Event::PromptReceived(text) => text.clone(),
                _ => String::new(),
            },
            kind: match entry.event {
                Event::PromptReceived(_) => PromptLogKind::Prompted,
                Event::PromptFinished(reason) => PromptLogKind::Finished(reason),
                Event::SecondWriter | Event::OverlappingPrompt => PromptLogKind::Overlapped,
                _ => PromptLogKind::Other,
            },
        }));
    }
    Ok(noted)
}
