//! Questions of agents to people. An agent asks by the tool `ask_person`, and reads the answer as its next input; or it
//! asks by an elicitation of the protocol, and waits in its turn.
//!
//! **Invariant:** a question is answered once: by a person before its deadline, or by its default at the deadline.

mod form;

use serde_json::Value;

use crate::{
    approval::Decider,
    caller_name::display_name_at_start,
    ids::{AutomationId, InputId, QuestionId, RunId, SeatId, SessionId, TenantId},
    lifecycle::Lifecycle,
    text_enum::text_enum,
    time::Timestamp,
};

pub use form::{Form, FormError};

/// The longest question, in bytes.
pub const TEXT_BYTES: usize = 2048;
/// The highest number of options of a question.
pub const MAX_OPTIONS: usize = 6;
/// The longest option, and the longest default, in bytes.
pub const OPTION_BYTES: usize = 200;
/// The longest answer of a person, in bytes.
pub const ANSWER_BYTES: usize = 8192;
/// The time for an answer if the agent names none, in hours.
pub const DEFAULT_HOURS: u32 = 24;
/// The longest time for an answer, in hours.
pub const LONGEST_HOURS: u32 = 72;
/// The highest number of elicitations of one turn that reach people. Further ones are declined.
pub const ELICITATIONS_PER_TURN: usize = 20;
/// The highest number of questions that an agent asks in one turn, in all attempts at its input.
pub const QUESTIONS_PER_TURN: u32 = 3;

text_enum! {
    /// The way in which an agent asks a question.
    QuestionKind, "a kind of question" {
        /// The tool `ask_person`: the answer is the next input of the agent.
        Tool = "tool",
        /// An elicitation of the protocol: the agent waits in its turn.
        Elicitation = "elicitation",
    }
}

text_enum! {
    /// The state of a question, without its data.
    QuestionStatus, "a state of a question" {
        /// The question waits for a person.
        Pending = "pending",
        /// A person answered the question.
        Answered = "answered",
        /// The deadline passed without an answer, so the default counts.
        Expired = "expired",
        /// The session was closed first, or the turn that waited has ended, so no answer can reach the agent.
        Void = "void",
    }
}

text_enum! {
    /// An event that moves a question from one state to another.
    QuestionEvent, "a move of a question" {
        /// A person answers the question.
        Answer = "be answered",
        /// The deadline passes.
        Expire = "expire",
        /// The session is closed, or the turn that waits ends.
        Void = "become void",
    }
}

impl Lifecycle for QuestionStatus {
    type Event = QuestionEvent;

    const WHAT: &'static str = "question";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [QuestionEvent] = QuestionEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Pending];

    fn next_state(self, event: QuestionEvent) -> Option<Self> {
        if self != Self::Pending {
            return None;
        }
        Some(match event {
            QuestionEvent::Answer => Self::Answered,
            QuestionEvent::Expire => Self::Expired,
            QuestionEvent::Void => Self::Void,
        })
    }
}

/// The accepted answers of a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionBody {
    /// Answers that the agent proposes. A person may answer otherwise.
    pub options: Vec<String>,
    /// The answer that counts at the deadline without an answer of a person. `None` if the question then has no answer.
    pub default: Option<Value>,
    /// The schema of the form that a person fills in. `None` if the answer is a text.
    pub schema: Option<Value>,
}

/// A question that an agent asks by an elicitation of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elicitation {
    /// The question.
    pub text: String,
    /// The form, and its defaults.
    pub body: QuestionBody,
}

impl Elicitation {
    /// Returns the question with a form. Cuts a long text, because an agent can send texts of any length.
    ///
    /// # Errors
    ///
    /// Refuses a form that cannot be checked.
    pub fn new(text: &str, schema: &Value) -> Result<Self, FormError> {
        let form = Form::parse(schema)?;
        Ok(Self {
            text: text[..text.floor_char_boundary(TEXT_BYTES)].to_owned(),
            body: QuestionBody {
                options: Vec::new(),
                default: form.defaults(),
                schema: Some(schema.clone()),
            },
        })
    }
}

/// A question of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The ID of the question.
    pub id: QuestionId,
    /// The tenant that owns the question.
    pub tenant_id: TenantId,
    /// The session of the agent.
    pub session_id: SessionId,
    /// The seat whose agent asked, and which gets the answer.
    pub seat_id: SeatId,
    /// The run whose agent asked.
    pub run_id: RunId,
    /// The automation of the run. `None` if there is none.
    pub automation_id: Option<AutomationId>,
    /// The way in which the agent asked.
    pub kind: QuestionKind,
    /// The question.
    pub text: String,
    /// The accepted answers.
    pub body: QuestionBody,
    /// The state, with the data of that state.
    pub state: QuestionState,
    /// The instant at which the default counts without an answer.
    pub deadline_at: Timestamp,
    /// The instant at which the agent asked.
    pub created_at: Timestamp,
}

impl Question {
    /// Returns the status: the state without its data.
    pub const fn status(&self) -> QuestionStatus {
        self.state.status()
    }
}

/// The state of a question, with the data that this state alone has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionState {
    /// The question waits for a person.
    Pending,
    /// A person answered the question.
    Answered {
        /// The instant of the answer.
        at: Timestamp,
        /// The author of the answer.
        by: Decider,
        /// The answer. `Null` if the author declined to answer.
        answer: Value,
        /// The input that brings the answer to the agent. `None` if the agent waited in its turn.
        input: Option<InputId>,
    },
    /// The deadline passed without an answer.
    Expired {
        /// The instant at which it expired.
        at: Timestamp,
        /// The default. `None` if the question has none.
        answer: Option<Value>,
        /// The input that brings the default to the agent. `None` if the agent waited in its turn.
        input: Option<InputId>,
    },
    /// No answer can reach the agent.
    Void {
        /// The instant at which it became void.
        at: Timestamp,
    },
}

impl QuestionState {
    /// Returns the status: the state without its data.
    pub const fn status(&self) -> QuestionStatus {
        match self {
            Self::Pending => QuestionStatus::Pending,
            Self::Answered { .. } => QuestionStatus::Answered,
            Self::Expired { .. } => QuestionStatus::Expired,
            Self::Void { .. } => QuestionStatus::Void,
        }
    }

    /// Returns the answer that counts. Returns `None` if there is none, and `Null` if a person declined to answer.
    pub const fn answer(&self) -> Option<&Value> {
        match self {
            Self::Answered { answer, .. } => Some(answer),
            Self::Expired { answer, .. } => answer.as_ref(),
            Self::Pending | Self::Void { .. } => None,
        }
    }

    /// `true` if a person declined to answer.
    pub const fn is_declined(&self) -> bool {
        matches!(
            self,
            Self::Answered {
                answer: Value::Null,
                ..
            }
        )
    }

    /// Returns the author of the answer. Returns `None` without an answer of a person.
    pub const fn answered_by(&self) -> Option<&Decider> {
        match self {
            Self::Answered { by, .. } => Some(by),
            Self::Pending | Self::Expired { .. } | Self::Void { .. } => None,
        }
    }

    /// Returns the input that brings the answer to the agent.
    pub const fn input(&self) -> Option<InputId> {
        match self {
            Self::Answered { input, .. } | Self::Expired { input, .. } => *input,
            Self::Pending | Self::Void { .. } => None,
        }
    }

    /// Returns the instant at which the question was answered, expired or became void. Returns `None` while it is
    /// pending.
    pub const fn closed_at(&self) -> Option<Timestamp> {
        match self {
            Self::Pending => None,
            Self::Answered { at, .. } | Self::Expired { at, .. } | Self::Void { at } => Some(*at),
        }
    }
}

/// Returns an answer as text. An answer to a form is JSON.
pub fn answer_text(answer: &Value) -> String {
    match answer {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the input with the answer of a person.
pub fn answered_input(question: &Question, by: &str, answer: &Value) -> String {
    let Question { id, text, .. } = question;
    let (by, answer) = (display_name_at_start(by), answer_text(answer));
    format!("{by} answered your question {id}.\n\nQuestion: {text}\n\nAnswer: {answer}")
}

/// Returns the input with the default of a question that no person answered.
pub fn expired_input(question: &Question, default: &Value) -> String {
    let Question {
        id,
        text,
        deadline_at,
        ..
    } = question;
    let default = answer_text(default);
    format!(
        "Nobody answered your question {id} until {deadline_at}, so its default counts.\n\nQuestion: {text}\n\n\
         Answer: {default}"
    )
}

/// Returns the notice of the transcript about the answer to an agent that waited in its turn.
pub fn answered_notice(state: &QuestionState) -> String {
    let answer = state.answer().map(answer_text);
    let by = state
        .answered_by()
        .map(|by| display_name_at_start(&by.name));
    match (by, answer) {
        (Some(by), _) if state.is_declined() => format!("{by} declined to answer."),
        (Some(by), Some(answer)) => format!("{by} answered: {answer}"),
        (_, Some(default)) => {
            format!("Nobody answered in time, so the defaults of the form count: {default}")
        }
        (_, None) => "Nobody answered in time, so the question was declined.".into(),
    }
}

/// Returns the notice that shows a question in the transcript.
pub fn asked_notice(text: &str, body: &QuestionBody, deadline_at: Timestamp) -> String {
    let options = body.options.iter().zip(1..);
    let options = options.map(|(option, number)| format!("\n{number}. {option}"));
    let options = options.collect::<String>();
    let default = body
        .default
        .as_ref()
        .map(|default| {
            format!(
                "\nWithout an answer until {deadline_at}: {}",
                answer_text(default)
            )
        })
        .unwrap_or_default();
    format!("The agent asks: {text}{options}{default}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn answer_names_question_and_author() {
        let id = Uuid::from_u128(7);
        let question = Question {
            id: QuestionId::from_uuid(id),
            tenant_id: TenantId::from_uuid(id),
            session_id: SessionId::from_uuid(id),
            seat_id: SeatId::from_uuid(id),
            run_id: RunId::from_uuid(id),
            automation_id: None,
            kind: QuestionKind::Tool,
            text: "Which colour?".into(),
            body: QuestionBody {
                options: vec!["red".into(), "blue".into()],
                default: Some(json!("red")),
                schema: None,
            },
            state: QuestionState::Pending,
            deadline_at: "2026-11-26T09:00:00Z".parse().unwrap(),
            created_at: "2026-11-25T09:00:00Z".parse().unwrap(),
        };
        let answered = answered_input(&question, "laptop", &json!("blue"));
        assert!(answered.starts_with("laptop answered your question que_"));
        let at_server = answered_input(&question, "socket", &json!("blue"));
        assert!(at_server.starts_with("A person at the server answered your question que_"));
        assert!(answered.ends_with("Question: Which colour?\n\nAnswer: blue"));
        let expired = expired_input(&question, &json!({ "colour": "red" }));
        assert!(expired.contains("so its default counts"), "{expired}");
        assert!(expired.ends_with("Answer: {\"colour\":\"red\"}"));
        assert_eq!(
            asked_notice(&question.text, &question.body, question.deadline_at),
            "The agent asks: Which colour?\n1. red\n2. blue\nWithout an answer until 2026-11-26T09:00:00Z: red"
        );
    }
}
