//! The overview of a tenant: what ran, what failed, what waits, what comes next, and what it cost.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use api_types::{
    FailureGroup, InstanceState, MAX_LISTED_CHARS, Needs, NextRun, OutcomeCounts, Overview,
    ReportedUsage, Spender, WaitingApproval,
};
use model::{
    AutomationId, RunId, SessionId, Timestamp,
    budget::{BudgetPeriods, Money},
    run::RunStatus,
};
use store::{
    AutomationItem, OverviewLimits, Period, PeriodOutcome, PeriodOutcomes, RunNames, SpenderUsage,
};

use crate::{Error, Service, automations::run_outcome, boxed, runs::run_item, upcoming_runs};

/// The period of an overview if the request names none.
pub(crate) const DEFAULT_PERIOD: Duration = Duration::from_hours(24);

/// The longest period of an overview or a timeline.
pub const LONGEST_PERIOD: Duration = Duration::from_hours(31 * 24);

/// The maximum number of inputs that an overview or a timeline reads.
pub(crate) const MAX_OUTCOMES: u32 = 5_000;
const MAX_APPROVALS: u32 = 100;
const MAX_NEEDING: u32 = 20;
const MAX_FAILURE_GROUPS: usize = 20;
const MAX_RUNNING: u32 = 10;
const MAX_NEXT_RUNS: u32 = 5;
const MAX_SPENDERS: u32 = 3;

/// What belongs together in an overview: an automation, or a conversation of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Subject {
    Automation(AutomationId),
    Conversation(Option<SessionId>),
}

impl Subject {
    fn of(outcome: &PeriodOutcome) -> Self {
        match outcome.automation {
            Some(automation) => Self::Automation(automation),
            None => Self::Conversation(outcome.session),
        }
    }
}

impl Service {
    /// Returns what a person should know at first sight of the time since an instant. `None`: of the last 24 hours.
    ///
    /// # Errors
    ///
    /// Refuses an instant in the future, and one that is longer ago than [`LONGEST_PERIOD`].
    #[boxed]
    pub async fn overview(&self, since: Option<Timestamp>) -> Result<Overview, Error> {
        let now = self.now();
        let since = since.unwrap_or(now.saturating_sub(DEFAULT_PERIOD));
        check_instant("since", since, now.saturating_sub(LONGEST_PERIOD), now)?;
        let today = BudgetPeriods::of(now).day;
        // A failure needs a person also after the person has looked, so that failures have a period of their own.
        let failures_since = since.min(now.saturating_sub(DEFAULT_PERIOD));
        // The usage of today is reported beside the outcomes of the period, and one statement reads all of them.
        let period = Period {
            from: failures_since.min(today),
            to: Timestamp::MAX,
        };
        let limits = OverviewLimits {
            outcomes: MAX_OUTCOMES,
            approvals: MAX_APPROVALS + 1,
            needing: MAX_NEEDING + 1,
            running: MAX_RUNNING,
            next: MAX_NEXT_RUNS,
            spenders: MAX_SPENDERS,
        };
        let found = self
            .store
            .overview(self.tenant, period, limits, now)
            .await?;
        let PeriodOutcomes { outcomes, cut } = found.outcomes;
        let failures = failure_groups(&outcomes, failures_since);
        // Only the groups that are shown need names: a bad day may have hundreds.
        let ids = failures
            .iter()
            .take(MAX_FAILURE_GROUPS)
            .map(|group| group.last.outcome.run)
            .chain(found.approvals.iter().map(|approval| approval.run_id))
            .chain(found.running.iter().map(|run| run.id));
        let ids: Vec<RunId> = ids.collect();
        let mut names = self
            .store
            .names_of_runs(self.scope(), &ids, MAX_LISTED_CHARS)
            .await?;
        let mut counts = OutcomeCounts::default();
        for outcome in outcomes.iter().filter(|one| is_in_period(one, since)) {
            count(
                &mut counts,
                outcome.outcome.status,
                outcome.outcome.occurrences,
            );
        }
        counts.running = found.open.running + found.open.delivered;
        counts.queued = found.open.queued + found.open.deferred;
        let instances = self.instances().await?;
        Ok(Overview {
            now,
            since,
            counts,
            counts_cut: cut,
            needs: self.needs(found.approvals, failures, found.needing, &names)?,
            running: found
                .running
                .into_iter()
                .map(|run| {
                    let names = names.remove(&run.id).unwrap_or_default();
                    run_item(run, names)
                })
                .collect(),
            next_runs: self.next_runs(found.next.readable)?,
            usage: found.usage.into(),
            reported: reported_usage(&outcomes, today),
            spenders: found.spenders.into_iter().map(spender).collect(),
            has_server: instances
                .iter()
                .any(|instance| instance.state == InstanceState::Online),
        })
    }

    fn needs(
        &self,
        mut approvals: Vec<model::approval::Approval>,
        mut failures: Vec<Failures<'_>>,
        needing: store::AutomationItems,
        names: &BTreeMap<RunId, RunNames>,
    ) -> Result<Needs, Error> {
        let cut_approvals = approvals.len() > MAX_APPROVALS as usize;
        // The earliest deadline needs a person first. The newest approvals were read, so the cut ones are older.
        approvals.sort_by_key(|approval| (approval.deadline_at, approval.id));
        approvals.truncate(MAX_APPROVALS as usize);
        let mut automations = needing.readable;
        let cut_automations = automations.len() > MAX_NEEDING as usize;
        automations.truncate(MAX_NEEDING as usize);
        let cut_failures = failures.len() > MAX_FAILURE_GROUPS;
        failures.truncate(MAX_FAILURE_GROUPS);
        let nameless = RunNames::default();
        let names_of = |run: &RunId| names.get(run).unwrap_or(&nameless);
        Ok(Needs {
            approvals: approvals
                .into_iter()
                .map(|approval| {
                    let names = names_of(&approval.run_id);
                    WaitingApproval {
                        automation_name: names.automation_name.clone(),
                        session_title: names.session_title.clone(),
                        approval: approval.into(),
                    }
                })
                .collect(),
            failures: failures
                .into_iter()
                .map(|group| {
                    let names = names_of(&group.last.outcome.run).clone();
                    group.into_view(names)
                })
                .collect(),
            automations: automations
                .into_iter()
                .map(|item| self.automation_item(item))
                .collect::<Result<_, _>>()?,
            cut: cut_approvals || cut_automations || cut_failures,
        })
    }

    fn next_runs(&self, automations: Vec<AutomationItem>) -> Result<Vec<NextRun>, Error> {
        let mut runs = Vec::with_capacity(automations.len());
        for item in automations {
            let next = upcoming_runs::upcoming_of_automation(
                &item.automation,
                &item.triggers,
                self.now(),
                1,
            )?;
            runs.extend(next.into_iter().map(|run| NextRun {
                automation_id: item.automation.id,
                automation_name: item.automation.name.clone(),
                run,
            }));
        }
        runs.sort_by_key(|next| next.run.at);
        Ok(runs)
    }
}

/// The failures of one subject for one reason, and the newest of them.
struct Failures<'a> {
    subject: Subject,
    status: RunStatus,
    count: u64,
    first_at: Timestamp,
    last: &'a PeriodOutcome,
    recovered: bool,
}

impl Failures<'_> {
    fn into_view(self, names: RunNames) -> FailureGroup {
        FailureGroup {
            automation_id: match self.subject {
                Subject::Automation(id) => Some(id),
                Subject::Conversation(_) => None,
            },
            automation_name: names.automation_name,
            session_id: self.last.session,
            session_title: names.session_title,
            agent_name: names.agent_name,
            status: self.status,
            reason: self.last.outcome.reason.clone(),
            count: self.count,
            first_at: self.first_at,
            last: run_outcome(self.last.outcome.clone()),
            recovered: self.recovered,
        }
    }
}

/// Groups the failures since an instant by subject, status and reason. Those that a success followed come last. Among
/// the others, the failures that began last come first, because nobody has seen them yet.
fn failure_groups(outcomes: &[PeriodOutcome], since: Timestamp) -> Vec<Failures<'_>> {
    let mut succeeded = HashMap::new();
    let mut groups: Vec<Failures<'_>> = Vec::new();
    let mut positions = HashMap::new();
    for one in outcomes.iter().filter(|one| is_in_period(one, since)) {
        let subject = Subject::of(one);
        let outcome = &one.outcome;
        match outcome.status {
            RunStatus::Succeeded => {
                succeeded.entry(subject).or_insert(true);
            }
            RunStatus::Failed | RunStatus::Stalled | RunStatus::Missed => {
                let recovered = *succeeded.entry(subject).or_insert(false);
                let key = (subject, outcome.status, outcome.reason.as_deref());
                let position = *positions.entry(key).or_insert_with(|| {
                    groups.push(Failures {
                        subject,
                        status: outcome.status,
                        count: 0,
                        first_at: outcome.at,
                        last: one,
                        recovered,
                    });
                    groups.len() - 1
                });
                // The outcomes are sorted from the newest to the oldest.
                groups[position].count += inputs(outcome.status, outcome.occurrences);
                groups[position].first_at = groups[position].first_at.min(outcome.at);
            }
            _ => {}
        }
    }
    groups.sort_by_key(|group| {
        (
            group.recovered,
            Reverse(group.first_at),
            group.last.outcome.run,
        )
    });
    groups
}

/// Returns `true` if an input has not ended before an instant.
fn is_in_period(one: &PeriodOutcome, since: Timestamp) -> bool {
    one.outcome.ended_at.is_none_or(|ended| ended >= since)
}

/// Returns the number of inputs for which a row stands: the due instants, if they were missed or skipped.
fn inputs(status: RunStatus, occurrences: i64) -> u64 {
    match status {
        RunStatus::Missed | RunStatus::Skipped => u64::try_from(occurrences).unwrap_or(1),
        _ => 1,
    }
}

/// Adds the inputs of a row to the number of their status.
pub(crate) fn count(counts: &mut OutcomeCounts, status: RunStatus, occurrences: i64) {
    let number = match status {
        RunStatus::Succeeded => &mut counts.succeeded,
        RunStatus::Failed => &mut counts.failed,
        RunStatus::Stalled => &mut counts.stalled,
        RunStatus::Cancelled => &mut counts.cancelled,
        RunStatus::Missed => &mut counts.missed,
        RunStatus::Skipped => &mut counts.skipped,
        RunStatus::Running | RunStatus::Delivered => &mut counts.running,
        RunStatus::Queued | RunStatus::Deferred => &mut counts.queued,
    };
    *number += inputs(status, occurrences);
}

/// Counts the runs whose turn began since an instant and has ended, and those whose agents reported their usage.
fn reported_usage(outcomes: &[PeriodOutcome], since: Timestamp) -> ReportedUsage {
    let mut reported = ReportedUsage::default();
    for one in outcomes {
        // The usage of a running turn is not complete.
        let (Some(began), Some(_)) = (one.outcome.started_at, one.outcome.ended_at) else {
            continue;
        };
        if began >= since {
            reported.runs += 1;
            reported.with_tokens += u64::from(one.has_tokens);
            reported.with_cost += u64::from(one.has_cost);
        }
    }
    reported
}

fn spender(used: SpenderUsage) -> Spender {
    let money = Money::new(used.cost, &used.currency).ok();
    Spender {
        automation_id: used.automation,
        automation_name: used.automation_name,
        cost: money.filter(|_| used.cost > 0).map(Into::into),
        tokens: used.tokens,
        turns: used.turns,
    }
}

/// Checks that an instant lies in a range.
///
/// # Errors
///
/// Returns an error that names the field, the instant and the range.
pub(crate) fn check_instant(
    field: &'static str,
    instant: Timestamp,
    first: Timestamp,
    last: Timestamp,
) -> Result<(), Error> {
    if (first..=last).contains(&instant) {
        return Ok(());
    }
    let problem = format!("accepted are instants from {first} to {last}");
    Err(Error::invalid(field, &instant.to_string(), problem))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn instant(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn row(number: u128, automation: u128, status: RunStatus, at: &str) -> PeriodOutcome {
        PeriodOutcome {
            outcome: store::RunOutcome {
                run: RunId::from_uuid(Uuid::from_u128(number)),
                status,
                reason: (status == RunStatus::Failed).then(|| "timeout".to_owned()),
                message: None,
                occurrences: 3,
                at: instant(at),
                started_at: None,
                ended_at: Some(instant(at)),
            },
            automation: Some(AutomationId::from_uuid(Uuid::from_u128(automation))),
            session: None,
            has_tokens: false,
            has_cost: false,
        }
    }

    #[test]
    fn failures_are_grouped_and_sorted_by_need() {
        use RunStatus::{Failed, Missed, Skipped, Succeeded};
        // From the newest to the oldest, as the store lists them.
        let outcomes = [
            row(9, 1, Skipped, "2026-11-20T09:00:00Z"),
            row(8, 1, Succeeded, "2026-11-20T08:00:00Z"),
            row(7, 2, Failed, "2026-11-20T07:00:00Z"),
            row(6, 3, Missed, "2026-11-20T06:00:00Z"),
            row(5, 1, Failed, "2026-11-20T05:00:00Z"),
            row(4, 2, Failed, "2026-11-20T04:00:00Z"),
            row(3, 2, Failed, "2026-11-19T04:00:00Z"),
        ];
        let groups = failure_groups(&outcomes, instant("2026-11-20T00:00:00Z"));
        let shown: Vec<_> = groups
            .iter()
            .map(|group| {
                let run = group.last.outcome.run.uuid().as_u128();
                (run, group.status, group.count, group.recovered)
            })
            .collect();
        // The missed instants began after the failures of the second automation, and a success follows the last one.
        assert_eq!(
            shown,
            [
                (6, Missed, 3, false),
                (7, Failed, 2, false),
                (5, Failed, 1, true)
            ]
        );
        assert_eq!(groups[1].first_at, instant("2026-11-20T04:00:00Z"));
    }
}
