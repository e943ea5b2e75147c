//! Approvals.

use model::{approval::ApprovalStatus, permission::Verdict};
use wire::{Approval, DecisionRequest, Page};

use super::Part;
use crate::{Client, Error};

/// Which approvals a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// In which states.
    pub states: ApprovalStates,
    /// Those of a session: its key, its id or the beginning of that.
    pub session: Option<String>,
    /// Those of an automation: its name, its id or the beginning of that.
    pub automation: Option<String>,
    /// Those of a run: its id or the beginning of that.
    pub run: Option<String>,
    /// Which part.
    pub part: Part,
}

/// In which states approvals are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ApprovalStates {
    /// Those that wait.
    #[default]
    Waiting,
    /// All.
    Any,
    /// Those in one state.
    Of(ApprovalStatus),
}

impl Client {
    /// Lists approvals, the newest first.
    pub async fn approvals(&self, filter: &ApprovalFilter) -> Result<Page<Approval>, Error> {
        let state = match filter.states {
            ApprovalStates::Waiting => None,
            ApprovalStates::Any => Some("any"),
            ApprovalStates::Of(state) => Some(state.as_str()),
        };
        self.get(&["approvals"])
            .ask("state", state)
            .ask("session", filter.session.as_ref())
            .ask("automation", filter.automation.as_ref())
            .ask("run", filter.run.as_ref())
            .part(&filter.part)
            .fetch()
            .await
    }

    /// Shows an approval, by its id or the beginning of that.
    pub async fn approval(&self, approval: &str) -> Result<Approval, Error> {
        self.get(&["approvals", approval]).fetch().await
    }

    /// Decides an approval.
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
            .once()
            .fetch()
            .await
    }
}
