//! What the demonstration agent remembers of a session, and what it says in a turn.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    SessionInfoUpdate, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use serde::{Deserialize, Serialize};

/// How many words the agent claims to have room for.
const WORDS_IN_ALL: u64 = 100_000;
/// How many characters of an earlier request are quoted.
const QUOTE_CHARS: usize = 80;
/// How many of the latest earlier requests are quoted.
const QUOTED_REQUESTS: usize = 5;

/// The memory of one session, as its file keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    /// The only working directory in which the session can be restored.
    pub(super) cwd: PathBuf,
    /// Oldest first.
    pub(super) turns: Vec<Turn>,
}

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    pub(super) asked: String,
    /// What was said until the turn ended.
    pub(super) said: String,
    /// Nothing while the turn runs, and for ever if the agent was killed in it.
    pub(super) end: Option<End>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Answered,
    Cancelled,
}

impl Memory {
    pub(super) fn new(cwd: PathBuf) -> Self {
        Self {
            cwd,
            turns: Vec::new(),
        }
    }

    /// The first request, shortened.
    pub(super) fn title(&self) -> Option<String> {
        self.turns.first().map(|turn| quote(&turn.asked))
    }

    /// All that was said, as updates, for a client that loads the session.
    pub(super) fn replay(&self) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        for turn in &self.turns {
            updates.push(SessionUpdate::UserMessageChunk(chunk(&turn.asked)));
            if !turn.said.is_empty() {
                updates.push(SessionUpdate::AgentMessageChunk(chunk(&turn.said)));
            }
        }
        updates
    }

    /// The updates of the newest turn, in the order in which they are sent.
    pub(super) fn answer(&self) -> Vec<SessionUpdate> {
        let Some((turn, earlier)) = self.turns.split_last() else {
            return Vec::new();
        };
        let said = sentences(turn, earlier);
        let words = self.words() + said.iter().map(|text| count_words(text)).sum::<u64>();
        let mut updates = if earlier.is_empty() {
            vec![
                SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(self.title())),
                plan(PlanEntryStatus::InProgress, PlanEntryStatus::Pending),
            ]
        } else {
            look_up(earlier.len())
        };
        updates.extend(
            said.iter()
                .map(|text| SessionUpdate::AgentMessageChunk(chunk(text))),
        );
        if earlier.is_empty() {
            updates.push(plan(PlanEntryStatus::Completed, PlanEntryStatus::Completed));
        }
        updates.push(SessionUpdate::UsageUpdate(UsageUpdate::new(
            words,
            WORDS_IN_ALL,
        )));
        updates
    }

    fn words(&self) -> u64 {
        let texts = self.turns.iter().flat_map(|turn| [&turn.asked, &turn.said]);
        texts.map(|text| count_words(text)).sum()
    }
}

/// Joins what a person asked: texts as they are, links by their address. Other content is not
/// offered, and gives nothing.
pub(super) fn asked(prompt: &[ContentBlock]) -> Option<String> {
    let parts: Option<Vec<&str>> = prompt
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            ContentBlock::ResourceLink(link) => Some(link.uri.as_str()),
            _ => None,
        })
        .collect();
    parts.map(|parts| parts.join("\n"))
}

fn sentences(turn: &Turn, earlier: &[Turn]) -> Vec<String> {
    let mut said = vec![format!(
        "This is turn {} of this session.",
        earlier.len() + 1
    )];
    let asked = repeated(earlier);
    let skipped = asked.len().saturating_sub(QUOTED_REQUESTS);
    if skipped > 0 {
        said.push(format!(" I remember {} requests.", earlier.len()));
    }
    for (index, request) in asked.iter().enumerate().skip(skipped) {
        let lead = if index == skipped {
            " Before, you asked: "
        } else {
            "; "
        };
        said.push(format!("{lead}{request}"));
    }
    if !earlier.is_empty() {
        said.push(".".to_owned());
    }
    said.push(format!(" Now you ask: \"{}\".", quote(&turn.asked)));
    said.push(" I am a demonstration: I remember, but no model thinks here.".to_owned());
    said
}

/// The earlier requests, quoted, each run of the same one once.
fn repeated(earlier: &[Turn]) -> Vec<String> {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for turn in earlier {
        let end = match turn.end {
            Some(End::Answered) => "",
            Some(End::Cancelled) => " (cancelled)",
            None => " (interrupted)",
        };
        let request = format!("\"{}\"{end}", quote(&turn.asked));
        match runs.last_mut() {
            Some((last, times)) if *last == request => *times += 1,
            _ => runs.push((request, 1)),
        }
    }
    let shown = runs.into_iter().map(|(request, times)| match times {
        1 => request,
        times => format!("{request} ({times} times)"),
    });
    shown.collect()
}

/// The tool call in which the agent looks into its memory.
fn look_up(requests: usize) -> Vec<SessionUpdate> {
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

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::from(text))
}

/// The last paragraph of a request, which is where people come to the point, on one line and cut to
/// a length that can be read in passing.
fn quote(text: &str) -> String {
    let mut paragraphs = text.rsplit("\n\n").map(str::trim);
    let point = paragraphs.find(|paragraph| !paragraph.is_empty());
    let words = point.unwrap_or_default().split_whitespace();
    let line = words.collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(QUOTE_CHARS).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}

fn count_words(text: &str) -> u64 {
    text.split_whitespace().map(|_| 1).sum()
}
