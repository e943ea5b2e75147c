//! Finds out why a run is blocked.

use api_types::BlockedOn;
use model::{
    approval::ApprovalStatus,
    entity::Run,
    question::{QuestionKind, QuestionStatus},
    run::{Deferral, RunState},
    session::Admission,
    trigger_file::InstanceKind,
};
use store::{ApprovalFilter, Page, QuestionFilter, RunFilter};

use crate::{Error, Service, boxed};

/// The number of a session's or an automation's newest runs that are searched for the one that blocks a run. If more
/// runs than that are newer than the blocking run, the answer is only [`BlockedOn::Turn`].
const MAX_SEARCHED_RUNS: u32 = 200;
/// The number of a session's newest pending questions that are searched for the one that a run waits for.
const MAX_SEARCHED_QUESTIONS: u32 = 200;

impl Service {
    /// Returns the reason for which `run` is blocked. Returns `None` if it goes on or is over.
    #[boxed]
    pub async fn blocked_on(&self, run: &Run) -> Result<Option<BlockedOn>, Error> {
        // 1. The state of the run itself.
        let deferral = match &run.state {
            RunState::Queued {
                missing_directory: Some(reason),
            } => {
                return Ok(Some(BlockedOn::Directory {
                    reason: reason.clone(),
                }));
            }
            RunState::Queued { .. } => return self.worker_or_instance(run).await.map(Some),
            RunState::Delivered { .. } if run.state.waits_as_file() => {
                return self.runtime_of_file(run).await;
            }
            RunState::Running { .. } => {
                return match self.pending_approval(run).await? {
                    None => self.pending_elicitation(run).await,
                    approval => Ok(approval),
                };
            }
            RunState::Deferred(deferral) => deferral,
            _ => return Ok(None),
        };
        // 2. An instant that has not come yet.
        match deferral {
            Deferral::Budget { until, message } if *until > self.now() => {
                return Ok(Some(BlockedOn::Budget {
                    until: *until,
                    reason: message.clone(),
                }));
            }
            Deferral::Backoff(until) if *until > self.now() => {
                return Ok(Some(BlockedOn::Backoff { until: *until }));
            }
            // The instant has passed, so that something else blocks the run.
            Deferral::Turn | Deferral::Backoff(_) | Deferral::Budget { .. } => {}
        }
        // 3. A session that is paused or a draft.
        if let Some(session) = run.session_id {
            let state = self.store.session(self.scope(), session).await?.status();
            if state.admission() == Admission::Wait {
                return Ok(Some(BlockedOn::Session { state }));
            }
        }
        // 4. Another run: first one in the same session, because it has the seat, then one of the same automation.
        for filter in [
            RunFilter {
                session: run.session_id,
                ..RunFilter::default()
            },
            RunFilter {
                automation: run.automation_id,
                ..RunFilter::default()
            },
        ] {
            // Without this check an empty filter would find the runs of other sessions.
            if filter.session.is_none() && filter.automation.is_none() {
                continue;
            }
            let runs = self
                .store
                .runs(self.scope(), filter, MAX_SEARCHED_RUNS)
                .await?;
            if let Some(other) = runs.iter().find(|other| other.status().is_active()) {
                return Ok(Some(BlockedOn::Run {
                    run: other.id,
                    status: other.status(),
                    origin: other.origin,
                }));
            }
        }
        Ok(Some(BlockedOn::Turn))
    }

    /// Returns the instance for which a queued run waits, if no server serves it or a file must be written there. Otherwise
    /// the run waits for a worker.
    async fn worker_or_instance(&self, run: &Run) -> Result<BlockedOn, Error> {
        let seats = match run.session_id {
            Some(session) => self.store.seats(self.scope(), session).await?,
            None => Vec::new(),
        };
        let seat = seats.into_iter().find(|seat| Some(seat.id) == run.seat_id);
        let Some(needed) = seat.and_then(|seat| seat.instance_id.or(seat.placed_on)) else {
            return Ok(BlockedOn::Worker);
        };
        let found = self.store.served_instance(self.tenant, needed).await?;
        Ok(match found {
            Some(instance) if matches!(instance.kind, InstanceKind::Directory(_)) => {
                let file = self.store.trigger_file(self.scope(), run.id).await?;
                BlockedOn::Delivery {
                    instance: needed,
                    name: instance.name,
                    until: file.as_ref().map(|file| file.next_attempt_at),
                    reason: file.and_then(|file| file.error),
                }
            }
            Some(instance) if !instance.is_online(self.now()) => BlockedOn::Instance {
                instance: needed,
                name: instance.name,
            },
            _ => BlockedOn::Worker,
        })
    }

    /// Returns the instance in whose folder the trigger file of a run waits.
    async fn runtime_of_file(&self, run: &Run) -> Result<Option<BlockedOn>, Error> {
        let file = self.store.trigger_file(self.scope(), run.id).await?;
        let Some((file, delivered_at)) =
            file.and_then(|file| Some((file.clone(), file.written_at?)))
        else {
            return Ok(None);
        };
        let instance = self.store.served_instance(self.tenant, file.instance);
        Ok(instance.await?.map(|instance| BlockedOn::Runtime {
            instance: file.instance,
            online: instance.is_online(self.now()),
            name: instance.name,
            delivered_at,
        }))
    }

    /// Returns the newest pending approval of a running turn.
    async fn pending_approval(&self, run: &Run) -> Result<Option<BlockedOn>, Error> {
        let filter = ApprovalFilter {
            run: Some(run.id),
            state: Some(ApprovalStatus::Pending),
            ..ApprovalFilter::default()
        };
        let found = self
            .store
            .approval_page(self.tenant, filter, Page::first(1))
            .await?;
        Ok(found
            .into_iter()
            .next()
            .map(|approval| BlockedOn::Approval {
                approval: approval.id,
                title: approval.request.title,
            }))
    }
    /// Returns the newest pending question of a running turn whose agent waits.
    async fn pending_elicitation(&self, run: &Run) -> Result<Option<BlockedOn>, Error> {
        let filter = QuestionFilter {
            state: Some(QuestionStatus::Pending),
            session: run.session_id,
        };
        let found = self
            .store
            .question_page(self.tenant, filter, Page::first(MAX_SEARCHED_QUESTIONS))
            .await?;
        let waits = |question: &model::question::Question| {
            question.run_id == run.id && question.kind == QuestionKind::Elicitation
        };
        Ok(found
            .into_iter()
            .find(waits)
            .map(|question| BlockedOn::Answer {
                question: question.id,
                text: question.text,
            }))
    }
}
