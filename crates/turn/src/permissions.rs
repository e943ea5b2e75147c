//! Answers to permission requests: by rules, and by people if the automation says so.

use agent::{Decision, PermissionRequest, Permissions};
use futures::future::{self, BoxFuture};
use model::{
    approval::{ApprovalRequest, OnUnmatched},
    limits,
    permission::{OwnTools, PermissionRules, Verdict},
    turn::Assignment,
};
use tokio::sync::{mpsc, oneshot};

/// The rules of a turn. A request that no rule matches is denied or sent to people, so that no turn waits forever for
/// an answer.
pub(crate) struct RulePermissions {
    rules: PermissionRules,
    /// The rule for requests of tools of Matins, which the agent gets in this turn.
    own_tools: OwnTools,
    people: Option<mpsc::Sender<PendingRequest>>,
}

/// A request that waits for people. Dropping it denies it.
pub(crate) struct PendingRequest {
    pub(crate) question: ApprovalRequest,
    pub(crate) answer: oneshot::Sender<Verdict>,
}

impl RulePermissions {
    /// Returns the rules of a turn, and the receiver of the requests for people.
    pub(crate) fn from_assignment(
        assignment: &Assignment,
    ) -> (Self, mpsc::Receiver<PendingRequest>) {
        let (people, requests) = mpsc::channel(limits::PENDING_APPROVALS_PER_TURN);
        let rules = Self {
            rules: assignment.permissions.clone(),
            own_tools: OwnTools::of(&assignment.agent.config.own_tools, assignment.tools()),
            people: (assignment.policies.on_unmatched == OnUnmatched::RequestApproval)
                .then_some(people),
        };
        (rules, requests)
    }
}

impl Permissions for RulePermissions {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Decision> {
        match (self.rules.verdict(&request.subject), &self.people) {
            (Some(Verdict::Allow), _) => Box::pin(future::ready(Decision::Allow)),
            (None, _) if self.own_tools.cover(&request.subject) => {
                Box::pin(future::ready(Decision::Allow))
            }
            (None, Some(people)) => Box::pin(request_decision(people, request)),
            (Some(Verdict::Deny), _) | (None, None) => Box::pin(future::ready(Decision::Deny)),
        }
    }
}

/// Sends a request to people and waits for the decision. Denies the request if the prompt is over.
async fn request_decision(
    people: &mpsc::Sender<PendingRequest>,
    request: PermissionRequest,
) -> Decision {
    let PermissionRequest {
        subject,
        tool_call,
        input,
        ..
    } = request;
    let question = ApprovalRequest::new(&subject.tool_kind, &subject.title, &tool_call, input);
    let (answer, answered) = oneshot::channel();
    if people
        .send(PendingRequest { question, answer })
        .await
        .is_err()
    {
        return Decision::Deny;
    }
    match answered.await {
        Ok(Verdict::Allow) => Decision::Allow,
        Ok(Verdict::Deny) | Err(_) => Decision::Deny,
    }
}
