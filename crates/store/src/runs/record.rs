//! What a turn records on its way.

use model::{
    RunId, Timestamp, WorkerId,
    turn::{Entry, Settled},
};

use crate::{
    Error, Scope,
    database::Tx,
    journal::{self, Place},
    rows,
    store::{Store, transact},
};

impl Store {
    /// Writes rows of the transcript for a run that is the worker's and under way; a row under an id
    /// that is there already replaces it.
    pub async fn record(
        &self,
        run: RunId,
        worker: &WorkerId,
        entries: &[Entry],
        now: Timestamp,
    ) -> Result<Settled, Error> {
        transact!(self, Scope::System, |tx| {
            let Some(place) = owned(tx, run, worker).await? else {
                return Ok(Settled::Lost);
            };
            for entry in entries {
                journal::message(tx, place, entry, now).await?;
            }
            Ok(Settled::Written)
        })
    }

    /// Adds to the text that a running turn has written so far, at a position in bytes.
    pub async fn write_live(
        &self,
        run: RunId,
        worker: &WorkerId,
        position: i64,
        text: &str,
        now: Timestamp,
    ) -> Result<Settled, Error> {
        transact!(self, Scope::System, |tx| {
            let Some(place) = owned(tx, run, worker).await? else {
                return Ok(Settled::Lost);
            };
            tx.execute(
                sql!("live/append"),
                params![run, place.tenant, position, text, now],
            )
            .await?;
            Ok(Settled::Written)
        })
    }

    /// The text that a running turn has written from a position on, with the position of its end.
    pub async fn live(&self, scope: Scope, run: RunId, from: i64) -> Result<(String, i64), Error> {
        let mut tx = self.db.read(scope).await?;
        text_from(&mut tx, scope, run, from).await
    }
}

/// Reads a running turn's text. A piece that begins before `from` is cut there.
pub(super) async fn text_from(
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
        let seen = usize::try_from(end.saturating_sub(position)).unwrap_or(0);
        let seen = (seen..=piece.len()).find(|at| piece.is_char_boundary(*at));
        text.push_str(&piece[seen.unwrap_or(piece.len())..]);
        end = position + i64::try_from(piece.len()).unwrap_or(0);
    }
    Ok((text, end))
}

/// Where the rows of a run belong that is the worker's and under way; `None` if it is not. On
/// PostgreSQL the run's row stays locked, so that its end waits for this write.
async fn owned(tx: &mut Tx, run: RunId, worker: &WorkerId) -> Result<Option<Place>, Error> {
    let row = tx
        .fetch_optional(sql_by_dialect!("runs/own"), params![run, worker.as_str()])
        .await?;
    let Some(row) = row else { return Ok(None) };
    let run = rows::run(&row)?;
    let Some(session) = run.session_id else {
        return Ok(None);
    };
    Ok(Some(Place {
        tenant: run.tenant_id,
        session,
        run: Some(run.id),
        seat: run.seat_id,
    }))
}
