//! The overview of a tenant: what ran, what failed, what waits, what comes next, and what it cost.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use api_types::{
    FailureGroup, MAX_LISTED_CHARS, Needs, NextRun, OutcomeCounts, Overview, ReportedUsage,
    Spender, WaitingApproval, WaitingGoal, WaitingQuestion,
};
use model::{
    AutomationId, RunId, SessionId, Timestamp,
    budget::{BudgetPeriods, Money},
    run::RunStatus,
};
use store::{
    AutomationItem, ListedSpender, OverviewLimits, OverviewPeriods, PeriodOutcome, PeriodOutcomes,
    ReportedTurns, RunNames, SpenderUsage,
};

use crate::{
    Error, Service, automations::run_outcome, boxed, goals::reason_of, runs::run_item,
    upcoming_runs,
};

/// The period of an overview if the request names none.
pub(crate) const DEFAULT_PERIOD: Duration = Duration::from_hours(24);

/// The longest period of an overview or a timeline.
pub const LONGEST_PERIOD: Duration = Duration::from_hours(31 * 24);

/// The maximum number of inputs that a timeline reads.
pub(crate) const MAX_OUTCOMES: u32 = 5_000;
/// The maximum number of inputs that an overview counts.
const MAX_COUNTED: u32 = 5_000;
/// The maximum number of failures of each status that an overview reads. Each of them is a page of the database.
const MAX_FAILURES: u32 = 500;
/// The maximum number of approvals that an overview shows, and that of questions.
const MAX_APPROVALS: u32 = 100;
/// The maximum number of automations that an overview shows as needing a person, and that of goals.
const MAX_NEEDING: u32 = 20;
const MAX_FAILURE_GROUPS: usize = 20;
/// The number of groups of failures for which successes are looked for at once.
const GROUPS_PER_SEARCH: usize = 40;
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
        let periods = OverviewPeriods {
            since,
            failures_since,
            today,
        };
        let limits = OverviewLimits {
            inputs: MAX_COUNTED,
            failures: MAX_FAILURES,
            approvals: MAX_APPROVALS + 1,
            needing: MAX_NEEDING + 1,
            running: MAX_RUNNING,
            next: MAX_NEXT_RUNS,
            spenders: MAX_SPENDERS,
        };
        let found = self
            .store
            .overview(self.tenant, periods, limits, now)
            .await?;
        let failures = self.shown_failures(&found.failures).await?;
        let ids = failures
            .groups
            .iter()
            .map(|group| group.last.outcome.run)
            .chain(found.approvals.iter().map(|approval| approval.run_id))
            .chain(found.questions.iter().map(|question| question.run_id))
            .chain(found.running.iter().map(|run| run.id));
        let ids: Vec<RunId> = ids.collect();
        let mut names = self
            .store
            .names_of_runs(self.scope(), &ids, MAX_LISTED_CHARS)
            .await?;
        let mut counts = OutcomeCounts::default();
        for (status, inputs) in &found.counts.inputs {
            *number_of(&mut counts, *status) += inputs;
        }
        // A worker that has claimed a run begins its turn at once. A file may wait for days.
        counts.delivered = found.open.as_files;
        counts.running = found.open.running + found.open.delivered - found.open.as_files;
        counts.queued = found.open.queued + found.open.deferred;
        Ok(Overview {
            now,
            since,
            counts,
            without_directory: found.open.without_directory,
            counts_cut: found.counts.cut,
            needs: self.needs(
                found.approvals,
                found.questions,
                failures,
                found.needing,
                found.goals,
                &names,
            )?,
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
            reported: reported_usage(found.counts.reported),
            reported_in_month: reported_usage(found.counts.reported + found.reported_before),
            spenders: found.spenders.into_iter().map(spender).collect(),
            has_server: self.store.has_online_server(self.tenant, now).await?,
        })
    }

    fn needs(
        &self,
        mut approvals: Vec<model::approval::Approval>,
        mut questions: Vec<model::question::Question>,
        failures: ShownFailures<'_>,
        needing: store::AutomationItems,
        mut goals: Vec<store::NeedyGoal>,
        names: &BTreeMap<RunId, RunNames>,
    ) -> Result<Needs, Error> {
        let cut_approvals = approvals.len() > MAX_APPROVALS as usize;
        // The earliest deadline needs a person first. The newest approvals were read, so the cut ones are older.
        approvals.sort_by_key(|approval| (approval.deadline_at, approval.id));
        approvals.truncate(MAX_APPROVALS as usize);
        let cut_questions = questions.len() > MAX_APPROVALS as usize;
        questions.sort_by_key(|question| (question.deadline_at, question.id));
        questions.truncate(MAX_APPROVALS as usize);
        let mut automations = needing.readable;
        let cut_automations = automations.len() > MAX_NEEDING as usize;
        automations.truncate(MAX_NEEDING as usize);
        let cut_goals = goals.len() > MAX_NEEDING as usize;
        goals.truncate(MAX_NEEDING as usize);
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
            questions: questions
                .into_iter()
                .map(|question| {
                    let names = names_of(&question.run_id);
                    WaitingQuestion {
                        automation_name: names.automation_name.clone(),
                        session_title: names.session_title.clone(),
                        question: question.into(),
                    }
                })
                .collect(),
            goals: goals.into_iter().filter_map(waiting_goal).collect(),
            failures: failures
                .groups
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
            cut: cut_approvals || cut_questions || cut_automations || cut_goals || failures.cut,
        })
    }

    /// Returns the groups of failures that an overview shows. Those that a success followed come last. The search for
    /// successes ends when the other ones suffice, because a bad week has hundreds of groups.
    async fn shown_failures<'a>(
        &self,
        failures: &'a PeriodOutcomes,
    ) -> Result<ShownFailures<'a>, Error> {
        let mut left = failure_groups(&failures.outcomes);
        let cut = failures.cut || left.len() > MAX_FAILURE_GROUPS;
        let (mut groups, mut recovered) = (Vec::new(), Vec::new());
        while !left.is_empty() && groups.len() < MAX_FAILURE_GROUPS {
            let later = left.split_off(left.len().min(GROUPS_PER_SEARCH));
            let runs: Vec<RunId> = left.iter().map(|group| group.newest).collect();
            let found = self.store.recovered_runs(self.tenant, &runs).await?;
            for mut group in std::mem::replace(&mut left, later) {
                group.recovered = found.contains(&group.newest);
                if group.recovered {
                    recovered.push(group);
                } else {
                    groups.push(group);
                }
            }
        }
        groups.append(&mut recovered);
        groups.truncate(MAX_FAILURE_GROUPS);
        Ok(ShownFailures { groups, cut })
    }

    fn next_runs(&self, automations: Vec<AutomationItem>) -> Result<Vec<NextRun>, Error> {
        let mut runs = Vec::with_capacity(automations.len());
        for item in automations {
            let next =
                upcoming_runs::next_of_automation(&item.automation, &item.triggers, self.now())?;
            runs.extend(next.map(|run| NextRun {
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
    /// The newest failure of the subject for any reason.
    newest: RunId,
    recovered: bool,
}

/// The groups of failures that an overview shows.
struct ShownFailures<'a> {
    groups: Vec<Failures<'a>>,
    /// `true` if the period has more of them, or more failures than were read.
    cut: bool,
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

/// Groups failures by subject, status and reason. The failures that began last come first, because nobody has seen them
/// yet. The failures are sorted, the newest first.
fn failure_groups(failures: &[PeriodOutcome]) -> Vec<Failures<'_>> {
    let mut groups: Vec<Failures<'_>> = Vec::new();
    let mut positions = HashMap::new();
    let mut newest = HashMap::new();
    for failure in failures {
        let subject = Subject::of(failure);
        let outcome = &failure.outcome;
        let newest = *newest.entry(subject).or_insert(outcome.run);
        let key = (subject, outcome.status, outcome.reason.as_deref());
        let position = *positions.entry(key).or_insert_with(|| {
            groups.push(Failures {
                subject,
                status: outcome.status,
                count: 0,
                first_at: outcome.at,
                last: failure,
                newest,
                recovered: false,
            });
            groups.len() - 1
        });
        groups[position].count += inputs(outcome.status, outcome.occurrences);
        groups[position].first_at = groups[position].first_at.min(outcome.at);
    }
    groups.sort_by_key(|group| (Reverse(group.first_at), group.last.outcome.run));
    groups
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
    *number_of(counts, status) += inputs(status, occurrences);
}

fn number_of(counts: &mut OutcomeCounts, status: RunStatus) -> &mut u64 {
    match status {
        RunStatus::Succeeded => &mut counts.succeeded,
        RunStatus::Failed => &mut counts.failed,
        RunStatus::Stalled => &mut counts.stalled,
        RunStatus::Cancelled => &mut counts.cancelled,
        RunStatus::Missed => &mut counts.missed,
        RunStatus::Skipped => &mut counts.skipped,
        RunStatus::Running => &mut counts.running,
        RunStatus::Delivered => &mut counts.delivered,
        RunStatus::Queued | RunStatus::Deferred => &mut counts.queued,
    }
}

/// Returns a goal that needs a person as the API shows it. A goal that is neither paused nor failed has no reason.
fn waiting_goal(goal: store::NeedyGoal) -> Option<WaitingGoal> {
    let (reason, cause) = reason_of(goal.state);
    Some(WaitingGoal {
        id: goal.session,
        title: goal.title,
        goal: goal.text,
        reason: reason?,
        cause: cause.map(|cause| cause.to_string()),
        updated_at: goal.updated_at,
    })
}

const fn reported_usage(turns: ReportedTurns) -> ReportedUsage {
    ReportedUsage {
        runs: turns.turns,
        with_tokens: turns.with_tokens,
        with_cost: turns.with_cost,
    }
}

fn spender(used: SpenderUsage) -> Spender {
    let money = Money::new(used.cost, &used.currency).ok();
    let (automation, goal) = match used.spender {
        ListedSpender::Automation { id, name } => (Some((id, name)), None),
        ListedSpender::Goal { session, title } => (None, Some((session, title))),
        ListedSpender::Conversations => (None, None),
    };
    let (automation_id, automation_name) = automation.unzip();
    let (goal_id, goal_title) = goal.unzip();
    Spender {
        automation_id,
        automation_name,
        goal_id,
        goal_title,
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

    fn failed_input(number: u128, automation: u128, status: RunStatus, at: &str) -> PeriodOutcome {
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
        }
    }

    #[test]
    fn failures_are_grouped_and_sorted_by_need() {
        use RunStatus::{Failed, Missed};
        // From the newest to the oldest, as the store lists them.
        let failures = [
            failed_input(7, 2, Failed, "2026-11-20T07:00:00Z"),
            failed_input(6, 3, Missed, "2026-11-20T06:00:00Z"),
            failed_input(5, 2, Missed, "2026-11-20T05:00:00Z"),
            failed_input(4, 2, Failed, "2026-11-20T04:00:00Z"),
        ];
        let groups = failure_groups(&failures);
        let shown: Vec<_> = groups
            .iter()
            .map(|group| {
                let run = |id: RunId| id.uuid().as_u128();
                let (last, newest) = (run(group.last.outcome.run), run(group.newest));
                (last, newest, group.status, group.count)
            })
            .collect();
        // The missed instants began after the failures of the second automation.
        assert_eq!(
            shown,
            [(6, 6, Missed, 3), (5, 7, Missed, 3), (7, 7, Failed, 2)]
        );
        assert_eq!(groups[2].first_at, instant("2026-11-20T04:00:00Z"));
    }
}
