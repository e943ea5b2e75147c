//! Trigger files: the delivery of runs into the folders of instances.
//!
//! **Invariants:** a run is `delivered` only after the write of its file is confirmed. A file has one name until a runtime
//! has claimed its run, so that a repeated write makes no second file. An attempt is counted before it is made, and its
//! number is its fence. Delivered runs have no heartbeat, so that no watchdog gives them up; the dispatcher looks for
//! their files again after [`limits::REDELIVER_AFTER`].

use std::collections::{BTreeMap, HashMap};

use model::{
    AutomationId, InstanceId, RunId, TenantId, Timestamp, limits,
    policy::SessionMode,
    run::Origin,
    trigger_file::{InstanceFolder, TriggerFile, retry_pause},
    turn::WriteOutcome,
};

use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    store::Store,
    stored,
};

/// A file that a dispatcher has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedTriggerFile {
    /// The run that the file delivers.
    pub run: RunId,
    /// The tenant of the run.
    pub tenant: TenantId,
    /// The instance.
    pub instance: InstanceId,
    /// The folder of the instance.
    pub folder: InstanceFolder,
    /// The instant in the name of the file.
    pub named_at: Timestamp,
    /// The number of the attempt, which is its fence.
    pub attempt: i64,
    /// The number of failed attempts since the last confirmed write.
    pub failures: i64,
    /// The content of the file.
    pub content: TriggerContent,
}

/// The data of a run from which the content of its file is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerContent {
    /// The automation of the run, with its name and its session mode.
    pub automation: Option<(AutomationId, String, SessionMode)>,
    /// The source of the input.
    pub origin: Origin,
    /// The due instant of the occurrence, or the instant of the input.
    pub at: Timestamp,
    /// The text of the input.
    pub task: String,
}

/// The result of a confirmed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerFileWrite {
    /// The file was written.
    Written,
    /// The file was there already.
    AlreadyThere,
}

impl Store {
    /// Claims files of an instance that are due, with a lease until `until`. No other dispatcher claims them before that.
    #[boxed]
    pub async fn claim_trigger_files(
        &self,
        instance: InstanceId,
        limit: u32,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<ClaimedTriggerFile>, Error> {
        // Search in a transaction that only reads, because most servers have no such instance, and SQLite has one writer.
        let due = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            tx.fetch_all(sql!("trigger_files/due"), params![now, limit, instance])
                .await?
        };
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let claimed = self
            .transact(Scope::System, |tx, _| {
                let due = &due;
                Box::pin(async move {
                    let runs = due.iter().map(|row| Ok(params![row.get::<RunId>("id")?]));
                    let runs = runs.collect::<Result<Vec<_>, Error>>()?;
                    let found =
                        tx.fetch_rows(sql!("trigger_files/claim"), runs, params![now, until]);
                    let pair = |row: &Row| {
                        let attempt = (
                            row.get("named_at")?,
                            row.get("attempt")?,
                            row.get("failures")?,
                        );
                        Ok((row.get::<RunId>("run_id")?, attempt))
                    };
                    found
                        .await?
                        .iter()
                        .map(pair)
                        .collect::<Result<HashMap<_, _>, Error>>()
                })
            })
            .await?;
        let mut files = Vec::with_capacity(claimed.len());
        for row in &due {
            let run = row.get("id")?;
            let Some(attempt) = claimed.get(&run) else {
                continue;
            };
            match read_claimed(row, run, *attempt) {
                Ok(file) => files.push(file),
                // One corrupt row must not keep the other runs from their instances.
                Err(error) => {
                    tracing::error!(%run, %error, "cannot make the trigger file of {run}");
                }
            }
        }
        Ok(files)
    }

    /// Records that a file is in its folder, and marks its run as delivered. Returns [`WriteOutcome::Fenced`] if another
    /// attempt has begun, or if a runtime has claimed the run meanwhile.
    #[boxed]
    pub async fn record_trigger_file(
        &self,
        file: &ClaimedTriggerFile,
        write: TriggerFileWrite,
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        let writes = i64::from(write == TriggerFileWrite::Written);
        let next = now + limits::REDELIVER_AFTER;
        let (run, attempt) = (file.run, file.attempt);
        self.transact(Scope::Tenant(file.tenant), |tx, _| {
            Box::pin(async move {
                // The run goes first, as in a claim by a runtime, so that the two never deadlock.
                tx.execute(sql!("trigger_files/deliver"), params![run, attempt, now])
                    .await?;
                let params = params![run, attempt, now, writes, next];
                let recorded = tx.execute(sql!("trigger_files/record_write"), params);
                Ok(write_outcome(recorded.await?))
            })
        })
        .await
    }

    /// Records a failed attempt to write a file. The next one follows after a pause that grows with each failure.
    #[boxed]
    pub async fn record_trigger_file_failure(
        &self,
        file: &ClaimedTriggerFile,
        error: &str,
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        let error = &error[..error.floor_char_boundary(limits::ERROR_BYTES)];
        let next = now + retry_pause(file.failures + 1);
        let (run, attempt) = (file.run, file.attempt);
        self.transact(Scope::Tenant(file.tenant), |tx, _| {
            Box::pin(async move {
                let params = params![run, attempt, error, next];
                let recorded = tx.execute(sql!("trigger_files/record_failure"), params);
                Ok(write_outcome(recorded.await?))
            })
        })
        .await
    }

    /// Returns, for each instance with runs that wait for a file or as a file, the instant at which its next file is due.
    #[boxed]
    pub async fn next_trigger_files(&self) -> Result<BTreeMap<InstanceId, Timestamp>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let rows = tx.fetch_all(sql!("trigger_files/next"), params![]).await?;
        rows.iter()
            .map(|row| Ok((row.get("instance_id")?, row.get("at")?)))
            .collect()
    }

    /// Returns the file of a run. Returns `None` if no attempt to write one was made.
    #[boxed]
    pub async fn trigger_file(
        &self,
        scope: Scope,
        run: RunId,
    ) -> Result<Option<TriggerFile>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("trigger_files/by_run"), params![scope.tenant(), run])
            .await?;
        row.as_ref().map(read_trigger_file).transpose()
    }
}

/// Records that the files of runs no longer wait: a runtime has claimed the runs, or they are deferred or over. So a dispatcher
/// that is still writing the files changes nothing.
pub(crate) async fn take_trigger_files(
    tx: &mut Tx,
    runs: impl Iterator<Item = RunId>,
    now: Timestamp,
) -> Result<(), Error> {
    let rows = runs.map(|run| params![run]).collect();
    tx.execute_rows(sql!("trigger_files/take"), rows, params![now])
        .await?;
    Ok(())
}

const fn write_outcome(rows: u64) -> WriteOutcome {
    if rows > 0 {
        WriteOutcome::Committed
    } else {
        WriteOutcome::Fenced
    }
}

fn read_claimed(
    row: &Row,
    run: RunId,
    (named_at, attempt, failures): (Timestamp, i64, i64),
) -> Result<ClaimedTriggerFile, Error> {
    let automation = match row.optional("automation_id")? {
        Some(id) => Some((id, row.get("automation_name")?, row.parse("session_mode")?)),
        None => None,
    };
    let scheduled_for: Option<Timestamp> = row.optional("scheduled_for")?;
    let folder = stored::instance_folder(row)?;
    Ok(ClaimedTriggerFile {
        run,
        tenant: row.get("tenant_id")?,
        instance: row.get("instance_id")?,
        folder: folder
            .ok_or_else(|| row.corrupt_value("config", "the folder is missing".into()))?,
        named_at,
        attempt,
        failures,
        content: TriggerContent {
            automation,
            origin: row.parse("origin")?,
            at: scheduled_for.map_or_else(|| row.get("input_at"), Ok)?,
            task: row.get("content")?,
        },
    })
}

fn read_trigger_file(row: &Row) -> Result<TriggerFile, Error> {
    Ok(TriggerFile {
        run: row.get("run_id")?,
        instance: row.get("instance_id")?,
        named_at: row.get("named_at")?,
        written_at: row.optional("written_at")?,
        writes: row.get("writes")?,
        failures: row.get("failures")?,
        error: row.optional("error")?,
        next_attempt_at: row.get("next_attempt_at")?,
    })
}
