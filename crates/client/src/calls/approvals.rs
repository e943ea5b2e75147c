//! Operations on approvals.

use api_types::{Approval, ApprovalInput, DecisionRequest, Page};
use model::{approval::ApprovalStatus, permission::Verdict};

use super::PageParams;
use crate::{Client, Error, boxed};

/// The filter of a list of approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// The accepted states.
    pub states: ApprovalStates,
    /// The session of the approvals, by its key, its ID or a prefix of its ID.
    pub session: Option<String>,
    /// The automation of the approvals, by its name, its ID or a prefix of its ID.
    pub automation: Option<String>,
    /// The run of the approvals, by its ID or a prefix of its ID.
    pub run: Option<String>,
    /// The requested part of the list.
    pub page: PageParams,
}

/// The states of approvals in a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ApprovalStates {
    /// Pending approvals only.
    #[default]
    Pending,
    /// Approvals in any state.
    Any,
    /// Approvals in one state only.
    Only(ApprovalStatus),
}

impl Client {
    /// Lists approvals, the newest first.
    #[boxed]
    pub async fn approvals(&self, filter: &ApprovalFilter) -> Result<Page<Approval>, Error> {
        let state = match filter.states {
            ApprovalStates::Pending => None,
            ApprovalStates::Any => Some("any"),
            ApprovalStates::Only(state) => Some(state.as_str()),
        };
        self.get(&["approvals"])
            .query_param("state", state)
            .query_param("session", filter.session.as_ref())
            .query_param("automation", filter.automation.as_ref())
            .query_param("run", filter.run.as_ref())
            .page(&filter.page)
            .fetch()
            .await
    }

    /// Returns an approval, by its ID or a prefix of its ID.
    #[boxed]
    pub async fn approval(&self, approval: &str) -> Result<Approval, Error> {
        self.get(&["approvals", approval]).fetch().await
    }

    /// Returns the input of the tool of an approval, by its ID or a prefix of its ID.
    #[boxed]
    pub async fn approval_input(&self, approval: &str) -> Result<ApprovalInput, Error> {
        self.get(&["approvals", approval, "input"]).fetch().await
    }

    /// Allows or denies an approval.
    #[boxed]
    pub async fn decide(
        &self,
        approval: &str,
        verdict: Verdict,
        request: &DecisionRequest,
    ) -> Result<Approval, Error> {
        let word = match verdict {
            Verdict::Allow => "allow",
            Verdict::Deny => "deny",
        };
        self.post(&["approvals", approval, word])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }
}
