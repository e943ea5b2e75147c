//! The turns whose prompts are rendered, and the findings in them.

use model::{
    MessageId, SeatId,
    goal::{Graph, Prompt, Severity, Task, TaskKind, TaskNo},
    prompt::{
        self, CarriedMessage,
        goal::{FindingEntry, FindingSource, MessageEntry, MessageSender},
        render_seat_messages,
    },
    seat_message::Sender,
};

use crate::seat_message_rows::SeatMessage;

/// The memory of a turn, as its prompt depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runs::goals) enum TurnMemory {
    /// It has the earlier turns of the task on this seat, if there are any.
    Kept,
    /// It begins anew, because the seat has not worked on the task before.
    New,
    /// It begins anew, because the instance of the earlier turns was removed.
    Lost,
}

/// A turn whose prompt is rendered.
#[derive(Debug, Clone, Copy)]
pub(in crate::runs::goals) struct Turn {
    pub(in crate::runs::goals) task: TaskNo,
    pub(in crate::runs::goals) seat: Option<SeatId>,
    pub(in crate::runs::goals) prompt: Prompt,
    /// `true` if the turn judges the task.
    pub(in crate::runs::goals) is_review: bool,
    pub(in crate::runs::goals) memory: TurnMemory,
}

impl Turn {
    /// Returns the prompts that are rendered: the turn's own, and that of the task in a new memory.
    pub(super) fn prompts(&self, graph: &Graph) -> impl Iterator<Item = Prompt> {
        std::iter::once(self.prompt).chain(self.task_prompt(graph))
    }

    /// Returns the prompt that describes the task to a new memory. Returns `None` if the turn's own prompt does, or if the
    /// memory has it.
    pub(super) fn task_prompt(&self, graph: &Graph) -> Option<Prompt> {
        if self.memory == TurnMemory::Kept {
            return None;
        }
        let kind = graph.tasks()[self.task.0].kind;
        match (self.prompt, kind) {
            // A first plan says nothing of the tasks that exist.
            (Prompt::Answer | Prompt::Reminder, TaskKind::Plan) if graph.plan_version() > 0 => {
                Some(Prompt::Replan)
            }
            (Prompt::Answer | Prompt::Reminder, TaskKind::Plan) => Some(Prompt::Plan),
            (Prompt::Answer | Prompt::Reminder, TaskKind::Check) => Some(Prompt::Check),
            (Prompt::Rework | Prompt::Answer | Prompt::Reminder, _) if !self.is_review => {
                Some(Prompt::Work)
            }
            (Prompt::Answer | Prompt::Reminder, _) => Some(Prompt::Review),
            _ => None,
        }
    }
}

/// A finding of the judge, or of a check.
pub(super) struct StoredFinding {
    /// The name of the check. `None` for a finding of the judge.
    pub(super) check: Option<String>,
    pub(super) id: String,
    pub(super) severity: Severity,
    /// The number of the acceptance line that the result misses.
    pub(super) criterion: Option<u32>,
    pub(super) text: String,
}

impl StoredFinding {
    /// Returns `true` if the finding is one of a check of the whole goal. Its ID begins with the key of its task.
    pub(super) fn is_of_goal(&self, tasks: &[Task]) -> bool {
        let mut checks = tasks.iter().filter(|task| task.kind == TaskKind::Check);
        checks.any(|task| {
            let rest = self.id.strip_prefix(task.key.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    }

    pub(super) fn entry(&self) -> FindingEntry<'_> {
        let check = self.check.as_deref();
        FindingEntry {
            source: check.map_or(FindingSource::Judge, FindingSource::Check),
            id: &self.id,
            severity: self.severity,
            criterion: self.criterion,
            text: &self.text,
        }
    }
}

/// A message that waits for the turn of a task.
pub(super) struct WaitingMessage {
    /// The ID as the prompt has it.
    shown_id: String,
    message: SeatMessage,
}

impl WaitingMessage {
    pub(super) fn new(message: SeatMessage) -> Self {
        Self {
            shown_id: message.id.to_string(),
            message,
        }
    }

    pub(super) fn id(&self) -> MessageId {
        self.message.id
    }

    /// Returns the length of the text.
    pub(super) fn bytes(&self) -> usize {
        self.message.content.len()
    }

    pub(super) fn entry(&self) -> MessageEntry<'_> {
        MessageEntry {
            id: &self.shown_id,
            sender: match &self.message.from {
                Sender::Seat(_) if self.message.is_own() => MessageSender::Own,
                Sender::Seat(seat) => MessageSender::Seat {
                    name: &seat.name,
                    role: &seat.role,
                },
                Sender::Person(name) => MessageSender::Person(name),
            },
            text: &self.message.content,
        }
    }

    fn carried(&self) -> CarriedMessage<'_> {
        CarriedMessage {
            id: self.message.id,
            sender: &self.message.from,
            is_own: self.message.is_own(),
            text: &self.message.content,
            again: self.message.input.is_some(),
        }
    }
}

/// Puts the messages that a turn carries before its prompt. The prompt of an attempt at a task has them itself.
pub(super) fn put_messages_before(
    text: String,
    turn: Turn,
    graph: &Graph,
    messages: &[WaitingMessage],
) -> Result<String, prompt::Error> {
    if messages.is_empty() || has_prompt(graph, &[turn], &[Prompt::Work]) {
        return Ok(text);
    }
    let carried: Vec<_> = messages.iter().map(WaitingMessage::carried).collect();
    let messages = render_seat_messages(&carried, None)?;
    Ok(format!("{}\n\n{text}", messages.text))
}

/// Returns `true` if one of the prompts is rendered, by itself or with the task of a new memory.
pub(super) fn has_prompt(graph: &Graph, turns: &[Turn], prompts: &[Prompt]) -> bool {
    let mut rendered = turns.iter().flat_map(|turn| turn.prompts(graph));
    rendered.any(|prompt| prompts.contains(&prompt))
}
