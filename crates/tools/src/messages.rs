//! The tools `send_message` and `read_messages`: messages between the agents of a session.

use futures::future::{BoxFuture, FutureExt as _};
use model::{
    caller_name::display_name,
    seat_message::{CARRIED_PER_TURN, SeatMessageStatus, TEXT_BYTES},
    tools::ToolAccess,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{RunTools, ToolOffer};

use crate::{
    reply::{self, Answer, ToolError, object},
    tool::{Offered, Tool},
};

pub(crate) const SEND: Tool = Tool {
    name: "send_message",
    title: "Send a message",
    description: |offer| {
        if offer.task.is_some() {
            return "Sends a message to other seats of the goal. It starts a turn of each; an answer comes in a later turn of \
                    yours. Limit: 20 messages in one turn.";
        }
        "Sends a message to other seats of this session. It starts a turn of each of them; do not wait for an answer: it comes \
         as your next message. Repeating the same message in a turn changes nothing. Limit: 20 messages in one turn."
    },
    input: |_| {
        json!({
            "type": "object",
            "properties": {
                "to": {
                    "type": "string",
                    "description": "A seat's name, or `all` for all other seats.",
                },
                "text": {
                    "type": "string",
                    "maxLength": TEXT_BYTES,
                    "description": "The other agent knows nothing but this text.",
                },
            },
            "required": ["to", "text"],
            "additionalProperties": false,
        })
    },
    needs: ToolAccess::All,
    offered: Offered::InTeam,
    is_read_only: |_| false,
    call: send,
};

pub(crate) const READ: Tool = Tool {
    name: "read_messages",
    title: "Read messages",
    description: |_| "Returns messages to your seat, in order: those that wait, or those after `since`.",
    input: |offer| {
        let mut input = json!({
            "type": "object",
            "properties": {
                "since": {
                    "type": "string",
                    "description": "A message's ID, or `next` of the answer before.",
                },
            },
            "additionalProperties": false,
        });
        if offer.access == ToolAccess::All {
            input["properties"]["ack"] = json!({
                "type": "array",
                "maxItems": CARRIED_PER_TURN,
                "items": { "type": "string" },
                "description": "IDs of messages that no later turn shall bring.",
            });
        }
        input
    },
    needs: ToolAccess::Read,
    offered: Offered::InTeam,
    is_read_only: |offer| offer.access != ToolAccess::All,
    call: read,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SendInput {
    to: String,
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    #[serde(default)]
    since: Option<String>,
    #[serde(default)]
    ack: Vec<String>,
}

fn send(tools: &RunTools, _: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let SendInput { to, text } = reply::read(input)?;
        let sent = tools.send_message(&to, &text).await.map_err(|error| {
            let is_of_turn = matches!(
                error,
                service::Error::Store(store::Error::LimitReached { .. })
            );
            let mut error = ToolError::from(error);
            if is_of_turn {
                error.advice = "end your turn, and send the rest in a later one".into();
            }
            error
        })?;
        let ids: Vec<String> = sent.iter().map(|message| message.id.to_string()).collect();
        let mut answer = object(json!({ "ids": ids }));
        if sent
            .iter()
            .any(|message| message.state == SeatMessageStatus::Blocked)
        {
            let note = "too many turns had no other cause than messages: this one waits until a person or an automation \
                        sends an input to the seat or, in a goal, until its next turn of a task";
            answer.insert("blocked".into(), note.into());
        }
        Ok(answer)
    }
    .boxed()
}

fn read(tools: &RunTools, offer: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let ReadInput { since, ack } = reply::read(input)?;
        if !ack.is_empty() && offer.access != ToolAccess::All {
            return Err(ToolError {
                error: "not_allowed",
                message: "`ack` is not accepted: this agent may only read".into(),
                advice: "call the tool without `ack`".into(),
            });
        }
        let found = tools.read_messages(since.as_deref(), &ack).await?;
        let messages = found.messages.iter().map(|message| {
            let from = match message.from_seat_id {
                Some(_) => message.from.as_str(),
                None => display_name(&message.from),
            };
            json!({
                "id": message.id,
                "from": from,
                "is_from_person": message.from_seat_id.is_none(),
                "text": message.text,
                "state": message.state.as_str(),
                "sent_at": message.created_at,
            })
        });
        let messages: Vec<Value> = messages.collect();
        // The number that every answer has was read before the messages were acknowledged.
        let unread = tools.offer().await?.unread;
        Ok(object(json!({
            "messages": messages,
            "next": found.next,
            "unread": unread,
        })))
    }
    .boxed()
}
