//! `matins trace`: prints events as they occur.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt::Display,
};

use api_types::{
    ApprovalAllowedChange, ApprovalChange, ApprovalDeniedChange, AutomationChange, Message,
    QuestionAnsweredChange, QuestionChange, RunChange, SessionChange, TraceDelta, TraceEvent,
    TraceMessage,
};
use client::{ReceivedEvent, ServerEvent, Trace, TraceItem, TraceSubject};
use model::{RunId, SessionId, caller_name::display_name, transcript::Speaker};
use serde_json::{Value, json};

use crate::{
    app::App,
    conversation::{self, SeatNames},
    error::{CliError, Exit},
    output::{DIM, clean, excerpt, one_line, paint},
    signals::Signals,
};

/// The maximum number of characters of an event that has no format of its own.
const MAX_EVENT_CHARS: usize = 160;

/// Print the events of a session, of an automation or of everything, until Ctrl-C
///
/// If the connection breaks, the command reconnects and continues without a gap.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("subject").required(true))]
pub(crate) struct Args {
    /// The session: its key, its ID or a prefix of its ID
    #[arg(group = "subject")]
    session: Option<String>,
    /// Print the events of an automation
    #[arg(long, value_name = "NAME", group = "subject")]
    automation: Option<String>,
    /// Print all events
    #[arg(long, group = "subject")]
    all: bool,
    /// Continue after the event with this ID, which --json prints as `id`
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    let of = match (args.session, args.automation) {
        (Some(session), _) => TraceSubject::Session(session),
        (None, Some(automation)) => TraceSubject::Automation(automation),
        (None, None) => TraceSubject::All,
    };
    let mut signals = Signals::listen()?;
    let is_of_session = matches!(of, TraceSubject::Session(_));
    let trace = app.client.trace(of, args.after);
    tokio::select! {
        () = signals.next() => Ok(Exit::Done),
        ended = Box::pin(follow(app, trace, is_of_session)) => ended,
    }
}

/// Prints events. Ends only if the followed session is deleted.
async fn follow(app: &App, mut trace: Trace, is_of_session: bool) -> Result<Exit, CliError> {
    let mut printer = TracePrinter::default();
    loop {
        match trace.next().await? {
            TraceItem::Event(event) => {
                if app.output.json {
                    app.output.document_line(&event_document(&event))?;
                } else {
                    printer.print_event(app, &event).await?;
                }
                if is_of_session && matches!(event.event, Some(TraceEvent::SessionDeleted(_))) {
                    app.output.aside("The session was deleted.");
                    return Ok(Exit::Done);
                }
            }
            TraceItem::Disconnected { cause: why, pause } => {
                tracing::debug!(error = %why, "the trace was disconnected");
                app.output.aside(&format!(
                    "The connection broke; reconnecting in {:.0} s.",
                    pause.as_secs_f64().ceil()
                ));
            }
        }
    }
}

/// Formats an event as a JSON document.
fn event_document(received: &ReceivedEvent) -> Value {
    let ServerEvent {
        event,
        data,
        last_event_id,
    } = &received.frame;
    let data = serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.clone()));
    // A delta is not in the log, so it has no ID after which a trace could continue.
    let id = (event != "delta").then_some(last_event_id);
    json!({ "event": event, "id": id, "data": data })
}

/// The printed parts of answers, so that no text is printed twice.
#[derive(Default)]
struct TracePrinter {
    /// The number of bytes of each run's answer that were printed from deltas.
    printed_bytes: HashMap<RunId, usize>,
    /// The run whose answer ends the last printed line, if that line has no line break yet.
    open_line_run: Option<RunId>,
    /// The names of the seats of each session of which a row was printed.
    seats: HashMap<SessionId, SeatNames>,
    /// The line before the text of each run that is printed from deltas.
    heads: HashMap<RunId, String>,
}

impl TracePrinter {
    async fn print_event(&mut self, app: &App, received: &ReceivedEvent) -> Result<(), CliError> {
        match &received.event {
            Some(TraceEvent::Delta(delta)) => {
                if let Entry::Vacant(head) = self.heads.entry(delta.run_id)
                    && let Some(text) = delta_head(app, delta.run_id).await
                {
                    head.insert(text);
                }
                self.print_delta(app, delta)
            }
            Some(TraceEvent::Message(TraceMessage {
                session_id,
                message: Some(message),
                ..
            })) => {
                if let Entry::Vacant(seats) = self.seats.entry(*session_id)
                    && let Some(names) = read_seat_names(app, *session_id).await
                {
                    seats.insert(names);
                }
                self.print_message(app, *session_id, message)
            }
            _ => self.print_line(app, &format_event(received)),
        }
    }

    /// Prints the unprinted part of a delta.
    fn print_delta(&mut self, app: &App, delta: &TraceDelta) -> Result<(), CliError> {
        if self.open_line_run != Some(delta.run_id) {
            let head = self.heads.get(&delta.run_id).cloned();
            let head = head.unwrap_or_else(|| format!("{} writes:", delta.run_id));
            self.print_line(app, &paint(DIM, &head))?;
            self.open_line_run = Some(delta.run_id);
        }
        let written = self.printed_bytes.entry(delta.run_id).or_default();
        // After a reconnect the trace repeats deltas, so skip the part that is printed already.
        let position = usize::try_from(delta.position).unwrap_or(0);
        let skipped = written.saturating_sub(position);
        let text = delta.text.get(skipped..).unwrap_or("");
        *written = (*written).max(position + delta.text.len());
        Ok(app.output.piece(&clean(text))?)
    }

    /// Prints a row of the transcript. Prints only the rest of an answer whose beginning was printed from deltas.
    fn print_message(
        &mut self,
        app: &App,
        session: SessionId,
        message: &Message,
    ) -> Result<(), CliError> {
        let time = app.time.time(message.created_at);
        let written = message
            .run_id
            .and_then(|run| self.printed_bytes.remove(&run));
        let rest = written.and_then(|written| message.content.get(written..));
        match rest {
            Some(rest) if message.speaker() == Speaker::Agent => {
                if let Some(run) = message.run_id {
                    self.heads.remove(&run);
                }
                let ends = if rest.is_empty() { "" } else { "\n" };
                if self.open_line_run.is_some() || !rest.is_empty() {
                    app.output.piece(&format!("{}{ends}", clean(rest)))?;
                }
                if self.open_line_run.take().is_some() && rest.is_empty() {
                    app.output.line("")?;
                }
                Ok(())
            }
            _ => {
                // A row that is not the answer, such as a tool call: the answer to the printed deltas is still to
                // come.
                if let (Some(run), Some(written)) = (message.run_id, written) {
                    self.printed_bytes.insert(run, written);
                }
                let of_one = SeatNames::default();
                let seats = self.seats.get(&session).unwrap_or(&of_one);
                let text = conversation::format_message(message, &time, seats);
                self.print_line(app, &text)
            }
        }
    }

    /// Prints a text on a line of its own.
    fn print_line(&mut self, app: &App, text: &str) -> Result<(), CliError> {
        if self.open_line_run.take().is_some() {
            app.output.line("")?;
        }
        Ok(app.output.line(text)?)
    }
}

/// Reads the names of the seats of a session. Returns `None` if the session cannot be read now.
async fn read_seat_names(app: &App, session: SessionId) -> Option<SeatNames> {
    match app.client.session(&session.to_string()).await {
        Ok(view) => Some(SeatNames::of(&view.value.seats)),
        Err(error) => {
            tracing::debug!(%error, "the seats of a session were not read");
            None
        }
    }
}

/// Returns the line before the text that a running turn writes. It names the seat if the session has several. Returns `None` if
/// the run cannot be read now.
async fn delta_head(app: &App, run: RunId) -> Option<String> {
    match app.client.run(&run.to_string()).await {
        Ok(view) => Some(match view.names.seat_name {
            Some(seat) => format!("{run} of {} writes:", one_line(&seat)),
            None => format!("{run} writes:"),
        }),
        Err(error) => {
            tracing::debug!(%error, "the seat of a run was not read");
            None
        }
    }
}

/// Formats an event on one line.
fn format_event(received: &ReceivedEvent) -> String {
    let ServerEvent {
        event,
        data,
        last_event_id,
    } = &received.frame;
    let text = match &received.event {
        Some(event) => format_event_text(event),
        None => data.clone(),
    };
    let id = match last_event_id.as_str() {
        "" => String::new(),
        id => format!("{id} "),
    };
    paint(
        DIM,
        &excerpt(&format!("{id}{event} {text}"), MAX_EVENT_CHARS),
    )
}

/// Formats an event that is neither a message nor a delta.
fn format_event_text(event: &TraceEvent) -> String {
    match event {
        TraceEvent::Session(event) => {
            let id = event.session_id;
            match &event.change {
                SessionChange::Created(to) => format!("{id} created, {}", to.state),
                SessionChange::Moved(to) => format_with_reason(id, to.state, to.reason.as_deref()),
                SessionChange::Renamed(to) => match &to.title {
                    Some(title) => format!("{id} renamed, {title}"),
                    None => format!("{id} has no title"),
                },
            }
        }
        TraceEvent::Run(event) => {
            format_with_reason(event.run_id, event.change.tag(), run_reason(&event.change))
        }
        TraceEvent::Message(event) => event.message_id.to_string(),
        TraceEvent::Approval(event) => {
            let by = match &event.change {
                ApprovalChange::Allowed(ApprovalAllowedChange { decided_by })
                | ApprovalChange::Denied(ApprovalDeniedChange { decided_by }) => {
                    format!(", by {}", display_name(decided_by))
                }
                _ => String::new(),
            };
            let (id, state) = (event.approval_id, event.change.tag());
            format!("{id} {state}{by}, {}: {}", event.tool_kind, event.title)
        }
        TraceEvent::Question(event) => {
            let by = match &event.change {
                QuestionChange::Answered(QuestionAnsweredChange { answered_by }) => {
                    format!(", by {}", display_name(answered_by))
                }
                _ => String::new(),
            };
            let (id, state) = (event.question_id, event.change.tag());
            format!("{id} {state}{by}: {}", event.text)
        }
        TraceEvent::Goal(event) => {
            let reason = event.reason.map(api_types::GoalReason::as_str);
            let reason = event.cause.as_deref().or(reason);
            format_with_reason(event.session_id, event.state, reason)
        }
        TraceEvent::Task(event) => {
            let step = event
                .step
                .map(|step| format!(", {step}"))
                .unwrap_or_default();
            format!("{} {}{step}: {}", event.task_id, event.status, event.key)
        }
        TraceEvent::Automation(event) => {
            let reason = match &event.change {
                AutomationChange::Paused(to) => Some(to.reason.as_str()),
                AutomationChange::Attention(to) => Some(to.text.as_str()),
                AutomationChange::Created(to) => Some(to.name.as_str()),
                AutomationChange::Edited(to) => Some(to.name.as_str()),
                _ => None,
            };
            format_with_reason(event.automation_id, event.change.tag(), reason)
        }
        TraceEvent::Unknown(event) => format!("{} of a later version", event.logged_kind),
        TraceEvent::Delta(event) => event.run_id.to_string(),
        TraceEvent::Resync(event) => format!("{} {}", event.session.id, event.session.state),
        TraceEvent::FeedResync(event) => format!("{} open runs", event.runs.len()),
        TraceEvent::SessionDeleted(event) => event.session_id.to_string(),
    }
}

fn run_reason(change: &RunChange) -> Option<&str> {
    match change {
        RunChange::Deferred(to) => to.reason.as_deref(),
        RunChange::Failed(to) => Some(&to.reason),
        RunChange::Cancelled(to) => Some(&to.reason),
        RunChange::Stalled(to) => Some(&to.reason),
        RunChange::Skipped(to) => Some(&to.reason),
        RunChange::Missed(to) => Some(&to.reason),
        RunChange::Queued(_) | RunChange::Running(_) | RunChange::Succeeded(_) => None,
    }
}

fn format_with_reason(id: impl Display, state: impl Display, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{id} {state}, {reason}"),
        None => format!("{id} {state}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event_frame(event: &str, data: &Value, id: &str) -> ReceivedEvent {
        let frame = ServerEvent {
            event: event.into(),
            data: data.to_string(),
            last_event_id: id.into(),
        };
        frame.into()
    }

    fn run_event(change: &Value) -> Value {
        json!({
            "kind": "run",
            "seq": 7,
            "created_at": "2026-05-04T09:00:00Z",
            "run_id": "run_0197f3c2a9d07cc1a1b2c3d4e5f60718",
            "change": change,
        })
    }

    #[test]
    fn event_documents_keep_received_data() {
        let mut data = run_event(&json!({ "status": "succeeded", "attempt": 1 }));
        data["added_later"] = json!(1);
        let shown = event_document(&event_frame("run", &data, "7"));
        assert_eq!(shown, json!({ "event": "run", "id": "7", "data": data }));
        let shown = event_document(&event_frame("delta", &json!({}), "7"));
        assert_eq!(shown["id"], Value::Null);
        let frame = ServerEvent {
            event: "new".into(),
            data: "no JSON".into(),
            last_event_id: "8".into(),
        };
        assert_eq!(event_document(&frame.into())["data"], "no JSON");
    }

    #[test]
    fn event_lines_contain_subject_and_reason() {
        let data = run_event(&json!({ "status": "failed", "attempt": 1, "reason": "a\nb" }));
        let shown = format_event(&event_frame("run", &data, "7"));
        let expected = "7 run run_0197f3c2a9d07cc1a1b2c3d4e5f60718 failed, a b";
        assert!(shown.contains(expected), "{shown}");
        let data = json!({
            "kind": "approval",
            "seq": 9,
            "created_at": "2026-05-04T09:00:00Z",
            "session_id": "ses_0197f3c2a9d07cc1a1b2c3d4e5f60718",
            "approval_id": "apr_0197f3c2a9d07cc1a1b2c3d4e5f60718",
            "run_id": "run_0197f3c2a9d07cc1a1b2c3d4e5f60718",
            "tool_kind": "execute",
            "title": "rm -rf x",
            "change": { "state": "allowed", "decided_by": "ci" },
        });
        let shown = format_event(&event_frame("approval", &data, "9"));
        let expected = "allowed, by ci, execute: rm -rf x";
        assert!(shown.contains(expected), "{shown}");
    }

    #[test]
    fn unknown_event_of_later_server_is_printed_unchanged() {
        let data = json!({ "kind": "new", "x": 1 });
        let shown = format_event(&event_frame("new", &data, "8"));
        assert!(shown.contains(&format!("8 new {data}")), "{shown}");
    }
}
