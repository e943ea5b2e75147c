//! How long it takes from a commit to a reader elsewhere that has read its row: readers of Matins's logs,
//! beside a bare `listen` and `notify` with an equal row.
//!
//! Both are published by one statement and its commit: a number is taken from the row of a log, and an
//! event written under it. Matins's own table wakes by its trigger, the copy by `pg_notify` in the same
//! statement. The reader of Matins is a store of its own with its own connections, as in another process.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use model::SessionId;
use sqlx::{Connection as _, Executor as _, PgConnection, postgres::PgListener, types::Uuid};
use store::{Scope, Store};
use tokio::{sync::mpsc, time::timeout};

use super::{
    new_folder,
    world::{World, session},
};
use crate::postgres::{Database, Server};

/// The longest that a reader may take.
const LIMIT: Duration = Duration::from_secs(30);
/// As many come before what is measured, so that statements are prepared.
const FIRST: usize = 50;

/// The channel of the bare side.
const CHANNEL: &str = "bare_wake";

/// Publishes on Matins's tables.
const PUBLISH: &str = "with numbered as (
    update automation.agent_sessions set last_seq = last_seq + 1 where id = $1
    returning id, tenant_id, last_seq
)
insert into automation.session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at)
select id, last_seq, tenant_id, 'run', id, '{\"status\": \"running\", \"attempt\": 1}', created
from numbered, (values (cast('2026-11-22T08:00:00Z' as timestamptz))) at (created)
returning seq";

/// Publishes on copies of them.
const PUBLISH_BARE: &str = "with numbered as (
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

const READ_BARE: &str = "select session_id, seq, kind, ref_id, body, created_at \
     from bare.session_events where session_id = $1 and seq > $2 order by seq";

/// What was measured, sorted.
pub(crate) struct Measured {
    pub(crate) matins: Vec<Duration>,
    pub(crate) bare: Vec<Duration>,
}

/// A side: who publishes, and the numbers that its reader has read, with the time.
struct Side {
    publish: &'static str,
    publisher: PgConnection,
    read: mpsc::UnboundedReceiver<(i64, Instant)>,
}

/// Publishes `count` events on each side, by turns.
pub(crate) async fn measure(server: &Server, folder: &Path, count: usize) -> Result<Measured> {
    let folder = new_folder(folder)?;
    let database = server.database("matins_notify").await?;
    let world = World::open_on(&database, folder.path()).await?;
    let session = session(&world, folder.path()).await?;
    copy(&database).await?;
    let elsewhere = Store::new(
        store::open(&database.url.parse()?).await?,
        std::sync::Arc::clone(&world.entropy),
        folder.path().join("sessions"),
    );
    database.settle().await?;

    let mut matins = Side {
        publish: PUBLISH,
        publisher: database.superuser().await?,
        read: reader(elsewhere.clone(), world.tenant, session),
    };
    let mut bare = Side {
        publish: PUBLISH_BARE,
        publisher: database.superuser().await?,
        read: bare_reader(&database, session.uuid()).await?,
    };
    let mut measured = Measured {
        matins: Vec::with_capacity(count),
        bare: Vec::with_capacity(count),
    };
    for round in 0..FIRST + count {
        let (one, other) = (
            matins.event(session.uuid()).await?,
            bare.event(session.uuid()).await?,
        );
        if round >= FIRST {
            measured.matins.push(one);
            measured.bare.push(other);
        }
    }
    drop((matins.read, bare.read));
    elsewhere.database().close().await;
    world.store.database().close().await;
    server.drop(&database).await?;
    measured.matins.sort_unstable();
    measured.bare.sort_unstable();
    Ok(measured)
}

impl Side {
    /// Publishes one event, and waits until the reader has read it. Gives the time since before the
    /// statement was sent.
    async fn event(&mut self, session: Uuid) -> Result<Duration> {
        let started = Instant::now();
        let published: i64 = sqlx::query_scalar(self.publish)
            .bind(session)
            .fetch_one(&mut self.publisher)
            .await?;
        loop {
            let read = timeout(LIMIT, self.read.recv()).await?;
            let (seq, at) = read.ok_or_else(|| anyhow::anyhow!("the reader has ended"))?;
            ensure!(seq <= published, "{seq} was read, {published} is the last");
            if seq == published {
                return Ok(at.saturating_duration_since(started));
            }
        }
    }
}

/// Makes copies of the two tables, with their indexes and rows, without their triggers.
async fn copy(database: &Database) -> Result<()> {
    let mut connection = database.superuser().await?;
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
fn reader(
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
async fn bare_reader(
    database: &Database,
    session: Uuid,
) -> Result<mpsc::UnboundedReceiver<(i64, Instant)>> {
    let mut listener = PgListener::connect(&database.url).await?;
    listener.listen(CHANNEL).await?;
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
            let found = sqlx::query(READ_BARE)
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
