//! A tenant at work, hubs over it, and clients that read their frames as browsers do.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use api::trace::{Hub, Trace, TraceSettings};
use api_types::TraceEvent;
use futures::StreamExt as _;
use model::{
    AgentId, Clock as _, InstanceId, RunId, SessionId, TenantId, Timestamp, WorkerId,
    agent::AgentConfig,
    entity::SeatSettings,
    event::Event,
    outcome::{Outcome, StopReason},
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    session::{SessionKind, SessionType},
    turn::{StartReply, TurnResult, WriteOutcome},
};
use serde_json::{Value, json};
use store::{NewAutomation, NewSeat, NewSession, Scope, Store};
use testkit::{
    clock::{FakeClock, SeededEntropy},
    databases::TestDatabase,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long a test waits for a frame that must come, before it fails: longer than the net below all
/// wake-ups.
const FRAME_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Stage {
    pub(crate) store: Store,
    pub(crate) clock: FakeClock,
    pub(crate) tenant: TenantId,
    pub(crate) stop: CancellationToken,
    agent: AgentId,
    instance: InstanceId,
    pub(crate) worker: WorkerId,
    test_database: TestDatabase,
}

fn entropy() -> Arc<SeededEntropy> {
    static SEED: AtomicU64 = AtomicU64::new(1);
    Arc::new(SeededEntropy::new(SEED.fetch_add(1, Ordering::Relaxed)))
}

impl Stage {
    pub(crate) async fn on_sqlite() -> Self {
        Self::on_database(TestDatabase::migrated_sqlite(migrate).await.unwrap()).await
    }

    pub(crate) async fn on_postgres() -> Self {
        Self::on_database(TestDatabase::migrated_postgres(migrate).await.unwrap()).await
    }

    async fn on_database(home: TestDatabase) -> Self {
        let store = open(&home).await;
        let clock = FakeClock::at("2026-05-04T09:00:00Z");
        let now = clock.now();
        let tenant = store.ensure_tenant("default", now).await.unwrap();
        let instance = InstanceId::from_uuid(Uuid::from_u128(1));
        let config = AgentConfig::new(vec!["agent".into()]);
        let agent = store.put_agent(tenant, "agent", &config, None, now).await;
        let registered = store.register_instance(tenant, instance, "host", now);
        registered.await.unwrap();
        Self {
            store,
            clock,
            tenant,
            stop: CancellationToken::new(),
            agent: agent.unwrap().id,
            instance,
            worker: WorkerId::from_stored("host-1-aaaaaaaa".into()),
            test_database: home,
        }
    }

    /// Another process over the same database.
    pub(crate) async fn replica(&self) -> Store {
        open(&self.test_database).await
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope::Tenant(self.tenant)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A hub whose silence lasts longer than any test.
    pub(crate) fn hub(&self) -> Hub {
        self.hub_over(&self.store)
    }

    pub(crate) fn hub_over(&self, store: &Store) -> Hub {
        let settings = TraceSettings {
            heartbeat_interval: Duration::from_hours(1),
            client_timeout: Duration::from_hours(1),
        };
        Hub::new(store.clone(), settings, self.stop.clone())
    }

    pub(crate) async fn session(&self) -> SessionId {
        let id = SessionId::generate(self.now(), &*entropy());
        let new = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: None,
            title: None,
            draft: false,
            channel: None,
            cwd: Some("/work".into()),
            placed_on: None,
            automation_id: None,
            entry: NewSeat::only(self.agent, SeatSettings::default()),
            other_seats: Vec::new(),
        };
        let made = self.store.create_session(self.tenant, &new, self.now());
        made.await.unwrap().0
    }

    pub(crate) async fn automation(&self) -> model::AutomationId {
        let new = NewAutomation {
            name: "report".into(),
            prompt: "Do it.".into(),
            agent: self.agent,
            cwd: None,
            placed_on: None,
            session_mode: SessionMode::Continuous,
            bound_session_key: None,
            policies: Policies::default(),
            settings: SeatSettings::default(),
            permissions: PermissionRules::default(),
            triggers: Vec::new(),
        };
        let made = self
            .store
            .create_automation(self.tenant, None, &new, self.now());
        made.await.unwrap()
    }

    pub(crate) async fn send_message(&self, session: SessionId, words: &str) -> RunId {
        let said = self
            .store
            .send_message(self.tenant, session, None, words, self.now());
        said.await.unwrap().run_id
    }

    pub(crate) async fn start(&self, run: RunId) {
        let (store, worker, now) = (&self.store, &self.worker, self.now());
        let claimed = store.claim(worker, self.instance, 1, Some(run), now);
        assert_eq!(claimed.await.unwrap().len(), 1);
        let begun = store
            .begin(run, worker, self.instance, now, None)
            .await
            .unwrap();
        assert!(matches!(begun, StartReply::Started(_)));
    }

    pub(crate) async fn write(&self, run: RunId, position: i64, text: &str) {
        let written = self
            .store
            .append_live_text(run, &self.worker, position, text, self.now());
        assert_eq!(written.await.unwrap(), WriteOutcome::Committed);
    }

    pub(crate) async fn succeed(&self, run: RunId, answer: &str) {
        let finished = TurnResult {
            answer: answer.into(),
            turn_ended: true,
            ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
        };
        let settled = self.store.finish(run, &self.worker, &finished, self.now());
        assert_eq!(settled.await.unwrap(), WriteOutcome::Committed);
    }

    /// A session's log as the table has it.
    pub(crate) async fn log(&self, session: SessionId) -> Vec<Event> {
        let events = self.store.events(self.scope(), session, 0, 10_000);
        events.await.unwrap()
    }

    /// The numbers of a session's log.
    pub(crate) async fn numbers(&self, session: SessionId) -> Vec<String> {
        let log = self.log(session).await;
        log.iter().map(|event| event.seq.to_string()).collect()
    }

    pub(crate) async fn trim_all(&self) {
        let after = self.clock.advance(Duration::from_hours(24 * 100));
        let trimmed = self.store.trim_logs(after, None).await.unwrap();
        assert!(trimmed.events > 0 && !trimmed.has_more);
    }
}

async fn migrate(url: &str) -> anyhow::Result<()> {
    store::open(&url.parse()?).await?.close().await;
    Ok(())
}

async fn open(home: &TestDatabase) -> Store {
    let database = store::open(&home.url().parse().unwrap()).await.unwrap();
    Store::new(database, entropy(), PathBuf::from("/data/sessions"))
}

/// A frame as a client understands it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// A reader of a trace. It skips comments and the retry time.
pub(crate) struct Client {
    trace: Trace,
    bytes: VecDeque<u8>,
    /// The last id of a frame that came whole.
    pub(crate) last: Option<String>,
}

impl Client {
    pub(crate) fn new(trace: Trace) -> Self {
        Self {
            trace,
            bytes: VecDeque::new(),
            last: None,
        }
    }

    /// The next bytes as they come; none at the end.
    pub(crate) async fn chunk(&mut self) -> Option<bytes::Bytes> {
        let chunk = tokio::time::timeout(FRAME_TIMEOUT, self.trace.next()).await;
        chunk.expect("a frame that must come did not")
    }

    /// The next frame; none at the end.
    pub(crate) async fn try_next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.complete_frame() {
                return Some(frame);
            }
            let chunk = self.chunk().await?;
            self.bytes.extend(chunk);
        }
    }

    pub(crate) async fn next(&mut self) -> Frame {
        self.try_next().await.expect("the trace ended")
    }

    /// Frames up to the one with an id.
    pub(crate) async fn until(&mut self, id: &str) -> Vec<Frame> {
        let mut frames = vec![self.next().await];
        while frames.last().unwrap().id.as_deref() != Some(id) {
            frames.push(self.next().await);
        }
        frames
    }

    /// Parses some bytes and records the frames that they complete.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Frame> {
        self.bytes.extend(bytes);
        std::iter::from_fn(|| self.complete_frame()).collect()
    }

    fn complete_frame(&mut self) -> Option<Frame> {
        loop {
            let bytes = self.bytes.make_contiguous();
            let end = bytes.windows(2).position(|two| two == b"\n\n")?;
            let text = String::from_utf8(self.bytes.drain(..end + 2).collect()).unwrap();
            let (mut id, mut event, mut data) = (None, None, None);
            for line in text.lines() {
                match line.split_once(": ") {
                    Some(("id", value)) => id = Some(value.to_owned()),
                    Some(("event", value)) => event = Some(value.to_owned()),
                    Some(("data", value)) => data = Some(serde_json::from_str(value).unwrap()),
                    Some(("retry", value)) => assert_eq!(value, "2000"),
                    Some(("", "")) | None if line.is_empty() || line == ": " => {}
                    other => panic!("{other:?} is no field"),
                }
            }
            if id.is_some() {
                self.last.clone_from(&id);
            }
            if let (Some(event), Some(data)) = (event, data) {
                // The data alone contains the whole event.
                let typed: TraceEvent = serde_json::from_value(Value::clone(&data)).unwrap();
                assert_eq!((typed.tag(), &json!(typed)), (event.as_str(), &data));
                return Some(Frame { id, event, data });
            }
        }
    }
}

/// The ids of frames that have one.
pub(crate) fn ids(frames: &[Frame]) -> Vec<String> {
    frames.iter().filter_map(|one| one.id.clone()).collect()
}
