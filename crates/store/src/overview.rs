//! What an overview of a tenant shows, read by a few statements, whatever the number of automations.

use std::{cmp::Reverse, collections::HashSet};

use crate::{
    ApprovalFilter, AutomationItems, Error, Page, QuestionFilter, QueueDepth, RunFilter,
    RunOutcome, Scope, approvals,
    automations::{self, PAUSED_BY_PERSON},
    boxed,
    database::{Row, Tx},
    goals, questions,
    reported_turns::{ReportedTurns, SEARCHED_BEFORE},
    rows, runs, scheduler_status,
    shown_usage::shown_tenant_usage,
    spenders::{SpenderUsage, spenders_of_day},
    store::Store,
};
use model::{
    AutomationId, RunId, SessionId, TenantId, Timestamp,
    approval::Approval,
    budget::Account,
    entity::Run,
    goal::GoalState,
    limits::CONTENT_BYTES,
    question::{Question, QuestionStatus},
    run::RunStatus,
};

/// The time before a period in which inputs are looked for that ended in the period.
const LONGEST_WAIT: std::time::Duration = std::time::Duration::from_hours(48);

/// The number of rows that are read to find different automations among the triggers that are due next. An automation
/// may have several triggers.
const DUE_ROWS_PER_AUTOMATION: u32 = 4;

/// The outcome of an input in a period, so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeriodOutcome {
    /// The outcome.
    pub outcome: RunOutcome,
    /// The automation. `None` if a person sent the input.
    pub automation: Option<AutomationId>,
    /// The session. `None` if the occurrence was missed, or skipped before it got a session.
    pub session: Option<SessionId>,
}

/// The numbers of inputs of a period.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeriodCounts {
    /// The number of inputs of each status. An occurrence that was missed or skipped counts as the due instants for
    /// which it stands.
    pub inputs: Vec<(RunStatus, u64)>,
    /// The numbers of turns that began today and are over.
    pub reported: ReportedTurns,
    /// `true` if the period has more inputs than those that were read.
    pub cut: bool,
}

/// The outcomes of the inputs of a period, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeriodOutcomes {
    /// The outcomes.
    pub outcomes: Vec<PeriodOutcome>,
    /// `true` if the period has more of them.
    pub cut: bool,
}

/// The period whose outcomes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The beginning of the period. Inputs that ended before it are not read.
    pub from: Timestamp,
    /// The end of the period. Inputs that were created at it or later are not read.
    pub to: Timestamp,
}

/// The periods of an overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverviewPeriods {
    /// The instant since which inputs are counted.
    pub since: Timestamp,
    /// The instant since which failures are listed, and goals that were given up.
    pub failures_since: Timestamp,
    /// The beginning of the day whose turns are counted.
    pub today: Timestamp,
}

/// A goal that needs a person: a paused one that only a person can move, or one that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeedyGoal {
    /// The session.
    pub session: SessionId,
    /// The title of the session.
    pub title: Option<String>,
    /// The beginning of the text.
    pub text: String,
    /// The state, with the reason.
    pub state: GoalState,
    /// The instant of the last change.
    pub updated_at: Timestamp,
}

/// The numbers of rows that an overview has at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverviewLimits {
    /// Inputs that are counted.
    pub inputs: u32,
    /// Failures of each status.
    pub failures: u32,
    /// Pending approvals, and as many pending questions.
    pub approvals: u32,
    /// Automations that need a person, and as many goals.
    pub needing: u32,
    /// Running turns.
    pub running: u32,
    /// Automations that run next.
    pub next: u32,
    /// Spenders of the day.
    pub spenders: u32,
}

/// What an overview of a tenant shows.
#[derive(Debug)]
pub struct OverviewRows {
    /// The numbers of inputs.
    pub counts: PeriodCounts,
    /// The inputs that have failed.
    pub failures: PeriodOutcomes,
    /// The numbers of all unfinished runs.
    pub open: QueueDepth,
    /// The newest running turns, the newest first.
    pub running: Vec<Run>,
    /// The newest pending approvals, the newest first.
    pub approvals: Vec<Approval>,
    /// The newest pending questions, the newest first.
    pub questions: Vec<Question>,
    /// The automations that need a person: those with a notice, and those that paused themselves.
    pub needing: AutomationItems,
    /// The paused goals that only a person can move, and those that were given up in the period of failures, the newest
    /// first.
    pub goals: Vec<NeedyGoal>,
    /// The automations whose triggers fire next.
    pub next: AutomationItems,
    /// The budget of the tenant and its usage.
    pub usage: Account,
    /// The numbers of turns that began on the earlier days of this month.
    pub reported_before: ReportedTurns,
    /// Those who used the most today, the highest cost first.
    pub spenders: Vec<SpenderUsage>,
}

/// What a timeline of a tenant shows.
#[derive(Debug)]
pub struct TimelineRows {
    /// The outcomes of the period.
    pub outcomes: PeriodOutcomes,
    /// The automations whose triggers fire before the end of the period, the earliest first.
    pub due: Vec<AutomationId>,
}

impl Store {
    /// Reads what an overview of a tenant shows, in one transaction.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the tenant does not exist.
    #[boxed]
    pub async fn overview(
        &self,
        tenant: TenantId,
        periods: OverviewPeriods,
        limits: OverviewLimits,
        now: Timestamp,
    ) -> Result<OverviewRows, Error> {
        let scope = Scope::Tenant(tenant);
        let budget = self.tenant(scope, tenant).await?.budget;
        let mut tx = self.db.begin_read(scope).await?;
        let tx = &mut tx;
        let running = RunFilter {
            statuses: vec![RunStatus::Running],
            ..RunFilter::default()
        };
        let open = QuestionFilter {
            state: Some(QuestionStatus::Pending),
            ..QuestionFilter::default()
        };
        let pending = ApprovalFilter {
            state: Some(model::approval::ApprovalStatus::Pending),
            ..ApprovalFilter::default()
        };
        let needing = needing_attention(tx, tenant, limits.needing).await?;
        let next = next_due(tx, tenant, Timestamp::MAX, limits.next).await?;
        let shown = shown_tenant_usage(tx, &self.closed_days, tenant, budget, now).await?;
        Ok(OverviewRows {
            counts: counts(tx, tenant, periods, limits.inputs).await?,
            failures: failures(tx, tenant, periods.failures_since, limits.failures).await?,
            open: scheduler_status::read_queue_depth(tx, scope).await?,
            running: runs::read_page(
                tx,
                scope,
                &running,
                Page::first(limits.running),
                CONTENT_BYTES,
            )
            .await?,
            approvals: approvals::read_page(tx, tenant, pending, Page::first(limits.approvals))
                .await?,
            questions: questions::read_page(tx, tenant, open, Page::first(limits.approvals))
                .await?,
            needing: automations::items_by_id(tx, tenant, &needing, 1).await?,
            goals: goals_needing_person(tx, tenant, periods.failures_since, limits.needing).await?,
            next: automations::items_by_id(tx, tenant, &next, 0).await?,
            usage: shown.account,
            reported_before: shown.reported_before,
            spenders: spenders_of_day(tx, tenant, now, limits.spenders).await?,
        })
    }

    /// Returns those of a tenant's failed runs after which their automation, or the conversation of a person, has
    /// succeeded.
    #[boxed]
    pub async fn recovered_runs(
        &self,
        tenant: TenantId,
        failed: &[RunId],
    ) -> Result<HashSet<RunId>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let keys = failed.iter().map(|run| run.uuid()).collect();
        let found = tx.fetch_by_keys(sql!("runs/succeeded_since"), keys, params![tenant]);
        found.await?.iter().map(|row| Ok(row.get("id")?)).collect()
    }

    /// Reads what a timeline shows: the outcomes of a period, of one automation or of all, and the automations that are
    /// due before its end. `limit` is the maximum number of outcomes, and `due` that of the automations.
    #[boxed]
    pub async fn timeline(
        &self,
        tenant: TenantId,
        period: Period,
        automation: Option<AutomationId>,
        limit: u32,
        due: u32,
    ) -> Result<TimelineRows, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        Ok(TimelineRows {
            outcomes: outcomes(&mut tx, tenant, period, automation, limit).await?,
            due: match automation {
                Some(automation) => vec![automation],
                None => next_due(&mut tx, tenant, period.to, due).await?,
            },
        })
    }
}

/// Reads the outcomes of the inputs of a period, the newest first, at most `limit`.
async fn outcomes(
    tx: &mut Tx,
    tenant: TenantId,
    period: Period,
    automation: Option<AutomationId>,
    limit: u32,
) -> Result<PeriodOutcomes, Error> {
    let found = tx
        .fetch_all(
            sql!("runs/outcomes_of_period"),
            params! { "runs/outcomes_of_period";
                tenant: tenant,
                first_id: RunId::first_at(period.from.saturating_sub(LONGEST_WAIT)),
                before: Page::<RunId>::first(limit).before(),
                from: period.from,
                to: period.to,
                automation: automation,
                limit: limit.saturating_add(1),
            },
        )
        .await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let outcomes = found.iter().take(limit).map(period_outcome);
    Ok(PeriodOutcomes {
        outcomes: outcomes.collect::<Result<_, _>>()?,
        cut: found.len() > limit,
    })
}

fn period_outcome(row: &Row) -> Result<PeriodOutcome, Error> {
    Ok(PeriodOutcome {
        outcome: automations::read_outcome(row)?,
        automation: row.optional("automation_id")?,
        session: row.optional("session_id")?,
    })
}

/// Counts the newest inputs of a period, at most `limit`.
async fn counts(
    tx: &mut Tx,
    tenant: TenantId,
    periods: OverviewPeriods,
    limit: u32,
) -> Result<PeriodCounts, Error> {
    let from = periods.since.min(periods.today);
    let found = tx
        .fetch_all(
            sql_of_each!("runs/counts_of_period"),
            params! { "sqlite/runs/counts_of_period";
                tenant: tenant,
                first_id: RunId::first_at(from.saturating_sub(SEARCHED_BEFORE)),
                before: Page::<RunId>::first(limit).before(),
                from: from,
                since: periods.since,
                today: periods.today,
                limit: limit,
            },
        )
        .await?;
    let mut counts = PeriodCounts::default();
    for row in &found {
        let inputs = rows::read_amount(row, "inputs")?;
        counts.inputs.push((row.parse("status")?, inputs));
        counts.reported = counts.reported + ReportedTurns::read(row)?;
        counts.cut |= row.get::<bool>("cut")?;
    }
    Ok(counts)
}

/// Reads the inputs that have failed since an instant, the newest first, at most `limit` of each status.
async fn failures(
    tx: &mut Tx,
    tenant: TenantId,
    since: Timestamp,
    limit: u32,
) -> Result<PeriodOutcomes, Error> {
    let mut failed = PeriodOutcomes::default();
    let first_id = RunId::first_at(since.saturating_sub(LONGEST_WAIT));
    for status in [RunStatus::Failed, RunStatus::Stalled, RunStatus::Missed] {
        let rows = tx
            .fetch_all(
                sql!("runs/failures_of_period"),
                params! { "runs/failures_of_period";
                    tenant: tenant,
                    first_id: first_id,
                    before: Page::<RunId>::first(limit).before(),
                    from: since,
                    status: status.as_str(),
                    limit: limit,
                },
            )
            .await?;
        failed.cut |= u64::try_from(rows.len()).unwrap_or(u64::MAX) >= u64::from(limit);
        for row in &rows {
            failed.outcomes.push(period_outcome(row)?);
        }
    }
    let run = |input: &PeriodOutcome| Reverse(input.outcome.run);
    failed.outcomes.sort_unstable_by_key(run);
    Ok(failed)
}

/// Lists the automations that need a person, the latest change first.
async fn needing_attention(
    tx: &mut Tx,
    tenant: TenantId,
    limit: u32,
) -> Result<Vec<AutomationId>, Error> {
    let found = tx.fetch_all(
        sql!("automations/needing_attention"),
        params![tenant, PAUSED_BY_PERSON, limit],
    );
    found.await?.iter().map(|row| Ok(row.get("id")?)).collect()
}

/// Lists the paused goals that only a person can move, and those that were given up since an instant, the newest first.
async fn goals_needing_person(
    tx: &mut Tx,
    tenant: TenantId,
    since: Timestamp,
    limit: u32,
) -> Result<Vec<NeedyGoal>, Error> {
    let mut found = tx
        .fetch_all(sql!("goals/needing_person"), params![tenant, limit])
        .await?;
    let given_up = tx.fetch_all(sql!("goals/given_up"), params![tenant, since, limit]);
    found.extend(given_up.await?);
    let read = |row: &Row| {
        let session = row.get("session_id")?;
        let state = match goals::goal_state(row) {
            // A goal of a later version must not hide the rest of the overview.
            Err(error) if error.is_corrupt() => {
                tracing::warn!(%error, goal = %session, "cannot show goal {session} in the overview");
                return Ok(None);
            }
            state => state?,
        };
        Ok(Some(NeedyGoal {
            session,
            title: row.optional("title")?,
            text: row.get("text")?,
            state,
            updated_at: row.get("updated_at")?,
        }))
    };
    let goals = found.iter().filter_map(|row| read(row).transpose());
    let mut goals: Vec<NeedyGoal> = goals.collect::<Result<_, Error>>()?;
    goals.sort_by_key(|goal| Reverse(goal.session));
    goals.truncate(limit as usize);
    Ok(goals)
}

/// Lists the automations whose triggers fire before an instant, the earliest first.
async fn next_due(
    tx: &mut Tx,
    tenant: TenantId,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<AutomationId>, Error> {
    let rows = limit.saturating_mul(DUE_ROWS_PER_AUTOMATION);
    let found = tx
        .fetch_all(sql!("triggers/next_due"), params![tenant, before, rows])
        .await?;
    let mut due = Vec::new();
    for row in &found {
        let automation = row.get("automation_id")?;
        if !due.contains(&automation) {
            due.push(automation);
        }
    }
    due.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(due)
}
