//! Permission requests and questions of an agent, and the port that decides them.

use futures::future::{self, BoxFuture};
use serde_json::{Map, Value};

/// The port that decides an agent's permission requests and answers its questions.
pub trait Permissions: Send + Sync {
    /// Decides one request. The decision may take long, because the agent's other messages continue meanwhile. If the
    /// prompt is cancelled or ends first, the future is dropped and the agent gets the answer `cancelled`.
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Decision>;

    /// Answers one question. The answer may take long, as a decision may. Declines without a person.
    fn answer(&self, request: ElicitationRequest) -> BoxFuture<'_, ElicitationReply> {
        drop(request);
        Box::pin(future::ready(ElicitationReply::Decline))
    }
}

/// A question of an agent that waits in its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationRequest {
    /// The question.
    pub message: String,
    /// The JSON Schema of the form that is the answer.
    pub schema: Value,
}

/// The reply to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationReply {
    /// The fields of the form.
    Accept(Map<String, Value>),
    /// No answer.
    Decline,
    /// Neither: the prompt was cancelled or is over.
    Cancel,
}

/// A permission request of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The kind and title that rules match. They come from the tool call if the request names none.
    pub subject: model::permission::PermissionRequest,
    /// The ID of the tool call that needs the permission.
    pub tool_call: String,
    /// The input of the tool, in the tool's own form.
    pub input: Option<Value>,
    /// The possible answers, in the agent's order. The order has no meaning.
    pub options: Vec<PermissionOption>,
}

/// One answer that the agent accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    /// The ID of the option, as the agent knows it.
    pub id: String,
    /// The name that the agent shows to people.
    pub name: String,
    /// The meaning of the option.
    pub kind: OptionKind,
}

/// The meaning of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// Allows this call.
    AllowOnce,
    /// Allows this call and all later ones, so that the agent does not ask again.
    AllowAlways,
    /// Denies this call.
    RejectOnce,
    /// Denies this call and all later ones, so that the agent does not ask again.
    RejectAlways,
    /// A meaning that this version of the protocol does not know. Such an option is never chosen.
    Unknown,
}

/// The decision about a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Allow this call.
    Allow,
    /// Deny this call.
    Deny,
    /// Neither: the prompt was cancelled or is over, or the agent offers no option to allow the call.
    Cancelled,
}

impl PermissionRequest {
    /// Returns the option that expresses `decision`. Chooses by the kind of the option, never by its position or
    /// name. Returns `None` if the agent offers no such option, or if the decision is [`Decision::Cancelled`].
    ///
    /// Prefers the kinds that hold for one call. Uses a kind that holds for all later calls only if the agent offers
    /// no other, because such an answer would bypass the rules from then on.
    pub(crate) fn option_for(&self, decision: Decision) -> Option<&PermissionOption> {
        let kinds = match decision {
            Decision::Allow => [OptionKind::AllowOnce, OptionKind::AllowAlways],
            Decision::Deny => [OptionKind::RejectOnce, OptionKind::RejectAlways],
            Decision::Cancelled => return None,
        };
        kinds
            .iter()
            .find_map(|kind| self.options.iter().find(|option| option.kind == *kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen_kind(kinds: &[OptionKind], decision: Decision) -> Option<OptionKind> {
        let options = kinds.iter().map(|kind| PermissionOption {
            id: format!("{kind:?}"),
            name: "Yes".into(),
            kind: *kind,
        });
        let request = PermissionRequest {
            subject: model::permission::PermissionRequest {
                tool_kind: "execute".into(),
                title: "ls".into(),
                history: model::permission::CallHistory::default(),
            },
            tool_call: "1".into(),
            input: None,
            options: options.collect(),
        };
        request.option_for(decision).map(|option| option.kind)
    }

    #[test]
    fn permission_option_is_chosen_by_kind_preferring_once() {
        use OptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce, Unknown};
        let all = [RejectAlways, AllowAlways, RejectOnce, AllowOnce];
        for (kinds, decision, expected) in [
            (&all[..], Decision::Allow, Some(AllowOnce)),
            (&all[..], Decision::Deny, Some(RejectOnce)),
            (&all[..], Decision::Cancelled, None),
            (
                &[RejectOnce, AllowAlways],
                Decision::Allow,
                Some(AllowAlways),
            ),
            (
                &[AllowOnce, RejectAlways],
                Decision::Deny,
                Some(RejectAlways),
            ),
            (&[AllowOnce, AllowAlways], Decision::Deny, None),
            (&[Unknown], Decision::Allow, None),
        ] {
            assert_eq!(
                chosen_kind(kinds, decision),
                expected,
                "{kinds:?} {decision:?}"
            );
        }
    }
}
