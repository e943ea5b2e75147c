//! Permission requests of an agent and who answers them.

use futures::future::BoxFuture;
use serde_json::Value;

/// Answers an agent's permission requests.
pub trait Permissions: Send + Sync {
    /// Decides one request. May take long: the agent's other messages go on meanwhile. The future
    /// is dropped when the prompt is cancelled or ends, and the agent is then told `cancelled`.
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Decision>;
}

/// What an agent asks to do.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// Kind and title, as rules match them; taken from the tool call where the request names none.
    pub about: model::permission::PermissionRequest,
    /// The tool call it is about.
    pub tool_call: String,
    /// What goes into the tool, in its own form.
    pub input: Option<Value>,
    /// What can be answered, in the agent's order, which means nothing.
    pub options: Vec<PermissionOption>,
}

/// One of the answers that an agent takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    /// The agent's name for it.
    pub id: String,
    /// What it shows to people.
    pub name: String,
    /// What it means.
    pub kind: OptionKind,
}

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// Granted, this once.
    AllowOnce,
    /// Granted, and the agent will not ask again.
    AllowAlways,
    /// Refused, this once.
    RejectOnce,
    /// Refused, and the agent will not ask again.
    RejectAlways,
    /// Something that this version of the protocol does not know; never chosen.
    Unknown,
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It may, this once.
    Allow,
    /// It may not.
    Deny,
    /// The prompt was cancelled or is over, or the agent offers no way to allow.
    Cancelled,
}

impl PermissionRequest {
    /// The option that says `decision`, chosen by its kind, never by its place or name.
    ///
    /// The kinds that hold for once come first. One that holds for always is taken only where the
    /// agent offers no other way to say the same.
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

    fn chosen(kinds: &[OptionKind], decision: Decision) -> Option<OptionKind> {
        let options = kinds.iter().map(|kind| PermissionOption {
            id: format!("{kind:?}"),
            name: "Yes".into(),
            kind: *kind,
        });
        let request = PermissionRequest {
            about: model::permission::PermissionRequest {
                tool_kind: "execute".into(),
                title: "ls".into(),
            },
            tool_call: "1".into(),
            input: None,
            options: options.collect(),
        };
        request.option_for(decision).map(|option| option.kind)
    }

    #[test]
    fn an_option_is_chosen_by_kind_and_once_before_always() {
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
            assert_eq!(chosen(kinds, decision), expected, "{kinds:?} {decision:?}");
        }
    }
}
