//! Reports: the results and the verdicts that agents give in their turns.

use crate::{
    goal::event::{Finding, Severity, Verdict},
    text_enum::text_enum,
};

text_enum! {
    /// The kind and the status of a report.
    ReportStatus, "a status of a report" {
        /// The agent has done its task.
        Done = "done",
        /// The agent cannot do its task.
        Failed = "failed",
        /// The judge accepts.
        Accept = "accept",
        /// The judge sends the work back.
        SendBack = "send_back",
    }
}

impl ReportStatus {
    /// Returns `true` if judges give such reports, and `false` if those give them whose task it is.
    pub const fn is_verdict(self) -> bool {
        matches!(self, Self::Accept | Self::SendBack)
    }
}

/// A finding with the text that the next prompt shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedFinding {
    /// The ID, which stays the same in each round.
    pub id: String,
    /// The text.
    pub text: String,
    /// The severity.
    pub severity: Severity,
    /// `true` if the rework has broken something.
    pub regression: bool,
    /// The number of the acceptance line.
    pub criterion: Option<u32>,
}

/// The content of a report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportBody {
    /// The result.
    pub result: Option<String>,
    /// The names of artifacts.
    pub artifacts: Vec<String>,
    /// The proposal of further work.
    pub follow_up: Option<String>,
    /// The evidence of a judge that accepts.
    pub evidence: Vec<String>,
    /// The findings of a judge.
    pub findings: Vec<ReportedFinding>,
}

impl ReportBody {
    /// Returns the verdict of a report. Returns `None` if the report is none of a judge.
    pub fn verdict(&self, status: ReportStatus) -> Option<Verdict> {
        let finding = |it: &ReportedFinding| Finding {
            id: it.id.clone(),
            severity: it.severity,
            regression: it.regression,
        };
        match status {
            ReportStatus::Accept => Some(Verdict::Accept {
                evidence: self.evidence.len(),
            }),
            ReportStatus::SendBack => {
                let findings = self.findings.iter().map(finding);
                Some(Verdict::SendBack(findings.collect()))
            }
            ReportStatus::Done | ReportStatus::Failed => None,
        }
    }
}
