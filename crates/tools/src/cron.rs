//! The tool `cron`: automations that run in the session of the agent.

use futures::future::{BoxFuture, FutureExt as _};
use model::tools::ToolAccess;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{CronAdd, CronAdded, CronItem, RunTools, ToolOffer};

use crate::{
    reply::{self, Answer, ToolError, object},
    tool::{Offered, Tool},
};

pub(crate) const CRON: Tool = Tool {
    name: "cron",
    title: "Schedule messages to this session",
    description,
    input,
    needs: ToolAccess::Read,
    // The agents of goals make no automations, and the lists of tasks have no room for the tool.
    offered: Offered::OutsideGoals,
    is_read_only: |offer| offer.access != ToolAccess::All,
    call,
};

/// Returns the refusal of the tool in a turn of a goal. Returns `None` for another tool or turn.
pub(crate) fn refused_tool(name: &str, offer: ToolOffer) -> Option<ToolError> {
    (name == CRON.name && offer.is_of_goal && offer.access != ToolAccess::None).then(|| ToolError {
        error: "not_allowed",
        message: "the agents of a goal make no automations, because no limit of the goal would bind their turns".into(),
        advice: "propose the schedule to a person in your answer".into(),
    })
}

fn description(offer: ToolOffer) -> &'static str {
    if offer.access == ToolAccess::All {
        "Schedules messages to this session: each run sends `message` to you here, and you remember this conversation. \
         `add` needs `schedule` and `message`; the answer shows the next runs with their zone, so check them. Repeating \
         `add` with the same name and content changes nothing, not even `expires`. `list` shows what runs in this session. `remove` needs \
         `name`. Limits: 15 minutes between two runs, 10 for each session, 3 in one turn, 30 days."
    } else {
        "Lists the messages that are scheduled to this session."
    }
}

fn input(offer: ToolOffer) -> Value {
    if offer.access != ToolAccess::All {
        return json!({
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ["list"], "description": "list" },
            },
            "required": ["action"],
            "additionalProperties": false,
        });
    }
    json!({
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": ["add", "list", "remove"],
                "description": "What to do.",
            },
            "name": {
                "type": "string",
                "maxLength": 80,
                "description": "The name of the schedule in this session. For `add`: default, the first words of the \
                                message.",
            },
            "schedule": {
                "type": "string",
                "maxLength": 200,
                "description": "For `add`: a cron expression such as `0 9 * * 1-5`, an interval such as `every:2h`, or \
                                one instant such as `at:2026-11-24T09:00`.",
            },
            "zone": {
                "type": "string",
                "description": "The IANA time zone of the schedule, such as Europe/Prague. Name it whenever a person \
                                speaks of a time of day.",
            },
            "message": {
                "type": "string",
                "maxLength": 8192,
                "description": "For `add`: the text that each run sends to you.",
            },
            "expires": {
                "type": "string",
                "description": "For `add`: the instant after which it runs no more, such as 2026-12-01T09:00. Default \
                                and latest: in 30 days.",
            },
        },
        "required": ["action"],
        "additionalProperties": false,
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    action: Action,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    schedule: Option<String>,
    #[serde(default)]
    zone: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    expires: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Add,
    List,
    Remove,
}

fn call(tools: &RunTools, offer: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let input: Input = reply::read(input)?;
        match input.action {
            Action::List => list(tools).await,
            _ if offer.access != ToolAccess::All => Err(ToolError {
                error: "not_allowed",
                message: "this agent may only list".into(),
                advice: "propose the change to a person in your answer".into(),
            }),
            Action::Add => add(tools, input).await,
            Action::Remove => remove(tools, input).await,
        }
    }
    .boxed()
}

async fn add(tools: &RunTools, input: Input) -> Answer {
    let missing = |field| ToolError::invalid(format!("`{field}` is missing: `add` needs it"));
    let request = CronAdd {
        name: input.name,
        schedule: input.schedule.ok_or_else(|| missing("schedule"))?,
        zone: input.zone,
        message: input.message.ok_or_else(|| missing("message"))?,
        expires: input.expires,
    };
    let CronAdded {
        item,
        is_proposal,
        keeps_expiry,
    } = tools.add_cron(&request).await?;
    let mut answer = object(json!({ "automations": [item_fields(&item)], "pending": is_proposal }));
    let mut notes = Vec::new();
    if is_proposal {
        notes.push("it is a proposal: it runs once a person has accepted it".to_owned());
    }
    if keeps_expiry {
        notes.push(kept_expiry_note(&item));
    }
    if !notes.is_empty() {
        answer.insert("note".into(), notes.join("; ").into());
    }
    Ok(answer)
}

/// Returns the note about an automation that existed already, with another end than the requested one.
fn kept_expiry_note(item: &CronItem) -> String {
    let end = match item.expires_at {
        Some(end) => format!("expires at {end}"),
        None => "never expires, because a person has resumed it".into(),
    };
    format!("it existed already and still {end}: to change that, remove it and add it again")
}

async fn list(tools: &RunTools) -> Answer {
    let items = tools.list_cron().await?;
    let items: Vec<_> = items.iter().map(item_fields).collect();
    Ok(object(json!({ "automations": items })))
}

async fn remove(tools: &RunTools, input: Input) -> Answer {
    let Some(name) = input.name else {
        let message = "`name` is missing: `remove` needs it";
        return Err(ToolError::invalid(message));
    };
    if !tools.remove_cron(&name).await? {
        return Err(ToolError::unknown(
            format!("no agent of this session has made a schedule `{name}`"),
            "call `cron` with the action `list`",
        ));
    }
    Ok(object(json!({ "removed": name })))
}

fn item_fields(item: &CronItem) -> Value {
    let next: Vec<_> = item
        .next_runs
        .iter()
        .map(|run| run.display.clone())
        .collect();
    json!({
        "name": item.name,
        "schedule": item.schedule,
        "message": item.message,
        "state": item.state,
        "made_by": if item.is_of_agents { "agent" } else { "person" },
        "next_runs": next,
        "expires_at": item.expires_at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_of_agent_of_goal_is_refused_with_advice() {
        let of_goal = ToolOffer {
            access: ToolAccess::All,
            is_of_goal: true,
            ..ToolOffer::NONE
        };
        let refused = refused_tool("cron", of_goal).unwrap();
        assert_eq!(refused.error, "not_allowed");
        assert!(refused.advice.contains("to a person"));
        assert!(refused_tool("recall", of_goal).is_none());
        let outside = ToolOffer {
            is_of_goal: false,
            ..of_goal
        };
        assert!(refused_tool("cron", outside).is_none());
    }

    #[test]
    fn note_names_the_end_that_a_person_has_removed() {
        let mut item = CronItem {
            name: "build".into(),
            schedule: Vec::new(),
            message: "Check the build.".into(),
            state: "enabled".into(),
            is_of_agents: true,
            next_runs: Vec::new(),
            expires_at: None,
        };
        let note = kept_expiry_note(&item);
        assert!(note.contains("still never expires"), "{note}");
        item.expires_at = Some("2026-12-01T09:00:00Z".parse().unwrap());
        let note = kept_expiry_note(&item);
        assert!(
            note.contains("still expires at 2026-12-01T09:00:00Z"),
            "{note}"
        );
    }
}
