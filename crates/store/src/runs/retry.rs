//! Retries of runs at the request of a person.

use model::{
    RunId, Timestamp,
    automation::AutomationState,
    entity::Run,
    lifecycle::{InvalidTransition, Lifecycle, state_phrase},
    outcome::{FailureKind, NextAttempt},
    owner::RunOwner,
    run::RunStatus,
    turn::SubmittedRun,
};

use crate::{
    Error, Scope, boxed,
    locks::{self, lock_run},
    rows,
    runs::{admit::insert_attempt, end::next_attempt},
    store::Store,
    stored,
};

impl Store {
    /// Creates another attempt at the input of a run that is over and did not succeed, as an automatic retry does. It
    /// counts among the attempts at the input. The caller may reserve the ID of the attempt, so that a repeated request
    /// creates nothing.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Refused`] if a later attempt exists, the automation is deleted or the session is closed, and
    /// [`Error::AlreadyCreated`] if an attempt with the reserved ID exists.
    #[boxed]
    pub async fn retry_run(
        &self,
        scope: Scope,
        id: RunId,
        reserved: Option<RunId>,
        now: Timestamp,
    ) -> Result<SubmittedRun, Error> {
        let created = self
            .transact(scope, |tx, _| {
                Box::pin(async move {
                    // 1. Lock the automation and the seat even for a run that is over, so that two requests cannot
                    // both create the next attempt.
                    lock_run(tx, id).await?;
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
                    for row in &attempts {
                        if let Some(reserved) = reserved
                            && row.get::<RunId>("id")? == reserved
                        {
                            return Err(Error::already_created("run", reserved));
                        }
                    }
                    // 2. Check that the run, its automation and the format allow another attempt.
                    let newest = attempts.last().map(rows::run).transpose()?;
                    check_retryable(&run, newest.as_ref())?;
                    let automation = match run.automation_id {
                        None => None,
                        Some(automation) => Some(locks::lock_automation(tx, automation).await?),
                    };
                    if let Some(automation) = &automation
                        && automation.state == AutomationState::Deleted
                    {
                        return Err(Error::Refused(InvalidTransition {
                            what: AutomationState::WHAT,
                            object: Some(automation.name.clone()),
                            state: automation.state.to_string(),
                            event: "run again".into(),
                        }));
                    }
                    if let Some(automation) = &automation {
                        stored::require_supported(
                            "automation",
                            &automation.name,
                            automation.needs_format,
                        )?;
                    }
                    // 3. Insert the attempt.
                    let next = NextAttempt {
                        not_before: None,
                        interrupted: may_have_been_prompted(&run),
                        counts_as_failure: run.status() != RunStatus::Cancelled,
                    };
                    let owner = RunOwner::new(run.origin, automation.as_ref());
                    let attempt = next_attempt(&run, owner, next);
                    let mut attempt =
                        attempt.ok_or_else(|| Error::not_found("session of run", id))?;
                    attempt.id = reserved;
                    let (run_id, status) = insert_attempt(self, tx, &attempt, now).await?;
                    Ok(SubmittedRun {
                        run_id,
                        seat_id: Some(attempt.seat),
                        status,
                    })
                })
            })
            .await;
        match (created, reserved) {
            // A second request with the same ID committed first.
            (Err(Error::Database(error)), Some(reserved))
                if error.conflict() == Some("agent_runs_pkey") =>
            {
                Err(Error::already_created("run", reserved))
            }
            (created, _) => created,
        }
    }
}

/// Returns an error if the run is not over, if it succeeded, or if a later attempt at its input exists.
fn check_retryable(run: &Run, newest: Option<&Run>) -> Result<(), Error> {
    if run.task.is_some() {
        return Err(not_retryable(run, "a turn of a task".to_owned()));
    }
    if let Some(newest) = newest.filter(|newest| newest.attempt > run.attempt) {
        let status = state_phrase(newest.status().as_str());
        let state = format!("followed by {}, which {status}", newest.id);
        return Err(not_retryable(run, state));
    }
    let status = run.status();
    if status.is_retryable() {
        return Ok(());
    }
    Err(not_retryable(run, status.to_string()))
}

fn not_retryable(run: &Run, state: String) -> Error {
    Error::Refused(InvalidTransition {
        what: RunStatus::WHAT,
        object: Some(run.id.to_string()),
        state,
        event: "be retried".into(),
    })
}

/// Returns `true` if the prompt of a run that is over may have reached its agent: the turn began, and the failure did
/// not precede the prompt. The prompt of the next attempt then mentions the interruption, because Matins never sends
/// the same prompt twice without that note.
fn may_have_been_prompted(run: &Run) -> bool {
    let kind = run.state.reason().and_then(|reason| reason.parse().ok());
    let before_the_prompt = matches!(
        kind,
        Some(
            FailureKind::Start
                | FailureKind::SignIn
                | FailureKind::RestoreBusy
                | FailureKind::RestoreGone
                | FailureKind::Restore
                | FailureKind::Settings
                | FailureKind::InstanceGone
                | FailureKind::Directory
        )
    );
    run.state.started_at().is_some() && !before_the_prompt
}
