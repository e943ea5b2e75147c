//! Exports a session's transcript: as JSON Lines for programs, as Markdown for people.
//!
//! **Invariant:** an export contains the rows that existed when it began. It is streamed in batches, so that a long
//! transcript is never in memory as a whole.

use std::collections::BTreeMap;

use api_types::{ExportFormat, Session};
use futures::{Stream, stream};
use jiff::tz::TimeZone;
use model::{
    SeatId, Timestamp,
    entity::Message,
    escape::escape_json,
    schedule::Zone,
    transcript::{Speaker, seat_message_names, task_prompt_names},
    turn::EntryKind,
};
use serde_json::json;

use crate::{
    Error, Service, boxed,
    text::{clean, one_line},
};

/// The name of the format in the first line of JSON Lines.
const EXPORT_FORMAT: &str = "matins.session";
/// The version of the format. It increases when the name or the meaning of a field changes.
///
/// Version 2 renamed `session.harness` to `session.agent`.
const EXPORT_VERSION: u32 = 2;
/// The number of rows that are read at a time. One row has a few MiB at the most.
const ROWS_PER_READ: u32 = 50;

/// An export that has not been read yet.
pub struct Export {
    service: Service,
    formatter: ExportFormatter,
    /// The number of the last row of the export. Later rows are left out.
    last_seq: i64,
}

/// The header of an export and the format of its rows.
struct ExportFormatter {
    session: Session,
    /// The name of the session's agent.
    agent: Option<String>,
    /// The names of the seats of a session that has several, which label the rows of their agents.
    seats: BTreeMap<SeatId, String>,
    /// The name of the automation that created the session.
    automation: Option<String>,
    /// The time zone of the times in Markdown. `None` for JSON Lines.
    markdown: Option<TimeZone>,
    /// The instant of the export.
    exported_at: Timestamp,
}

impl Service {
    /// Begins an export of a session in its present state. Times in Markdown are in `zone`, or in UTC without one.
    #[boxed]
    pub async fn export(
        &self,
        given: &str,
        format: ExportFormat,
        zone: Option<&str>,
    ) -> Result<Export, Error> {
        let zone = match zone {
            Some(zone) => Zone::parse(zone)?,
            None => Zone::utc(),
        };
        let view = self.session(given).await?;
        let entry = view.seats.iter().find(|seat| seat.is_entry);
        let agent = match entry {
            Some(seat) => Some(self.store.agent(self.scope(), seat.agent_id).await?.name),
            None => None,
        };
        let automation = match view.session.schedule_id {
            Some(id) => self.automation_names().await?.remove(&id),
            None => None,
        };
        let has_several = view.seats.len() > 1;
        let seats = view.seats.into_iter().filter(|_| has_several);
        Ok(Export {
            service: self.clone(),
            last_seq: view.session.last_seq,
            formatter: ExportFormatter {
                session: view.session,
                agent,
                seats: seats.map(|seat| (seat.id, one_line(&seat.name))).collect(),
                automation,
                markdown: (format == ExportFormat::Markdown).then(|| zone.jiff().clone()),
                exported_at: self.now(),
            },
        })
    }
}

impl Export {
    /// Returns the text in pieces: first the header, then batches of rows.
    pub fn into_stream(self) -> impl Stream<Item = Result<String, Error>> {
        stream::try_unfold((self, None), |(export, after)| async move {
            let Some(after) = after else {
                let head = export.formatter.header();
                return Ok(Some((head, (export, Some(0)))));
            };
            if after >= export.last_seq {
                return Ok(None);
            }
            let service = &export.service;
            let session = export.formatter.session.id;
            let rows = service
                .store
                .messages(service.scope(), session, after, ROWS_PER_READ)
                .await?;
            // No row is left although `last_seq` is not reached: numbers of the log also belong to events that are no
            // messages.
            let Some(newest) = rows.last().map(|row| row.seq) else {
                return Ok(None);
            };
            let kept = rows.iter().filter(|row| row.seq <= export.last_seq);
            let text = kept.map(|row| export.formatter.row(row)).collect();
            Ok(Some((text, (export, Some(newest)))))
        })
    }
}

impl ExportFormatter {
    /// Returns the text before the rows.
    fn header(&self) -> String {
        let session = &self.session;
        let Some(zone) = &self.markdown else {
            let mut header = json!({
                "format": EXPORT_FORMAT,
                "version": EXPORT_VERSION,
                "exported_at": self.exported_at,
                "session": {
                    "id": session.id,
                    "key": session.session_key,
                    "title": session.title,
                    "kind": session.kind,
                    "type": session.session_type,
                    "state": session.state,
                    "directory": session.cwd,
                    "agent": self.agent,
                    "automation_id": session.schedule_id,
                    "automation_name": self.automation,
                    "created_at": session.created_at,
                    "last_seq": session.last_seq,
                },
            });
            if !self.seats.is_empty() {
                let seats = self.seats.iter();
                let seats = seats.map(|(id, name)| json!({ "id": id, "name": name }));
                header["session"]["seats"] = seats.collect();
            }
            return json_line(&header);
        };
        let id = session.id.to_string();
        let title = one_line(session.title.as_deref().unwrap_or(&id));
        let directory = match &session.cwd {
            Some(path) => format!("`{}`", one_line(path)),
            None => "a folder of its own".to_owned(),
        };
        let facts = [
            ("Session", Some(format!("`{id}`"))),
            ("State", Some(session.state.to_string())),
            ("Agent", self.agent.clone()),
            ("Automation", self.automation.clone()),
            ("Directory", Some(directory)),
            ("Created", Some(date_time(zone, session.created_at))),
            ("Exported", Some(date_time(zone, self.exported_at))),
        ];
        let facts = facts
            .into_iter()
            .filter_map(|(name, value)| Some(format!("- {name}: {}\n", one_line(&value?))));
        format!("# {title}\n\n{}", facts.collect::<String>())
    }

    /// Returns the text of one row.
    fn row(&self, message: &Message) -> String {
        let Some(zone) = &self.markdown else {
            return json_line(&json!(api_types::Message::from(message.clone())));
        };
        let at = date_time(zone, message.created_at);
        let text = clean(message.content.trim());
        let seat = message.seat_id.and_then(|id| self.seats.get(&id));
        let of_seat = seat.map(|seat| format!(" of {seat}")).unwrap_or_default();
        match Speaker::of(message.role, message.kind, &message.metadata) {
            Speaker::Person => format_message(&at, "You", &text),
            Speaker::Schedule => {
                let name = message.metadata["automation_name"].as_str();
                let speaker = match name {
                    Some(name) => format!("Schedule, {}", one_line(name)),
                    None => "Schedule".into(),
                };
                format_message(&at, &speaker, &text)
            }
            Speaker::Task => {
                let (seat, task) = task_prompt_names(&message.metadata).unwrap_or_default();
                let speaker = format!("Matins to {}, task {}", one_line(seat), one_line(task));
                format_message(&at, &speaker, &text)
            }
            Speaker::Agent => format_message(&at, seat.map_or("Agent", String::as_str), &text),
            Speaker::Seat => {
                let (from, to) = seat_message_names(&message.metadata).unwrap_or_default();
                let speaker = format!("{} to {}", one_line(from), one_line(to));
                format_message(&at, &speaker, &text)
            }
            Speaker::AgentThought => {
                let label = aside_label(message.kind);
                format_quote(&format!("*{label}{of_seat} ({at})*\n{text}"))
            }
            Speaker::Tool => {
                let fact = |name: &str| message.metadata[name].as_str().map(one_line);
                let facts = [
                    fact("tool_kind"),
                    fact("status"),
                    tool_duration(&message.metadata),
                ];
                let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
                let title = one_line(&text).replace('`', "'");
                format!("\n- Tool{of_seat} at {at}: `{title}` ({facts})\n")
            }
            Speaker::Matins => format_quote(&format!("**Matins** ({at}): {text}")),
        }
    }
}

/// Returns a JSON document as one line, which is safe for a terminal.
fn json_line(document: &serde_json::Value) -> String {
    format!("{}\n", escape_json(&document.to_string()))
}

/// Returns the date, the time and the offset of an instant in a time zone.
fn date_time(zone: &TimeZone, at: Timestamp) -> String {
    let local = at.jiff().to_zoned(zone.clone());
    local.strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// Returns the duration of a tool call in seconds. Returns `None` if the call has not ended, and for the rows of
/// earlier versions, which have no instants.
fn tool_duration(metadata: &serde_json::Value) -> Option<String> {
    let instant = |name: &str| metadata[name].as_str()?.parse::<Timestamp>().ok();
    let took = instant("ended_at")?
        .jiff()
        .duration_since(instant("started_at")?.jiff());
    (!took.is_negative()).then(|| format!("{:.1} s", took.as_secs_f64()))
}

fn format_message(at: &str, speaker: &str, text: &str) -> String {
    format!("\n## {speaker}, {at}\n\n{text}\n")
}

fn format_quote(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_end() {
        "" => ">\n".to_owned(),
        line => format!("> {line}\n"),
    });
    format!("\n{}", lines.collect::<String>())
}

const fn aside_label(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Plan => "Plan",
        EntryKind::Permission => "Permission",
        EntryKind::Notice => "Notice",
        _ => "Thought",
    }
}
