//! Runs whose directory is not on the server that has claimed them.
//!
//! **Invariants:** a refusal is a row, so that a server claims a refused run no more, also after a restart. It commits
//! together with the requeue of the run, and uses up no attempt. A run fails only if each server that is online and could
//! take it has refused it.

use model::{
    InstanceId, RunId, Timestamp, WorkerId,
    entity::Run,
    event::RunChange,
    limits,
    outcome::{FailureKind, Outcome, RunFailure},
    run::{DIRECTORY_NOT_HERE, RunStatus},
    turn::{StartReply, TurnResult, WriteOutcome},
};

use crate::{
    Error, Scope,
    batches::StartRequest,
    boxed,
    database::{Row, Tx},
    locks::lock_run,
    runs::{end::end_run, start_candidate::StartCandidate},
    session_log::SessionLogWriter,
    store::Store,
    stored,
};

/// Maximum number of rows that one query of a review returns.
const MAX_ROWS_PER_QUERY: u32 = 200;

/// The refusal of a run by the server of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryRefusal {
    /// The run.
    pub run: RunId,
    /// The instance.
    pub instance: InstanceId,
    /// The directory that the server did not have.
    pub directory: Option<String>,
    /// `true` if the run still waits for a server.
    pub is_waiting: bool,
}

impl Store {
    /// Refuses a run that `worker` has claimed, because the directory of its session is not on `instance`. The run waits
    /// for another server, and fails if no other server is online or could take it.
    ///
    /// Cancels or defers the run if [`Store::begin`] would.
    #[boxed]
    pub async fn refuse_directory(
        &self,
        run: RunId,
        worker: &WorkerId,
        instance: InstanceId,
        now: Timestamp,
    ) -> Result<StartReply, Error> {
        let request = StartRequest {
            run,
            worker: worker.clone(),
            instance,
            directory_missing: true,
            precheck_done: false,
            secret: None,
            now,
        };
        self.batches
            .begin
            .submit(self, request, |store, all| Box::pin(store.begin_batch(all)))
            .await
    }

    /// Lists up to 200 refusals of an instance, and of runs that no longer wait. Omits runs that the instance refuses because
    /// this server does not share their directory.
    #[boxed]
    pub async fn directory_refusals(
        &self,
        instance: InstanceId,
    ) -> Result<Vec<DirectoryRefusal>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let params = params![instance, MAX_ROWS_PER_QUERY];
        let found = tx
            .fetch_all(sql!("directory_refusals/to_review"), params)
            .await?;
        let mut refusals = Vec::with_capacity(found.len());
        for row in &found {
            let status: RunStatus = row.parse("status")?;
            let refusal = DirectoryRefusal {
                run: row.get("run_id")?,
                instance: row.get("instance_id")?,
                directory: stored::given_directory(row.get("cwd")?, row.get("session_id")?),
                is_waiting: matches!(status, RunStatus::Queued | RunStatus::Delivered),
            };
            // A server that does not share the directory must not claim the run again because it has one at that path.
            let directory = refusal.directory.as_deref();
            let is_here = !row.get::<bool>("on_all_servers")?
                || directory.is_some_and(|directory| self.is_on_all_servers(directory));
            if is_here || !refusal.is_waiting {
                refusals.push(refusal);
            }
        }
        Ok(refusals)
    }

    /// Returns `true` if a run works in a directory that is on all servers, and this server does not share it. This server may
    /// have another directory at the same path.
    pub(super) fn lacks_shared_directory(&self, candidate: &StartCandidate) -> bool {
        let given = candidate.seat.given_directory(&candidate.session);
        !candidate.files_on_one_server
            && given.is_some_and(|directory| !self.is_on_all_servers(directory))
    }

    /// Removes refusals, so that their instances may claim the runs again.
    #[boxed]
    pub async fn remove_directory_refusals(
        &self,
        refusals: &[DirectoryRefusal],
    ) -> Result<(), Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let rows = refusals.iter().map(|one| params![one.run, one.instance]);
                let rows = rows.collect();
                tx.execute_rows(sql!("directory_refusals/delete"), rows, params![])
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Fails up to 200 queued runs that all servers which are online and could take them have refused for
    /// [`limits::DIRECTORY_WAIT`]. Returns the number of failed runs.
    #[boxed]
    pub async fn fail_runs_without_directory(&self, now: Timestamp) -> Result<u32, Error> {
        let overdue = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            read_overdue(&mut tx, None, now).await?
        };
        let mut failed = 0;
        for Overdue { run, .. } in overdue {
            if self.fail_if_without_directory(run, now).await? {
                failed += 1;
            }
        }
        Ok(failed)
    }

    async fn fail_if_without_directory(&self, run: RunId, now: Timestamp) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let Some(run) = lock_run(tx, run).await? else {
                    return Ok(false);
                };
                // A server may have come online, or found the directory, since the search.
                let overdue = read_overdue(tx, Some(run.id), now).await?;
                let Some(Overdue {
                    directory,
                    on_all_servers,
                    ..
                }) = overdue.into_iter().next()
                else {
                    return Ok(false);
                };
                let retry = retry_words(&run);
                let message = if on_all_servers {
                    format!(
                        "no server that is online has the directory `{directory}` and names it in \
                         `shared_directories`: start one that does, and {retry}"
                    )
                } else {
                    format!(
                        "no server that is online has the directory `{directory}`: create it, or start a server \
                         that has it, and {retry}"
                    )
                };
                let finished = TurnResult::with_outcome(Outcome::Failed(directory_failure(message)));
                let mut log = SessionLogWriter::default();
                let ended = end_run(self, tx, &run, &mut log, &finished, now).await?;
                log.write(tx, now).await?;
                Ok(ended == WriteOutcome::Committed)
            })
        })
        .await
    }
}

/// Requeues a claimed run for a server that has its directory, or fails it if there is no other server. Returns `None` if
/// the turn has a folder of its own, which each server can create. The caller must hold the locks of the run.
pub(super) async fn refuse_without_directory(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    candidate: &StartCandidate,
    (instance, now): (InstanceId, Timestamp),
) -> Result<Option<StartReply>, Error> {
    let StartCandidate {
        run, session, seat, ..
    } = candidate;
    let Some(directory) = seat.given_directory(session) else {
        return Ok(None);
    };
    let (absence, remedy, note) = if store.lacks_shared_directory(candidate) {
        (
            "is not in `shared_directories` of",
            "name it there",
            ", which is not in `shared_directories`",
        )
    } else {
        ("is not on", "create it there", "")
    };
    let retry = retry_words(run);
    // 1. Fail the run if no other server could take it.
    let message = if seat.instance_id.is_some() {
        Some(format!(
            "the directory `{directory}` {absence} the server that has the agent's memory: {remedy}, and \
             {retry}"
        ))
    } else if seat.placed_on.is_some() {
        Some(format!(
            "the directory `{directory}` {absence} the instance where the run is placed: {remedy}, and \
             {retry}"
        ))
    } else {
        let online_since = now.saturating_sub(limits::SERVER_OFFLINE_AFTER);
        let other = tx.fetch_optional(
            sql!("directory_refusals/other_servers"),
            params![instance, online_since],
        );
        other.await?.is_none().then(|| {
            format!("the directory `{directory}` {absence} this server: {remedy}, and {retry}")
        })
    };
    if let Some(message) = message {
        let failure = directory_failure(message);
        let finished = TurnResult::with_outcome(Outcome::Failed(failure.clone()));
        let _ = end_run(store, tx, run, log, &finished, now).await?;
        return Ok(Some(StartReply::Refused(failure)));
    }
    // 2. Record the refusal, and requeue the run.
    let refusal = params![run.id, run.tenant_id, instance, now];
    tx.execute(sql!("directory_refusals/insert"), refusal)
        .await?;
    let message = format!("{DIRECTORY_NOT_HERE}: `{directory}`{note}");
    tx.execute(
        sql!("runs/requeue_without_directory"),
        params![run.id, DIRECTORY_NOT_HERE, message.as_str()],
    )
    .await?;
    tx.execute(sql!("heartbeats/delete"), params![run.id])
        .await?;
    log.add_run_change(session.id, run.id, RunChange::Queued { input: None });
    Ok(Some(StartReply::Deferred))
}

/// A queued run without a server that has its directory.
struct Overdue {
    run: RunId,
    directory: String,
    /// `true` if the directory of its goal is on all servers.
    on_all_servers: bool,
}

/// Returns the runs without a server that has their directory.
async fn read_overdue(
    tx: &mut Tx,
    only: Option<RunId>,
    now: Timestamp,
) -> Result<Vec<Overdue>, Error> {
    let online_since = now.saturating_sub(limits::SERVER_OFFLINE_AFTER);
    let refused_until = now.saturating_sub(limits::DIRECTORY_WAIT);
    let params = params![only, online_since, refused_until, MAX_ROWS_PER_QUERY];
    let found = tx
        .fetch_all(sql!("directory_refusals/overdue"), params)
        .await?;
    let read = |row: &Row| {
        Ok(Overdue {
            run: row.get("id")?,
            directory: row.get("cwd")?,
            on_all_servers: row.get("on_all_servers")?,
        })
    };
    found.iter().map(read).collect()
}

/// Returns the command that repeats a run, for a hint. The turn of a task has no retry of its own.
const fn retry_words(run: &Run) -> &'static str {
    match run.task {
        Some(_) => "resume the goal, or retry the task",
        None => "retry the run",
    }
}

fn directory_failure(message: String) -> RunFailure {
    RunFailure {
        kind: FailureKind::Directory,
        prompted: false,
        message,
    }
}
