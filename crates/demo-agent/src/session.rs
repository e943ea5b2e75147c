//! The memory of a session, and the answers that the demonstration agent derives from it.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ContentBlock, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate,
    SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind, UsageUpdate,
};
use serde::{Deserialize, Serialize};

use super::{answer_text::chunk, goal};

/// The size of the context window that the agent reports, in words.
const CONTEXT_WORDS: u64 = 100_000;
/// The maximum number of characters of a quoted request.
const MAX_QUOTE_CHARS: usize = 80;
/// The maximum number of quoted requests. The agent quotes the latest ones.
const MAX_QUOTED_REQUESTS: usize = 5;

/// The memory of one session, as stored in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    /// The only working directory in which the session can be restored.
    pub(super) cwd: PathBuf,
    /// The turns, oldest first.
    pub(super) turns: Vec<Turn>,
}

/// One request and the answer to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    #[serde(rename = "asked")]
    pub(super) request: String,
    /// The text that the agent sent before the turn ended.
    #[serde(rename = "said")]
    pub(super) answer: String,
    /// The end of the turn. `None` while the turn runs, and forever if the agent was killed during it.
    pub(super) end: Option<TurnEnd>,
}

/// The way in which a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TurnEnd {
    #[serde(rename = "answered")]
    Completed,
    Cancelled,
}

impl Memory {
    pub(super) fn new(cwd: PathBuf) -> Self {
        Self {
            cwd,
            turns: Vec::new(),
        }
    }

    /// Returns the first request, shortened, or its subject in a goal. Returns `None` if there was no request yet.
    pub(super) fn title(&self) -> Option<String> {
        let request = &self.turns.first()?.request;
        Some(goal::title(request).unwrap_or_else(|| quote(request)))
    }

    /// Returns all requests and answers as updates, for a client that loads the session.
    pub(super) fn replay(&self) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        for turn in &self.turns {
            updates.push(SessionUpdate::UserMessageChunk(chunk(&turn.request)));
            if !turn.answer.is_empty() {
                updates.push(SessionUpdate::AgentMessageChunk(chunk(&turn.answer)));
            }
        }
        updates
    }

    /// Returns the updates of the newest turn, in the order in which they are sent.
    pub(super) fn answer_updates(&self) -> Vec<SessionUpdate> {
        let Some((turn, earlier)) = self.turns.split_last() else {
            return Vec::new();
        };
        let parts = answer_parts(turn, earlier);
        let words =
            self.count_all_words() + parts.iter().map(|text| count_words(text)).sum::<u64>();
        let mut updates = if earlier.is_empty() {
            vec![
                SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(self.title())),
                plan(PlanEntryStatus::InProgress, PlanEntryStatus::Pending),
            ]
        } else {
            look_up_tool_call(earlier.len())
        };
        updates.extend(
            parts
                .iter()
                .map(|text| SessionUpdate::AgentMessageChunk(chunk(text))),
        );
        if earlier.is_empty() {
            updates.push(plan(PlanEntryStatus::Completed, PlanEntryStatus::Completed));
        }
        updates.push(SessionUpdate::UsageUpdate(UsageUpdate::new(
            words,
            CONTEXT_WORDS,
        )));
        updates
    }

    /// Returns the updates at the end of a turn whose work gives the answer.
    pub(super) fn usage_updates(&self) -> Vec<SessionUpdate> {
        let title = SessionInfoUpdate::new().title(self.title());
        let usage = UsageUpdate::new(self.count_all_words(), CONTEXT_WORDS);
        vec![
            SessionUpdate::SessionInfoUpdate(title),
            SessionUpdate::UsageUpdate(usage),
        ]
    }

    /// Returns the number of words of all requests and answers, which the agent reports as its usage.
    fn count_all_words(&self) -> u64 {
        let texts = self
            .turns
            .iter()
            .flat_map(|turn| [&turn.request, &turn.answer]);
        texts.map(|text| count_words(text)).sum()
    }
}

/// The beginning of the block with which Matins reports earlier runs. The request comes after it.
const REPORT_PREFIX: &str = "This note comes from Matins";

/// Joins the text blocks of a prompt and the addresses of its links, without a report of earlier runs. Returns `None` if
/// the prompt has other content, because the agent does not announce support for it.
pub(super) fn prompt_text(prompt: &[ContentBlock]) -> Option<String> {
    let is_report = |block: &&ContentBlock| {
        prompt.len() > 1
            && matches!(block, ContentBlock::Text(text) if text.text.starts_with(REPORT_PREFIX))
    };
    let parts: Option<Vec<&str>> = prompt
        .iter()
        .filter(|block| !is_report(block))
        .map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            ContentBlock::ResourceLink(link) => Some(link.uri.as_str()),
            _ => None,
        })
        .collect();
    parts.map(|parts| parts.join("\n"))
}

/// Returns the pieces of the answer to `turn`.
fn answer_parts(turn: &Turn, earlier: &[Turn]) -> Vec<String> {
    let mut parts = vec![format!(
        "This is turn {} of this session.",
        earlier.len() + 1
    )];
    let quotes = quote_requests(earlier);
    let skipped = quotes.len().saturating_sub(MAX_QUOTED_REQUESTS);
    if skipped > 0 {
        parts.push(format!(" I remember {} requests.", earlier.len()));
    }
    for (index, before) in quotes.iter().enumerate().skip(skipped) {
        let lead = if index == skipped {
            " Before, you asked: "
        } else {
            "; "
        };
        parts.push(format!("{lead}{before}"));
    }
    if !earlier.is_empty() {
        parts.push(".".to_owned());
    }
    parts.push(format!(" Now you ask: \"{}\".", quote(&turn.request)));
    parts.push(" I am a demonstration: I remember, but no model thinks here.".to_owned());
    parts
}

/// Quotes the requests, oldest first. Merges consecutive equal requests into one quote with a count.
fn quote_requests(turns: &[Turn]) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for turn in turns {
        let end = match turn.end {
            Some(TurnEnd::Completed) => "",
            Some(TurnEnd::Cancelled) => " (cancelled)",
            None => " (interrupted)",
        };
        let quoted = format!("\"{}\"{end}", quote(&turn.request));
        match counted.last_mut() {
            Some((last, count)) if *last == quoted => *count += 1,
            _ => counted.push((quoted, 1)),
        }
    }
    counted
        .into_iter()
        .map(|(quoted, count)| match count {
            1 => quoted,
            count => format!("{quoted} ({count} times)"),
        })
        .collect()
}

/// Returns a tool call in which the agent pretends to look up the earlier requests.
fn look_up_tool_call(requests: usize) -> Vec<SessionUpdate> {
    let id = format!("look-up-{requests}");
    let found = ToolCallContent::from(format!("Found: {requests}"));
    let done = ToolCallUpdateFields::new()
        .status(ToolCallStatus::Completed)
        .content(vec![found]);
    vec![
        SessionUpdate::ToolCall(
            ToolCall::new(id.clone(), "Look up the earlier requests")
                .kind(ToolKind::Read)
                .status(ToolCallStatus::InProgress),
        ),
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, done)),
    ]
}

fn plan(remember: PlanEntryStatus, answer: PlanEntryStatus) -> SessionUpdate {
    let entry =
        |text: &str, status| PlanEntry::new(text.to_owned(), PlanEntryPriority::Medium, status);
    SessionUpdate::Plan(Plan::new(vec![
        entry("Remember the request", remember),
        entry("Answer it", answer),
    ]))
}

/// Shortens the last paragraph of a text to a single line. Skips the earlier paragraphs, because scheduled requests
/// begin with an introduction.
fn quote(text: &str) -> String {
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or(text);
    let line = last.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(MAX_QUOTE_CHARS).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}

fn count_words(text: &str) -> u64 {
    text.split_whitespace().map(|_| 1).sum()
}
