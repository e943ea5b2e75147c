//! Reports: the results and the verdicts that agents give in their turns.

use std::collections::BTreeSet;

use crate::{
    goal::{
        event::{Finding, Severity, Verdict},
        report_fault::ReportFault,
        text_limits::{
            ARTIFACT_NAME_BYTES, EVIDENCE_BYTES, FINDING_BYTES, FINDING_ID_BYTES, FOLLOW_UP_BYTES,
            MAX_ARTIFACTS, MAX_EVIDENCE, MAX_FINDINGS, RESULT_BYTES,
        },
    },
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

text_enum! {
    /// The verdict of a judge as it counts, without its evidence and its findings.
    CountedVerdict, "a verdict" {
        /// The task is accepted.
        Accept = "accept",
        /// The task goes back.
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
    /// Checks the texts and the lists before they are stored.
    ///
    /// # Errors
    ///
    /// Returns the faults, those of the entries of a list only if the list has no more entries than accepted.
    pub fn check(&self) -> Result<(), Vec<ReportFault>> {
        let mut faults = Vec::new();
        faults.extend(ReportFault::of_length(
            "result",
            self.result.as_deref().unwrap_or_default(),
            RESULT_BYTES,
        ));
        faults.extend(ReportFault::of_length(
            "follow_up",
            self.follow_up.as_deref().unwrap_or_default(),
            FOLLOW_UP_BYTES,
        ));
        match ReportFault::of_count("artifacts", self.artifacts.len(), MAX_ARTIFACTS) {
            None => faults.extend(self.artifacts.iter().filter_map(|name| {
                ReportFault::of_content("artifacts", name, ARTIFACT_NAME_BYTES)
            })),
            fault => faults.extend(fault),
        }
        match ReportFault::of_count("evidence", self.evidence.len(), MAX_EVIDENCE) {
            None => faults.extend(
                self.evidence
                    .iter()
                    .filter_map(|line| ReportFault::of_content("evidence", line, EVIDENCE_BYTES)),
            ),
            fault => faults.extend(fault),
        }
        match ReportFault::of_count("findings", self.findings.len(), MAX_FINDINGS) {
            None => faults.extend(finding_faults(&self.findings)),
            fault => faults.extend(fault),
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    /// Returns the fault of the first finding with an acceptance line that a task with this many lines does not have.
    pub fn criterion_fault(&self, accepted: usize) -> Option<ReportFault> {
        let mut given = self.findings.iter().filter_map(|it| it.criterion);
        let is_line =
            |given: u32| usize::try_from(given).is_ok_and(|it| (1..=accepted).contains(&it));
        let given = given.find(|given| !is_line(*given))?;
        Some(ReportFault::Criterion { given, accepted })
    }

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

fn finding_faults(findings: &[ReportedFinding]) -> Vec<ReportFault> {
    let mut faults = Vec::new();
    let mut ids = BTreeSet::new();
    for finding in findings {
        let id = ReportFault::of_content("findings.id", &finding.id, FINDING_ID_BYTES);
        let is_valid = id.is_none();
        faults.extend(id);
        faults.extend(ReportFault::of_content(
            "findings.text",
            &finding.text,
            FINDING_BYTES,
        ));
        if is_valid && !ids.insert(&finding.id) {
            faults.push(ReportFault::RepeatedId(finding.id.clone()));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, text: &str) -> ReportedFinding {
        ReportedFinding {
            id: id.to_owned(),
            text: text.to_owned(),
            severity: Severity::Blocker,
            regression: false,
            criterion: None,
        }
    }

    /// Checks a body with texts of this many bytes, and lists of this many entries.
    fn check(field: &str, bytes: usize, entries: usize) -> Result<(), Vec<ReportFault>> {
        let text = "x".repeat(bytes);
        let mut body = ReportBody::default();
        match field {
            "result" => body.result = Some(text),
            "follow_up" => body.follow_up = Some(text),
            "artifacts" => body.artifacts = vec![text; entries],
            "evidence" => body.evidence = vec![text; entries],
            "findings.id" => body.findings = vec![finding(&text, "No source.")],
            "findings.text" => body.findings = vec![finding("source", &text)],
            _ => {
                let all = (0..entries).map(|no| finding(&no.to_string(), &text));
                body.findings = all.collect();
            }
        }
        body.check()
    }

    #[test]
    fn verdicts_are_reports_of_judges_alone() {
        let body = ReportBody {
            evidence: vec!["read it".into(), "ran it".into()],
            findings: vec![finding("source", "No source.")],
            ..ReportBody::default()
        };
        let sent_back = Verdict::SendBack(vec![Finding {
            id: "source".into(),
            severity: Severity::Blocker,
            regression: false,
        }]);
        for (status, verdict) in [
            (ReportStatus::Done, None),
            (ReportStatus::Failed, None),
            (ReportStatus::Accept, Some(Verdict::Accept { evidence: 2 })),
            (ReportStatus::SendBack, Some(sent_back)),
        ] {
            assert_eq!(status.is_verdict(), verdict.is_some());
            assert_eq!(body.verdict(status), verdict);
        }
    }

    #[test]
    fn each_text_is_accepted_up_to_its_limit() {
        for (field, accepted) in [
            ("result", RESULT_BYTES),
            ("follow_up", FOLLOW_UP_BYTES),
            ("artifacts", ARTIFACT_NAME_BYTES),
            ("evidence", EVIDENCE_BYTES),
            ("findings.id", FINDING_ID_BYTES),
            ("findings.text", FINDING_BYTES),
        ] {
            assert_eq!(check(field, accepted, 1), Ok(()), "{field}");
            let faults = check(field, accepted + 1, 1).unwrap_err();
            assert_eq!(faults.len(), 1, "{faults:?}");
            let message = faults[0].to_string();
            let length = format!("which has {} bytes; at most {accepted}", accepted + 1);
            assert!(
                message.starts_with(&format!("`{field}` is `x")),
                "{message}"
            );
            assert!(message.contains(&length), "{message}");
            assert!(message.len() < 400, "{message}");
        }
    }

    #[test]
    fn each_list_is_accepted_up_to_its_limit() {
        for (field, accepted) in [
            ("artifacts", MAX_ARTIFACTS),
            ("evidence", MAX_EVIDENCE),
            ("findings", MAX_FINDINGS),
        ] {
            assert_eq!(check(field, 1, accepted), Ok(()), "{field}");
            let fault = ReportFault::Entries {
                field: match field {
                    "artifacts" => "artifacts",
                    "evidence" => "evidence",
                    _ => "findings",
                },
                count: accepted + 1,
                accepted,
            };
            assert_eq!(check(field, 1, accepted + 1), Err(vec![fault]));
        }
    }

    #[test]
    fn criterion_is_an_acceptance_line_of_the_task() {
        let fault = |criterion, accepted| {
            let finding = ReportedFinding {
                criterion,
                ..finding("source", "No source.")
            };
            let body = ReportBody {
                findings: vec![finding],
                ..ReportBody::default()
            };
            body.criterion_fault(accepted).map(|it| it.to_string())
        };
        for (criterion, accepted) in [(None, 0), (Some(1), 1), (Some(2), 2)] {
            assert_eq!(fault(criterion, accepted), None);
        }
        let lines = "`findings.criterion` is 42; the acceptance lines 1 to 2 are accepted";
        assert_eq!(fault(Some(42), 2).as_deref(), Some(lines));
        assert!(fault(Some(0), 2).is_some());
        let none = "`findings.criterion` is 1; the task has no acceptance lines, so leave it out";
        assert_eq!(fault(Some(1), 0).as_deref(), Some(none));
    }

    #[test]
    fn empty_text_and_repeated_id_are_refused() {
        for field in ["artifacts", "evidence", "findings.id", "findings.text"] {
            let faults = check(field, 0, 1).unwrap_err();
            let message = faults[0].to_string();
            assert!(message.starts_with(&format!("`{field}` is empty")));
        }
        let body = ReportBody {
            findings: vec![finding("source", "a"), finding("source", "b")],
            ..ReportBody::default()
        };
        let repeated = ReportFault::RepeatedId("source".into());
        assert_eq!(body.check(), Err(vec![repeated]));
        assert_eq!(ReportBody::default().check(), Ok(()));
    }
}
