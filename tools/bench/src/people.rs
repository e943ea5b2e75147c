//! Measures how long people wait when they send messages while turns of the same sessions begin, write and end.

use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use model::{
    AcpSessionId, MessageId, RunId, SessionId,
    outcome::{Outcome, StopReason},
    turn::{Entry, EntryKind, Role, StartReply, TurnResult, WriteOutcome},
};
use serde_json::json;
use store::Scope;
use tokio::{task::JoinSet, time::sleep};

use super::{
    fixture::{Fixture, create_session, now},
    folder::new_folder,
};
use crate::postgres::{Database, PostgresServer};

/// The number of people, each of whom sends one message after the other.
pub(crate) const PEOPLE: usize = 10;
/// The number of sessions to which all of them send.
pub(crate) const SESSIONS: usize = 20;
/// The step from one session of a person to the next. It has no divisor in common with [`SESSIONS`], so that each
/// person reaches all sessions.
const SESSION_STEP: usize = 7;
/// The number of rows that each turn writes to the transcript between its beginning and its end.
const ROWS_OF_TURN: usize = 2;
/// The interval at which the end of the database's connections is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Repeats a call of the store while the database is busy, as a client does after a 503, and counts the repetitions.
macro_rules! repeat_while_busy {
    ($repeated:ident, $call:expr) => {
        loop {
            match $call.await {
                Err(error) if error.is_transient() => $repeated += 1,
                done => break done?,
            }
        }
    };
}

/// The time that each message took, sorted, and what happened meanwhile.
pub(crate) struct PeopleMeasurement {
    pub(crate) latencies: Vec<Duration>,
    /// The time until the last message was sent.
    pub(crate) took: Duration,
    /// The number of calls that the database refused as busy and that were repeated.
    pub(crate) repeated_calls: usize,
    /// The number of deadlocks. `None` on SQLite, where a writer locks the whole database.
    pub(crate) deadlocks: Option<i64>,
}

impl PeopleMeasurement {
    pub(crate) fn per_second(&self) -> f64 {
        let messages = u32::try_from(self.latencies.len()).unwrap_or(u32::MAX);
        f64::from(messages) / self.took.as_secs_f64()
    }
}

/// Measures on a new SQLite file.
pub(crate) async fn measure_sqlite(folder: &Path, messages: usize) -> Result<PeopleMeasurement> {
    let home = new_folder(folder)?;
    let world = Fixture::open_sqlite(home.path()).await?;
    send_and_take_turns(&world, messages).await
}

/// Measures on an empty database of a PostgreSQL server.
pub(crate) async fn measure_postgres(
    server: &PostgresServer,
    folder: &Path,
    messages: usize,
) -> Result<PeopleMeasurement> {
    let home = new_folder(folder)?;
    let database = server.create_database("matins_people").await?;
    let world = Fixture::open_postgres(&database, home.path()).await?;
    let mut measured = send_and_take_turns(&world, messages).await?;
    world.store.database().close().await;
    measured.deadlocks = Some(count_deadlocks(&database).await?);
    server.drop_database(&database).await?;
    Ok(measured)
}

/// Sends `messages` messages, [`PEOPLE`] at once, while a worker takes the turn of each.
async fn send_and_take_turns(world: &Fixture, messages: usize) -> Result<PeopleMeasurement> {
    let mut sessions = Vec::with_capacity(SESSIONS);
    for _ in 0..SESSIONS {
        sessions.push(create_session(world, Path::new("/tmp")).await?);
    }
    let turns = tokio::spawn(take_turns(world.clone(), messages));
    let started = Instant::now();
    let mut people = JoinSet::new();
    for person in 0..PEOPLE {
        let count = messages / PEOPLE + usize::from(person < messages % PEOPLE);
        people.spawn(send_messages(
            world.clone(),
            sessions.clone(),
            person,
            count,
        ));
    }
    let mut latencies = Vec::with_capacity(messages);
    let mut repeated_calls = 0;
    while let Some(sent) = people.join_next().await {
        let (times, repeated) = sent??;
        latencies.extend(times);
        repeated_calls += repeated;
    }
    let took = started.elapsed();
    repeated_calls += turns
        .await
        .context("the task that takes turns panicked")??;
    check_logs(world, &sessions, messages).await?;
    latencies.sort_unstable();
    Ok(PeopleMeasurement {
        latencies,
        took,
        repeated_calls,
        deadlocks: None,
    })
}

/// Sends one message after the other, each to another session. Returns the time of each, and the number of repeated
/// calls.
async fn send_messages(
    world: Fixture,
    sessions: Vec<SessionId>,
    person: usize,
    count: usize,
) -> Result<(Vec<Duration>, usize)> {
    let mut times = Vec::with_capacity(count);
    let mut repeated = 0;
    for number in 0..count {
        let session = sessions[(person + number * SESSION_STEP) % sessions.len()];
        let began = Instant::now();
        let text = "What is due today?";
        repeat_while_busy!(
            repeated,
            world
                .store
                .send_message(world.tenant, session, None, text, now())
        );
        times.push(began.elapsed());
    }
    Ok((times, repeated))
}

/// Claims the runs of all messages, as many at once as there are sessions, and takes the turn of each. Returns the
/// number of repeated calls.
async fn take_turns(world: Fixture, messages: usize) -> Result<usize> {
    let mut turns = JoinSet::new();
    let (mut ended, mut repeated) = (0, 0);
    while ended < messages {
        let free = u32::try_from(SESSIONS - turns.len())?;
        let (worker, instance) = (&world.worker, world.instance);
        let claimed = repeat_while_busy!(
            repeated,
            world.store.claim(worker, instance, free, None, now())
        );
        for claimed in claimed {
            turns.spawn(take_turn(world.clone(), claimed.run));
        }
        // Wait for one end, then take all ends that have happened meanwhile, as a server's pool does.
        if let Some(done) = turns.join_next().await {
            repeated += done??;
            ended += 1;
        }
        while let Some(done) = turns.try_join_next() {
            repeated += done??;
            ended += 1;
        }
        tokio::task::yield_now().await;
    }
    Ok(repeated)
}

/// Takes one turn: begins it, writes rows as the agent's updates arrive, renews the heartbeat and ends it.
async fn take_turn(world: Fixture, run: RunId) -> Result<usize> {
    let (store, worker) = (&world.store, &world.worker);
    let mut repeated = 0;
    let start = repeat_while_busy!(
        repeated,
        store.begin(run, worker, world.instance, now(), None)
    );
    ensure!(
        matches!(start, StartReply::Started(_)),
        "the run did not start: {start:?}"
    );
    for _ in 0..ROWS_OF_TURN {
        let row = [Entry {
            id: MessageId::generate(now(), &*world.entropy),
            role: Role::Tool,
            kind: EntryKind::ToolCall,
            content: "Read the calendar".into(),
            metadata: json!({ "kind": "read" }),
        }];
        let written = repeat_while_busy!(repeated, store.record(run, worker, &row, now()));
        ensure_committed("row", written)?;
    }
    repeat_while_busy!(repeated, store.renew_heartbeat(run, worker, now()));
    let result = TurnResult {
        answer: "Nothing is due today.".into(),
        acp_session_id: Some(AcpSessionId::new("bench")),
        turn_ended: true,
        ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
    };
    let ended = repeat_while_busy!(repeated, store.finish(run, worker, &result, now()));
    ensure_committed("end", ended)?;
    Ok(repeated)
}

fn ensure_committed(what: &str, outcome: WriteOutcome) -> Result<()> {
    ensure!(
        outcome == WriteOutcome::Committed,
        "the {what} of the run was not committed: {outcome:?}"
    );
    Ok(())
}

/// Checks that the logs have no gap, and that each message has its run and its turn.
async fn check_logs(world: &Fixture, sessions: &[SessionId], messages: usize) -> Result<()> {
    let scope = Scope::Tenant(world.tenant);
    let mut rows = 0;
    for session in sessions {
        let events = world.store.events(scope, *session, 0, u32::MAX).await?;
        let numbers = events.iter().map(|event| event.seq);
        ensure!(
            numbers.eq(1..=i64::try_from(events.len())?),
            "the log of {session} has gaps"
        );
        let found = world.store.messages(scope, *session, 0, u32::MAX).await?;
        rows += found.len();
        let runs: HashSet<_> = found.iter().map(|row| row.run_id).collect();
        ensure!(
            found.len() == runs.len() * (ROWS_OF_TURN + 2),
            "a turn of {session} lacks a row"
        );
    }
    ensure!(
        rows == messages * (ROWS_OF_TURN + 2),
        "{messages} messages have {rows} rows"
    );
    Ok(())
}

/// Returns the number of deadlocks in a database whose store is closed. A connection reports its deadlocks when it
/// ends, so this waits for the end of all.
async fn count_deadlocks(database: &Database) -> Result<i64> {
    let mut connection = database.connect_superuser().await?;
    loop {
        let open: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity \
             where datname = current_database() and usename <> current_user",
        )
        .fetch_one(&mut connection)
        .await?;
        if open == 0 {
            break;
        }
        sleep(POLL_INTERVAL).await;
    }
    let deadlocks = sqlx::query_scalar(
        "select deadlocks from pg_stat_database where datname = current_database()",
    )
    .fetch_one(&mut connection)
    .await?;
    Ok(deadlocks)
}
