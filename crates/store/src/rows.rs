//! Conversions from rows to the types of `model`. Every read of the store goes through this module.

mod approval;
mod memory_entry;
mod message;
mod run_record;
mod run_task;

use model::{
    Timestamp, TriggerId,
    access::Token,
    agent::Agent,
    automation::AutomationState,
    budget,
    cursor::CursorOrigin,
    entity::{Automation, Channel, Run, Seat, SeatSettings, Session, Tenant, Trigger},
    event::Event,
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    run::{DIRECTORY_NOT_HERE, Deferral, RunEnd, RunState, RunStatus},
    session::SessionState,
    tools::MadeBy,
};
use serde_json::Value;

pub(crate) use approval::approval;
pub(crate) use memory_entry::memory_entry;
pub(crate) use message::{announced_message, message};

use crate::{
    Error,
    database::Row,
    stored::{
        self, StoredAgent, StoredBudget, StoredFlags, StoredPermissions, StoredPolicies,
        StoredPromptRef, StoredScopes, StoredSettings, StoredSpec, events::StoredEvent,
    },
};

pub(crate) use run_record::run_record;

/// Returns an agent. Returns [`Error::NewerFormat`] if a later version wrote a document that cannot be read.
pub(crate) fn agent(row: &Row) -> Result<Agent, Error> {
    let needs_format = stored::needs_format(row)?;
    let read = stored::none_if_newer_format(row, stored::read::<StoredAgent>(row, "config"))?;
    let Some((config, offers)) = read else {
        let name: String = row.get("name")?;
        return Err(Error::newer_format("agent", name, needs_format));
    };
    Ok(Agent {
        id: row.get("id")?,
        name: row.get("name")?,
        config,
        offers,
        needs_format,
    })
}

/// Returns a session.
pub(crate) fn session(row: &Row) -> Result<Session, Error> {
    let id = row.get("id")?;
    Ok(Session {
        id,
        tenant_id: row.get("tenant_id")?,
        kind: row.parse("kind")?,
        session_type: row.parse("type")?,
        state: session_state(row)?,
        session_key: row.optional("session_key")?,
        title: row.optional("title")?,
        cwd: stored::given_directory(row.get("cwd")?, id),
        channel: channel(row)?,
        schedule_id: row.optional("schedule_id")?,
        last_seq: row.get("last_seq")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

/// Returns the state of a session.
pub(crate) fn session_state(row: &Row) -> Result<SessionState, Error> {
    Ok(SessionState::new(
        row.parse("state")?,
        row.optional("state_reason")?,
    ))
}

/// Returns the external chat of a session. Returns `None` if the session has none.
fn channel(row: &Row) -> Result<Option<Channel>, Error> {
    let Some(channel) = row.optional("channel")? else {
        return Ok(None);
    };
    Ok(Some(Channel {
        channel,
        chat_id: row.get("chat_id")?,
        thread: row.optional("thread")?,
    }))
}

/// Returns a seat. If its settings need a later format and cannot be read, returns default settings.
pub(crate) fn seat(row: &Row) -> Result<Seat, Error> {
    Ok(Seat {
        id: row.get("id")?,
        session_id: row.get("session_id")?,
        role: row.get("role")?,
        name: row.get("name")?,
        agent_id: row.get("harness_id")?,
        instructions: row.optional("instructions")?,
        is_entry: row.get("is_entry")?,
        directory: row.parse("directory")?,
        instance_id: row.optional("instance_id")?,
        placed_on: row.optional("placed_on")?,
        acp_session_id: row.optional("acp_session_id")?,
        turns: row.get("turns")?,
        usage: row.optional("usage")?,
        settings: stored::none_if_newer_format(
            row,
            stored::read::<StoredSettings>(row, "settings"),
        )?
        .unwrap_or_default(),
        updated_at: row.get("updated_at")?,
    })
}

/// Returns an automation. If its documents need a later format, returns the known keys, or defaults if a later
/// version wrote values that cannot be read. A caller that acts on them must check `needs_format` first.
pub(crate) fn automation(row: &Row) -> Result<Automation, Error> {
    let documents = stored::none_if_newer_format(row, AutomationDocuments::read(row))?;
    automation_with_documents(row, documents.unwrap_or_default())
}

/// The documents of an automation, and its session mode.
struct AutomationDocuments {
    session_mode: SessionMode,
    policies: Policies,
    settings: SeatSettings,
    permissions: PermissionRules,
}

impl AutomationDocuments {
    fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            session_mode: row.parse("session_mode")?,
            policies: stored::read::<StoredPolicies>(row, "policies")?,
            settings: stored::read::<StoredSettings>(row, "settings")?,
            permissions: stored::read::<StoredPermissions>(row, "permissions")?,
        })
    }
}

impl Default for AutomationDocuments {
    fn default() -> Self {
        Self {
            // Runs of most modes exclude one another. Assume that, because a needless wait does less harm than an
            // overlap.
            session_mode: SessionMode::Continuous,
            policies: Policies::default(),
            settings: SeatSettings::default(),
            permissions: PermissionRules::default(),
        }
    }
}

fn automation_with_documents(
    row: &Row,
    documents: AutomationDocuments,
) -> Result<Automation, Error> {
    let paused: Option<Timestamp> = row.optional("paused_at")?;
    let deleted: Option<Timestamp> = row.optional("deleted_at")?;
    // A deleted automation keeps its `paused_at`, so that `deleted_at` takes precedence.
    let state = match (deleted, paused) {
        (Some(_), _) => AutomationState::Deleted,
        (None, Some(_)) => AutomationState::Paused,
        (None, None) => AutomationState::Enabled,
    };
    Ok(Automation {
        id: row.get("id")?,
        tenant_id: row.get("tenant_id")?,
        name: row.get("name")?,
        state,
        pause_reason: row.optional("pause_reason")?,
        attention: row.optional("attention")?,
        prompt: row.get("prompt")?,
        agent_id: row.get("harness_id")?,
        cwd: row.optional("cwd")?,
        placed_on: row.optional("placed_on")?,
        session_mode: documents.session_mode,
        bound_session_key: row.optional("bound_session_key")?,
        current_session_id: row.optional("current_session_id")?,
        policies: documents.policies,
        settings: documents.settings,
        permissions: documents.permissions,
        needs_format: stored::needs_format(row)?,
        consecutive_failures: row.get("consecutive_failures")?,
        made_by: made_by(row)?,
        expires_at: row.optional("expires_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

/// Returns the turn in which an agent has made an automation. Returns `None` if a person has made it.
fn made_by(row: &Row) -> Result<Option<MadeBy>, Error> {
    let Some(session) = row.optional("made_by_session_id")? else {
        return Ok(None);
    };
    Ok(Some(MadeBy {
        session,
        run: row.get("made_by_run_id")?,
        turn: row.get("made_by_turn")?,
        name: row.get("made_by_name")?,
    }))
}

/// Returns a trigger. Returns [`Error::NewerFormat`] if its document needs a later format.
pub(crate) fn trigger(row: &Row) -> Result<Trigger, Error> {
    let needed = stored::needs_format(row)?;
    if !stored::supports_format(needed) {
        let id: TriggerId = row.get("id")?;
        return Err(Error::newer_format("trigger", id, needed));
    }
    Ok(Trigger {
        id: row.get("id")?,
        automation_id: row.get("automation_id")?,
        spec: stored::read::<StoredSpec>(row, "spec")?,
        next_scheduled_for: row.optional("next_scheduled_for")?,
        next_fire_at: row.optional("next_fire_at")?,
        origin: cursor_origin(row)?,
        last_scheduled_for: row.optional("last_scheduled_for")?,
        done_at: row.optional("done_at")?,
    })
}

/// Returns the origin of a trigger's next instant. Returns `None` if a server of an earlier version has moved the
/// trigger, because such a server does not write the origin.
fn cursor_origin(row: &Row) -> Result<Option<CursorOrigin>, Error> {
    let next: Option<Timestamp> = row.optional("next_scheduled_for")?;
    let holds_for: Option<Timestamp> = row.optional("zone_rules_for")?;
    if next.is_none() || next != holds_for {
        return Ok(None);
    }
    let (Some(zone_rules), Some(decided_until), Some(offset)) = (
        row.optional("zone_rules")?,
        row.optional("decided_until")?,
        row.optional::<i64>("decided_offset")?,
    ) else {
        return Ok(None);
    };
    Ok(Some(CursorOrigin {
        zone_rules,
        decided_until,
        offset_seconds: i32::try_from(offset).unwrap_or(0),
    }))
}

/// The columns that [`open_run`] reads, without `content`, of which lists read only the beginning.
macro_rules! open_run_columns {
    () => {
        "id, tenant_id, input_id, attempt, failures, status, origin, session_id, seat_id, automation_id, trigger_id, \
         task_id, task_prompt, task_review, \
         scheduled_for, not_before, worker_id, started_at, cancel_requested_at, reason, message, usage, \
         interrupted_run_id, prompt_ref, input_at, created_at"
    };
}
pub(crate) const OPEN_RUN_COLUMNS: &str = open_run_columns!();
/// The columns that [`run`] reads, without `content`.
pub(crate) const RUN_COLUMNS: &str = concat!(
    open_run_columns!(),
    ", missed_until, occurrences, ended_at, stop_reason, flags"
);

/// Returns a run.
pub(crate) fn run(row: &Row) -> Result<Run, Error> {
    let status = row.parse("status")?;
    let state = match open_state(row, status)? {
        Some(state) => state,
        None => ended_state(row, status)?,
    };
    run_with_state(row, state)
}

/// Returns a run from a row that lacks the columns of its end. Returns `None` if the run has ended.
pub(crate) fn open_run(row: &Row) -> Result<Option<Run>, Error> {
    let state = open_state(row, row.parse("status")?)?;
    state.map(|state| run_with_state(row, state)).transpose()
}

/// Returns a run with a state that the caller has read.
fn run_with_state(row: &Row, state: RunState) -> Result<Run, Error> {
    Ok(Run {
        id: row.get("id")?,
        tenant_id: row.get("tenant_id")?,
        input_id: row.get("input_id")?,
        attempt: row.get("attempt")?,
        failures: row.get("failures")?,
        state,
        origin: row.parse("origin")?,
        session_id: row.optional("session_id")?,
        seat_id: row.optional("seat_id")?,
        automation_id: row.optional("automation_id")?,
        trigger_id: row.optional("trigger_id")?,
        task: run_task::run_task(row)?,
        scheduled_for: row.optional("scheduled_for")?,
        content: row.get("content")?,
        // An agent that reports nothing leaves the column at its default, an empty object.
        usage: row
            .optional("usage")?
            .filter(|usage: &Value| usage.as_object().is_none_or(|fields| !fields.is_empty())),
        interrupted_run_id: row.optional("interrupted_run_id")?,
        prompt_ref: stored::read_optional::<StoredPromptRef>(row, "prompt_ref")?,
        input_at: row.get("input_at")?,
        created_at: row.get("created_at")?,
    })
}

/// The reason that is shown for a run whose row has none.
const UNKNOWN_REASON: &str = "unknown";

/// Returns the state of a run that has not ended. Returns `None` if the run has ended.
fn open_state(row: &Row, status: RunStatus) -> Result<Option<RunState>, Error> {
    Ok(Some(match status {
        RunStatus::Deferred => {
            let reason: Option<String> = row.optional("reason")?;
            let deferral = match row.optional("not_before")? {
                None => Deferral::Turn,
                Some(until) if reason.as_deref() == Some(budget::BUDGET_REASON) => {
                    Deferral::Budget {
                        until,
                        message: row.optional("message")?.unwrap_or_default(),
                    }
                }
                // A later version may write another reason. The run waits for the instant all the same.
                Some(until) => Deferral::Backoff(until),
            };
            RunState::Deferred(deferral)
        }
        RunStatus::Queued => {
            let reason: Option<String> = row.optional("reason")?;
            let waits = reason.as_deref() == Some(DIRECTORY_NOT_HERE);
            let message = if waits {
                row.optional("message")?
            } else {
                None
            };
            RunState::Queued {
                missing_directory: message,
            }
        }
        RunStatus::Delivered => RunState::Delivered {
            worker_id: row.get("worker_id")?,
            cancel_requested_at: row.optional("cancel_requested_at")?,
        },
        RunStatus::Running => RunState::Running {
            worker_id: row.get("worker_id")?,
            started_at: row.get("started_at")?,
            cancel_requested_at: row.optional("cancel_requested_at")?,
        },
        RunStatus::Succeeded
        | RunStatus::Failed
        | RunStatus::Cancelled
        | RunStatus::Stalled
        | RunStatus::Skipped
        | RunStatus::Missed => return Ok(None),
    }))
}

/// Returns the state of a run that has ended.
fn ended_state(row: &Row, status: RunStatus) -> Result<RunState, Error> {
    if status == RunStatus::Missed {
        return Ok(RunState::Missed {
            ended_at: row.get("ended_at")?,
            reason: row.get("reason")?,
            until: row.optional("missed_until")?,
            occurrences: row.get("occurrences")?,
        });
    }
    let end = RunEnd {
        ended_at: row.get("ended_at")?,
        worker_id: row.optional("worker_id")?,
        started_at: row.optional("started_at")?,
        cancel_requested_at: row.optional("cancel_requested_at")?,
        message: row.optional("message")?,
        flags: stored::read_optional::<StoredFlags>(row, "flags")?.unwrap_or_default(),
    };
    if status == RunStatus::Succeeded {
        let stop_reason = row.optional("stop_reason")?;
        return Ok(RunState::Succeeded { end, stop_reason });
    }
    // Every transition writes a reason, but no constraint demands one. A row without a reason must not make a whole
    // list unreadable.
    let reason: Option<String> = row.optional("reason")?;
    let reason = reason.unwrap_or_else(|| UNKNOWN_REASON.to_owned());
    Ok(match status {
        RunStatus::Cancelled => RunState::Cancelled { end, reason },
        RunStatus::Stalled => RunState::Stalled { end, reason },
        RunStatus::Skipped => RunState::Skipped { end, reason },
        _ => RunState::Failed {
            end,
            reason,
            stop_reason: row.optional("stop_reason")?,
        },
    })
}

/// Returns an event of a log.
pub(crate) fn event(row: &Row) -> Result<Event, Error> {
    let stored = StoredEvent {
        kind: row.get("kind")?,
        about: row.get("ref_id")?,
        body: row.get("body")?,
    };
    Ok(Event {
        seq: row.get("seq")?,
        change: stored.into_change(),
        created_at: row.get("created_at")?,
    })
}

/// Returns an access token, without its secret.
pub(crate) fn token(row: &Row) -> Result<Token, Error> {
    Ok(Token {
        id: row.get("id")?,
        tenant_id: row.get("tenant_id")?,
        name: row.get("name")?,
        kind: row.parse("kind")?,
        role: row.parse("role")?,
        instance_id: row.optional("instance_id")?,
        scopes: stored::read_optional::<StoredScopes>(row, "scopes")?,
        secret_prefix: row.get("shown")?,
        parent_id: row.optional("parent_id")?,
        made_by: row.optional("made_by")?,
        created_at: row.get("created_at")?,
        expires_at: row.optional("expires_at")?,
        revoked_at: row.optional("revoked_at")?,
        last_used_at: row.optional("last_used_at")?,
    })
}

/// Returns a tenant. If its budget needs a later format and cannot be read, returns an empty budget.
pub(crate) fn tenant(row: &Row) -> Result<Tenant, Error> {
    Ok(Tenant {
        id: row.get("id")?,
        name: row.get("name")?,
        budget: stored::none_if_newer_format(
            row,
            stored::read_optional::<StoredBudget>(row, "budget"),
        )?
        .flatten()
        .unwrap_or_default(),
        created_at: row.get("created_at")?,
    })
}

pub(crate) fn read_amount(row: &Row, column: &'static str) -> Result<u64, Error> {
    let amount: i64 = row.get(column)?;
    Ok(u64::try_from(amount).unwrap_or(0))
}
