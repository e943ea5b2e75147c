//! The routing of an agent's updates and permission requests to the present turn.
//!
//! At most one turn is attached at a time. Updates without a turn are discarded; this drops the history that
//! `session/load` replays. A permission request without a turn is answered `cancelled`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::AcpSessionId;
use serde_json::Value;
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::{
    Decision, PermissionRequest, Permissions, Update,
    limits::{EXIT_STATUS_TIMEOUT, MAX_REMEMBERED_TOOL_CALLS},
    message::MessageSize,
    sdk::convert,
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

/// The kind and title of each tool call, for permission requests that name neither.
type SeenToolCalls = HashMap<String, (Option<String>, Option<String>)>;

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

impl Turn {
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
        let (id, kind, title) = match update {
            Update::ToolCall(call) => (&call.id, Some(&call.kind), Some(&call.title)),
            Update::ToolCallUpdate {
                id, kind, title, ..
            } => (id, kind.as_ref(), title.as_ref()),
            _ => return,
        };
        // Forgetting all of them bounds the memory, because an agent may invent IDs without end. A request that names
        // no kind then counts as kind `other`.
        if seen.len() >= MAX_REMEMBERED_TOOL_CALLS && !seen.contains_key(id) {
            seen.clear();
        }
        let (seen_kind, seen_title) = seen.entry(id.clone()).or_default();
        *seen_kind = kind.cloned().or_else(|| seen_kind.take());
        *seen_title = title.cloned().or_else(|| seen_title.take());
    }

    /// Fills in kind and title from the tool call if the request itself names none.
    fn fill_from_tool_call(&self, request: &mut PermissionRequest) {
        let seen = lock(&self.seen_tool_calls);
        let (kind, title) = seen.get(&request.tool_call).cloned().unwrap_or_default();
        let subject = &mut request.subject;
        if subject.tool_kind.is_empty() {
            subject.tool_kind = kind.unwrap_or_else(|| "other".to_owned());
        }
        if subject.title.is_empty() {
            subject.title = title.unwrap_or_default();
        }
    }
}
