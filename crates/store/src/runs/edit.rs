//! Edits of messages that wait.

use model::{
    RunId, Timestamp,
    entity::Run,
    event::{DeferCause, RunChange, RunInput},
    lifecycle::{InvalidTransition, Lifecycle},
    run::{Origin, RunState, RunStatus},
};

use crate::{
    Error, Scope, boxed, locks::lock_run, rows, session_log::SessionLogWriter, store::Store,
};

impl Store {
    /// Changes the text of a person's message, as long as no turn has begun with it. The log of the session repeats the
    /// status of the run, so that readers of the session read the run again.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Refused`] if a worker has the run, a turn with this input has begun, the run is over, or no
    /// person wrote the input. Returns [`Error::StaleVersion`] if the text is no longer `seen`.
    #[boxed]
    pub async fn edit_message(
        &self,
        scope: Scope,
        id: RunId,
        seen: &str,
        to: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Lock. The lock of the seat keeps the run from being promoted and cancelled, and a claim is seen by
                // the statement below. Read the run again, because `lock_run` omits runs that are over.
                let locked = lock_run(tx, id).await?;
                let row = tx
                    .fetch_optional(
                        sql!("runs/by_id", rows::RUN_COLUMNS),
                        params![scope.tenant(), id],
                    )
                    .await?;
                let run = rows::run(&row.ok_or_else(|| Error::not_found("run", id))?)?;
                let attempts = tx
                    .fetch_all(
                        sql!("runs/attempts", rows::RUN_COLUMNS),
                        params![scope.tenant(), run.input_id],
                    )
                    .await?;
                // 2. Decide. An earlier attempt that began has shown the input in the transcript.
                let mut begun = false;
                for row in &attempts {
                    begun |= rows::run(row)?.state.started_at().is_some();
                }
                let session = match (locked, run.session_id) {
                    (Some(_), Some(session)) if !begun => session,
                    _ if begun && !run.status().is_over() => {
                        return Err(refused(&run, "in progress".into()));
                    }
                    _ => return Err(refused(&run, run.status().to_string())),
                };
                let other = match run.origin {
                    Origin::Person => None,
                    Origin::Occurrence => Some("an input of an automation"),
                    Origin::Task => Some("a task of a goal"),
                    Origin::Message => Some("a message of another agent"),
                };
                if let Some(other) = other {
                    return Err(refused(&run, other.into()));
                }
                if run.content != seen {
                    return Err(Error::StaleVersion {
                        what: "run",
                        name: id.to_string(),
                    });
                }
                let input = RunInput {
                    origin: run.origin,
                    attempt: run.attempt,
                    automation_id: run.automation_id,
                    scheduled_for: run.scheduled_for,
                    not_before: run.state.not_before(),
                };
                let change = match &run.state {
                    RunState::Queued { .. } => RunChange::Queued { input: Some(input) },
                    state if state.waits_as_file() => RunChange::Queued { input: Some(input) },
                    RunState::Deferred(_) => RunChange::Deferred {
                        cause: DeferCause::Created(input),
                    },
                    state => return Err(refused(&run, state.status().to_string())),
                };
                // 3. Write. A claim does not lock the seat, so that a worker may have taken the run meanwhile.
                let edited = tx.execute(sql!("runs/edit_input"), params![id, to]).await?;
                if edited == 0 {
                    return Err(refused(&run, RunStatus::Delivered.to_string()));
                }
                if seen != to {
                    // The file shows the text to other programs. A dispatcher that is writing the earlier text changes
                    // nothing.
                    tx.execute(sql!("trigger_files/rewrite"), params![id, now])
                        .await?;
                    let mut log = SessionLogWriter::default();
                    log.add_run_change(session, id, change);
                    log.write(tx, now).await?;
                }
                Ok(())
            })
        })
        .await
    }
}

fn refused(run: &Run, state: String) -> Error {
    Error::Refused(InvalidTransition {
        what: RunStatus::WHAT,
        object: Some(run.id.to_string()),
        state,
        event: "be edited".into(),
    })
}
