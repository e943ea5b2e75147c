//! Messages between the seats of a session: backlog, order, acknowledgement, and no loss.

mod tools;
mod turns;

use std::time::Duration;

use model::{
    SeatId, SessionId, TenantId,
    seat_message::{NamedSeat, Sender},
    session::SessionEvent,
    turn::EntryKind,
};
use serde_json::json;
use sqlx::postgres::PgListener;
use store::{
    Error, NewSeatMessage, Recipients, Scope, SeatMessage, SeatMessageStream, Store,
    database::Dialect, params,
};
use tokio::time::timeout;
use uuid::Uuid;

use crate::{
    event_summary::{subject_id, summary},
    fixtures::{TestStore, id},
    stage::{Stage, store_over},
};

pub(crate) use tools::{
    agent_sends_message_once, chain_of_messages_has_an_end,
    default_of_question_continues_chain_of_its_turn, person_sends_to_seats,
};
pub(crate) use turns::{
    attempts_carry_same_messages, messages_start_turns_in_order, messages_wait_while_paused,
    publishers_make_one_input,
};

/// A session with three seats, whose names are `agent`, `one` and `two`.
struct Team {
    stage: Stage,
    session: SessionId,
    seats: [SeatId; 3],
}

impl Team {
    async fn setup(db: &TestStore) -> Self {
        let stage = Stage::setup(db).await;
        let session = stage.session().await;
        let entry = stage.seat(session).await;
        let mut seats = [entry; 3];
        for (seat, name) in seats[1..].iter_mut().zip(["one", "two"]) {
            *seat = SeatId::from_uuid(id());
            let sql = "insert into agent_definitions (id, tenant_id, session_id, role, name, \
                harness_id, is_entry, settings, created_at, updated_at) \
                select $1, tenant_id, session_id, 'worker', $2, harness_id, $3, settings, \
                created_at, updated_at from agent_definitions where id = $4";
            let row = params![*seat, name, false, entry];
            db.run(Scope::System, sql, row).await.unwrap();
        }
        Self {
            stage,
            session,
            seats,
        }
    }

    async fn publish(&self, from: usize, to: Recipients, content: &str) -> Vec<SeatMessage> {
        self.stage.tick();
        publish(&self.stage.store, self, from, to, content).await
    }

    async fn send_to_seat(&self, from: usize, to: usize, content: &str) -> SeatMessage {
        let to = Recipients::Seat(self.seats[to]);
        self.publish(from, to, content).await.remove(0)
    }

    async fn subscribe(&self, to: Option<usize>, since: Option<i64>) -> SeatMessageStream {
        self.subscribe_at(&self.stage.store, to, since).await
    }

    async fn subscribe_at(
        &self,
        store: &Store,
        to: Option<usize>,
        since: Option<i64>,
    ) -> SeatMessageStream {
        let to = to.map(|to| self.seats[to]);
        let subscribed =
            store.subscribe_to_seat_messages(self.stage.tenant, self.session, to, since);
        subscribed.await.unwrap()
    }
}

async fn publish(
    store: &Store,
    team: &Team,
    from: usize,
    to: Recipients,
    content: &str,
) -> Vec<SeatMessage> {
    let new = NewSeatMessage {
        from: Sender::Seat(team.seats[from]),
        to,
        content: content.into(),
        metadata: json!({ "task": 1 }),
    };
    let (tenant, now) = (team.stage.tenant, team.stage.now());
    let published = store.publish_seat_message(tenant, team.session, None, &new, now);
    published.await.unwrap()
}

/// Returns the next message. Fails if none arrives.
async fn next(published: &mut SeatMessageStream) -> SeatMessage {
    let next = timeout(Duration::from_secs(20), published.next()).await;
    next.unwrap().unwrap().unwrap()
}

async fn next_contents(published: &mut SeatMessageStream, count: usize) -> Vec<String> {
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        words.push(next(published).await.content);
    }
    words
}

pub(crate) async fn seat_message_has_one_row_per_recipient(db: &TestStore) {
    let team = Team::setup(db).await;
    let one = team.send_to_seat(0, 1, "to one").await;
    let all = team.publish(1, Recipients::Others, "to all").await;
    let sender = |seat: usize, name: &str| {
        Sender::Seat(NamedSeat {
            id: team.seats[seat],
            name: name.into(),
            role: if seat == 0 { "agent" } else { "worker" }.into(),
        })
    };
    assert_eq!((&one.from, one.to), (&sender(0, "agent"), team.seats[1]));
    assert_eq!(all[0].from, sender(1, "one"));
    let mut others = vec![team.seats[0], team.seats[2]];
    others.sort();
    assert_eq!(
        all.iter().map(|message| message.to).collect::<Vec<_>>(),
        others
    );
    // Messages are rows of the transcript, numbered like all others, and are in the log.
    let scope = team.stage.scope();
    let store = &team.stage.store;
    let rows = store.messages(scope, team.session, 0, 100).await.unwrap();
    // Between the first message and the others is the event of the input of its seat.
    let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(seqs, [one.seq, one.seq + 2, one.seq + 3]);
    assert_eq!(rows[0].id, one.id);
    assert_eq!(rows[0].kind, EntryKind::Message);
    assert_eq!(
        rows[0].metadata,
        json!({
            "task": 1, "_from_seat": team.seats[0], "_from_name": "agent", "_to_seat": team.seats[1],
            "_to_name": "one",
        })
    );
    let events = store
        .events(scope, team.session, one.seq - 1, 100)
        .await
        .unwrap();
    let lines: Vec<_> = events
        .iter()
        .map(|event| (summary(&event.change), event.seq))
        .collect();
    let summaries = [
        "message",
        "run queued",
        "message",
        "message",
        "run queued",
        "run queued",
    ];
    let expected = summaries.iter().zip(one.seq..);
    let expected: Vec<_> = expected
        .map(|(line, seq)| ((*line).to_owned(), seq))
        .collect();
    assert_eq!(lines, expected);
    assert_eq!(subject_id(&events[0].change), one.id.to_string());
    // A subscriber reads the same values that the sender got back.
    let mut subscribed = team.subscribe(None, Some(0)).await;
    for message in std::iter::once(&one).chain(&all) {
        assert_eq!(next(&mut subscribed).await, *message);
    }
    // A seat may send to itself by name. A broadcast without another seat reaches none.
    assert_eq!(team.send_to_seat(2, 2, "note").await.to, team.seats[2]);
    let alone = team.stage.session().await;
    let seat = team.stage.seat(alone).await;
    let new = NewSeatMessage {
        from: Sender::Seat(seat),
        to: Recipients::Others,
        content: "anybody?".into(),
        metadata: json!({}),
    };
    let nobody = store.publish_seat_message(team.stage.tenant, alone, None, &new, team.stage.now());
    assert_eq!(nobody.await.unwrap(), []);
}

pub(crate) async fn subscriber_gets_missed_then_new_messages(db: &TestStore) {
    let team = Team::setup(db).await;
    let first = team.send_to_seat(0, 1, "1").await;
    team.send_to_seat(0, 2, "not for one").await;
    team.send_to_seat(2, 1, "2").await;
    let mut one = team.subscribe(Some(1), None).await;
    let mut all = team.subscribe(None, None).await;
    let mut later = team.subscribe(Some(1), Some(first.seq)).await;
    team.stage.send_message(team.session, "between").await;
    team.publish(0, Recipients::Others, "3").await;
    assert_eq!(next_contents(&mut one, 3).await, ["1", "2", "3"]);
    assert_eq!(
        next_contents(&mut all, 5).await,
        ["1", "not for one", "2", "3", "3"]
    );
    assert_eq!(next_contents(&mut later, 2).await, ["2", "3"]);
    // More messages than one read returns.
    for number in 0..150 {
        team.send_to_seat(0, 1, &number.to_string()).await;
    }
    let expected: Vec<String> = (0..150).map(|number: i32| number.to_string()).collect();
    assert_eq!(next_contents(&mut one, 150).await, expected);
    assert_eq!(next_contents(&mut later, 150).await, expected);
}

pub(crate) async fn unacknowledged_messages_are_delivered_again(db: &TestStore) {
    let team = Team::setup(db).await;
    let (store, tenant) = (&team.stage.store, team.stage.tenant);
    let one = team.send_to_seat(0, 1, "1").await;
    let two = team.send_to_seat(0, 1, "2").await;
    let at = team.stage.now();
    for stranger in [team.seats[0], team.seats[2]] {
        let refused = store
            .acknowledge_seat_message(tenant, two.id, stranger, at)
            .await;
        assert!(matches!(refused, Err(Error::NotFound { .. })));
    }
    let acknowledged = store
        .acknowledge_seat_message(tenant, two.id, team.seats[1], at)
        .await;
    assert_eq!(acknowledged.unwrap(), at);
    let later = team.stage.advance_seconds(5);
    let again = store
        .acknowledge_seat_message(tenant, two.id, team.seats[1], later)
        .await;
    assert_eq!(again.unwrap(), at, "the first acknowledgement counts");
    let mut resubscribed = team.subscribe(Some(1), None).await;
    let mut by_number = team.subscribe(Some(1), Some(0)).await;
    let mut still = team.subscribe(Some(1), None).await;
    let three = team.send_to_seat(0, 1, "3").await;
    let found = next(&mut resubscribed).await;
    assert_eq!((found.id, found.delivered_at), (one.id, None));
    assert_eq!(next_contents(&mut resubscribed, 1).await, ["3"]);
    // A subscriber from a number gets all messages and sees which were delivered.
    assert_eq!(next_contents(&mut by_number, 1).await, ["1"]);
    assert_eq!(next(&mut by_number).await.delivered_at, Some(at));
    // Every existing subscriber gets a new message, even if another one has acknowledged it.
    let acknowledged = store
        .acknowledge_seat_message(tenant, three.id, team.seats[1], later)
        .await;
    acknowledged.unwrap();
    assert_eq!(next_contents(&mut still, 2).await, ["1", "3"]);
}

pub(crate) async fn seat_messages_of_other_tenant_or_session_are_not_found(db: &TestStore) {
    let team = Team::setup(db).await;
    let message = team.send_to_seat(0, 1, "1").await;
    let (store, now) = (&team.stage.store, team.stage.now());
    let other = store.ensure_tenant("other", now).await.unwrap();
    let nobodys = TenantId::from_uuid(Uuid::from_u128(7));
    for tenant in [other, nobodys] {
        let subscribed = store
            .subscribe_to_seat_messages(tenant, team.session, None, None)
            .await;
        assert!(matches!(subscribed, Err(Error::NotFound { .. })));
        let acknowledged = store
            .acknowledge_seat_message(tenant, message.id, message.to, now)
            .await;
        assert!(matches!(acknowledged, Err(Error::NotFound { .. })));
        let new = NewSeatMessage {
            from: Sender::Seat(team.seats[0]),
            to: Recipients::Others,
            content: "hello".into(),
            metadata: json!({}),
        };
        let published = store
            .publish_seat_message(tenant, team.session, None, &new, now)
            .await;
        assert!(matches!(published, Err(Error::NotFound { .. })));
    }
    // A seat of another session is no recipient either.
    let elsewhere = team.stage.seat(team.stage.session().await).await;
    let tenant = team.stage.tenant;
    let subscribed = store.subscribe_to_seat_messages(tenant, team.session, Some(elsewhere), None);
    assert!(matches!(subscribed.await, Err(Error::NotFound { .. })));
    for (from, to) in [(elsewhere, team.seats[0]), (team.seats[0], elsewhere)] {
        let new = NewSeatMessage {
            from: Sender::Seat(from),
            to: Recipients::Seat(to),
            content: "hello".into(),
            metadata: json!({}),
        };
        let published = store
            .publish_seat_message(tenant, team.session, None, &new, now)
            .await;
        assert!(matches!(published, Err(Error::NotFound { .. })));
    }
    let rows = store
        .messages(team.stage.scope(), team.session, 0, 100)
        .await;
    assert_eq!(rows.unwrap().len(), 1, "a refused message writes nothing");
    // Lists find nothing of another tenant, and one message only in its session.
    for tenant in [other, nobodys] {
        let listed = store.seat_messages(tenant, team.session, None, 0, 10).await;
        assert_eq!(listed.unwrap(), []);
        assert_eq!(store.seat_names(tenant, team.session).await.unwrap(), []);
        let found = store.seat_message(tenant, team.session, message.id).await;
        assert!(matches!(found, Err(Error::NotFound { .. })));
    }
    let other_session = team.stage.session().await;
    let found = store.seat_message(team.stage.tenant, other_session, message.id);
    assert!(matches!(found.await, Err(Error::NotFound { .. })));
}

pub(crate) async fn publish_in_closed_session_is_refused(db: &TestStore) {
    let team = Team::setup(db).await;
    let store = &team.stage.store;
    for (event, refuses) in [
        (SessionEvent::Pause, false),
        (SessionEvent::Resume, false),
        (SessionEvent::Complete, true),
        (SessionEvent::Archive, true),
    ] {
        let (scope, now) = (team.stage.scope(), team.stage.now());
        let moved = store.transition_session(scope, team.session, event, None, now);
        moved.await.unwrap();
        let new = NewSeatMessage {
            from: Sender::Seat(team.seats[0]),
            to: Recipients::Others,
            content: "hello".into(),
            metadata: json!({}),
        };
        let published =
            store.publish_seat_message(team.stage.tenant, team.session, None, &new, now);
        let published = published.await;
        assert_eq!(
            matches!(published, Err(Error::Refused(_))),
            refuses,
            "after {event}: {published:?}"
        );
    }
}

pub(crate) async fn session_deletion_ends_message_subscriptions(db: &TestStore) {
    let team = Team::setup(db).await;
    let other = store::open(&db.location()).await.unwrap();
    let elsewhere = store_over(&other);
    let mut here = team.subscribe(Some(1), None).await;
    let mut there = team.subscribe_at(&elsewhere, None, None).await;
    team.send_to_seat(0, 1, "1").await;
    assert_eq!(next_contents(&mut here, 1).await, ["1"]);
    assert_eq!(next_contents(&mut there, 1).await, ["1"]);
    let (tenant, now) = (team.stage.tenant, team.stage.now());
    let deleted = team
        .stage
        .store
        .delete_session(tenant, team.session, false, now);
    deleted.await.unwrap();
    for subscription in [&mut here, &mut there] {
        let end = timeout(Duration::from_secs(20), subscription.next()).await;
        assert_eq!(end.unwrap().unwrap(), None);
        assert_eq!(
            subscription.next().await.unwrap(),
            None,
            "the stream stays ended"
        );
    }
    drop(there);
    other.close().await;
}

/// The number of messages that are published while others subscribe.
const PUBLISHED_MESSAGES: usize = 150;

pub(crate) async fn concurrent_publish_and_subscribe_loses_no_message(db: &TestStore) {
    let team = Team::setup(db).await;
    let other = store::open(&db.location()).await.unwrap();
    let elsewhere = store_over(&other);
    // Meanwhile the listener's connection is lost too.
    let publishing = async {
        for number in 0..PUBLISHED_MESSAGES {
            let to = Recipients::Seat(team.seats[1]);
            publish(&elsewhere, &team, 0, to, &number.to_string()).await;
            if db.dialect() == Dialect::Postgres && number % 50 == 25 {
                let sql = "select count(pg_terminate_backend(pid)) as n from pg_stat_activity \
                    where datname = current_database() and query ilike 'listen%'";
                db.run(Scope::System, sql, params![]).await.unwrap();
            }
        }
    };
    let expected: Vec<String> = (0..PUBLISHED_MESSAGES)
        .map(|number| number.to_string())
        .collect();
    let reading = async {
        let mut first = team.subscribe(Some(1), None).await;
        let mut known = next_contents(&mut first, 10).await;
        // Further subscribers come and go in the middle; each gets all messages in order.
        for _ in 0..5 {
            let mut one = team.subscribe(None, Some(0)).await;
            assert_eq!(
                next_contents(&mut one, PUBLISHED_MESSAGES / 3).await,
                expected[..PUBLISHED_MESSAGES / 3]
            );
        }
        known.extend(next_contents(&mut first, PUBLISHED_MESSAGES - 10).await);
        assert_eq!(known, expected);
    };
    tokio::join!(publishing, reading);
    other.close().await;
}

pub(crate) async fn message_subscription_listens_to_session_channel(db: &TestStore) {
    let team = Team::setup(db).await;
    let channel = format!("automation_session_{}", team.session.uuid()).replace('-', "_");
    // The last statement of a connection. The connection that runs this query has another one.
    let is_last_statement = async |verb: &str| {
        let sql = "select exists (select 1 from pg_stat_activity where query = $1) as found";
        let params = params![format!("{verb} {channel}")];
        let row = db.run(Scope::System, sql, params).await.unwrap().remove(0);
        row.get::<bool>("found").unwrap()
    };
    let mut changes = team.stage.store.changes();
    changes.next().await;
    let subscription = team.subscribe(None, None).await;
    while !is_last_statement("listen").await {}
    drop(subscription);
    while !is_last_statement("unlisten").await {}
}

pub(crate) async fn published_message_notifies_session_channel(db: &TestStore) {
    let team = Team::setup(db).await;
    let channel = format!("automation_session_{}", team.session.uuid()).replace('-', "_");
    let mut others = PgListener::connect(db.home.url()).await.unwrap();
    others.listen(&channel).await.unwrap();
    let message = team.send_to_seat(0, 1, "1").await;
    assert_eq!(
        others.recv().await.unwrap().payload(),
        message.id.uuid().to_string()
    );
    team.stage.send_message(team.session, "not published").await;
    let message = team.send_to_seat(0, 2, "2").await;
    assert_eq!(
        others.recv().await.unwrap().payload(),
        message.id.uuid().to_string()
    );
}
