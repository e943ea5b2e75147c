//! Maps logged changes to the events of the API. Traces, feeds and notifications all use this module, so that an
//! event looks the same in each.

use api_types::TraceEvent;
use model::{
    AutomationId, SessionId, Timestamp,
    approval::Approval,
    entity::{Message, Run, Session},
    event::{
        ApprovalChange, AutomationChange, Change, DeferCause, Event, Occurrences, QuestionChange,
        RunChange, RunInput, SessionChange, SkippedWork, TriggerEdit,
    },
    feed::FeedCursor,
};
use store::{FeedEvent, LiveText, LogEntry};

use crate::goals::reason_of;

/// Returns the event of the API for an event of a session's log.
pub fn session_event(session: SessionId, logged: LogEntry) -> TraceEvent {
    let LogEntry { event, message } = logged;
    let log = EventLog {
        session_id: Some(session),
        automation_id: None,
    };
    log.trace_event(event, message)
}

/// Returns the event of the API for an event of a feed.
pub fn feed_event(event: FeedEvent) -> TraceEvent {
    let log = EventLog {
        session_id: event.session_id,
        automation_id: event.automation_id,
    };
    log.trace_event(event.event, event.message)
}

/// Returns the event of the API for text that a running turn has written.
pub fn delta(text: &LiveText) -> TraceEvent {
    TraceEvent::Delta(api_types::TraceDelta {
        run_id: text.run,
        position: text.position,
        text: text.text.clone(),
    })
}

/// Returns the snapshot of a session, for a reader whose next events retention has removed.
pub fn resync(session: Session, runs: Vec<Run>, approvals: Vec<Approval>) -> TraceEvent {
    TraceEvent::Resync(api_types::TraceResync {
        last_seq: session.last_seq,
        session: Box::new(session.into()),
        runs: runs.into_iter().map(Into::into).collect(),
        approvals: approvals.into_iter().map(Into::into).collect(),
    })
}

/// Returns the snapshot of a feed, for a reader whose next events retention has removed.
pub fn feed_resync(cursor: FeedCursor, runs: Vec<Run>, approvals: Vec<Approval>) -> TraceEvent {
    TraceEvent::FeedResync(api_types::TraceFeedResync {
        cursor: cursor.to_string(),
        runs: runs.into_iter().map(Into::into).collect(),
        approvals: approvals.into_iter().map(Into::into).collect(),
    })
}

/// Returns the last event of the trace of a session that was deleted.
pub fn session_deleted(session_id: SessionId) -> TraceEvent {
    TraceEvent::SessionDeleted(api_types::TraceSessionDeleted { session_id })
}

/// The log that holds an event: that of a session, or that of an automation.
struct EventLog {
    session_id: Option<SessionId>,
    automation_id: Option<AutomationId>,
}

impl EventLog {
    #[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
    fn trace_event(self, event: Event, message: Option<Message>) -> TraceEvent {
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
            (Change::Run { run_id, change }, _) => TraceEvent::Run(api_types::TraceRun {
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
            ) => TraceEvent::Automation(api_types::TraceAutomation {
                seq,
                created_at,
                automation_id,
                change: automation(change),
            }),
            (Change::Session { session_id, change }, _) => {
                TraceEvent::Session(api_types::TraceSession {
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
            ) => TraceEvent::Message(api_types::TraceMessage {
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
            ) => TraceEvent::Approval(api_types::TraceApproval {
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
            (
                Change::Question {
                    question_id,
                    run_id,
                    text,
                    change,
                },
                Some(session_id),
            ) => TraceEvent::Question(api_types::TraceQuestion {
                seq,
                created_at,
                session_id,
                automation_id,
                question_id,
                run_id,
                text,
                change: question(change),
            }),
            (Change::Task { task_id, change }, Some(session_id)) => {
                TraceEvent::Task(api_types::TraceTask {
                    seq,
                    created_at,
                    session_id,
                    task_id,
                    key: change.key,
                    status: change.status,
                    step: change.step,
                    seat_id: change.seat,
                    round: change.round,
                    plan_version: change.plan_version,
                })
            }
            (Change::Goal { session_id, state }, _) => {
                let (reason, cause) = reason_of(state);
                TraceEvent::Goal(api_types::TraceGoal {
                    seq,
                    created_at,
                    session_id,
                    state: state.status(),
                    reason,
                    cause: cause.map(|cause| cause.to_string()),
                })
            }
            // Only a later version writes messages, approvals, questions and tasks into the log of an automation.
            (Change::Message { .. }, None) => self.unknown(seq, created_at, "message"),
            (Change::Approval { .. }, None) => self.unknown(seq, created_at, "approval"),
            (Change::Question { .. }, None) => self.unknown(seq, created_at, "question"),
            (Change::Task { .. }, None) => self.unknown(seq, created_at, "task"),
            (Change::Unknown { kind, .. }, _) => self.unknown(seq, created_at, &kind),
        }
    }

    fn unknown(self, seq: i64, created_at: Timestamp, kind: &str) -> TraceEvent {
        TraceEvent::Unknown(api_types::TraceUnknown {
            seq,
            created_at,
            session_id: self.session_id,
            automation_id: self.automation_id,
            logged_kind: kind.to_owned(),
        })
    }
}

fn session(change: SessionChange) -> api_types::SessionChange {
    match change {
        SessionChange::Created { state } => {
            api_types::SessionChange::Created(api_types::SessionCreatedChange { state })
        }
        SessionChange::Moved { state, reason } => {
            api_types::SessionChange::Moved(api_types::SessionMovedChange { state, reason })
        }
        SessionChange::Renamed { state, title } => {
            api_types::SessionChange::Renamed(api_types::SessionRenamedChange { state, title })
        }
    }
}

fn run(change: RunChange) -> api_types::RunChange {
    use api_types::RunChange as To;
    match change {
        RunChange::Queued { input: created } => To::Queued(api_types::RunQueuedChange {
            input: created.as_ref().map(input),
        }),
        RunChange::Deferred { cause } => To::Deferred(deferred(cause)),
        RunChange::Running { attempt, worker_id } => {
            To::Running(api_types::RunRunningChange { attempt, worker_id })
        }
        RunChange::Succeeded { attempt } => {
            To::Succeeded(api_types::RunSucceededChange { attempt })
        }
        RunChange::Failed { attempt, reason } => {
            To::Failed(api_types::RunFailedChange { attempt, reason })
        }
        RunChange::Cancelled { attempt, reason } => {
            To::Cancelled(api_types::RunCancelledChange { attempt, reason })
        }
        RunChange::Stalled { attempt, reason } => {
            To::Stalled(api_types::RunStalledChange { attempt, reason })
        }
        RunChange::Skipped { reason, skipped } => {
            let (attempt, all) = match skipped {
                SkippedWork::Attempt(attempt) => (Some(attempt), None),
                SkippedWork::Occurrences(all) => (None, Some(occurrences(&all))),
            };
            To::Skipped(api_types::RunSkippedChange {
                reason,
                attempt,
                occurrences: all,
            })
        }
        RunChange::Missed {
            reason,
            occurrences: all,
        } => To::Missed(api_types::RunMissedChange {
            reason,
            occurrences: occurrences(&all),
        }),
    }
}

fn deferred(cause: DeferCause) -> api_types::RunDeferredChange {
    let (created, reason, not_before) = match cause {
        DeferCause::Created(created) => (Some(input(&created)), None, None),
        DeferCause::SessionPaused => (None, None, None),
        DeferCause::Budget { reason, not_before } => (None, Some(reason), Some(not_before)),
    };
    api_types::RunDeferredChange {
        input: created,
        reason,
        not_before,
    }
}

fn input(input: &RunInput) -> api_types::RunInput {
    api_types::RunInput {
        origin: input.origin,
        attempt: input.attempt,
        automation_id: input.automation_id,
        scheduled_for: input.scheduled_for,
        not_before: input.not_before,
    }
}

fn occurrences(all: &Occurrences) -> api_types::DueOccurrences {
    api_types::DueOccurrences {
        trigger_id: all.trigger_id,
        scheduled_for: all.scheduled_for,
        missed_until: all.missed_until,
        count: all.count,
    }
}

fn approval(change: ApprovalChange) -> api_types::ApprovalChange {
    use api_types::ApprovalChange as To;
    match change {
        ApprovalChange::Pending { deadline_at } => {
            To::Pending(api_types::ApprovalPendingChange { deadline_at })
        }
        ApprovalChange::Allowed { decided_by } => {
            To::Allowed(api_types::ApprovalAllowedChange { decided_by })
        }
        ApprovalChange::Denied { decided_by } => {
            To::Denied(api_types::ApprovalDeniedChange { decided_by })
        }
        ApprovalChange::Expired => To::Expired(api_types::ApprovalExpiredChange {}),
        ApprovalChange::Void => To::Void(api_types::ApprovalVoidChange {}),
    }
}

fn question(change: QuestionChange) -> api_types::QuestionChange {
    use api_types::QuestionChange as To;
    match change {
        QuestionChange::Pending { deadline_at } => {
            To::Pending(api_types::QuestionPendingChange { deadline_at })
        }
        QuestionChange::Answered { answered_by } => {
            To::Answered(api_types::QuestionAnsweredChange { answered_by })
        }
        QuestionChange::Expired => To::Expired(api_types::QuestionExpiredChange {}),
        QuestionChange::Void => To::Void(api_types::QuestionVoidChange {}),
    }
}

fn automation(change: AutomationChange) -> api_types::AutomationChange {
    use api_types::AutomationChange as To;
    match change {
        AutomationChange::Created { name } => {
            To::Created(api_types::AutomationCreatedChange { name })
        }
        AutomationChange::Edited { name, trigger } => {
            let (trigger_added, trigger_removed) = match trigger {
                None => (None, None),
                Some(TriggerEdit::Added(id)) => (Some(id), None),
                Some(TriggerEdit::Removed(id)) => (None, Some(id)),
            };
            To::Edited(api_types::AutomationEditedChange {
                name,
                trigger_added,
                trigger_removed,
            })
        }
        AutomationChange::Paused { reason } => {
            To::Paused(api_types::AutomationPausedChange { reason })
        }
        AutomationChange::Resumed => To::Resumed(api_types::AutomationResumedChange {}),
        AutomationChange::Reset { session_id } => {
            To::Reset(api_types::AutomationResetChange { session_id })
        }
        AutomationChange::Attention { text } => {
            To::Attention(api_types::AutomationAttentionChange { text })
        }
        AutomationChange::Deleted => To::Deleted(api_types::AutomationDeletedChange {}),
    }
}
