//! Approvals: permission requests that no rule matches and that wait for a person, if the policy of the
//! automation is `ask`.
//!
//! **Invariant:** an approval belongs to one request of one attempt. When the attempt ends, the approval becomes
//! void.

use std::time::Duration;

use serde_json::Value;

use crate::{
    ids::{ApprovalId, AutomationId, RunId, SessionId, TenantId, TokenId},
    lifecycle::Lifecycle,
    limits,
    permission::Verdict,
    text_enum::text_enum,
    time::Timestamp,
};

text_enum! {
    /// The treatment of a permission request that no rule matches.
    OnUnmatched, "a policy for unmatched permission requests" {
        /// The request is denied at once.
        Deny = "deny",
        /// The request waits for a person until its deadline, and is then denied.
        RequestApproval = "ask",
    }
}

text_enum! {
    /// The state of an approval, without its data.
    ApprovalStatus, "a state of an approval" {
        /// The request waits for a person.
        Pending = "pending",
        /// A person allowed the request.
        Allowed = "allowed",
        /// A person denied the request.
        Denied = "denied",
        /// The deadline passed without a decision, so the request is denied.
        Expired = "expired",
        /// The attempt ended or was cancelled first, so no decision can reach the agent.
        Void = "void",
    }
}

text_enum! {
    /// An event that moves an approval from one state to another.
    ApprovalEvent, "a move of an approval" {
        /// A person allows the request.
        Allow = "be allowed",
        /// A person denies the request.
        Deny = "be denied",
        /// The deadline passes.
        Expire = "expire",
        /// The attempt ends or is cancelled.
        Void = "become void",
    }
}

impl Lifecycle for ApprovalStatus {
    type Event = ApprovalEvent;

    const WHAT: &'static str = "approval";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [ApprovalEvent] = ApprovalEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Pending];

    fn next_state(self, event: ApprovalEvent) -> Option<Self> {
        if self != Self::Pending {
            return None;
        }
        Some(match event {
            ApprovalEvent::Allow => Self::Allowed,
            ApprovalEvent::Deny => Self::Denied,
            ApprovalEvent::Expire => Self::Expired,
            ApprovalEvent::Void => Self::Void,
        })
    }
}

impl ApprovalStatus {
    /// Returns the answer to the agent. Returns `None` while the request is pending. Only the decision of a person
    /// allows a request: each other end denies it.
    pub const fn verdict(self) -> Option<Verdict> {
        match self {
            Self::Pending => None,
            Self::Allowed => Some(Verdict::Allow),
            Self::Denied | Self::Expired | Self::Void => Some(Verdict::Deny),
        }
    }
}

impl From<Verdict> for ApprovalEvent {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::Allow,
            Verdict::Deny => Self::Deny,
        }
    }
}

/// Returns the time for which a request may wait: the policy's limit, but at most the rest of the turn's time, because
/// the end of the turn makes the approval void.
pub fn approval_timeout(policy_limit: Duration, turn_remaining: Duration) -> Duration {
    policy_limit.min(turn_remaining)
}

/// The permission request of an agent, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedPermission {
    /// The kind of the tool, in the words of the protocol.
    pub tool_kind: String,
    /// The line that the agent shows for the tool call.
    pub title: String,
    /// The agent's ID of the tool call.
    pub tool_call: String,
    /// The input of the tool. If it is too long, the beginning of its JSON as a string.
    pub input: Option<Value>,
    /// `true` if `input` is only the beginning.
    pub input_cut: bool,
}

/// The permission request of an agent, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The request, as lists show it.
    pub permission: RequestedPermission,
    /// The input of the tool. `None` unless the shown input is cut.
    pub long_input: Option<LongInput>,
}

/// An input of a tool that is too long for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongInput {
    /// The input as JSON. Only its beginning if it is longer than [`limits::APPROVAL_LONG_INPUT_BYTES`].
    pub json: String,
    /// The length of the whole JSON, in bytes.
    pub bytes: u64,
}

impl ApprovalRequest {
    /// Returns a request with the agent's texts, cut to the limits, because an agent can send texts of any length.
    pub fn new(tool_kind: &str, title: &str, tool_call: &str, input: Option<Value>) -> Self {
        let head = |text: &str, limit: usize| text[..text.floor_char_boundary(limit)].to_owned();
        let written = input.as_ref().map(Value::to_string);
        let long = written.filter(|text| text.len() > limits::APPROVAL_INPUT_BYTES);
        let permission = RequestedPermission {
            tool_kind: head(tool_kind, limits::NAME_BYTES),
            title: head(title, limits::TITLE_BYTES),
            tool_call: head(tool_call, limits::NAME_BYTES),
            input_cut: long.is_some(),
            input: match &long {
                Some(text) => Some(Value::String(head(text, limits::APPROVAL_INPUT_BYTES))),
                None => input,
            },
        };
        let long_input = long.map(|text| LongInput {
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            json: head(&text, limits::APPROVAL_LONG_INPUT_BYTES),
        });
        Self {
            permission,
            long_input,
        }
    }
}

/// The input of the tool in a permission request, as far as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalInput {
    /// The input. If it is cut, the beginning of its JSON as a string. `None` if the agent named no input.
    pub value: Option<Value>,
    /// `true` if `value` is only the beginning.
    pub cut: bool,
    /// The length of the whole JSON, in bytes. `None` without an input, and if an earlier version has cut it.
    pub bytes: Option<u64>,
}

impl ApprovalInput {
    /// Returns the input of a request. `shown` and `cut` are those of lists, and `long` is the rest of what is stored.
    pub fn new(shown: Option<Value>, cut: bool, long: Option<LongInput>) -> Self {
        let Some(LongInput { json, bytes }) = long else {
            let whole = shown.as_ref().filter(|_| !cut).map(Value::to_string);
            return Self {
                bytes: whole.and_then(|json| u64::try_from(json.len()).ok()),
                value: shown,
                cut,
            };
        };
        // A text without its end is no JSON, because inputs of this length are objects, arrays or strings.
        let whole: Option<Value> = serde_json::from_str(&json).ok();
        Self {
            cut: whole.is_none(),
            value: Some(whole.unwrap_or(Value::String(json))),
            bytes: Some(bytes),
        }
    }
}

/// The author of a decision: the token of the API request, or the private socket of the data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    /// The token. `None` for the private socket.
    pub token: Option<TokenId>,
    /// The name of the token, or `socket` for the private socket.
    pub name: String,
}

/// An approval: a permission request that waits for a person, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The ID of the approval.
    pub id: ApprovalId,
    /// The tenant that owns the approval.
    pub tenant_id: TenantId,
    /// The session of the run.
    pub session_id: SessionId,
    /// The run whose agent sent the request. A later attempt must request anew.
    pub run_id: RunId,
    /// The automation of the run. `None` if there is none.
    pub automation_id: Option<AutomationId>,
    /// The state, with the data of that state.
    pub state: ApprovalState,
    /// The request of the agent.
    pub request: RequestedPermission,
    /// The instant at which the request is denied without a decision, never later than the end of the turn's time.
    pub deadline_at: Timestamp,
    /// The instant of the request.
    pub created_at: Timestamp,
}

impl Approval {
    /// Returns the status: the state without its data.
    pub const fn status(&self) -> ApprovalStatus {
        self.state.status()
    }
}

/// The state of an approval, with the data that this state alone has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalState {
    /// The request waits for a person.
    Pending,
    /// A person allowed the request.
    Allowed(Decision),
    /// A person denied the request.
    Denied(Decision),
    /// The deadline passed without a decision, so the request is denied.
    Expired {
        /// The instant at which it expired.
        at: Timestamp,
    },
    /// The attempt ended or was cancelled first, so no decision can reach the agent.
    Void {
        /// The instant at which it became void.
        at: Timestamp,
    },
}

/// The decision of a person about an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The instant of the decision.
    pub at: Timestamp,
    /// The author of the decision.
    pub by: Decider,
    /// The comment of the author.
    pub comment: Option<String>,
}

impl ApprovalState {
    /// Returns the status: the state without its data.
    pub const fn status(&self) -> ApprovalStatus {
        match self {
            Self::Pending => ApprovalStatus::Pending,
            Self::Allowed(_) => ApprovalStatus::Allowed,
            Self::Denied(_) => ApprovalStatus::Denied,
            Self::Expired { .. } => ApprovalStatus::Expired,
            Self::Void { .. } => ApprovalStatus::Void,
        }
    }

    /// Returns the decision of a person. Returns `None` if there is none.
    pub const fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Allowed(decision) | Self::Denied(decision) => Some(decision),
            Self::Pending | Self::Expired { .. } | Self::Void { .. } => None,
        }
    }

    /// Returns the instant at which the approval was decided, expired or became void. Returns `None` while it is
    /// pending.
    pub const fn decided_at(&self) -> Option<Timestamp> {
        match self {
            Self::Pending => None,
            Self::Allowed(decision) | Self::Denied(decision) => Some(decision.at),
            Self::Expired { at } | Self::Void { at } => Some(*at),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn approval_timeout_is_limited_by_the_turn() {
        let [short, long] = [10, 600].map(Duration::from_secs);
        assert_eq!(approval_timeout(short, long), short);
        assert_eq!(approval_timeout(long, short), short);
        assert_eq!(approval_timeout(long, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn only_approval_allowed_by_a_person_allows() {
        for state in ApprovalStatus::ALL {
            let verdict = match state {
                ApprovalStatus::Pending => None,
                ApprovalStatus::Allowed => Some(Verdict::Allow),
                _ => Some(Verdict::Deny),
            };
            assert_eq!(state.verdict(), verdict, "{state}");
        }
    }

    #[test]
    fn permission_request_texts_are_cut_to_limits() {
        let small = json!({ "command": "ls" });
        let kept = ApprovalRequest::new("execute", "ls", "call_1", Some(small.clone()));
        assert_eq!(kept.long_input, None);
        let kept = kept.permission;
        assert_eq!((kept.input, kept.input_cut), (Some(small), false));

        let large = json!({ "text": "ä".repeat(limits::APPROVAL_INPUT_BYTES) });
        let title = "ö".repeat(limits::TITLE_BYTES);
        let kept = ApprovalRequest::new("execute", &title, "call_1", Some(large.clone()));
        let long = kept.long_input.unwrap();
        assert_eq!(long.json, large.to_string());
        assert_eq!(long.bytes, long.json.len() as u64);
        let kept = kept.permission;
        assert!(kept.input_cut);
        let Some(Value::String(text)) = &kept.input else {
            panic!("{kept:?}");
        };
        assert!(text.starts_with("{\"text\":\"ää") && text.len() <= limits::APPROVAL_INPUT_BYTES);
        assert_eq!(kept.title.len(), limits::TITLE_BYTES);

        let kept = ApprovalRequest::new("other", "?", "call_1", None);
        assert_eq!(kept.long_input, None);
        let kept = kept.permission;
        assert_eq!((kept.input, kept.input_cut), (None, false));
    }

    #[test]
    fn input_of_approval_is_whole_up_to_its_limit() {
        let read = |given: Option<Value>| {
            let kept = ApprovalRequest::new("execute", "ls", "call_1", given);
            let shown = kept.permission;
            ApprovalInput::new(shown.input, shown.input_cut, kept.long_input)
        };
        assert_eq!(
            read(None),
            ApprovalInput {
                value: None,
                cut: false,
                bytes: None
            }
        );
        for given in [
            json!("ls"),
            json!({ "text": "ä\u{0}".repeat(limits::APPROVAL_INPUT_BYTES) }),
            json!(["x".repeat(limits::APPROVAL_LONG_INPUT_BYTES - 4)]),
        ] {
            let bytes = given.to_string().len() as u64;
            let input = read(Some(given.clone()));
            assert_eq!((input.cut, input.bytes), (false, Some(bytes)));
            assert_eq!(input.value, Some(given));
        }
        let input = read(Some(json!(["ä".repeat(limits::APPROVAL_LONG_INPUT_BYTES)])));
        assert!(input.cut);
        let bytes = 2 * limits::APPROVAL_LONG_INPUT_BYTES + 4;
        assert_eq!(input.bytes, Some(bytes as u64));
        let Some(Value::String(text)) = &input.value else {
            panic!("the beginning is a text");
        };
        assert!(text.starts_with("[\"ää") && text.len() <= limits::APPROVAL_LONG_INPUT_BYTES);
        // An earlier version has kept the beginning alone.
        let old = ApprovalInput::new(Some(json!("{\"com")), true, None);
        assert_eq!(
            (old.value, old.cut, old.bytes),
            (Some(json!("{\"com")), true, None)
        );
    }
}
