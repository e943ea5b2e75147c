//! Approvals: listing, reading and deciding.

use api_types::{ApprovalInput, DecisionRequest, Page};
use model::{
    ApprovalId, RunId,
    approval::{Approval, ApprovalStatus, Decider},
    limits,
    permission::Verdict,
};
use store::ApprovalFilter;

use crate::{Error, Service, boxed};

/// The filters and the page of a list of approvals.
#[derive(Debug, Clone, Default)]
pub struct ApprovalQuery {
    /// The approval status. `None` means any.
    pub state: Option<ApprovalStatus>,
    /// The session: its key, its ID or an ID prefix.
    pub session: Option<String>,
    /// The automation: its name, its ID or an ID prefix.
    pub automation: Option<String>,
    /// The run: its ID or an ID prefix.
    pub run: Option<String>,
    /// The last approval of the previous page.
    pub after: Option<ApprovalId>,
    /// The highest number of approvals on the page.
    pub limit: u32,
}

impl Service {
    /// Lists approvals, the newest first.
    #[boxed]
    pub async fn approvals(&self, query: &ApprovalQuery) -> Result<Page<Approval>, Error> {
        let session = match &query.session {
            Some(given) => Some(self.find_session(given).await?.id),
            None => None,
        };
        let automation = match &query.automation {
            Some(given) => Some(self.find_automation(given).await?.id),
            None => None,
        };
        let run: Option<RunId> = match &query.run {
            Some(given) => Some(self.find_run(given).await?),
            None => None,
        };
        let filter = ApprovalFilter {
            state: query.state,
            session,
            automation,
            run,
        };
        let page = store::Page {
            after: query.after,
            limit: query.limit + 1,
        };
        let found = self.store.approval_page(self.tenant, filter, page).await?;
        Ok(Page::of(found, query.limit, |approval| {
            approval.id.to_string()
        }))
    }

    /// Returns one approval, by its ID or an ID prefix.
    #[boxed]
    pub async fn approval(&self, given: &str) -> Result<Approval, Error> {
        let id = self.find_approval(given).await?;
        Ok(self.store.approval(self.scope(), id).await?)
    }

    /// Returns the input of the tool of one approval, by its ID or an ID prefix.
    #[boxed]
    pub async fn approval_input(&self, given: &str) -> Result<ApprovalInput, Error> {
        let id = self.find_approval(given).await?;
        let stored = self.store.approval_input(self.scope(), id).await?;
        Ok(ApprovalInput::new(id, stored))
    }

    /// Decides an approval, by its ID or an ID prefix. If the request is `repeated` and the same person has decided
    /// the approval with the same verdict and comment, returns that decision.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Refused`] with the status if the approval is no longer pending.
    #[boxed]
    pub async fn decide(
        &self,
        given: &str,
        verdict: Verdict,
        request: &DecisionRequest,
        by: &Decider,
        repeated: bool,
    ) -> Result<Approval, Error> {
        let comment = request.comment.as_deref().map(str::trim);
        let comment = comment.filter(|comment| !comment.is_empty());
        if let Some(comment) = comment.filter(|it| it.len() > limits::APPROVAL_COMMENT_BYTES) {
            let max = limits::APPROVAL_COMMENT_BYTES;
            let problem = format!("accepted are up to {max} bytes");
            return Err(Error::invalid("comment", comment, problem));
        }
        let id = self.find_approval(given).await?;
        let decided = self
            .store
            .decide_approval(self.tenant, id, verdict, by, comment, self.now());
        match decided.await {
            Err(store::Error::Refused(refused)) if repeated => {
                let found = self.store.approval(self.scope(), id).await?;
                let decision = found.state.decision();
                let same = found.status().verdict() == Some(verdict)
                    && decision.is_some_and(|decision| {
                        decision.by == *by && decision.comment.as_deref() == comment
                    });
                if same { Ok(found) } else { Err(refused.into()) }
            }
            decided => Ok(decided?),
        }
    }
}
