//! Maps logged changes to the events of the API. Traces, feeds and notifications all use this module, so that an
//! event looks the same in each.

use model::{
    AutomationId, SessionId, Timestamp,
    approval::Approval,
    entity::{Message, Run, Session},
    event::{
        ApprovalChange, AutomationChange, Change, DeferCause, Event, Occurrences, RunChange,
        RunInput, SessionChange, Skipped, TriggerEdit,
    },
    feed::FeedCursor,
};
use store::{FeedEvent, LiveText, Logged};
use wire::TraceEvent;

/// Returns the event of the API for an event of a session's log.
pub fn session_event(session: SessionId, logged: Logged) -> TraceEvent {
    let Logged { event, message } = logged;
    let place = Place {
        session_id: Some(session),
        automation_id: None,
    };
    place.event(event, message)
}

/// Returns the event of the API for an event of a feed.
pub fn feed_event(event: FeedEvent) -> TraceEvent {
    let place = Place {
        session_id: event.session_id,
        automation_id: event.automation_id,
    };
    place.event(event.event, event.message)
}

/// Returns the event of the API for text that a running turn has written.
pub fn delta(text: &LiveText) -> TraceEvent {
    TraceEvent::Delta(wire::TraceDelta {
        run_id: text.run,
        position: text.position,
        text: text.text.clone(),
    })
}

/// Returns the snapshot of a session, for a reader that missed events that are gone.
pub fn resync(session: Session, runs: Vec<Run>, approvals: Vec<Approval>) -> TraceEvent {
    TraceEvent::Resync(wire::TraceResync {
        last_seq: session.last_seq,
        session: Box::new(session.into()),
        runs: runs.into_iter().map(Into::into).collect(),
        approvals: approvals.into_iter().map(Into::into).collect(),
    })
}

/// Returns the snapshot of a feed, for a reader that missed events that are gone.
pub fn feed_resync(cursor: FeedCursor, runs: Vec<Run>, approvals: Vec<Approval>) -> TraceEvent {
    TraceEvent::FeedResync(wire::TraceFeedResync {
        cursor: cursor.to_string(),
        runs: runs.into_iter().map(Into::into).collect(),
        approvals: approvals.into_iter().map(Into::into).collect(),
    })
}

/// Returns the last event of the trace of a session that was deleted.
pub fn session_deleted(session_id: SessionId) -> TraceEvent {
    TraceEvent::SessionDeleted(wire::TraceSessionDeleted { session_id })
}

/// The log that holds an event: that of a session, or that of an automation.
struct Place {
    session_id: Option<SessionId>,
    automation_id: Option<AutomationId>,
}

impl Place {
    fn event(self, event: Event, message: Option<Message>) -> TraceEvent {
        let Event {
            seq,
            change,
            created_at,
        } = event;
        let Self {
            session_id,
            automation_id,
        } = self;
        match (change, session_id) {
            (Change::Run { run_id, change }, _) => TraceEvent::Run(wire::TraceRun {
                seq,
                created_at,
                session_id,
                automation_id,
                run_id,
                change: run(change),
            }),
            (
                Change::Automation {
                    automation_id,
                    change,
                },
                _,
            ) => TraceEvent::Automation(wire::TraceAutomation {
                seq,
                created_at,
                automation_id,
                change: automation(change),
            }),
            (Change::Session { session_id, change }, _) => {
                TraceEvent::Session(wire::TraceSession {
                    seq,
                    created_at,
                    automation_id,
                    session_id,
                    change: session(change),
                })
            }
            (
                Change::Message {
                    message_id,
                    role,
                    kind,
                    to,
                },
                Some(session_id),
            ) => TraceEvent::Message(wire::TraceMessage {
                seq,
                created_at,
                session_id,
                automation_id,
                message_id,
                role: role.into(),
                message_kind: kind.into(),
                to_seat_id: to,
                message: message.map(|row| Box::new(row.into())),
            }),
            (
                Change::Approval {
                    approval_id,
                    run_id,
                    tool_kind,
                    title,
                    change,
                },
                Some(session_id),
            ) => TraceEvent::Approval(wire::TraceApproval {
                seq,
                created_at,
                session_id,
                automation_id,
                approval_id,
                run_id,
                tool_kind,
                title,
                change: approval(change),
            }),
            // Only a later version writes messages and approvals into the log of an automation.
            (Change::Message { .. }, None) => self.unknown(seq, created_at, "message"),
            (Change::Approval { .. }, None) => self.unknown(seq, created_at, "approval"),
            (Change::Unknown { kind, .. }, _) => self.unknown(seq, created_at, &kind),
        }
    }

    fn unknown(self, seq: i64, created_at: Timestamp, kind: &str) -> TraceEvent {
        TraceEvent::Unknown(wire::TraceUnknown {
            seq,
            created_at,
            session_id: self.session_id,
            automation_id: self.automation_id,
            logged_kind: kind.to_owned(),
        })
    }
}

fn session(change: SessionChange) -> wire::SessionChange {
    match change {
        SessionChange::Created { state } => {
            wire::SessionChange::Created(wire::SessionCreatedChange { state })
        }
        SessionChange::Moved { state, reason } => {
            wire::SessionChange::Moved(wire::SessionMovedChange { state, reason })
        }
        SessionChange::Renamed { state, title } => {
            wire::SessionChange::Renamed(wire::SessionRenamedChange { state, title })
        }
    }
}

fn run(change: RunChange) -> wire::RunChange {
    use wire::RunChange as To;
    match change {
        RunChange::Queued { input: created } => To::Queued(wire::RunQueuedChange {
            input: created.as_ref().map(input),
        }),
        RunChange::Deferred { cause } => To::Deferred(deferred(cause)),
        RunChange::Running { attempt, worker_id } => {
            To::Running(wire::RunRunningChange { attempt, worker_id })
        }
        RunChange::Succeeded { attempt } => To::Succeeded(wire::RunSucceededChange { attempt }),
        RunChange::Failed { attempt, reason } => {
            To::Failed(wire::RunFailedChange { attempt, reason })
        }
        RunChange::Cancelled { attempt, reason } => {
            To::Cancelled(wire::RunCancelledChange { attempt, reason })
        }
        RunChange::Stalled { attempt, reason } => {
            To::Stalled(wire::RunStalledChange { attempt, reason })
        }
        RunChange::Skipped { reason, skipped } => {
            let (attempt, all) = match skipped {
                Skipped::Attempt(attempt) => (Some(attempt), None),
                Skipped::Occurrences(all) => (None, Some(occurrences(&all))),
            };
            To::Skipped(wire::RunSkippedChange {
                reason,
                attempt,
                occurrences: all,
            })
        }
        RunChange::Missed {
            reason,
            occurrences: all,
        } => To::Missed(wire::RunMissedChange {
            reason,
            occurrences: occurrences(&all),
        }),
    }
}

fn deferred(cause: DeferCause) -> wire::RunDeferredChange {
    let (created, reason, not_before) = match cause {
        DeferCause::Created(created) => (Some(input(&created)), None, None),
        DeferCause::SessionHeld => (None, None, None),
        DeferCause::Budget { reason, not_before } => (None, Some(reason), Some(not_before)),
    };
    wire::RunDeferredChange {
        input: created,
        reason,
        not_before,
    }
}

fn input(input: &RunInput) -> wire::RunInput {
    wire::RunInput {
        origin: input.origin,
        attempt: input.attempt,
        automation_id: input.automation_id,
        scheduled_for: input.scheduled_for,
        not_before: input.not_before,
    }
}

fn occurrences(all: &Occurrences) -> wire::DueOccurrences {
    wire::DueOccurrences {
        trigger_id: all.trigger_id,
        scheduled_for: all.scheduled_for,
        missed_until: all.missed_until,
        count: all.count,
    }
}

fn approval(change: ApprovalChange) -> wire::ApprovalChange {
    use wire::ApprovalChange as To;
    match change {
        ApprovalChange::Pending { deadline_at } => {
            To::Pending(wire::ApprovalPendingChange { deadline_at })
        }
        ApprovalChange::Allowed { decided_by } => {
            To::Allowed(wire::ApprovalAllowedChange { decided_by })
        }
        ApprovalChange::Denied { decided_by } => {
            To::Denied(wire::ApprovalDeniedChange { decided_by })
        }
        ApprovalChange::Expired => To::Expired(wire::ApprovalExpiredChange {}),
        ApprovalChange::Void => To::Void(wire::ApprovalVoidChange {}),
    }
}

fn automation(change: AutomationChange) -> wire::AutomationChange {
    use wire::AutomationChange as To;
    match change {
        AutomationChange::Created { name } => To::Created(wire::AutomationCreatedChange { name }),
        AutomationChange::Edited { name, trigger } => {
            let (trigger_added, trigger_removed) = match trigger {
                None => (None, None),
                Some(TriggerEdit::Added(id)) => (Some(id), None),
                Some(TriggerEdit::Removed(id)) => (None, Some(id)),
            };
            To::Edited(wire::AutomationEditedChange {
                name,
                trigger_added,
                trigger_removed,
            })
        }
        AutomationChange::Paused { reason } => To::Paused(wire::AutomationPausedChange { reason }),
        AutomationChange::Resumed => To::Resumed(wire::AutomationResumedChange {}),
        AutomationChange::Reset { session_id } => {
            To::Reset(wire::AutomationResetChange { session_id })
        }
        AutomationChange::Attention { text } => {
            To::Attention(wire::AutomationAttentionChange { text })
        }
        AutomationChange::Deleted => To::Deleted(wire::AutomationDeletedChange {}),
    }
}
