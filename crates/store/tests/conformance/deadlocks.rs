//! Many transitions at once over few seats, on PostgreSQL: none of them locks rows in another order than the others.

use std::cell::Cell;

use futures::future::{join, join_all};
use model::{
    MessageId, RunId, SessionId, Timestamp, WorkerId,
    session::SessionEvent,
    turn::{Entry, EntryKind, HeartbeatReply, Role, StartReply, WriteOutcome},
};
use serde_json::json;
use store::{Scope, Store, params};
use testkit::clock::SeededEntropy;

use crate::{
    fixtures::{TestStore, statement},
    stage::{Stage, answer, store_over, unique},
    without_locks::patiently,
};

const SESSIONS: usize = 6;
const PEOPLE: usize = 6;
const MESSAGES_OF_PERSON: usize = 20;
const PAUSES: usize = 30;

/// The work of two servers on the same sessions.
struct Load<'a> {
    stage: &'a Stage,
    sessions: Vec<SessionId>,
    /// The number of runs that have ended.
    ended: Cell<usize>,
}

impl Load<'_> {
    /// Sends messages to all sessions, each time to another one.
    async fn send(&self, store: &Store, person: usize) {
        for number in 0..MESSAGES_OF_PERSON {
            let session = self.sessions[(person + number * 5) % SESSIONS];
            let (tenant, now) = (self.stage.tenant, self.stage.now());
            patiently!(store.send_message(tenant, session, None, "hello", now));
        }
    }

    /// Pauses sessions and resumes them, one after the other.
    async fn pause(&self, store: &Store) {
        for number in 0..PAUSES {
            let session = self.sessions[number * 5 % SESSIONS];
            for event in [SessionEvent::Pause, SessionEvent::Resume] {
                let (scope, now) = (self.stage.scope(), self.stage.now());
                patiently!(store.transition_session(scope, session, event, None, now));
            }
        }
    }

    /// Takes the turns of all messages, as many at once as there are sessions.
    async fn take_turns(&self, store: &Store, worker: WorkerId) {
        let expected = PEOPLE * MESSAGES_OF_PERSON;
        while self.ended.get() < expected {
            let (instance, now) = (self.stage.instance, self.stage.now());
            let limit = u32::try_from(SESSIONS).unwrap();
            let claimed = patiently!(store.claim(&worker, instance, limit, None, now));
            let turns = claimed
                .iter()
                .map(|run| self.take_turn(store, &worker, run.run));
            join_all(turns).await;
            tokio::task::yield_now().await;
        }
    }

    async fn take_turn(&self, store: &Store, worker: &WorkerId, run: RunId) {
        let (instance, now) = (self.stage.instance, self.stage.now());
        match patiently!(store.begin(run, worker, instance, now, None)) {
            StartReply::Started(_) => {}
            // The session is paused, or was paused after the claim. A worker claims the run again once the session is
            // resumed.
            StartReply::Deferred | StartReply::Fenced => return,
            other => panic!("{run} did not begin: {other:?}"),
        }
        for _ in 0..2 {
            let row = [tool_call(now)];
            let written = patiently!(store.record(run, worker, &row, now));
            assert_eq!(written, WriteOutcome::Committed);
        }
        let renewed = patiently!(store.renew_heartbeat(run, worker, now));
        assert_eq!(renewed, HeartbeatReply::Continue);
        let result = answer("Done.");
        let ended = patiently!(store.finish(run, worker, &result, now));
        assert_eq!(ended, WriteOutcome::Committed);
        self.ended.set(self.ended.get() + 1);
    }
}

fn tool_call(now: Timestamp) -> Entry {
    Entry {
        id: MessageId::generate(now, &SeededEntropy::new(unique())),
        role: Role::Tool,
        kind: EntryKind::ToolCall,
        content: "Read a file".into(),
        metadata: json!({}),
    }
}

/// Returns the number of deadlocks that the database has reported, once the connections that began before `before` have
/// ended. A connection reports its deadlocks when it ends.
async fn deadlocks(db: &TestStore, before: Timestamp) -> i64 {
    let database = store::open(&db.location()).await.unwrap();
    let run = async |sql: &str, params| {
        let mut tx = database.begin(Scope::System).await.unwrap();
        tx.fetch_one(statement(sql), params).await.unwrap()
    };
    let open = "select count(*) as n from pg_stat_activity \
        where datname = current_database() and backend_start <= $1";
    loop {
        if run(open, params![before]).await.get::<i64>("n").unwrap() == 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    let reported = "select deadlocks from pg_stat_database where datname = current_database()";
    let reported = run(reported, params![]).await;
    reported.get("deadlocks").unwrap()
}

pub(crate) async fn concurrent_transitions_over_few_seats_do_not_deadlock(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(stage.session().await);
    }
    let load = Load {
        stage: &stage,
        sessions,
        ended: Cell::new(0),
    };
    let servers = [store_over(&db.database), store_over(&db.database)];
    let people = (0..PEOPLE).map(|person| load.send(&servers[person % 2], person));
    let workers = servers.iter().zip(["host-2-bbbbbbbb", "host-3-cccccccc"]);
    let workers = workers.map(|(store, name)| {
        let worker = WorkerId::from_stored(name.into());
        load.take_turns(store, worker)
    });
    let pauses = servers.iter().take(1).map(|store| load.pause(store));
    join(join_all(people), join(join_all(workers), join_all(pauses))).await;
    for session in &load.sessions {
        let events = stage.store.events(stage.scope(), *session, 0, u32::MAX);
        let events = events.await.unwrap();
        let numbers = events.iter().map(|event| event.seq);
        assert!(numbers.eq(1..=i64::try_from(events.len()).unwrap()));
    }
    let sql = "select clock_timestamp() as now";
    let rows = db.run(Scope::System, sql, params![]).await.unwrap();
    let before = rows[0].get("now").unwrap();
    db.database.close().await;
    assert_eq!(deadlocks(db, before).await, 0);
}
