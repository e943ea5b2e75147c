//! `matins trace`: what happens, as it happens.

use std::collections::HashMap;

use client::{ServerEvent, Trace, TraceNews, TraceOf};
use model::{RunId, transcript::Speaker};
use serde::Deserialize;
use serde_json::{Value, json};
use wire::Message;

use crate::{
    app::App,
    failure::{Exit, Failure},
    output::{DIM, clean, conversation_line, excerpt, paint},
    signals::Signals,
};

/// How many characters of what is not known better are told.
const TOLD_CHARS: usize = 160;

/// Watch what happens in a session, in an automation or everywhere, until Ctrl-C
///
/// It goes on by itself when the connection breaks, without a gap.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: its key, its id or the beginning of that
    #[arg(required_unless_present_any = ["automation", "all"])]
    session: Option<String>,
    /// All that an automation does
    #[arg(long, value_name = "NAME", conflicts_with_all = ["session", "all"])]
    automation: Option<String>,
    /// Everything
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Go on behind this event, by the id that --json told
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, Failure> {
    let of = match (args.session, args.automation) {
        (Some(session), _) => TraceOf::Session(session),
        (None, Some(automation)) => TraceOf::Automation(automation),
        (None, None) => TraceOf::All,
    };
    let mut signals = Signals::listen()?;
    let is_of_session = matches!(of, TraceOf::Session(_));
    let trace = app.client.trace(of, args.after);
    tokio::select! {
        () = signals.next() => Ok(Exit::Done),
        ended = Box::pin(follow(app, trace, is_of_session)) => ended,
    }
}

/// Tells what happens. Only the trace of a session that is deleted has an end.
async fn follow(app: &App, mut trace: Trace, is_of_session: bool) -> Result<Exit, Failure> {
    let mut told = Told::default();
    loop {
        match trace.next().await? {
            TraceNews::Event(event) => {
                if app.output.json {
                    app.output.document_line(&document(&event))?;
                } else {
                    told.tell(app, &event)?;
                }
                if is_of_session && tells_of_deletion(&event) {
                    app.output.aside("The session was deleted.");
                    return Ok(Exit::Done);
                }
            }
            TraceNews::Broken { why, pause } => {
                tracing::debug!(error = %why, "the trace broke");
                app.output.aside(&format!(
                    "The connection broke; it is sought again in {:.0} s.",
                    pause.as_secs_f64().ceil()
                ));
            }
        }
    }
}

fn tells_of_deletion(event: &ServerEvent) -> bool {
    let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
    event.event == "session" && data["deleted"] == true
}

/// An event for programs.
fn document(event: &ServerEvent) -> Value {
    let data = serde_json::from_str(&event.data);
    let data: Value = data.unwrap_or_else(|_| Value::String(event.data.clone()));
    // Text that is being written has no place of its own in the log.
    let id = (event.event != "delta").then_some(&event.last_event_id);
    json!({ "event": event.event, "id": id, "data": data })
}

/// Text that is being written.
#[derive(Deserialize)]
struct Delta {
    run_id: RunId,
    #[serde(default)]
    position: usize,
    text: String,
}

/// What was told so far, so that an answer is not told twice.
#[derive(Default)]
struct Told {
    /// How many bytes of the answer of each run were told as they were written.
    written: HashMap<RunId, usize>,
    /// The run whose line is open.
    open: Option<RunId>,
}

impl Told {
    fn tell(&mut self, app: &App, event: &ServerEvent) -> Result<(), Failure> {
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        if event.event == "delta"
            && let Ok(delta) = serde_json::from_value::<Delta>(data.clone())
        {
            return self.write(app, &delta);
        }
        let message = serde_json::from_value::<Message>(data["message"].clone());
        if let Ok(message) = message {
            return self.message(app, &message);
        }
        self.line(app, &line(event, &data))
    }

    fn write(&mut self, app: &App, delta: &Delta) -> Result<(), Failure> {
        if self.open != Some(delta.run_id) {
            let head = format!("{} writes:", delta.run_id);
            self.line(app, &paint(DIM, &head))?;
            self.open = Some(delta.run_id);
        }
        let written = self.written.entry(delta.run_id).or_default();
        // What is told again after a break was told.
        let known = written.saturating_sub(delta.position);
        let news = delta.text.get(known..).unwrap_or("");
        *written = (*written).max(delta.position + delta.text.len());
        Ok(app.output.piece(&clean(news))?)
    }

    fn message(&mut self, app: &App, message: &Message) -> Result<(), Failure> {
        let time = app.time.time(message.created_at);
        let written = message.run_id.and_then(|run| self.written.remove(&run));
        let rest = written.and_then(|written| message.content.get(written..));
        match rest {
            Some(rest) if message.speaker() == Speaker::Agent => {
                let ends = if rest.is_empty() { "" } else { "\n" };
                if self.open.is_some() || !rest.is_empty() {
                    app.output.piece(&format!("{}{ends}", clean(rest)))?;
                }
                if self.open.take().is_some() && rest.is_empty() {
                    app.output.line("")?;
                }
                Ok(())
            }
            _ => {
                if let (Some(run), Some(written)) = (message.run_id, written) {
                    self.written.insert(run, written);
                }
                self.line(app, &conversation_line(message, &time))
            }
        }
    }

    /// Tells something on a line of its own.
    fn line(&mut self, app: &App, text: &str) -> Result<(), Failure> {
        if self.open.take().is_some() {
            app.output.line("")?;
        }
        Ok(app.output.line(text)?)
    }
}

/// An event on one line, with what is known of it.
fn line(event: &ServerEvent, data: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let body = &data["body"];
    let what = [
        &data["ref_id"],
        &body["id"],
        &body["run_id"],
        &data["session"]["id"],
    ]
    .into_iter()
    .find_map(text);
    let facts = ["status", "state", "reason", "message"].into_iter();
    let mut facts: Vec<_> = facts
        .filter_map(|name| text(&body[name]).or_else(|| text(&data[name])))
        .collect();
    if event.event == "approval" {
        facts.extend(text(&body["decided_by"]).map(|by| format!("by {by}")));
        let [tool, title] =
            ["tool_kind", "title"].map(|name| text(&body[name]).unwrap_or_default());
        facts.push(format!("{tool}: {title}"));
    }
    let told = if facts.is_empty() {
        event.data.clone()
    } else {
        facts.join(", ")
    };
    let id = match event.last_event_id.as_str() {
        "" => String::new(),
        id => format!("{id} "),
    };
    let what = what.unwrap_or_default();
    let line = format!("{id}{} {what} {told}", event.event);
    paint(DIM, &excerpt(&line, TOLD_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(event: &str, data: &str, id: &str) -> ServerEvent {
        ServerEvent {
            event: event.into(),
            data: data.into(),
            last_event_id: id.into(),
        }
    }

    #[test]
    fn programs_get_an_event_as_it_came() {
        let run = event("run", r#"{"seq":7,"body":{"status":"running"}}"#, "7");
        let shown = document(&run);
        assert_eq!(shown["id"], "7");
        assert_eq!(shown["data"]["body"]["status"], "running");
        assert_eq!(document(&event("delta", "{}", "7"))["id"], Value::Null);
        assert_eq!(document(&event("new", "no JSON", "8"))["data"], "no JSON");
    }

    #[test]
    fn people_get_one_line_with_what_is_known() {
        let data = r#"{"seq":7,"ref_id":"run_1","body":{"status":"failed","reason":"a\nb"}}"#;
        let parsed = serde_json::from_str(data).unwrap();
        let shown = line(&event("run", data, "7"), &parsed);
        assert!(shown.contains("7 run run_1 failed, a b"), "{shown}");
        let data = r#"{"seq":9,"ref_id":"apr_1","body":{"state":"allowed","decided_by":"ci",
            "run_id":"run_1","tool_kind":"execute","title":"rm -rf x"}}"#;
        let parsed = serde_json::from_str(data).unwrap();
        let shown = line(&event("approval", data, "9"), &parsed);
        assert!(
            shown.contains("9 approval apr_1 allowed, by ci, execute: rm -rf x"),
            "{shown}"
        );
        let shown = line(&event("new", r#"{"x":1}"#, "8"), &json!({ "x": 1 }));
        assert!(shown.contains(r#"8 new {"x":1}"#), "{shown}");
    }
}
