//! A conversation as it is written down: for programs as JSON Lines, for people as Markdown.

use model::{
    Timestamp,
    entity::{Message, Session},
};
use serde_json::json;

use super::{LocalTime, Who, clean};

/// What the first line of JSON Lines calls the format.
const FORMAT: &str = "matins.session";
/// The version of the format: raised when something in it changes its meaning.
const VERSION: u32 = 1;

/// A conversation that is written down.
pub(crate) struct Export<'a> {
    pub(crate) session: &'a Session,
    /// The name of its harness.
    pub(crate) harness: Option<String>,
    /// The name of the automation that made it.
    pub(crate) automation: Option<String>,
    /// The wall clock that Markdown shows; none for JSON Lines.
    pub(crate) markdown: Option<LocalTime>,
}

impl Export<'_> {
    /// What stands before the rows.
    pub(crate) fn head(&self, now: Timestamp) -> String {
        let session = self.session;
        let Some(time) = &self.markdown else {
            return line(&json!({
                "format": FORMAT,
                "version": VERSION,
                "exported_at": now,
                "session": {
                    "id": session.id,
                    "key": session.session_key,
                    "title": session.title,
                    "kind": session.kind,
                    "type": session.session_type,
                    "state": session.state,
                    "directory": session.cwd,
                    "harness": self.harness,
                    "automation_id": session.schedule_id,
                    "automation_name": self.automation,
                    "created_at": session.created_at,
                    "last_seq": session.last_seq,
                },
            }));
        };
        let id = session.id.to_string();
        let title = one_line(session.title.as_deref().unwrap_or(&id));
        let facts = [
            ("Session", Some(format!("`{id}`"))),
            ("State", Some(session.state.to_string())),
            ("Agent", self.harness.clone()),
            ("Automation", self.automation.clone()),
            ("Directory", Some(format!("`{}`", one_line(&session.cwd)))),
            ("Begun", Some(time.date_time(session.created_at))),
            ("Written down", Some(time.date_time(now))),
        ];
        let facts = facts
            .into_iter()
            .filter_map(|(name, value)| Some(format!("- {name}: {}\n", one_line(&value?))));
        format!("# {title}\n\n{}", facts.collect::<String>())
    }

    /// One row.
    pub(crate) fn row(&self, message: &Message) -> String {
        let Some(time) = &self.markdown else {
            return line(&json!(message));
        };
        let at = time.date_time(message.created_at);
        let text = clean(message.content.trim());
        match Who::of(message) {
            Who::You => spoken(&at, "You", &text),
            Who::Schedule => {
                let name = message.metadata["automation_name"].as_str();
                let who = match name {
                    Some(name) => format!("Schedule, {}", one_line(name)),
                    None => "Schedule".into(),
                };
                spoken(&at, &who, &text)
            }
            Who::Agent => spoken(&at, "Agent", &text),
            Who::Aside => quoted(&format!("*{} ({at})*\n{text}", aside(&message.kind))),
            Who::Tool => {
                let fact = |name: &str| message.metadata[name].as_str().map(one_line);
                let facts = [fact("tool_kind"), fact("status")].into_iter().flatten();
                let facts = facts.collect::<Vec<_>>().join(", ");
                let title = one_line(&text).replace('`', "'");
                format!("\n- Tool at {at}: `{title}` ({facts})\n")
            }
            Who::Matins => quoted(&format!("**Matins** ({at}): {text}")),
        }
    }
}

/// A document on a line of its own.
fn line(document: &serde_json::Value) -> String {
    format!("{document}\n")
}

fn spoken(at: &str, who: &str, text: &str) -> String {
    format!("\n## {who}, {at}\n\n{text}\n")
}

fn quoted(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_end() {
        "" => ">\n".to_owned(),
        line => format!("> {line}\n"),
    });
    format!("\n{}", lines.collect::<String>())
}

fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn aside(kind: &str) -> &'static str {
    match kind {
        "plan" => "Plan",
        "permission" => "Permission",
        _ => "Thought",
    }
}
