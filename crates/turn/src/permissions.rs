//! Answers to permission requests: by rules, and by people if the policies of the turn say so. Answers to questions: by people.

use agent::{Decision, ElicitationReply, ElicitationRequest, PermissionRequest, Permissions};
use futures::future::{self, BoxFuture};
use model::{
    approval::{ApprovalRequest, OnUnmatched},
    limits,
    permission::{OwnTools, PermissionRules, Verdict},
    question::Elicitation,
    turn::TurnAssignment,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// The rules of a turn. A request that no rule matches is denied or sent to people, so that no turn waits forever for
/// an answer.
pub(crate) struct RulePermissions {
    rules: PermissionRules,
    /// The rule for requests of tools of Matins, which the agent gets in this turn.
    own_tools: OwnTools,
    /// `true` if people decide the permission requests that no rule matches.
    asks_people: bool,
    people: mpsc::Sender<PendingRequest>,
}

/// A request that waits for people. Dropping it denies or declines it.
pub(crate) enum PendingRequest {
    Approval {
        question: ApprovalRequest,
        answer: oneshot::Sender<Verdict>,
    },
    Elicitation {
        question: Elicitation,
        answer: oneshot::Sender<Option<Value>>,
    },
}

impl RulePermissions {
    /// Returns the rules of a turn, and the receiver of the requests for people.
    pub(crate) fn from_assignment(
        assignment: &TurnAssignment,
    ) -> (Self, mpsc::Receiver<PendingRequest>) {
        let (people, requests) = mpsc::channel(limits::PENDING_APPROVALS_PER_TURN);
        let rules = Self {
            rules: assignment.permissions.clone(),
            own_tools: OwnTools::of(&assignment.agent.own_tools, assignment.tools()),
            asks_people: assignment.policies.on_unmatched == OnUnmatched::RequestApproval,
            people,
        };
        (rules, requests)
    }
}

impl Permissions for RulePermissions {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Decision> {
        match (self.rules.verdict(&request.subject), self.asks_people) {
            (Some(Verdict::Allow), _) => Box::pin(future::ready(Decision::Allow)),
            (None, _) if self.own_tools.cover(&request.subject) => {
                Box::pin(future::ready(Decision::Allow))
            }
            (None, true) => Box::pin(request_decision(&self.people, request)),
            (Some(Verdict::Deny), _) | (None, false) => Box::pin(future::ready(Decision::Deny)),
        }
    }

    fn answer(&self, request: ElicitationRequest) -> BoxFuture<'_, ElicitationReply> {
        match Elicitation::new(&request.message, &request.schema) {
            Ok(question) => Box::pin(request_answer(&self.people, question)),
            Err(error) => {
                tracing::info!(%error, "declined a form of an agent that cannot be checked");
                Box::pin(future::ready(ElicitationReply::Decline))
            }
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
    let request = PendingRequest::Approval { question, answer };
    if people.send(request).await.is_err() {
        return Decision::Deny;
    }
    match answered.await {
        Ok(Verdict::Allow) => Decision::Allow,
        Ok(Verdict::Deny) | Err(_) => Decision::Deny,
    }
}

/// Sends a question to people and waits for the answer. Declines the question if the prompt is over.
async fn request_answer(
    people: &mpsc::Sender<PendingRequest>,
    question: Elicitation,
) -> ElicitationReply {
    let (answer, answered) = oneshot::channel();
    let request = PendingRequest::Elicitation { question, answer };
    if people.send(request).await.is_err() {
        return ElicitationReply::Decline;
    }
    match answered.await {
        Ok(Some(Value::Object(fields))) => ElicitationReply::Accept(fields),
        Ok(_) | Err(_) => ElicitationReply::Decline,
    }
}
