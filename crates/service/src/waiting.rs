//! What a run waits for.

use model::{
    approval::ApprovalStatus,
    entity::Run,
    run::{Deferral, RunState},
    session::Admission,
};
use store::{ApprovalFilter, Page, RunFilter};
use wire::Waiting;

use crate::{Error, Service};

/// How many of the newest runs of a session are looked at for the one that holds the seat.
const LOOKED_AT: u32 = 200;

impl Service {
    /// What `run` waits for; `None` if it goes on or is over.
    pub async fn waits_for(&self, run: &Run) -> Result<Option<Waiting>, Error> {
        let deferral = match &run.state {
            RunState::Queued => return Ok(Some(Waiting::Worker)),
            RunState::Running { .. } => return self.approval_of(run).await,
            RunState::Deferred(deferral) => deferral,
            _ => return Ok(None),
        };
        match deferral {
            Deferral::Budget { until, message } if *until > self.now() => {
                return Ok(Some(Waiting::Budget {
                    until: *until,
                    reason: message.clone(),
                }));
            }
            Deferral::Backoff(until) if *until > self.now() => {
                return Ok(Some(Waiting::Backoff { until: *until }));
            }
            // The instant has passed, so that something else blocks the run.
            Deferral::Turn | Deferral::Backoff(_) | Deferral::Budget { .. } => {}
        }
        if let Some(session) = run.session_id {
            let state = self.store.session(self.scope(), session).await?.status();
            if state.admission() == Admission::Wait {
                return Ok(Some(Waiting::Session { state }));
            }
        }
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
            if filter.session.is_none() && filter.automation.is_none() {
                continue;
            }
            let runs = self.store.runs(self.scope(), filter, LOOKED_AT).await?;
            if let Some(other) = runs.iter().find(|other| other.status().is_active()) {
                return Ok(Some(Waiting::Run {
                    run: other.id,
                    status: other.status(),
                    origin: other.origin,
                }));
            }
        }
        Ok(Some(Waiting::Turn))
    }

    /// The newest permission that a running turn waits for.
    async fn approval_of(&self, run: &Run) -> Result<Option<Waiting>, Error> {
        let filter = ApprovalFilter {
            run: Some(run.id),
            state: Some(ApprovalStatus::Pending),
            ..ApprovalFilter::default()
        };
        let found = self
            .store
            .approval_page(self.tenant, filter, Page::first(1))
            .await?;
        Ok(found.into_iter().next().map(|one| Waiting::Approval {
            approval: one.id,
            title: one.question.title,
        }))
    }
}
