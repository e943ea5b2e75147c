//! The writes of a running turn: rows of the transcript, and the live text.
//!
//! **Invariant:** a write takes effect only while the run is `running` and belongs to the worker, so that a stale
//! worker cannot add to the transcript.

use model::{
    RunId, Timestamp, WorkerId,
    turn::{Entry, WriteOutcome},
};

use crate::batches::RecordRequest;
use crate::{
    Error, Scope, boxed, changes::note_change, database::Tx, owned_runs::locate_owned_runs,
    session_log::SessionLogWriter, store::Store,
};

impl Store {
    /// Writes rows of the transcript for a run that `worker` executes. A row with an existing ID replaces the
    /// existing row. Returns [`WriteOutcome::Fenced`] if the run no longer belongs to this worker.
    #[boxed]
    pub async fn record(
        &self,
        run: RunId,
        worker: &WorkerId,
        entries: &[Entry],
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        let request = RecordRequest {
            run,
            worker: worker.clone(),
            entries: entries.to_vec(),
            now,
        };
        self.batches
            .record
            .submit(self, request, |store, all| {
                Box::pin(store.record_batch(all))
            })
            .await
    }

    /// Writes rows of the transcripts of several runs in one transaction. Returns one result for each request, in
    /// order.
    pub(crate) async fn record_batch(
        &self,
        all: &[RecordRequest],
    ) -> Result<Vec<WriteOutcome>, Error> {
        let Some(now) = all.iter().map(|request| request.now).max() else {
            return Ok(Vec::new());
        };
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let runs = all.iter().map(|request| (request.run, &request.worker));
                let locations = locate_owned_runs(tx, runs).await?;
                let mut log = SessionLogWriter::default();
                let mut outcomes = Vec::with_capacity(all.len());
                for request in all {
                    // Fence: the map has no entry for a run that the worker no longer executes.
                    let Some(location) = locations.get(&(request.run, request.worker.clone()))
                    else {
                        outcomes.push(WriteOutcome::Fenced);
                        continue;
                    };
                    for entry in &request.entries {
                        log.add_message(*location, entry.clone());
                    }
                    outcomes.push(WriteOutcome::Committed);
                }
                log.write(tx, now).await?;
                Ok(outcomes)
            })
        })
        .await
    }

    /// Appends to the live text of a running turn, at a position in bytes. Returns [`WriteOutcome::Fenced`] if the
    /// run no longer belongs to this worker.
    #[boxed]
    pub async fn append_live_text(
        &self,
        run: RunId,
        worker: &WorkerId,
        position: i64,
        text: &str,
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let locations = locate_owned_runs(tx, std::iter::once((run, worker))).await?;
                let Some(location) = locations.values().next() else {
                    return Ok(WriteOutcome::Fenced);
                };
                note_change(tx, location.session.uuid()).await?;
                tx.execute(
                    sql!("live/append"),
                    params![run, location.tenant, position, text, now],
                )
                .await?;
                Ok(WriteOutcome::Committed)
            })
        })
        .await
    }

    /// Reads the live text of a running turn from a position on. Returns the text and the position of its end.
    #[boxed]
    pub async fn live_text(
        &self,
        scope: Scope,
        run: RunId,
        from: i64,
    ) -> Result<(String, i64), Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read_live_text(&mut tx, scope, run, from).await
    }
}

/// Reads the live text of a turn. Cuts a piece that begins before `from`, because a piece that grew may overlap the
/// text that the caller has read.
pub(super) async fn read_live_text(
    tx: &mut Tx,
    scope: Scope,
    run: RunId,
    from: i64,
) -> Result<(String, i64), Error> {
    let mut text = String::new();
    let mut end = from;
    let pieces = tx
        .fetch_all(sql!("live/read"), params![scope.tenant(), run, from])
        .await?;
    for row in pieces {
        let piece: String = row.get("text")?;
        let position: i64 = row.get("position")?;
        // Cut at a character boundary: a slice within a character would panic.
        let seen = usize::try_from(end.saturating_sub(position)).unwrap_or(0);
        let seen = (seen..=piece.len()).find(|at| piece.is_char_boundary(*at));
        text.push_str(&piece[seen.unwrap_or(piece.len())..]);
        end = position + i64::try_from(piece.len()).unwrap_or(0);
    }
    Ok((text, end))
}
