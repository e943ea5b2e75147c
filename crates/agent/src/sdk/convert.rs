//! Conversions between the types of the SDK and the types of this crate.
//!
//! A piece of a message or thought that is no text becomes [`Update::Other`]. Kinds of updates, settings and options
//! that this version of the protocol does not know never cause an error.

use agent_client_protocol::schema::MaybeUndefined;
use agent_client_protocol::v1::schema::{
    self, ContentBlock, ContentChunk, SessionConfigKind, SessionConfigOptionValue,
    SessionConfigSelectOptions, SessionUpdate,
};
use model::{AcpSessionId, outcome::StopReason, permission::CallHistory};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::CallError;
use crate::{
    AuthMethod, Capabilities, CompactionUpdate, Cost, McpServer, Mode, Modes, Notice, OpenSession,
    OptionKind, PermissionOption, PermissionRequest, PlanEntry, Setting, ToolCall, ToolCallUpdate,
    Update, Usage,
};
use crate::{ElicitationReply, ElicitationRequest};

/// Returns a value in the protocol's words, such as `in_progress`. Returns an empty string if the value is not a
/// string in JSON.
fn protocol_name(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Parses the parameters of a `session/update`. Returns `None` if the update belongs to another session.
pub(crate) fn parse_update(params: Value, session: &AcpSessionId) -> Option<Update> {
    let session_id = params.get("sessionId").and_then(Value::as_str);
    if session_id.is_some_and(|session_id| session_id != session.as_str()) {
        return None;
    }
    let notification = schema::SessionNotification::deserialize(&params);
    let update = notification
        .ok()
        .and_then(|notification| convert_update(notification.update));
    Some(update.unwrap_or(Update::Other(params)))
}

fn text(chunk: ContentChunk) -> Option<String> {
    block_text(chunk.content)
}

fn block_text(block: ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Text(text) => Some(text.text),
        _ => None,
    }
}

/// Returns the new value of a field that a change may replace. Null becomes an empty value.
fn replaced<T, U: Default>(field: MaybeUndefined<T>, convert: impl Fn(T) -> U) -> Option<U> {
    match field {
        MaybeUndefined::Value(value) => Some(convert(value)),
        MaybeUndefined::Null => Some(U::default()),
        MaybeUndefined::Undefined => None,
    }
}

/// Returns the capabilities that this client offers to agents. It offers the updates that the recorder of a
/// turn shows and the settings that [`settings`] can set, and neither files nor terminals nor sign-in at a terminal.
pub(super) fn client_capabilities() -> schema::ClientCapabilities {
    let options = schema::SessionConfigOptionsCapabilities::new()
        .boolean(schema::BooleanConfigOptionCapabilities::new());
    let session = schema::ClientSessionCapabilities::new()
        .compaction(schema::CompactionCapabilities::new())
        .notices(schema::NoticeCapabilities::new())
        .config_options(options);
    let elicitation =
        schema::ElicitationCapabilities::new().form(schema::ElicitationFormCapabilities::new());
    schema::ClientCapabilities::new()
        .session(session)
        .elicitation(elicitation)
}

/// Returns the items in the protocol's form.
fn items<T: Serialize>(items: &[T]) -> Option<Value> {
    serde_json::to_value(items).ok()
}

fn convert_update(update: SessionUpdate) -> Option<Update> {
    Some(match update {
        SessionUpdate::AgentMessageChunk(chunk) => Update::Text(text(chunk)?),
        SessionUpdate::AgentThoughtChunk(chunk) => Update::Thought(text(chunk)?),
        SessionUpdate::ToolCall(call) => Update::ToolCall(ToolCall {
            id: call.tool_call_id.0.as_ref().to_owned(),
            title: call.title,
            kind: protocol_name(call.kind),
            status: protocol_name(call.status),
            input: call.raw_input,
            output: call.raw_output,
            content: Some(&call.content)
                .filter(|content| !content.is_empty())
                .and_then(|content| items(content)),
            locations: Some(&call.locations)
                .filter(|locations| !locations.is_empty())
                .and_then(|locations| items(locations)),
        }),
        SessionUpdate::ToolCallUpdate(call) => Update::ToolCallUpdate(ToolCallUpdate {
            id: call.tool_call_id.0.as_ref().to_owned(),
            title: call.fields.title,
            kind: call.fields.kind.map(protocol_name),
            status: call.fields.status.map(protocol_name),
            input: call.fields.raw_input,
            output: call.fields.raw_output,
            content: call.fields.content.and_then(|content| items(&content)),
            locations: call
                .fields
                .locations
                .and_then(|locations| items(&locations)),
        }),
        SessionUpdate::Plan(plan) => {
            let entries = plan.entries.into_iter().map(|entry| PlanEntry {
                content: entry.content,
                priority: protocol_name(entry.priority),
                status: protocol_name(entry.status),
            });
            Update::Plan(entries.collect())
        }
        SessionUpdate::UsageUpdate(usage) => Update::Usage(Usage {
            used: usage.used,
            size: usage.size,
            cost: usage.cost.map(|cost| Cost {
                amount: cost.amount,
                currency: cost.currency,
            }),
        }),
        SessionUpdate::SessionInfoUpdate(info) => match info.title {
            MaybeUndefined::Value(title) => Update::Title(Some(title)),
            MaybeUndefined::Null => Update::Title(None),
            MaybeUndefined::Undefined => return None,
        },
        SessionUpdate::Notice(notice) => Update::Notice(Notice {
            severity: protocol_name(notice.severity),
            title: notice.title,
            description: notice.description,
        }),
        SessionUpdate::CompactionUpdate(change) => Update::Compaction(CompactionUpdate {
            id: change.compaction_id.0.as_ref().to_owned(),
            status: protocol_name(change.status),
            summary: replaced(change.summary, |blocks| {
                let texts = blocks.into_iter().filter_map(block_text);
                texts.collect::<Vec<_>>().join("\n\n")
            }),
            error: replaced(change.error, |error| error),
        }),
        SessionUpdate::CompactionSummaryChunk(chunk) => Update::CompactionSummary {
            id: chunk.compaction_id.0.as_ref().to_owned(),
            text: block_text(chunk.content).unwrap_or_default(),
        },
        SessionUpdate::CurrentModeUpdate(mode) => {
            Update::ModeChanged(mode.current_mode_id.0.as_ref().to_owned())
        }
        SessionUpdate::ConfigOptionUpdate(changed) => {
            Update::SettingsChanged(settings(changed.config_options))
        }
        SessionUpdate::AvailableCommandsUpdate(commands) => {
            let names = commands
                .available_commands
                .into_iter()
                .map(|command| command.name);
            Update::Commands(names.collect())
        }
        _ => return None,
    })
}

pub(super) fn capabilities(response: schema::InitializeResponse) -> Capabilities {
    let info = response.agent_info;
    let can = response.agent_capabilities;
    let prompt = can.prompt_capabilities;
    let methods = response.auth_methods.into_iter().filter_map(|method| {
        let (id, name, description, terminal) = match method {
            schema::AuthMethod::Agent(method) => {
                (method.id, method.name, method.description, false)
            }
            schema::AuthMethod::Terminal(method) => {
                (method.id, method.name, method.description, true)
            }
            _ => return None,
        };
        Some(AuthMethod {
            id: id.0.as_ref().to_owned(),
            name,
            description: description.unwrap_or_default(),
            needs_terminal: terminal,
        })
    });
    Capabilities {
        name: info
            .as_ref()
            .map(|info| info.name.clone())
            .unwrap_or_default(),
        version: info.map(|info| info.version).unwrap_or_default(),
        resume: can.session_capabilities.resume.is_some(),
        load: can.load_session,
        list: can.session_capabilities.list.is_some(),
        close: can.session_capabilities.close.is_some(),
        delete: can.session_capabilities.delete.is_some(),
        images: prompt.image,
        audio: prompt.audio,
        embedded_context: prompt.embedded_context,
        mcp_http: can.mcp_capabilities.http,
        mcp_sse: can.mcp_capabilities.sse,
        auth_methods: methods.collect(),
    }
}

pub(super) fn servers(servers: &[McpServer]) -> Vec<schema::McpServer> {
    let servers = servers.iter().map(|server| {
        let env = server.env.iter();
        let env = env.map(|(name, value)| schema::EnvVariable::new(name.clone(), value.clone()));
        let stdio = schema::McpServerStdio::new(server.name.clone(), server.command.clone());
        schema::McpServer::Stdio(stdio.args(server.args.clone()).env(env.collect()))
    });
    servers.collect()
}

pub(super) fn open_session(
    id: AcpSessionId,
    modes: Option<schema::SessionModeState>,
    options: Option<Vec<schema::SessionConfigOption>>,
) -> OpenSession {
    let modes = modes.map(|modes| {
        let offered = modes.available_modes.into_iter();
        let offered = offered.map(|mode| Mode {
            id: mode.id.0.as_ref().to_owned(),
            name: mode.name,
        });
        Modes {
            current: modes.current_mode_id.0.as_ref().to_owned(),
            offered: offered.collect(),
        }
    });
    OpenSession {
        id,
        modes,
        settings: settings(options.unwrap_or_default()),
    }
}

/// Converts settings. Leaves out settings of a kind that this version of the protocol does not know.
pub(super) fn settings(options: Vec<schema::SessionConfigOption>) -> Vec<Setting> {
    let settings = options.into_iter().filter_map(|option| {
        let (current, values, boolean) = match option.kind {
            SessionConfigKind::Select(select) => {
                let values = match select.options {
                    SessionConfigSelectOptions::Ungrouped(options) => options,
                    SessionConfigSelectOptions::Grouped(groups) => {
                        groups.into_iter().flat_map(|group| group.options).collect()
                    }
                    _ => return None,
                };
                let values = values.iter().map(|value| value.value.0.as_ref().to_owned());
                (
                    select.current_value.0.as_ref().to_owned(),
                    values.collect(),
                    false,
                )
            }
            SessionConfigKind::Boolean(boolean) => {
                let values = vec!["true".to_owned(), "false".to_owned()];
                (boolean.current_value.to_string(), values, true)
            }
            _ => return None,
        };
        let id = option.id.0.as_ref().to_owned();
        Some(Setting {
            id,
            name: option.name,
            current,
            values,
            is_boolean: boolean,
        })
    });
    settings.collect()
}

pub(super) fn setting_value(setting: &Setting, value: &str) -> SessionConfigOptionValue {
    if setting.is_boolean {
        SessionConfigOptionValue::Boolean {
            value: value == "true",
        }
    } else {
        let value = schema::SessionConfigValueId::new(value.to_owned());
        SessionConfigOptionValue::ValueId { value }
    }
}

pub(super) fn stop_reason(reason: schema::StopReason) -> Result<StopReason, CallError> {
    Ok(match reason {
        schema::StopReason::EndTurn => StopReason::EndTurn,
        schema::StopReason::MaxTokens => StopReason::MaxTokens,
        schema::StopReason::MaxTurnRequests => StopReason::MaxTurnRequests,
        schema::StopReason::Refusal => StopReason::Refusal,
        schema::StopReason::Cancelled => StopReason::Cancelled,
        other => {
            return Err(CallError::Malformed(format!(
                "unknown stop reason `{other:?}`"
            )));
        }
    })
}

/// Converts a permission request. Kind and title are empty if the request names none; [`super::router`] fills them
/// in, and adds the history of the call.
pub(crate) fn permission(request: schema::RequestPermissionRequest) -> PermissionRequest {
    let fields = request.tool_call.fields;
    let options = request.options.into_iter().map(|option| PermissionOption {
        id: option.option_id.0.as_ref().to_owned(),
        name: option.name,
        kind: match option.kind {
            schema::PermissionOptionKind::AllowOnce => OptionKind::AllowOnce,
            schema::PermissionOptionKind::AllowAlways => OptionKind::AllowAlways,
            schema::PermissionOptionKind::RejectOnce => OptionKind::RejectOnce,
            schema::PermissionOptionKind::RejectAlways => OptionKind::RejectAlways,
            _ => OptionKind::Unknown,
        },
    });
    PermissionRequest {
        subject: model::permission::PermissionRequest {
            tool_kind: fields.kind.map(protocol_name).unwrap_or_default(),
            title: fields.title.unwrap_or_default(),
            history: CallHistory::default(),
        },
        tool_call: request.tool_call.tool_call_id.0.as_ref().to_owned(),
        input: fields.raw_input,
        options: options.collect(),
    }
}

/// Converts a question. Returns `None` if its answer is no form, or if the question belongs to another session.
pub(super) fn elicitation(
    request: schema::CreateElicitationRequest,
    session: &AcpSessionId,
) -> Option<ElicitationRequest> {
    let schema::ElicitationMode::Form(form) = request.mode else {
        return None;
    };
    let schema::ElicitationScope::Session(scope) = form.scope else {
        return None;
    };
    if scope.session_id.0.as_ref() != session.as_str() {
        return None;
    }
    Some(ElicitationRequest {
        message: request.message,
        schema: serde_json::to_value(form.requested_schema).ok()?,
    })
}

pub(super) fn elicitation_action(reply: ElicitationReply) -> schema::ElicitationAction {
    let fields = match reply {
        ElicitationReply::Accept(fields) => fields,
        ElicitationReply::Decline => return schema::ElicitationAction::Decline,
        ElicitationReply::Cancel => return schema::ElicitationAction::Cancel,
    };
    let fields = fields.into_iter().map(|(name, value)| {
        let value = schema::ElicitationContentValue::deserialize(value)?;
        Ok::<_, serde_json::Error>((name, value))
    });
    match fields.collect() {
        Ok(content) => schema::ElicitationAction::Accept(
            schema::ElicitationAcceptAction::new().content(Some(content)),
        ),
        // The form has checked the answer, so that each value has one of the protocol's types.
        Err(_) => schema::ElicitationAction::Decline,
    }
}

pub(super) fn outcome(option: Option<&str>) -> schema::RequestPermissionOutcome {
    match option {
        Some(id) => {
            let id = schema::PermissionOptionId::new(id.to_owned());
            let selected = schema::SelectedPermissionOutcome::new(id);
            schema::RequestPermissionOutcome::Selected(selected)
        }
        None => schema::RequestPermissionOutcome::Cancelled,
    }
}

/// Converts a result as the reply to every request that has a reply type of its own.
#[cfg(fuzzing)]
pub(crate) fn convert_all_replies(result: &Value) {
    if let Ok(initialized) = schema::InitializeResponse::deserialize(result) {
        capabilities(initialized);
    }
    if let Ok(created) = schema::NewSessionResponse::deserialize(result) {
        let id = AcpSessionId::new(created.session_id.0.as_ref());
        open_session(id, created.modes, created.config_options);
    }
    if let Ok(loaded) = schema::LoadSessionResponse::deserialize(result) {
        open_session(AcpSessionId::new("s"), loaded.modes, loaded.config_options);
    }
    if let Ok(prompted) = schema::PromptResponse::deserialize(result) {
        stop_reason(prompted.stop_reason).ok();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn client_offers_only_what_it_honours() {
        let offered = serde_json::to_value(client_capabilities()).unwrap();
        let expected = json!({
            "fs": {"readTextFile": false, "writeTextFile": false},
            "terminal": false,
            "session": {"compaction": {}, "configOptions": {"boolean": {}}, "notices": {}},
            "auth": {"terminal": false},
            "elicitation": {"form": {}},
        });
        assert_eq!(offered, expected);
    }
}
