//! Tests of the roles with the prompts that Matins renders.

mod judging;
mod planning;
mod working;

use std::collections::HashMap;

use agent_client_protocol::v1::schema::{ContentBlock, SessionUpdate};
use model::prompt::{RenderedPrompt, goal::SeatInstructions, goal::open_goal_memory};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{GoalTurn, WorkError, Workplace};
use crate::{
    session::{Memory, Turn, TurnEnd},
    tools::CallError,
};

const TOOLS: [&str; 7] = [
    "create_task",
    "update_task",
    "judge_task",
    "ask_person",
    "remember",
    "save_artifact",
    "get_artifact",
];

/// A seat of a goal, with its directory, its memory and tools that record their calls.
struct TestSeat {
    folder: TempDir,
    memory: Memory,
    calls: Vec<(&'static str, Value)>,
    artifacts: HashMap<String, (i64, String)>,
    /// The answer of a person to an earlier turn of the task.
    answered: Option<&'static str>,
    answer: String,
    tools: Vec<&'static str>,
    is_cancelled: bool,
}

fn turn_of(memory: &Memory) -> Option<GoalTurn> {
    let requests: Vec<_> = memory
        .turns
        .iter()
        .map(|turn| turn.request.as_str())
        .collect();
    GoalTurn::parse(&memory.cwd, &requests)
}

impl TestSeat {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            memory: Memory::new(folder.path().to_owned()),
            folder,
            calls: Vec::new(),
            artifacts: HashMap::new(),
            answered: None,
            answer: String::new(),
            tools: TOOLS.to_vec(),
            is_cancelled: false,
        }
    }

    /// Gives the seat a new memory, with the same directory and the same artifacts.
    fn forget(&mut self) {
        self.memory.turns.clear();
    }

    /// Takes a turn with a prompt of the goal. Returns its calls.
    fn take_turn(&mut self, prompt: &str) -> Vec<(&'static str, Value)> {
        self.request(prompt);
        let turn = turn_of(&self.memory).unwrap();
        match turn.run(self) {
            Ok(()) | Err(WorkError::Cancelled) => {}
            Err(error) => panic!("{error}"),
        }
        std::mem::take(&mut self.calls)
    }

    fn request(&mut self, request: &str) {
        self.answer.clear();
        self.memory.turns.push(Turn {
            request: request.to_owned(),
            answer: String::new(),
            end: Some(TurnEnd::Completed),
        });
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(file)).unwrap()
    }
}

impl Workplace for TestSeat {
    fn has_tool(&self, tool: &str) -> bool {
        self.tools.contains(&tool)
    }

    fn call(&mut self, tool: &'static str, arguments: Value) -> Result<Value, WorkError> {
        let name = arguments["name"].as_str().unwrap_or_default().to_owned();
        let answer = match tool {
            "save_artifact" => {
                let text = match arguments["path"].as_str() {
                    Some(path) => self.read(path),
                    None => arguments["text"].as_str().unwrap().to_owned(),
                };
                let version = self
                    .artifacts
                    .get(&name)
                    .map_or(1, |(version, _)| version + 1);
                self.artifacts.insert(name, (version, text));
                json!({ "ok": true, "version": version })
            }
            "get_artifact" => match self.artifacts.get(&name) {
                Some((_, text)) => json!({ "ok": true, "text": text }),
                None => return Err(CallError::Refused(format!("unknown artifact {name}")).into()),
            },
            "ask_person" => json!({ "ok": true, "answer": self.answered }),
            _ => json!({ "ok": true }),
        };
        self.calls.push((tool, arguments));
        Ok(answer)
    }

    fn show(&mut self, update: SessionUpdate) {
        if let SessionUpdate::AgentMessageChunk(chunk) = update
            && let ContentBlock::Text(text) = chunk.content
        {
            self.answer.push_str(&text.text);
        }
    }

    fn pause(&mut self) -> Result<(), WorkError> {
        if self.is_cancelled {
            return Err(WorkError::Cancelled);
        }
        Ok(())
    }
}

/// Returns the prompt of the first turn of a seat, which opens with the rules of the seat.
fn opened(mut prompt: RenderedPrompt) -> String {
    let instructions = SeatInstructions {
        seat: "worker-1",
        role: "worker",
        tools: &TOOLS,
        instructions: Some("Write little."),
    };
    open_goal_memory(&mut prompt, &instructions).unwrap();
    prompt.text
}

/// Returns the arguments of the only call of a tool.
fn only<'a>(calls: &'a [(&'static str, Value)], tool: &str) -> &'a Value {
    let mut found = calls.iter().filter(|(name, _)| *name == tool);
    let (_, arguments) = found.next().unwrap();
    assert!(found.next().is_none(), "{calls:?}");
    arguments
}

fn request_memory(request: &str) -> Memory {
    let mut seat = TestSeat::new();
    seat.request(request);
    seat.memory
}

#[test]
fn requests_outside_goals_are_no_turn_of_a_goal() {
    let messages = "Messages for your seat in this session, which several seats share, follow.";
    let answer = "Your question was answered. Go on with your work from here.";
    let reminder = "Your turn ended without the call of `update_task` that it needs.";
    for request in [
        "",
        "Hello",
        "Please plan the work",
        messages,
        answer,
        reminder,
    ] {
        let memory = request_memory(request);
        assert_eq!(turn_of(&memory), None, "{request}");
    }
}

/// Returns the prompt of two messages of the judge.
fn messages() -> RenderedPrompt {
    use model::{
        MessageId, SeatId,
        prompt::{CarriedMessage, render_seat_messages},
        seat_message::{NamedSeat, Sender},
    };
    let sender = Sender::Seat(NamedSeat {
        id: SeatId::from_uuid(uuid(1)),
        name: "judge".into(),
        role: "judge".into(),
    });
    let message = |number| CarriedMessage {
        id: MessageId::from_uuid(uuid(number)),
        sender: &sender,
        is_own: false,
        text: "Work on the task `x`: now",
        again: false,
    };
    render_seat_messages(&[message(1), message(2)], None).unwrap()
}

#[test]
fn messages_of_goal_are_counted_and_change_nothing() {
    let mut seat = TestSeat::new();
    assert!(seat.take_turn(&opened(messages())).is_empty());
    assert!(seat.answer.contains("2 messages"), "{}", seat.answer);
}

#[test]
fn messages_before_prompt_of_task_are_no_part_of_it() {
    let mut seat = TestSeat::new();
    let work = working::prompt("green", &["It names `outline.md`."]);
    seat.take_turn(&work);
    let finding = json!({ "id": "word-count", "text": "The last line is missing." });
    let rework = working::rework("green", &finding);
    let mut alone = TestSeat::new();
    alone.take_turn(&work);
    let with_messages = format!("{}\n\n{rework}", messages().text);
    assert_eq!(seat.take_turn(&with_messages), alone.take_turn(&rework));
    assert_eq!(seat.answer, alone.answer);
}

/// Returns a UUID by its text, because the crate does not depend on that of UUIDs.
fn uuid<T: std::str::FromStr>(number: u32) -> T
where
    T::Err: std::fmt::Debug,
{
    format!("00000000-0000-0000-0000-{number:012}")
        .parse()
        .unwrap()
}

#[test]
fn cancelled_turn_writes_nothing() {
    let mut seat = TestSeat::new();
    seat.is_cancelled = true;
    let prompt = working::prompt("green", &["It names `outline.md`."]);
    assert!(seat.take_turn(&prompt).is_empty());
    assert_eq!(std::fs::read_dir(seat.folder.path()).unwrap().count(), 0);
}
