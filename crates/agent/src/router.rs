//! Where an agent's updates and permission requests go at present.

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
    limits::{REMEMBERED_TOOL_CALLS, STATUS_WAIT},
    message::Size,
    sdk::convert,
};

/// Sends updates to whoever prompted last; without a turn they are discarded, which is what must
/// happen to the history that `session/load` replays.
pub(crate) struct Router {
    permissions: Arc<dyn Permissions>,
    turn: Mutex<Option<Arc<Turn>>>,
    /// Changes with each update that came without a turn.
    discarded: watch::Sender<()>,
}

/// One prompt, from its beginning until the agent's next or its end.
pub(crate) struct Turn {
    session: AcpSessionId,
    updates: mpsc::Sender<Update>,
    /// Nobody takes updates any more.
    over: CancellationToken,
    /// What is still asked gets `cancelled`.
    cancelled: CancellationToken,
    /// Permission requests that are not answered and reported yet.
    asked: TaskTracker,
    seen: Mutex<Seen>,
}

/// Kind and title of tool calls, for permission requests that name neither.
type Seen = HashMap<String, (Option<String>, Option<String>)>;

/// Nothing here can be left half changed, so a panic elsewhere does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Router {
    pub(crate) fn new(permissions: Arc<dyn Permissions>) -> Self {
        Self {
            permissions,
            turn: Mutex::new(None),
            discarded: watch::Sender::new(()),
        }
    }

    /// Sends what comes from now on to `updates`, until another turn begins or this one is detached.
    pub(crate) fn attach(&self, session: AcpSessionId, updates: mpsc::Sender<Update>) -> Arc<Turn> {
        let turn = Arc::new(Turn {
            session,
            updates,
            over: CancellationToken::new(),
            cancelled: CancellationToken::new(),
            asked: TaskTracker::new(),
            seen: Mutex::default(),
        });
        self.replace(Some(Arc::clone(&turn)));
        turn
    }

    /// Discards what comes from now on.
    pub(crate) fn detach(&self) {
        self.replace(None);
    }

    /// Ends the turn of an agent that is gone: what it asked is answered by nobody, but reported.
    pub(crate) async fn end(&self) {
        if let Some(turn) = self.turn() {
            turn.cancel();
            turn.asked.close();
            timeout(STATUS_WAIT, turn.asked.wait()).await.ok();
        }
        self.detach();
    }

    fn replace(&self, turn: Option<Arc<Turn>>) {
        let before = std::mem::replace(&mut *lock(&self.turn), turn);
        if let Some(before) = before {
            before.over.cancel();
            before.cancelled.cancel();
        }
    }

    pub(crate) fn turn(&self) -> Option<Arc<Turn>> {
        lock(&self.turn).clone()
    }

    /// Answers all that is asked, and will be in this turn, with `cancelled`.
    pub(crate) fn cancel(&self) {
        if let Some(turn) = self.turn() {
            turn.cancel();
        }
    }

    /// Changes with each update that comes without a turn.
    pub(crate) fn discarded(&self) -> watch::Receiver<()> {
        self.discarded.subscribe()
    }

    /// Takes the parameters of a `session/update`. Waits while the turn is behind.
    pub(crate) async fn deliver(&self, params: Value, size: Size) {
        let Some(turn) = self.turn() else {
            self.discarded.send_replace(());
            return;
        };
        if let Some(update) = convert::update(params, &turn.session) {
            turn.note(&update);
            turn.deliver(update, size).await;
        }
    }

    /// Decides one request and reports it; `answer` is called exactly once.
    ///
    /// The report goes first, so that it stands before what the agent does with the answer; unless
    /// the turn is behind when it is cancelled, for a cancelled request must not wait.
    pub(crate) async fn decide(
        &self,
        turn: Option<&Turn>,
        mut request: PermissionRequest,
        answer: impl FnOnce(Option<&str>) + Send,
    ) {
        let Some(turn) = turn else {
            return answer(None);
        };
        turn.complete(&mut request);
        let mut decision = tokio::select! {
            biased;
            () = turn.cancelled.cancelled() => Decision::Cancelled,
            decision = self.permissions.decide(request.clone()) => decision,
        };
        let option = request.option_for(decision).map(|option| option.id.clone());
        // A denial stands, even where the agent offers no other way to say it than `cancelled`.
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
                () = turn.deliver(report(decision), Size::Small) => return answer(option.as_deref()),
                () = turn.cancelled.cancelled() => {}
            }
        }
        answer(None);
        turn.deliver(report(Decision::Cancelled), Size::Small).await;
    }
}

impl Turn {
    /// Answers all that is asked, and will be, with `cancelled`.
    pub(crate) fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Counts as a request that is not reported yet, as long as it lives.
    pub(crate) fn asks(&self) -> TaskTrackerToken {
        self.asked.token()
    }

    /// Waits while the receiver is behind. Nobody may want it any more; that is no error.
    async fn deliver(&self, update: Update, size: Size) {
        let places = size.places(self.updates.max_capacity());
        tokio::select! {
            biased;
            () = self.over.cancelled() => {}
            places = self.updates.reserve_many(places) => {
                if let Some(place) = places.ok().and_then(|mut places| places.next()) {
                    place.send(update);
                }
            }
        }
    }

    fn note(&self, update: &Update) {
        let mut seen = lock(&self.seen);
        let (id, kind, title) = match update {
            Update::ToolCall(call) => (&call.id, Some(&call.kind), Some(&call.title)),
            Update::ToolCallUpdate {
                id, kind, title, ..
            } => (id, kind.as_ref(), title.as_ref()),
            _ => return,
        };
        if seen.len() >= REMEMBERED_TOOL_CALLS && !seen.contains_key(id) {
            seen.clear();
        }
        let (known_kind, known_title) = seen.entry(id.clone()).or_default();
        *known_kind = kind.cloned().or_else(|| known_kind.take());
        *known_title = title.cloned().or_else(|| known_title.take());
    }

    /// Fills in kind and title from the tool call where the request itself names none.
    fn complete(&self, request: &mut PermissionRequest) {
        let seen = lock(&self.seen);
        let (kind, title) = seen.get(&request.tool_call).cloned().unwrap_or_default();
        let about = &mut request.about;
        if about.tool_kind.is_empty() {
            about.tool_kind = kind.unwrap_or_else(|| "other".to_owned());
        }
        if about.title.is_empty() {
            about.title = title.unwrap_or_default();
        }
    }
}
