//! Turns over the API, while replies are lost, the server is away, and others use the token of another instance.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::Response,
};
use client::{Client, RuntimeClient};
use futures::stream;
use model::{
    Clock as _, InstanceId, RunId, WorkerId,
    approval::{ApprovalRequest, Decider},
    outcome::{Outcome, StopReason},
    permission::Verdict,
    question::Elicitation,
    run::RunStatus,
    turn::{
        DeclineOutcome, Entry, EntryKind, HeartbeatReply, Role, StartReply, TurnResult,
        WriteOutcome,
    },
};
use runtime::{ApiTurnStore, TurnContext};
use serde_json::json;
use testkit::scripted::Step;
use turn::{TurnControl, TurnEnd, TurnStore};

use crate::{
    api_stores,
    world::{Storage, World, eventually, prompt_log},
};

/// A failure of the connection, or of a program between runtime and server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server handles the request, and the connection breaks before the reply.
    LoseReply,
    /// The connection breaks before the request.
    LoseRequest,
    /// A proxy answers that the server is away.
    Away,
}

/// The failures to come, by operation, and the operations that were called.
#[derive(Default)]
pub(crate) struct Faults {
    plan: Mutex<HashMap<&'static str, VecDeque<Fault>>>,
    calls: Mutex<Vec<String>>,
}

impl Faults {
    pub(crate) fn of(
        plan: impl IntoIterator<Item = (&'static str, &'static [Fault])>,
    ) -> Arc<Self> {
        let plan = plan.into_iter();
        Arc::new(Self {
            plan: Mutex::new(
                plan.map(|(name, faults)| (name, faults.iter().copied().collect()))
                    .collect(),
            ),
            calls: Mutex::default(),
        })
    }

    fn next(&self, operation: &str) -> Option<Fault> {
        self.calls.lock().unwrap().push(operation.to_owned());
        let mut plan = self.plan.lock().unwrap();
        plan.get_mut(operation)?.pop_front()
    }

    fn count(&self, operation: &str) -> usize {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|call| *call == operation).count()
    }

    fn assert_all_happened(&self) {
        let plan = self.plan.lock().unwrap();
        let left = plan.iter().filter(|(_, faults)| !faults.is_empty());
        let left: Vec<_> = left.map(|(operation, _)| *operation).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

async fn fail(State(faults): State<Arc<Faults>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let operation = path.rsplit('/').next().unwrap_or_default();
    let broken = || {
        let error = stream::once(async { Err::<&str, _>(std::io::Error::other("broken")) });
        Response::new(Body::from_stream(error))
    };
    match faults.next(operation) {
        None => next.run(request).await,
        Some(Fault::LoseReply) => {
            let reply = next.run(request).await;
            assert!(reply.status().is_success(), "{path}: {}", reply.status());
            broken()
        }
        Some(Fault::LoseRequest) => broken(),
        Some(Fault::Away) => {
            let mut reply = Response::new(Body::from("<html>Bad Gateway</html>"));
            *reply.status_mut() = StatusCode::BAD_GATEWAY;
            reply
        }
    }
}

/// A runtime of an instance, with faults on the way to its server.
pub(crate) struct TestRuntime {
    pub(crate) token: String,
    pub(crate) faults: Arc<Faults>,
}

impl TestRuntime {
    /// Returns the runtime of the world's instance.
    pub(crate) async fn new(world: &World, faults: Arc<Faults>) -> Self {
        Self::of_instance(world, world.host.instance, faults).await
    }

    pub(crate) async fn of_instance(
        world: &World,
        instance: InstanceId,
        faults: Arc<Faults>,
    ) -> Self {
        let (store, entropy) = (world.store(), &*world.host.entropy);
        let token = api_stores::runtime_token(store, world.tenant, instance, entropy).await;
        Self { token, faults }
    }

    pub(crate) fn client(&self, world: &World, worker: &WorkerId) -> RuntimeClient {
        let routes = api_stores::routes(&world.host);
        let routes = routes.layer(middleware::from_fn_with_state(
            Arc::clone(&self.faults),
            fail,
        ));
        let client = Client::in_process(routes, Arc::clone(&world.host.entropy));
        client
            .with_token(&self.token)
            .unwrap()
            .runtime(worker.clone())
    }

    pub(crate) fn turn_store(&self, world: &World, worker: &WorkerId) -> ApiTurnStore {
        let context = TurnContext {
            client: self.client(world, worker),
            clock: Arc::clone(&world.host.clock),
            entropy: Arc::clone(&world.host.entropy),
            session_folders: world.path("sessions"),
            lease: world.host.settings.lease(),
        };
        ApiTurnStore::new(context, None)
    }

    /// Claims a run and takes its turn.
    async fn take_turn(&self, world: &World, run: RunId) -> TurnEnd {
        claim(world, run).await;
        let store = self.turn_store(world, &world.host.worker);
        let agents = &world.host.agent_runtime;
        let taken = turn::execute(&store, agents, run, &TurnControl::idle()).await;
        taken.unwrap()
    }
}

async fn claim(world: &World, run: RunId) {
    let (host, now) = (&world.host, world.clock.now());
    let claimed = world
        .store()
        .claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn committed_requests_with_lost_replies_are_repeated_without_second_effect() {
    let world = World::new(Storage::SqliteOverApi).await;
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "look"});
    let script =
        world
            .script()
            .prompt([Step::text("Here "), Step::Update(call), Step::text("I am")]);
    let session = world.session(world.agent(&script).await).await;
    let run = world.send_message(session, "One").await;
    let faults = Faults::of([
        ("begin", [Fault::LoseReply].as_slice()),
        ("record", &[Fault::LoseReply]),
        ("live-text", &[Fault::LoseReply]),
        ("finish", &[Fault::LoseReply]),
    ]);
    let runtime = TestRuntime::new(&world, Arc::clone(&faults)).await;
    // The repetition of the end finds the run over, which another worker could have ended.
    assert_eq!(runtime.take_turn(&world, run).await, TurnEnd::Lost);
    let attempts = world.attempts(run).await;
    let [only] = attempts.as_slice() else {
        panic!("{attempts:#?}")
    };
    assert_eq!(only.status(), RunStatus::Succeeded, "{only:#?}");
    assert_eq!(prompt_log(&script).prompts(), ["One"]);
    let texts: Vec<_> = world.messages(session).await;
    let texts: Vec<_> = texts.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        texts,
        ["One", "Here \n\nI am"],
        "the transcript shows it once"
    );
    let rows = world.transcript(session).await;
    let calls = rows.iter().filter(|row| row.kind == EntryKind::ToolCall);
    assert_eq!(calls.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turn_survives_server_that_is_away_for_a_while() {
    let world = World::new(Storage::SqliteOverApi).await;
    let script = world.script().prompt([Step::text("Here I am")]);
    let session = world.session(world.agent(&script).await).await;
    let run = world.send_message(session, "One").await;
    let faults = Faults::of([
        ("begin", [Fault::Away, Fault::LoseRequest].as_slice()),
        ("live-text", &[Fault::Away]),
        ("record", &[Fault::Away, Fault::LoseRequest]),
        ("finish", &[Fault::Away, Fault::LoseRequest, Fault::Away]),
    ]);
    let runtime = TestRuntime::new(&world, Arc::clone(&faults)).await;
    assert_eq!(runtime.take_turn(&world, run).await, TurnEnd::Finished);
    assert!(faults.count("finish") > 3);
    let run = world.run(run).await;
    assert_eq!((run.status(), run.failures), (RunStatus::Succeeded, 0));
    let messages = world.messages(session).await;
    let texts: Vec<_> = messages.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["One", "Here I am"]);
    assert_eq!(prompt_log(&script).prompts(), ["One"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_with_lost_reply_is_requested_once_and_its_decision_arrives() {
    let world = World::new(Storage::SqliteOverApi).await;
    let session = world.session(world.agent(&world.script()).await).await;
    let run = world.send_message(session, "One").await;
    claim(&world, run).await;
    let faults = Faults::of([
        ("approvals", [Fault::LoseReply, Fault::LoseReply].as_slice()),
        ("wait", &[Fault::Away]),
    ]);
    let runtime = TestRuntime::new(&world, Arc::clone(&faults)).await;
    let store = runtime.turn_store(&world, &world.host.worker);
    store.begin(run, [7; 32]).await.unwrap();
    let request = ApprovalRequest::new("execute", "pay", "call-1", None);
    let decision = store.request_approval(run, request, Duration::from_mins(5));
    let pending = eventually("the approval", async || {
        let pending = world.store().pending_approvals(world.scope(), session, 10);
        pending.await.unwrap().pop()
    });
    let decide = async {
        let approval = pending.await;
        let by = Decider {
            token: None,
            name: "me".into(),
        };
        let now = world.clock.now();
        world
            .store()
            .decide_approval(world.tenant, approval.id, Verdict::Allow, &by, None, now)
            .await
            .unwrap();
    };
    let (verdict, ()) = tokio::join!(decision, decide);
    assert_eq!(verdict.unwrap(), Verdict::Allow);
    faults.assert_all_happened();
    let left = world.store().pending_approvals(world.scope(), session, 10);
    assert_eq!(left.await.unwrap(), []);
    // A wait that is dropped leaves the request open, and the withdrawal closes it.
    let request = ApprovalRequest::new("execute", "pay again", "call-2", None);
    let pending = eventually("the second approval", async || {
        let pending = world.store().pending_approvals(world.scope(), session, 10);
        pending.await.unwrap().pop()
    });
    tokio::select! {
        verdict = store.request_approval(run, request, Duration::from_mins(5)) => panic!("{verdict:?}"),
        _ = pending => {}
    }
    let withdrawn = store.withdraw_approvals(run).await.unwrap();
    assert_eq!(withdrawn, WriteOutcome::Committed);
    let left = world.store().pending_approvals(world.scope(), session, 10);
    assert_eq!(left.await.unwrap(), []);
}

/// Calls every operation of a turn for a run, and checks that each is fenced.
async fn assert_all_writes_are_fenced(store: &ApiTurnStore, run: RunId) {
    let timeout = Duration::from_mins(1);
    let secret = [9; 32];
    let fenced = |outcome: WriteOutcome| assert_eq!(outcome, WriteOutcome::Fenced);
    for reply in [
        store.begin(run, secret).await.unwrap(),
        store.begin_after_precheck(run, secret).await.unwrap(),
    ] {
        assert_eq!(reply, StartReply::Fenced);
    }
    let declined = store.decline(run, json!({})).await.unwrap();
    assert_eq!(declined, DeclineOutcome::Fenced);
    assert_eq!(store.heartbeat(run).await.unwrap(), HeartbeatReply::Fenced);
    let entry = Entry {
        id: model::MessageId::from_uuid(uuid::Uuid::from_u128(1)),
        role: Role::Assistant,
        kind: EntryKind::Message,
        content: "late".into(),
        metadata: json!({}),
    };
    fenced(store.record(run, vec![entry]).await.unwrap());
    fenced(store.append_live_text(run, 0, "late".into()).await.unwrap());
    let usage = store.record_usage(run, json!({ "used": 1 })).await.unwrap();
    assert_eq!(usage, None);
    let request = ApprovalRequest::new("execute", "late", "call", None);
    let verdict = store.request_approval(run, request, timeout).await.unwrap();
    assert_eq!(verdict, Verdict::Deny);
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let question = Elicitation::new("late", &schema).unwrap();
    let answer = store.request_answer(run, question, timeout).await.unwrap();
    assert_eq!(answer, None);
    fenced(store.withdraw_approvals(run).await.unwrap());
    let result = TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn));
    fenced(store.finish(run, result).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_writes_of_another_worker_are_fenced() {
    let world = World::new(Storage::SqliteOverApi).await;
    let session = world.session(world.agent(&world.script()).await).await;
    let run = world.send_message(session, "One").await;
    claim(&world, run).await;
    let runtime = TestRuntime::new(&world, Faults::of([])).await;
    let owner = runtime.turn_store(&world, &world.host.worker);
    let begun = owner.begin(run, [7; 32]).await.unwrap();
    assert!(matches!(begun, StartReply::Started(_)), "{begun:?}");
    // Another worker of the same instance, and then the worker that has lost the run.
    let other = WorkerId::from_stored("other-1-00000001".into());
    let before = world.snapshot(session).await;
    assert_all_writes_are_fenced(&runtime.turn_store(&world, &other), run).await;
    assert_eq!(world.snapshot(session).await, before);
    let now = world.clock.now();
    let given_up = world.store().stall_run(run, &world.host.worker, now);
    assert!(given_up.await.unwrap());
    let before = world.snapshot(session).await;
    assert_all_writes_are_fenced(&owner, run).await;
    assert_eq!(world.snapshot(session).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_of_other_instance_or_tenant_is_treated_as_unknown() {
    let world = World::new(Storage::SqliteOverApi).await;
    let session = world.session(world.agent(&world.script()).await).await;
    let run = world.send_message(session, "One").await;
    claim(&world, run).await;
    let (store, now) = (world.store(), world.clock.now());
    let owner = TestRuntime::new(&world, Faults::of([])).await;
    let worker = &world.host.worker;
    let begun = owner.turn_store(&world, worker).begin(run, [7; 32]).await;
    assert!(matches!(begun.unwrap(), StartReply::Started(_)));
    let before = world.snapshot(session).await;
    let unknown = RunId::generate(now, &*world.host.entropy);

    // 1. The runtime of another instance, which names the worker that has the run.
    let other = InstanceId::generate(now, &*world.host.entropy);
    store
        .register_instance(world.tenant, other, "other", now)
        .await
        .unwrap();
    let other = TestRuntime::of_instance(&world, other, Faults::of([])).await;
    // 2. The runtime of another tenant, whose instance is the same data folder.
    let tenant = store.ensure_tenant("other", now).await.unwrap();
    store
        .register_instance(tenant, world.host.instance, "same", now)
        .await
        .unwrap();
    let token =
        api_stores::runtime_token(store, tenant, world.host.instance, &*world.host.entropy).await;
    let foreign = TestRuntime {
        token,
        faults: Faults::of([]),
    };
    // A claim alone tells that another instance has to take the run, so that the runtime keeps its file.
    for (runtime, expected) in [(&other, "NotOfInstance"), (&foreign, "Over")] {
        let turn_store = runtime.turn_store(&world, worker);
        for run in [run, unknown] {
            assert_all_writes_are_fenced(&turn_store, run).await;
        }
        let client = runtime.client(&world, worker);
        let claims = [client.claim(run).await, client.claim(unknown).await];
        let claims = claims.map(|claim| format!("{:?}", claim.unwrap()));
        assert_eq!(claims, [expected, "Over"]);
    }
    assert_eq!(world.snapshot(session).await, before);
}
