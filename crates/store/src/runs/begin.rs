//! Beginning the turn of a claimed run.

use model::{
    InstanceId, RunId, Timestamp, WorkerId,
    entity::{Automation, Run, Seat, Session},
    outcome::{Failure, FailureKind, Outcome},
    permission::PermissionRules,
    policy::Policies,
    prompt::{self, Rendered},
    run::{Origin, RunStatus},
    session::Admission,
    transcript::{self, Source},
    turn::{Assignment, Begin, EntryKind, Finished, Role},
};
use serde_json::json;

use crate::{
    Error, Scope, automations,
    database::Tx,
    journal::{self, Place},
    rows,
    runs::{end, place::hold},
    store::{Store, transact},
};

impl Store {
    /// Begins the turn of a run that `worker` has claimed: the run is `running`, the transcript shows
    /// the input, the internal record holds the prompt, and the seat is pinned to `instance`.
    pub async fn begin(
        &self,
        run: RunId,
        worker: &WorkerId,
        instance: InstanceId,
        now: Timestamp,
    ) -> Result<Begin, Error> {
        let scope = Scope::System;
        transact!(self, scope, |tx| {
            let Some(claimed) = end::lock(tx, run).await? else {
                return Ok(Begin::Lost);
            };
            let (RunStatus::Delivered, Some(session), Some(seat)) =
                (claimed.status, claimed.session_id, claimed.seat_id)
            else {
                return Ok(Begin::Lost);
            };
            if claimed.worker_id.as_ref() != Some(worker) {
                return Ok(Begin::Lost);
            }
            let row = tx
                .fetch_one(sql!("sessions/by_id"), params![scope.tenant(), session])
                .await?;
            let session = rows::session(&row)?;
            let seat = rows::seat(
                &tx.fetch_one(sql_by_dialect!("seats/lock"), params![seat])
                    .await?,
            )?;

            let admission = session.state.admission();
            let called_off = match end::cancel_reason(tx, &claimed).await? {
                None if admission == Admission::Refuse => {
                    Some(format!("the session is {}", session.state))
                }
                reason => reason,
            };
            if let Some(reason) = called_off {
                let finished = Finished::bare(Outcome::Cancelled(reason));
                let _ = end::end(self, tx, &claimed, &finished, now).await?;
                return Ok(Begin::Cancelled);
            }
            if admission == Admission::Wait {
                hold(tx, session.id, run, claimed.automation_id, now).await?;
                return Ok(Begin::Held);
            }
            if seat.instance_id.is_some_and(|pinned| pinned != instance) {
                let failure = Failure {
                    kind: FailureKind::InstanceGone,
                    prompted: false,
                    message: "the agent's memory lies on another instance".into(),
                };
                let finished = Finished::bare(Outcome::Failed(failure.clone()));
                let _ = end::end(self, tx, &claimed, &finished, now).await?;
                return Ok(Begin::Refused(failure));
            }
            let assignment = self
                .start(tx, claimed, session, seat, worker, instance, now)
                .await?;
            Ok(assignment.map_or(Begin::Lost, |assignment| {
                Begin::Started(Box::new(assignment))
            }))
        })
    }

    #[expect(clippy::too_many_arguments, reason = "what one transaction has read")]
    async fn start(
        &self,
        tx: &mut Tx,
        mut run: Run,
        session: Session,
        mut seat: Seat,
        worker: &WorkerId,
        instance: InstanceId,
        now: Timestamp,
    ) -> Result<Option<Assignment>, Error> {
        let automation = match run.automation_id {
            None => None,
            Some(id) => {
                let none: Option<model::TenantId> = None;
                let row = tx
                    .fetch_one(sql!("automations/by_id"), params![none, id])
                    .await?;
                Some(rows::automation(&row)?)
            }
        };
        let none: Option<model::TenantId> = None;
        let row = tx
            .fetch_one(sql!("harnesses/by_id"), params![none, seat.harness_id])
            .await?;
        let harness = rows::harness(&row)?;
        let prompt = self.prompt(tx, &run, automation.as_ref()).await?;

        let reference = json!(prompt.prompt_ref);
        let begun = tx
            .execute(
                sql!("runs/begin"),
                params![run.id, worker.as_str(), now, &reference, instance],
            )
            .await?;
        if begun == 0 {
            return Ok(None);
        }
        run.status = RunStatus::Running;
        run.started_at = Some(now);
        run.prompt_ref = Some(prompt.prompt_ref.clone());
        tx.execute(sql!("seats/pin"), params![seat.id, instance, now])
            .await?;
        seat.instance_id = Some(instance);
        tx.execute(
            sql!("records/begin"),
            params![
                run.id,
                run.tenant_id,
                &reference,
                prompt.text.as_str(),
                &prompt.variables,
                now
            ],
        )
        .await?;
        self.show_input(tx, &run, automation.as_ref(), &prompt, now)
            .await?;
        let body = json!({ "status": run.status, "attempt": run.attempt, "worker_id": worker });
        journal::run_event(tx, session.id, run.id, body, now).await?;

        let mut permissions = harness.config.permissions.0.clone();
        let mut policies = Policies::default();
        if let Some(automation) = automation {
            permissions.extend(automation.permissions.0);
            policies = automation.policies;
        }
        let permissions = PermissionRules(permissions);
        Ok(Some(Assignment {
            run,
            session,
            seat,
            harness,
            policies,
            permissions,
            prompt,
        }))
    }

    /// Renders the prompt of a run from the template that its origin asks for.
    async fn prompt(
        &self,
        tx: &mut Tx,
        run: &Run,
        automation: Option<&Automation>,
    ) -> Result<Rendered, Error> {
        let triggers = match automation {
            Some(automation) => automations::triggers(tx, automation.id).await?,
            None => Vec::new(),
        };
        let trigger = triggers
            .iter()
            .find(|trigger| Some(trigger.id) == run.trigger_id);
        let about = prompt::About {
            origin: run.origin,
            content: &run.content,
            automation: automation.map(|automation| automation.name.as_str()),
            trigger: trigger.map(|trigger| &trigger.spec),
            scheduled_for: run.scheduled_for,
            interrupted: run.interrupted_run_id,
        };
        prompt::for_turn(&about).map_err(|source| Error::Prompt {
            run: run.id,
            source,
        })
    }

    /// Writes the input into the transcript; a later attempt, if an earlier one has, only its number.
    async fn show_input(
        &self,
        tx: &mut Tx,
        run: &Run,
        automation: Option<&Automation>,
        prompt: &Rendered,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (Some(session), Some(seat)) = (run.session_id, run.seat_id) else {
            return Ok(());
        };
        let source = automation
            .filter(|_| run.origin == Origin::Occurrence)
            .map(|automation| Source {
                automation_id: automation.id,
                automation_name: automation.name.clone(),
            });
        let metadata = transcript::metadata(source.as_ref(), run.id, Some(&prompt.prompt_ref));
        let shown = tx
            .fetch_one(sql!("runs/input_shown"), params![run.input_id])
            .await?;
        let entry = if shown.get::<bool>("shown")? {
            let text = format!("Attempt {} begins.", run.attempt);
            self.entry(Role::System, EntryKind::Notice, text, metadata, now)
        } else {
            let text = match &source {
                Some(source) => transcript::automation_text(&source.automation_name, &run.content),
                None => run.content.clone(),
            };
            self.entry(Role::User, EntryKind::Message, text, metadata, now)
        };
        let place = Place {
            tenant: run.tenant_id,
            session,
            run: Some(run.id),
            seat: Some(seat),
        };
        journal::message(tx, place, &entry, now).await
    }
}
