//! Approvals: permission requests that no rule covers and that wait for a person, if the automation asks.
//!
//! **Invariant:** one is for one request of one attempt. Whatever ends the attempt makes it void.

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
    /// What happens to a permission request that no rule covers.
    Unruled, "a policy for what no rule covers" {
        /// It is denied at once.
        Deny = "deny",
        /// It waits for a person, for a while, and is then denied.
        Ask = "ask",
    }
}

text_enum! {
    /// The state of an approval, without its data.
    ApprovalStatus, "a state of an approval" {
        /// It waits for a person.
        Pending = "pending",
        /// A person has allowed it.
        Allowed = "allowed",
        /// A person has denied it.
        Denied = "denied",
        /// Nobody answered in time, so it is denied.
        Expired = "expired",
        /// The attempt that asked is over, or was called off: no answer would reach it.
        Void = "void",
    }
}

text_enum! {
    /// What moves an approval from one state to another.
    ApprovalEvent, "a move of an approval" {
        /// A person allows it.
        Allow = "be allowed",
        /// A person denies it.
        Deny = "be denied",
        /// Its time is over.
        Expire = "expire",
        /// Its attempt ends or is called off.
        Void = "become void",
    }
}

impl Lifecycle for ApprovalStatus {
    type Event = ApprovalEvent;

    const WHAT: &'static str = "approval";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [ApprovalEvent] = ApprovalEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Pending];

    fn after(self, event: ApprovalEvent) -> Option<Self> {
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
    /// What the agent is told; none while it waits. Only what a person has allowed is allowed.
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

/// How long a request may wait: as long as the automation says, and never longer than its turn, of which
/// `left` is left.
pub fn patience(ask: Duration, left: Duration) -> Duration {
    ask.min(left)
}

/// What an agent wants to be allowed, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The tool's kind in the protocol's words.
    pub tool_kind: String,
    /// The line that the agent shows for the call.
    pub title: String,
    /// The agent's id of the tool call.
    pub tool_call: String,
    /// What goes into the tool, in its own form; of one that is too long, the beginning as text.
    pub input: Option<Value>,
    /// Whether that is only its beginning.
    pub input_cut: bool,
}

impl Question {
    /// Makes a question of what an agent says, which is as long as the agent likes.
    pub fn new(tool_kind: &str, title: &str, tool_call: &str, input: Option<Value>) -> Self {
        let head = |text: &str, most: usize| text[..text.floor_char_boundary(most)].to_owned();
        let written = input.as_ref().map(Value::to_string);
        let cut = written.filter(|text| text.len() > limits::APPROVAL_INPUT_BYTES);
        Self {
            tool_kind: head(tool_kind, limits::NAME_BYTES),
            title: head(title, limits::TITLE_BYTES),
            tool_call: head(tool_call, limits::NAME_BYTES),
            input_cut: cut.is_some(),
            input: match cut {
                Some(text) => Some(Value::String(head(&text, limits::APPROVAL_INPUT_BYTES))),
                None => input,
            },
        }
    }
}

/// The author of a decision: the token of the request, or the private socket of the data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    /// The token. `None` for the private socket.
    pub token: Option<TokenId>,
    /// The name of the token, or `socket` for the private socket.
    pub name: String,
}

/// A permission request that waits for a person, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// The session of the run.
    pub session_id: SessionId,
    /// The run whose agent asks: this attempt, and no other.
    pub run_id: RunId,
    /// The automation of the run.
    pub automation_id: Option<AutomationId>,
    /// Its state, with the data of that state.
    pub state: ApprovalState,
    /// What the agent wants to be allowed.
    pub question: Question,
    /// When it is denied by itself: never later than the turn ends.
    pub deadline_at: Timestamp,
    /// When it was asked.
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
    /// A person has allowed it.
    Allowed(Decision),
    /// A person has denied it.
    Denied(Decision),
    /// Its time ended without an answer, so that it is denied.
    Expired {
        /// The instant at which it expired.
        at: Timestamp,
    },
    /// The attempt that asked is over or cancelled, so that no answer would reach it.
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
    /// The person who decided.
    pub by: Decider,
    /// The comment of that person.
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

    /// Returns the decision of a person, if there is one.
    pub const fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Allowed(decision) | Self::Denied(decision) => Some(decision),
            Self::Pending | Self::Expired { .. } | Self::Void { .. } => None,
        }
    }

    /// Returns the instant at which it was decided, expired or became void.
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
    fn nothing_waits_longer_than_its_turn() {
        let [short, long] = [10, 600].map(Duration::from_secs);
        assert_eq!(patience(short, long), short);
        assert_eq!(patience(long, short), short);
        assert_eq!(patience(long, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn only_what_a_person_allowed_is_allowed() {
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
    fn what_an_agent_says_is_kept_up_to_a_limit() {
        let small = json!({ "command": "ls" });
        let kept = Question::new("execute", "ls", "call_1", Some(small.clone()));
        assert_eq!((kept.input, kept.input_cut), (Some(small), false));

        let large = json!({ "text": "ä".repeat(limits::APPROVAL_INPUT_BYTES) });
        let title = "ö".repeat(limits::TITLE_BYTES);
        let kept = Question::new("execute", &title, "call_1", Some(large));
        assert!(kept.input_cut);
        let Some(Value::String(text)) = &kept.input else {
            panic!("{kept:?}");
        };
        assert!(text.starts_with("{\"text\":\"ää") && text.len() <= limits::APPROVAL_INPUT_BYTES);
        assert_eq!(kept.title.len(), limits::TITLE_BYTES);

        let kept = Question::new("other", "?", "call_1", None);
        assert_eq!((kept.input, kept.input_cut), (None, false));
    }
}
