//! The routing of an agent's updates, permission requests and questions to the present turn.
//!
//! At most one turn is attached at a time. Updates without a turn are discarded; this drops the history that
//! `session/load` replays. A permission request without a turn is answered `cancelled`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::{AcpSessionId, permission::CallHistory};
use serde_json::Value;
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::convert;
use crate::{
    Decision, ElicitationReply, ElicitationRequest, PermissionRequest, Permissions, Update,
    limits::{EXIT_STATUS_TIMEOUT, MAX_REMEMBERED_TOOL_CALL_BYTES, MAX_REMEMBERED_TOOL_CALLS},
    message::MessageSize,
};

/// The receiver of all updates and permission requests of one agent.
pub(crate) struct Router {
    permissions: Arc<dyn Permissions>,
    current_turn: Mutex<Option<Arc<Turn>>>,
    /// A signal that changes with each update that is discarded for want of a turn.
    discarded: watch::Sender<()>,
}

/// One prompt, from its start until the next prompt or the detachment.
pub(crate) struct Turn {
    session: AcpSessionId,
    updates: mpsc::Sender<Update>,
    /// Cancelled when another turn or no turn is attached, so that no update of this one waits for its receiver any
    /// more.
    detached: CancellationToken,
    /// Cancelled when all open and later permission requests of the turn must be answered `cancelled`.
    cancelled: CancellationToken,
    /// The permission requests that are not both answered and reported yet.
    pending_requests: TaskTracker,
    seen_tool_calls: Mutex<SeenToolCalls>,
}

/// The tool calls of a turn, for permission requests that name no kind, title or input, and for rules that look at
/// earlier ones.
#[derive(Default)]
struct SeenToolCalls {
    calls: HashMap<String, SeenToolCall>,
    bytes: usize,
    /// `true` if a call was forgotten that had not ended.
    forgot_open_calls: bool,
}

#[derive(Default)]
struct SeenToolCall {
    history: CallHistory,
    has_ended: bool,
}

impl SeenToolCalls {
    /// Adds a report of a call and returns the call.
    fn record(
        &mut self,
        id: &str,
        kind: Option<&str>,
        title: Option<&str>,
        input: Option<&Value>,
    ) -> &mut SeenToolCall {
        // Forgetting bounds the memory, because an agent may invent IDs without end. Calls that have ended go first:
        // they request no permission any more.
        let is_full = |seen: &Self| {
            seen.bytes >= MAX_REMEMBERED_TOOL_CALL_BYTES
                || (seen.calls.len() >= MAX_REMEMBERED_TOOL_CALLS && !seen.calls.contains_key(id))
        };
        if is_full(self) {
            self.calls.retain(|_, call| !call.has_ended);
            self.bytes = self.calls.iter().map(|(id, call)| call.size(id)).sum();
        }
        if is_full(self) {
            self.calls.clear();
            self.bytes = 0;
            self.forgot_open_calls = true;
        }
        let forgot_open_calls = self.forgot_open_calls;
        let call = self.calls.entry(id.to_owned()).or_insert_with(|| {
            self.bytes += id.len();
            let mut call = SeenToolCall::default();
            if forgot_open_calls {
                call.history.mark_incomplete();
            }
            call
        });
        let before = call.history.size();
        call.history.record(kind, title, input);
        self.bytes += call.history.size() - before;
        call
    }
}

impl SeenToolCall {
    fn size(&self, id: &str) -> usize {
        id.len() + self.history.size()
    }
}

/// Locks a mutex. Ignores poison, because no panic can leave one of these values half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Router {
    pub(crate) fn new(permissions: Arc<dyn Permissions>) -> Self {
        Self {
            permissions,
            current_turn: Mutex::new(None),
            discarded: watch::Sender::new(()),
        }
    }

    /// Attaches a turn: sends later updates to `updates`, until another turn is attached or this one is detached.
    pub(crate) fn attach(&self, session: AcpSessionId, updates: mpsc::Sender<Update>) -> Arc<Turn> {
        let turn = Arc::new(Turn {
            session,
            updates,
            detached: CancellationToken::new(),
            cancelled: CancellationToken::new(),
            pending_requests: TaskTracker::new(),
            seen_tool_calls: Mutex::default(),
        });
        self.replace_turn(Some(Arc::clone(&turn)));
        turn
    }

    /// Detaches the present turn: later updates are discarded.
    pub(crate) fn detach(&self) {
        self.replace_turn(None);
    }

    /// Ends the turn of an agent whose process has ended: its open requests are reported as `cancelled`, although no
    /// process reads the answers.
    pub(crate) async fn end_turn(&self) {
        if let Some(turn) = self.current_turn() {
            turn.cancel();
            turn.pending_requests.close();
            timeout(EXIT_STATUS_TIMEOUT, turn.pending_requests.wait())
                .await
                .ok();
        }
        self.detach();
    }

    fn replace_turn(&self, turn: Option<Arc<Turn>>) {
        let previous = std::mem::replace(&mut *lock(&self.current_turn), turn);
        if let Some(previous) = previous {
            previous.detached.cancel();
            previous.cancelled.cancel();
        }
    }

    pub(crate) fn current_turn(&self) -> Option<Arc<Turn>> {
        lock(&self.current_turn).clone()
    }

    /// Answers all open and later permission requests of the present turn with `cancelled`.
    pub(crate) fn cancel(&self) {
        if let Some(turn) = self.current_turn() {
            turn.cancel();
        }
    }

    /// Returns a receiver that changes with each update that is discarded for want of a turn.
    pub(crate) fn discarded(&self) -> watch::Receiver<()> {
        self.discarded.subscribe()
    }

    /// Delivers the parameters of a `session/update` to the turn. Waits while the turn's receiver is full.
    pub(crate) async fn deliver(&self, params: Value, size: MessageSize) {
        let Some(turn) = self.current_turn() else {
            self.discarded.send_replace(());
            return;
        };
        if let Some(update) = convert::parse_update(params, &turn.session) {
            turn.remember_tool_call(&update);
            turn.deliver(update, size).await;
        }
    }

    /// Decides one permission request and reports the decision; calls `answer` exactly once.
    ///
    /// Sends the report before the answer, so that the report precedes the updates which follow from the answer. A
    /// cancelled request is answered before its report, because it must not wait for a receiver that is full.
    pub(crate) async fn decide(
        &self,
        turn: Option<&Turn>,
        mut request: PermissionRequest,
        answer: impl FnOnce(Option<&str>) + Send,
    ) {
        let Some(turn) = turn else {
            // The agent asks outside of a turn, so no rule and no person can decide.
            return answer(None);
        };
        turn.fill_from_tool_call(&mut request);
        let mut decision = tokio::select! {
            biased;
            () = turn.cancelled.cancelled() => Decision::Cancelled,
            decision = self.permissions.decide(request.clone()) => decision,
        };
        let option = request.option_for(decision).map(|option| option.id.clone());
        // If the agent offers no option to deny, the agent gets `cancelled`, but the report still says that the
        // request was denied. Without an option to allow, the request is reported as cancelled.
        if option.is_none() && decision == Decision::Allow {
            decision = Decision::Cancelled;
        }
        let report = |decision| Update::Permission {
            request: request.clone(),
            decision,
        };
        if decision != Decision::Cancelled {
            tokio::select! {
                biased;
                () = turn.deliver(report(decision), MessageSize::Small) => return answer(option.as_deref()),
                () = turn.cancelled.cancelled() => {}
            }
        }
        answer(None);
        turn.deliver(report(Decision::Cancelled), MessageSize::Small)
            .await;
    }
}

impl Router {
    /// Answers one question of an agent.
    pub(crate) async fn elicit(
        &self,
        turn: Option<&Turn>,
        request: Option<ElicitationRequest>,
    ) -> ElicitationReply {
        // Without a turn no person can answer, and a question without a form is of a kind that was not offered.
        let (Some(turn), Some(request)) = (turn, request) else {
            return ElicitationReply::Decline;
        };
        tokio::select! {
            biased;
            () = turn.cancelled.cancelled() => ElicitationReply::Cancel,
            reply = self.permissions.answer(request) => reply,
        }
    }
}

impl Turn {
    /// Returns the agent's session of the turn.
    pub(crate) const fn session(&self) -> &AcpSessionId {
        &self.session
    }

    /// Answers all open and later permission requests of this turn with `cancelled`.
    pub(crate) fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Returns a token that counts one request as unreported until the token is dropped.
    pub(crate) fn track_request(&self) -> TaskTrackerToken {
        self.pending_requests.token()
    }

    /// Sends one update, and waits while the receiver is full. A receiver that was dropped is no error.
    async fn deliver(&self, update: Update, size: MessageSize) {
        // A large update reserves the whole channel and then uses one slot, so that at most one large update waits
        // at a time.
        let places = size.permits(self.updates.max_capacity());
        tokio::select! {
            biased;
            () = self.detached.cancelled() => {}
            places = self.updates.reserve_many(places) => {
                if let Some(place) = places.ok().and_then(|mut places| places.next()) {
                    place.send(update);
                }
            }
        }
    }

    fn remember_tool_call(&self, update: &Update) {
        let mut seen = lock(&self.seen_tool_calls);
        let (call, status) = match update {
            Update::ToolCall(call) => {
                let (kind, title) = (Some(&*call.kind), Some(&*call.title));
                let seen = seen.record(&call.id, kind, title, call.input.as_ref());
                (seen, Some(&call.status))
            }
            Update::ToolCallUpdate(change) => {
                let (kind, title) = (change.kind.as_deref(), change.title.as_deref());
                let seen = seen.record(&change.id, kind, title, change.input.as_ref());
                (seen, change.status.as_ref())
            }
            _ => return,
        };
        if let Some(status) = status {
            call.has_ended = matches!(&**status, "completed" | "failed");
        }
    }

    /// Adds the history of the tool call. Fills in its kind and title if the request itself names none.
    fn fill_from_tool_call(&self, request: &mut PermissionRequest) {
        let subject = &mut request.subject;
        let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (kind, title) = (named(&subject.tool_kind), named(&subject.title));
        let mut seen = lock(&self.seen_tool_calls);
        let call = seen.record(
            &request.tool_call,
            kind.as_deref(),
            title.as_deref(),
            request.input.as_ref(),
        );
        subject.history = call.history.clone();
        if kind.is_none() {
            subject.tool_kind = subject.history.kind().unwrap_or("other").to_owned();
        }
        if title.is_none() {
            subject.title = subject.history.title().unwrap_or_default().to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use model::permission::{PermissionRequest, PermissionRule, PermissionRules, Verdict};
    use serde_json::json;

    use super::*;

    fn is_allowed(history: &CallHistory) -> bool {
        let allow = PermissionRules(vec![PermissionRule {
            tool: "execute".into(),
            title: Some("git log*".into()),
            verdict: Verdict::Allow,
        }]);
        let request = PermissionRequest {
            tool_kind: "execute".into(),
            title: "x".into(),
            history: history.clone(),
        };
        allow.verdict(&request).is_some()
    }

    #[test]
    fn forgotten_open_call_is_allowed_by_no_pattern() {
        let harmless = json!({"command": "git log"});
        for (ends, expected) in [(true, true), (false, false)] {
            let mut seen = SeenToolCalls::default();
            seen.record(
                "first",
                Some("execute"),
                None,
                Some(&json!({"command": "curl x"})),
            );
            for number in 0..MAX_REMEMBERED_TOOL_CALLS {
                let call = seen.record(&number.to_string(), Some("read"), None, None);
                call.has_ended = ends;
            }
            let first = seen.record("first", Some("execute"), None, Some(&harmless));
            assert!(!is_allowed(&first.history), "{ends}");
            let new = seen.record("new", Some("execute"), None, Some(&harmless));
            assert_eq!(is_allowed(&new.history), expected, "{ends}");
            assert!(seen.calls.len() <= MAX_REMEMBERED_TOOL_CALLS);
        }
    }

    #[test]
    fn remembered_tool_calls_are_bounded_in_bytes() {
        let mut seen = SeenToolCalls::default();
        let title = "x".repeat(100_000);
        for number in 0..1000 {
            seen.record(&number.to_string(), None, Some(&title), None);
            let bytes: usize = seen.calls.iter().map(|(id, call)| call.size(id)).sum();
            assert_eq!(bytes, seen.bytes);
            assert!(bytes < MAX_REMEMBERED_TOOL_CALL_BYTES + 2 * title.len());
        }
    }
}
