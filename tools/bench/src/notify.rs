//! Measures the latency from a commit to a reader in another process that has read the row: for readers of session logs
//! and for subscribers to seat messages, compared with a bare `listen` and `notify` for an equal row.
//!
//! The log and the bare side each publish with one statement and its commit, which takes the next number from the row
//! of a log and writes an event with that number. The table of the product notifies by its trigger, the copy by
//! `pg_notify` in the same statement. A message is published by the store; its time includes the locks of the session
//! and its seats, and the write of the transcript. The readers of the product use their own store with their own
//! connections, as another process would.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use model::{SeatId, SessionId, seat_message::Sender};
use sqlx::{Connection as _, Executor as _, PgConnection, postgres::PgListener, types::Uuid};
use store::{NewSeatMessage, Recipients, Scope, Store};
use tokio::{sync::mpsc, time::timeout};

use super::{
    fixture::{Fixture, create_session, now},
    folder::new_folder,
};
use crate::postgres::{Database, PostgresServer};

/// The maximum time until a reader has read a row.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of events before the measured ones, so that all statements are prepared.
const WARM_UP_EVENTS: usize = 50;

/// The notification channel of the bare side.
const BARE_CHANNEL: &str = "bare_wake";

/// Publishes an event in the tables of the product, whose trigger notifies the readers.
const INSERT_EVENT: &str = "with numbered as (
    update automation.agent_sessions set last_seq = last_seq + 1 where id = $1
    returning id, tenant_id, last_seq
)
insert into automation.session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at)
select id, last_seq, tenant_id, 'run', id, '{\"status\": \"running\", \"attempt\": 1}', created
from numbered, (values (cast('2026-11-22T08:00:00Z' as timestamptz))) at (created)
returning seq";

/// Publishes an event in the copies of the tables, and notifies the readers.
const INSERT_BARE_EVENT: &str = "with numbered as (
    update bare.agent_sessions set last_seq = last_seq + 1 where id = $1
    returning id, tenant_id, last_seq
), written as (
    insert into bare.session_events
        (session_id, seq, tenant_id, kind, ref_id, body, created_at)
    select id, last_seq, tenant_id, 'run', id, '{\"status\": \"running\", \"attempt\": 1}', created
    from numbered, (values (cast('2026-11-22T08:00:00Z' as timestamptz))) at (created)
    returning session_id, seq
)
select seq from written, pg_notify('bare_wake', cast(session_id as text))";

const SELECT_BARE_EVENTS: &str = "select session_id, seq, kind, ref_id, body, created_at \
     from bare.session_events where session_id = $1 and seq > $2 order by seq";

/// Adds a second seat to the session of a seat.
const INSERT_SECOND_SEAT: &str = "insert into automation.agent_definitions \
    (id, tenant_id, session_id, role, name, harness_id, is_entry, settings, created_at, updated_at) \
    select $1, tenant_id, session_id, 'worker', 'second', harness_id, false, settings, created_at, updated_at \
    from automation.agent_definitions where id = $2";

/// The latencies, sorted.
pub(crate) struct NotifyMeasurement {
    pub(crate) matins: Vec<Duration>,
    pub(crate) bare: Vec<Duration>,
    /// The time from before the publication of a message until its subscriber has the message.
    pub(crate) message_from_publish: Vec<Duration>,
    /// The time from the return of the publication, which follows the commit, until the subscriber has the message.
    pub(crate) message_from_commit: Vec<Duration>,
}

/// One side of the comparison: the publisher, and the numbers that its reader has read, with their times.
struct EventRoundTrip {
    publish_sql: &'static str,
    publisher: PgConnection,
    received: mpsc::UnboundedReceiver<(i64, Instant)>,
}

/// Publishes `count` events on each side, alternating.
pub(crate) async fn measure(
    server: &PostgresServer,
    folder: &Path,
    count: usize,
) -> Result<NotifyMeasurement> {
    let folder = new_folder(folder)?;
    let database = server.create_database("matins_notify").await?;
    let world = Fixture::open_postgres(&database, folder.path()).await?;
    let session = create_session(&world, folder.path()).await?;
    create_bare_tables(&database).await?;
    let reader_store = Store::new(
        store::open(&database.url.parse()?).await?,
        std::sync::Arc::clone(&world.entropy),
        folder.path().join("sessions"),
    );
    database.vacuum_and_checkpoint().await?;

    let mut matins = EventRoundTrip {
        publish_sql: INSERT_EVENT,
        publisher: database.connect_superuser().await?,
        received: spawn_reader(reader_store.clone(), world.tenant, session),
    };
    let mut bare = EventRoundTrip {
        publish_sql: INSERT_BARE_EVENT,
        publisher: database.connect_superuser().await?,
        received: spawn_bare_reader(&database, session.uuid()).await?,
    };
    let mut messages = MessageRoundTrip::create(&world, &database, &reader_store, session).await?;
    let mut measured = NotifyMeasurement {
        matins: Vec::with_capacity(count),
        bare: Vec::with_capacity(count),
        message_from_publish: Vec::with_capacity(count),
        message_from_commit: Vec::with_capacity(count),
    };
    for round in 0..WARM_UP_EVENTS + count {
        let (matins_time, bare_time) = (
            matins.publish_and_wait(session.uuid()).await?,
            bare.publish_and_wait(session.uuid()).await?,
        );
        let (published, committed) = messages.publish_and_wait().await?;
        if round >= WARM_UP_EVENTS {
            measured.matins.push(matins_time);
            measured.bare.push(bare_time);
            measured.message_from_publish.push(published);
            measured.message_from_commit.push(committed);
        }
    }
    drop((matins.received, bare.received, messages.received));
    reader_store.database().close().await;
    world.store.database().close().await;
    server.drop_database(&database).await?;
    for times in [
        &mut measured.matins,
        &mut measured.bare,
        &mut measured.message_from_publish,
        &mut measured.message_from_commit,
    ] {
        times.sort_unstable();
    }
    Ok(measured)
}

impl EventRoundTrip {
    /// Publishes one event, and waits until the reader has read it. Returns the time since before the statement was
    /// sent.
    async fn publish_and_wait(&mut self, session: Uuid) -> Result<Duration> {
        let started = Instant::now();
        let published: i64 = sqlx::query_scalar(self.publish_sql)
            .bind(session)
            .fetch_one(&mut self.publisher)
            .await?;
        loop {
            let read = timeout(READ_TIMEOUT, self.received.recv()).await?;
            let (seq, at) = read.ok_or_else(|| anyhow::anyhow!("the reader has ended early"))?;
            ensure!(
                seq <= published,
                "the reader has read event {seq}, but the last one is {published}"
            );
            if seq == published {
                return Ok(at.saturating_duration_since(started));
            }
        }
    }
}

/// Messages from one seat of a session to another.
struct MessageRoundTrip {
    fixture: Fixture,
    session: SessionId,
    new_message: NewSeatMessage,
    /// The numbers of the messages that the subscriber has read, with their times.
    received: mpsc::UnboundedReceiver<(i64, Instant)>,
}

impl MessageRoundTrip {
    /// Adds a second seat to the session, and subscribes `reader_store` to its messages.
    async fn create(
        world: &Fixture,
        database: &Database,
        reader_store: &Store,
        session: SessionId,
    ) -> Result<Self> {
        let seats = world.store.seats(Scope::System, session).await?;
        let from = seats.first().context("the session has no seat")?.id;
        let to = SeatId::generate(now(), &*world.entropy);
        let mut superuser = database.connect_superuser().await?;
        sqlx::query(INSERT_SECOND_SEAT)
            .bind(to.uuid())
            .bind(from.uuid())
            .execute(&mut superuser)
            .await?;
        let subscribed =
            reader_store.subscribe_to_seat_messages(world.tenant, session, Some(to), None);
        let mut subscribed = subscribed.await?;
        let (sender, read) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = subscribed.next() => message,
                    () = sender.closed() => return,
                };
                let Ok(Some(message)) = message else { return };
                let _ = sender.send((message.seq, Instant::now()));
            }
        });
        Ok(Self {
            fixture: world.clone(),
            session,
            new_message: NewSeatMessage {
                from: Sender::Seat(from),
                to: Recipients::Seat(to),
                content: "What is new?".into(),
                metadata: serde_json::json!({}),
            },
            received: read,
        })
    }

    /// Publishes a message, and waits until the subscriber has it. Returns the time since before the publication, and
    /// the time since its return.
    async fn publish_and_wait(&mut self) -> Result<(Duration, Duration)> {
        let Fixture { store, tenant, .. } = &self.fixture;
        let started = Instant::now();
        let published = store
            .publish_seat_message(*tenant, self.session, None, &self.new_message, now())
            .await?;
        let committed = Instant::now();
        let message = published.first().context("the message has no recipient")?;
        let (published, to, id) = (message.seq, message.to, message.id);
        let read = timeout(READ_TIMEOUT, self.received.recv()).await?;
        let (seq, at) = read.context("the subscriber has ended early")?;
        ensure!(
            seq == published,
            "the subscriber has read message {seq} instead of {published}"
        );
        // A seat has a limited number of undelivered messages.
        store
            .acknowledge_seat_message(*tenant, id, to, now())
            .await?;
        Ok((
            at.saturating_duration_since(started),
            at.saturating_duration_since(committed),
        ))
    }
}

/// Creates copies of the two tables with their indexes and rows, but without their triggers.
async fn create_bare_tables(database: &Database) -> Result<()> {
    let mut connection = database.connect_superuser().await?;
    connection
        .execute(
            "create schema bare; \
             create table bare.agent_sessions \
                 (like automation.agent_sessions including defaults including indexes \
                  including constraints); \
             insert into bare.agent_sessions select * from automation.agent_sessions; \
             create table bare.session_events \
                 (like automation.session_events including defaults including indexes \
                  including constraints); \
             insert into bare.session_events select * from automation.session_events; \
             alter table bare.session_events add foreign key (tenant_id, session_id) \
                 references bare.agent_sessions (tenant_id, id) on delete cascade; \
             grant usage on schema bare to matins; \
             grant select on all tables in schema bare to matins",
        )
        .await?;
    connection.close().await?;
    Ok(())
}

/// Starts a reader that waits for changes and reads the log, as a trace does.
fn spawn_reader(
    store: Store,
    tenant: model::TenantId,
    session: SessionId,
) -> mpsc::UnboundedReceiver<(i64, Instant)> {
    let (sender, read) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut changes = store.changes();
        let mut last = 0;
        loop {
            let changed = tokio::select! {
                changed = changes.next() => changed,
                () = sender.closed() => return,
            };
            if !changed.everything && !changed.logs.contains(&session.uuid()) {
                continue;
            }
            let Ok(events) = store
                .events(Scope::Tenant(tenant), session, last, u32::MAX)
                .await
            else {
                return;
            };
            let at = Instant::now();
            for event in events {
                last = event.seq;
                let _ = sender.send((last, at));
            }
        }
    });
    read
}

/// Starts a reader that reads the new rows on each notification.
async fn spawn_bare_reader(
    database: &Database,
    session: Uuid,
) -> Result<mpsc::UnboundedReceiver<(i64, Instant)>> {
    let mut listener = PgListener::connect(&database.url).await?;
    listener.listen(BARE_CHANNEL).await?;
    let mut reading = PgConnection::connect(&database.url).await?;
    let (sender, read) = mpsc::unbounded_channel();
    let statement = "select coalesce(max(seq), 0) from bare.session_events";
    let mut last: i64 = sqlx::query_scalar(statement)
        .fetch_one(&mut reading)
        .await?;
    tokio::spawn(async move {
        loop {
            let notification = tokio::select! {
                notification = listener.recv() => notification,
                () = sender.closed() => return,
            };
            if notification.is_err() {
                return;
            }
            let found = sqlx::query(SELECT_BARE_EVENTS)
                .bind(session)
                .bind(last)
                .fetch_all(&mut reading)
                .await;
            let at = Instant::now();
            for row in found.unwrap_or_default() {
                if let Ok(seq) = sqlx::Row::try_get(&row, "seq") {
                    last = seq;
                    let _ = sender.send((last, at));
                }
            }
        }
    });
    Ok(read)
}
