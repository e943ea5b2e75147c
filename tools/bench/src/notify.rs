//! How long it takes from a commit to a reader elsewhere that has read its row: readers of Matins's logs and
//! subscribers to its messages, beside a bare `listen` and `notify` with an equal row.
//!
//! Log and bare side are published by one statement and its commit: a number is taken from the row of a log, and
//! an event written under it. Matins's own table wakes by its trigger, the copy by `pg_notify` in the same
//! statement. A message is published by the store, from before it is asked to: that takes the session's and its
//! seats' locks and writes the transcript as well. Who reads from Matins is a store of its own with its own
//! connections, as in another process.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use model::{SeatId, SessionId};
use sqlx::{Connection as _, Executor as _, PgConnection, postgres::PgListener, types::Uuid};
use store::{NewSeatMessage, Recipients, Scope, Store};
use tokio::{sync::mpsc, time::timeout};

use super::{
    fixture::{Fixture, create_session, now},
    folder::new_folder,
};
use crate::postgres::{Database, PostgresServer};

/// The longest that a reader may take.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// As many come before what is measured, so that statements are prepared.
const WARM_UP_EVENTS: usize = 50;

/// The channel of the bare side.
const BARE_CHANNEL: &str = "bare_wake";

/// Publishes on Matins's tables.
const INSERT_EVENT: &str = "with numbered as (
    update automation.agent_sessions set last_seq = last_seq + 1 where id = $1
    returning id, tenant_id, last_seq
)
insert into automation.session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at)
select id, last_seq, tenant_id, 'run', id, '{\"status\": \"running\", \"attempt\": 1}', created
from numbered, (values (cast('2026-11-22T08:00:00Z' as timestamptz))) at (created)
returning seq";

/// Publishes on copies of them.
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

/// Another seat beside one.
const INSERT_SECOND_SEAT: &str = "insert into automation.agent_definitions \
    (id, tenant_id, session_id, role, name, harness_id, is_entry, settings, created_at, updated_at) \
    select $1, tenant_id, session_id, 'worker', 'second', harness_id, false, settings, created_at, updated_at \
    from automation.agent_definitions where id = $2";

/// What was measured, sorted.
pub(crate) struct NotifyMeasurement {
    pub(crate) matins: Vec<Duration>,
    pub(crate) bare: Vec<Duration>,
    /// From before a message is published until its subscriber has it.
    pub(crate) message_from_publish: Vec<Duration>,
    /// The same from the answer to who published it, by when it is committed.
    pub(crate) message_from_commit: Vec<Duration>,
}

/// A side: who publishes, and the numbers that its reader has read, with the time.
struct EventRoundTrip {
    publish_sql: &'static str,
    publisher: PgConnection,
    received: mpsc::UnboundedReceiver<(i64, Instant)>,
}

/// Publishes `count` events on each side, by turns.
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
    let elsewhere = Store::new(
        store::open(&database.url.parse()?).await?,
        std::sync::Arc::clone(&world.entropy),
        folder.path().join("sessions"),
    );
    database.vacuum_and_checkpoint().await?;

    let mut matins = EventRoundTrip {
        publish_sql: INSERT_EVENT,
        publisher: database.connect_superuser().await?,
        received: spawn_reader(elsewhere.clone(), world.tenant, session),
    };
    let mut bare = EventRoundTrip {
        publish_sql: INSERT_BARE_EVENT,
        publisher: database.connect_superuser().await?,
        received: spawn_bare_reader(&database, session.uuid()).await?,
    };
    let mut messages = MessageRoundTrip::create(&world, &database, &elsewhere, session).await?;
    let mut measured = NotifyMeasurement {
        matins: Vec::with_capacity(count),
        bare: Vec::with_capacity(count),
        message_from_publish: Vec::with_capacity(count),
        message_from_commit: Vec::with_capacity(count),
    };
    for round in 0..WARM_UP_EVENTS + count {
        let (one, other) = (
            matins.publish_and_wait(session.uuid()).await?,
            bare.publish_and_wait(session.uuid()).await?,
        );
        let (published, committed) = messages.publish_and_wait().await?;
        if round >= WARM_UP_EVENTS {
            measured.matins.push(one);
            measured.bare.push(other);
            measured.message_from_publish.push(published);
            measured.message_from_commit.push(committed);
        }
    }
    drop((matins.received, bare.received, messages.received));
    elsewhere.database().close().await;
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
    /// Publishes one event, and waits until the reader has read it. Gives the time since before the
    /// statement was sent.
    async fn publish_and_wait(&mut self, session: Uuid) -> Result<Duration> {
        let started = Instant::now();
        let published: i64 = sqlx::query_scalar(self.publish_sql)
            .bind(session)
            .fetch_one(&mut self.publisher)
            .await?;
        loop {
            let read = timeout(READ_TIMEOUT, self.received.recv()).await?;
            let (seq, at) = read.ok_or_else(|| anyhow::anyhow!("the reader has ended"))?;
            ensure!(seq <= published, "{seq} was read, {published} is the last");
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
    /// Their numbers, with the time when they were read.
    received: mpsc::UnboundedReceiver<(i64, Instant)>,
}

impl MessageRoundTrip {
    /// Gives the session a second seat, to whose messages `elsewhere` subscribes.
    async fn create(
        world: &Fixture,
        database: &Database,
        elsewhere: &Store,
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
            elsewhere.subscribe_to_seat_messages(world.tenant, session, Some(to), None);
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
                from,
                to: Recipients::Seat(to),
                content: "What is new?".into(),
                metadata: serde_json::json!({}),
            },
            received: read,
        })
    }

    /// Publishes one, and waits until it is read. Gives the time since before it was published, and since it was.
    async fn publish_and_wait(&mut self) -> Result<(Duration, Duration)> {
        let Fixture { store, tenant, .. } = &self.fixture;
        let started = Instant::now();
        let published = store
            .publish_seat_message(*tenant, self.session, &self.new_message, now())
            .await?;
        let committed = Instant::now();
        let published = published.first().context("nobody was written to")?.seq;
        let read = timeout(READ_TIMEOUT, self.received.recv()).await?;
        let (seq, at) = read.context("the subscriber has ended")?;
        ensure!(seq == published, "{seq} was read instead of {published}");
        Ok((
            at.saturating_duration_since(started),
            at.saturating_duration_since(committed),
        ))
    }
}

/// Makes copies of the two tables, with their indexes and rows, without their triggers.
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

/// Waits for changes and reads the log, as a trace does.
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

/// Listens, and reads the row when it is told to.
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
            let told = tokio::select! {
                told = listener.recv() => told,
                () = sender.closed() => return,
            };
            if told.is_err() {
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
