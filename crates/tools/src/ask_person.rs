//! The tool `ask_person`: a question to a person, whose answer is the next input of the agent.

use futures::future::{BoxFuture, FutureExt as _};
use model::{
    goal::TaskRole,
    question::{
        LONGEST_HOURS, MAX_OPTIONS, OPTION_BYTES, Question, QuestionState, TEXT_BYTES, answer_text,
    },
    tools::ToolAccess,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{PersonQuestion, RunTools, ToolOffer};

use crate::{
    reply::{self, Answer, ToolError, object},
    tool::{Offered, Tool},
};

pub(crate) const ASK_PERSON: Tool = Tool {
    name: "ask_person",
    title: "Ask a person",
    description,
    input,
    needs: ToolAccess::All,
    offered: Offered::Always,
    is_read_only: |_| false,
    call,
};

fn description(offer: ToolOffer) -> &'static str {
    if offer.task.is_some() {
        "Asks a person. Then end your turn without a report: the answer, or your `default` at the deadline, starts a later \
         turn of your task. Limit: 3 questions in one turn."
    } else {
        "Asks a person. The call returns at once: end your turn if you need the answer. The answer comes as your next \
         message; without an answer until the deadline, your `default` comes instead. Repeating the same question in a \
         turn changes nothing. Limit: 3 questions in one turn."
    }
}

fn input(offer: ToolOffer) -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {
                "type": "string",
                "maxLength": TEXT_BYTES,
                "description": "The person may know nothing but this text.",
            },
            "options": {
                "type": "array",
                "maxItems": MAX_OPTIONS,
                "items": { "type": "string", "maxLength": OPTION_BYTES },
                "description": "Proposed answers. The person may answer otherwise.",
            },
            "default": {
                "type": "string",
                "maxLength": OPTION_BYTES,
                "description": "Counts if nobody answers.",
            },
            "hours": {
                "type": "integer",
                "minimum": 1,
                "maximum": LONGEST_HOURS,
                "description": format!("Hours for an answer. Default: {}.", offer.question_hours),
            },
        },
        "required": ["question", "default"],
        "additionalProperties": false,
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    question: String,
    #[serde(default)]
    options: Vec<String>,
    default: String,
    #[serde(default)]
    hours: Option<u32>,
}

fn call(tools: &RunTools, offer: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let Input {
            question,
            options,
            default,
            hours,
        } = reply::read(input)?;
        let request = PersonQuestion {
            question,
            options,
            default,
            hours: hours.unwrap_or(offer.question_hours),
        };
        let asked = tools.ask_person(&request).await.map_err(|error| {
            let mut error = ToolError::from(error);
            if error.error == "limit" {
                error.advice = "go on without an answer, or ask in your answer".into();
            }
            error
        })?;
        Ok(fields(&asked, offer.task))
    }
    .boxed()
}

/// Returns the result of a call. In a turn of a task it has the answer of a person, who may have given it to an earlier turn of
/// the task.
fn fields(asked: &Question, task: Option<TaskRole>) -> Map<String, Value> {
    let mut fields = object(json!({
        "question": asked.id.to_string(),
        "deadline": asked.deadline_at.to_string(),
        "state": asked.status().as_str(),
    }));
    let Some(role) = task else {
        return fields;
    };
    let note = match &asked.state {
        QuestionState::Answered { answer, .. } => {
            fields.insert("answer".into(), answer_text(answer).into());
            Some("a person has answered this question of your task: go on with the answer")
        }
        _ => note(role),
    };
    if let Some(note) = note {
        fields.insert("note".into(), note.into());
    }
    fields
}

/// Returns the next step of an agent that has asked in the turn of a task.
const fn note(role: TaskRole) -> Option<&'static str> {
    match role {
        TaskRole::Planner => Some(
            "end your turn now: the answer starts a later turn of this plan. Changes that you have staged wait for the end \
             of that turn, which publishes those that it does not withdraw",
        ),
        // The task moves by the question only if the turn ends without a report.
        TaskRole::Worker | TaskRole::Judge => {
            Some("end your turn now, without a report: the answer starts a later turn of your task")
        }
        TaskRole::Reporter => None,
    }
}

#[cfg(test)]
mod tests {
    use model::{
        approval::Decider,
        question::{QuestionBody, QuestionKind},
    };

    use super::*;

    fn question(state: QuestionState) -> Question {
        Question {
            id: "que_0199ab0000007000800000000000000b".parse().unwrap(),
            tenant_id: "ten_0199ab0000007000800000000000000b".parse().unwrap(),
            session_id: "ses_0199ab0000007000800000000000000b".parse().unwrap(),
            seat_id: "seat_0199ab0000007000800000000000000b".parse().unwrap(),
            run_id: "run_0199ab0000007000800000000000000b".parse().unwrap(),
            automation_id: None,
            kind: QuestionKind::Tool,
            text: "Which colour?".into(),
            body: QuestionBody::default(),
            state,
            deadline_at: "2026-11-26T09:00:00Z".parse().unwrap(),
            created_at: "2026-11-25T09:00:00Z".parse().unwrap(),
        }
    }

    #[test]
    fn answered_question_of_task_has_its_answer() {
        let answered = question(QuestionState::Answered {
            at: "2026-11-25T10:00:00Z".parse().unwrap(),
            by: Decider {
                token: None,
                name: "ci".into(),
            },
            answer: json!("blue"),
            input: None,
        });
        let of_task = fields(&answered, Some(TaskRole::Worker));
        assert_eq!(
            (&of_task["state"], &of_task["answer"]),
            (&json!("answered"), &json!("blue"))
        );
        assert!(of_task["note"].as_str().unwrap().contains("go on"));
        // Elsewhere the answer is the next message.
        assert_eq!(fields(&answered, None).get("answer"), None);
        let pending = fields(&question(QuestionState::Pending), Some(TaskRole::Worker));
        assert_eq!(pending["deadline"], "2026-11-26T09:00:00Z");
        assert_eq!(pending.get("answer"), None);
        assert!(
            pending["note"]
                .as_str()
                .unwrap()
                .starts_with("end your turn now")
        );
    }
}
