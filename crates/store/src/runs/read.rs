//! Queries for runs and their internal records.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use model::{
    AutomationId, InputId, InstanceId, RunId, SessionId, Timestamp,
    entity::{Run, RunRecord},
    limits::{ANSWER_BYTES, CONTENT_BYTES},
    run::{Origin, RunStatus},
};
use uuid::Uuid;

use crate::{Error, Page, Scope, boxed, database::Tx, rows, store::Store};

/// The maximum age of an ID that a request has reserved before the run was created.
const RESERVED_ID_MARGIN: Duration = Duration::from_hours(24);
/// The margin by which an ID may be younger than its run, because the clocks of two servers differ. A page of an earlier
/// period reads all runs of the margin.
const CLOCK_MARGIN: Duration = Duration::from_hours(1);

/// The filters of a list of runs.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// The session of the runs.
    pub session: Option<SessionId>,
    /// The automation of the runs. Its list includes skipped and missed occurrences.
    pub automation: Option<AutomationId>,
    /// The instance that executes the runs or did, or on which they wait.
    pub instance: Option<InstanceId>,
    /// The accepted statuses. Empty to accept all.
    pub statuses: Vec<RunStatus>,
    /// The accepted origin.
    pub origin: Option<Origin>,
    /// The accepted reason.
    pub reason: Option<String>,
    /// The instant from which on the runs were created.
    pub created_from: Option<Timestamp>,
    /// The instant before which the runs were created.
    pub created_before: Option<Timestamp>,
    /// `true` to list only runs of occurrences, which include skipped and missed ones.
    pub occurrences_only: bool,
    /// `true` to list only the last attempt at each input, which has the outcome of the input.
    pub last_attempts_only: bool,
}

/// A run as operations on many runs count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedRun {
    /// The ID.
    pub id: RunId,
    /// The status.
    pub status: RunStatus,
    /// `true` for a turn of a task of a goal, which its task alone repeats.
    pub is_of_task: bool,
}

/// The names of the objects to which a run belongs, and its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunNames {
    /// The name of the automation, which may be deleted. `None` if the run has no automation.
    pub automation_name: Option<String>,
    /// The title of the session. `None` if the session has no title, or the run no session.
    pub session_title: Option<String>,
    /// The name of the agent: that of the seat, or that of the automation if the run has no seat.
    pub agent_name: Option<String>,
    /// The name of the seat. `None` if the session has only one, or the run no session.
    pub seat_name: Option<String>,
    /// The name of the instance that executes the run or did. `None` if no instance has taken the run.
    pub instance_name: Option<String>,
    /// The kind of the trigger, such as `webhook`. `None` if no trigger created the run.
    pub trigger_kind: Option<String>,
    /// The name of the external chat of the session, such as `slack`. `None` if the session belongs to none.
    pub channel: Option<String>,
    /// The answer, or its beginning. `None` if the run has none, or none yet.
    pub answer: Option<String>,
    /// `true` if the turn waits for a person: an approval of the run is pending, or a question of its agent.
    pub waits_for_approval: bool,
    /// `true` if a question is pending for whose answer the agent waits.
    pub waits_for_answer: bool,
}

/// The parameters of a statement that lists runs, all of which have the same names.
macro_rules! page_params {
    ($file:literal, $scope:expr, $filter:expr, $page:expr, $content_chars:expr, $status:expr) => {
        params! { $file;
            tenant: $scope.tenant(),
            first_id: first_id($filter),
            before: before($filter, $page),
            created_from: $filter.created_from,
            created_before: $filter.created_before,
            origin: $filter.origin.map(Origin::as_str),
            reason: $filter.reason.as_deref(),
            occurrences_only: $filter.occurrences_only,
            last_attempts_only: $filter.last_attempts_only,
            status: $status.map(RunStatus::as_str),
            session: $filter.session,
            automation: $filter.automation,
            instance: $filter.instance,
            limit: $page.limit,
            content_chars: $content_chars,
        }
    };
}

impl Store {
    /// Reads one run.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the run does not exist in `scope`.
    #[boxed]
    pub async fn run(&self, scope: Scope, id: RunId) -> Result<Run, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(
                sql!("runs/by_id", rows::RUN_COLUMNS),
                params![scope.tenant(), id],
            )
            .await?;
        rows::run(&row.ok_or_else(|| Error::not_found("run", id))?)
    }

    /// Reads the names of the objects to which a run belongs, and its whole answer.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the run does not exist in `scope`.
    #[boxed]
    pub async fn run_names(&self, scope: Scope, id: RunId) -> Result<RunNames, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let mut names = read_names(&mut tx, scope, &[id], ANSWER_BYTES).await?;
        names.remove(&id).ok_or_else(|| Error::not_found("run", id))
    }

    /// Reads the names of the objects to which runs belong, and the beginnings of their answers. Omits runs that do not
    /// exist in `scope`.
    #[boxed]
    pub async fn names_of_runs(
        &self,
        scope: Scope,
        ids: &[RunId],
        answer_chars: usize,
    ) -> Result<BTreeMap<RunId, RunNames>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read_names(&mut tx, scope, ids, answer_chars).await
    }

    /// Lists the newest runs, the newest first.
    #[boxed]
    pub async fn runs(
        &self,
        scope: Scope,
        filter: RunFilter,
        limit: u32,
    ) -> Result<Vec<Run>, Error> {
        self.run_page(scope, &filter, Page::first(limit)).await
    }

    /// Lists one page of runs, the newest first. An index serves each filter, so that the cost of a page grows with
    /// its length, not with the number of runs.
    #[boxed]
    pub async fn run_page(
        &self,
        scope: Scope,
        filter: &RunFilter,
        page: Page<RunId>,
    ) -> Result<Vec<Run>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read_page(&mut tx, scope, filter, page, CONTENT_BYTES).await
    }

    /// Lists one page of runs with their names, the newest first. At most `chars` characters of each input and of each
    /// answer are read.
    #[boxed]
    pub async fn named_run_page(
        &self,
        scope: Scope,
        filter: &RunFilter,
        page: Page<RunId>,
        chars: usize,
    ) -> Result<Vec<(Run, RunNames)>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let runs = read_page(&mut tx, scope, filter, page, chars).await?;
        let ids: Vec<_> = runs.iter().map(|run| run.id).collect();
        let mut names = read_names(&mut tx, scope, &ids, chars).await?;
        let named = runs.into_iter().map(|run| {
            let names = names.remove(&run.id).unwrap_or_default();
            (run, names)
        });
        Ok(named.collect())
    }

    /// Lists one page of runs with their statuses alone, the newest first. Reads no texts, so that counting many runs is
    /// cheap.
    #[boxed]
    pub async fn run_statuses(
        &self,
        scope: Scope,
        filter: &RunFilter,
        page: Page<RunId>,
    ) -> Result<Vec<CountedRun>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let runs = read_page(&mut tx, scope, filter, page, 0).await?;
        let counted = runs.iter().map(|run| CountedRun {
            id: run.id,
            status: run.status(),
            is_of_task: run.task.is_some(),
        });
        Ok(counted.collect())
    }

    /// Lists the attempts at an input, the first one first.
    #[boxed]
    pub async fn attempts(&self, scope: Scope, input: InputId) -> Result<Vec<Run>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("runs/attempts", rows::RUN_COLUMNS),
                params![scope.tenant(), input],
            )
            .await?;
        found.iter().map(rows::run).collect()
    }

    /// Reads the internal record of a run. Returns `None` if the run has none yet.
    #[boxed]
    pub async fn run_record(&self, scope: Scope, id: RunId) -> Result<Option<RunRecord>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("records/read"), params![scope.tenant(), id])
            .await?;
        row.as_ref().map(rows::run_record).transpose()
    }
}

/// Reads the names of runs, and at most `answer_chars` characters of each answer.
async fn read_names(
    tx: &mut Tx,
    scope: Scope,
    runs: &[RunId],
    answer_chars: usize,
) -> Result<BTreeMap<RunId, RunNames>, Error> {
    let mut names = BTreeMap::new();
    if runs.is_empty() {
        return Ok(names);
    }
    let keys = runs.iter().map(|run| run.uuid()).collect();
    let answer_chars = i64::try_from(answer_chars).unwrap_or(i64::MAX);
    let found = tx.fetch_by_keys(
        sql!("runs/names"),
        keys,
        params![answer_chars, scope.tenant()],
    );
    for row in found.await? {
        names.insert(
            row.get("id")?,
            RunNames {
                automation_name: row.optional("automation_name")?,
                session_title: row.optional("session_title")?,
                agent_name: row.optional("agent_name")?,
                seat_name: row.optional("seat_name")?,
                instance_name: row.optional("instance_name")?,
                trigger_kind: row.optional("trigger_kind")?,
                channel: row.optional("channel")?,
                answer: row.optional("answer")?,
                waits_for_approval: row.get("waits_for_approval")?,
                waits_for_answer: row.get("waits_for_answer")?,
            },
        );
    }
    Ok(names)
}

/// Reads a page of each accepted status and merges the pages, so that an index serves each status. At most
/// `content_chars` characters of each input are read.
pub(crate) async fn read_page(
    tx: &mut Tx,
    scope: Scope,
    filter: &RunFilter,
    page: Page<RunId>,
    content_chars: usize,
) -> Result<Vec<Run>, Error> {
    let content_chars = i64::try_from(content_chars).unwrap_or(i64::MAX);
    if filter.statuses.is_empty() {
        return read_page_of_status(tx, scope, filter, page, content_chars, None).await;
    }
    let statuses: BTreeSet<_> = filter.statuses.iter().copied().collect();
    let mut runs = Vec::new();
    for status in statuses {
        runs.extend(
            read_page_of_status(tx, scope, filter, page, content_chars, Some(status)).await?,
        );
    }
    runs.sort_by_key(|run| Reverse(run.id));
    runs.truncate(usize::try_from(page.limit).unwrap_or(usize::MAX));
    Ok(runs)
}

async fn read_page_of_status(
    tx: &mut Tx,
    scope: Scope,
    filter: &RunFilter,
    page: Page<RunId>,
    content_chars: i64,
    status: Option<RunStatus>,
) -> Result<Vec<Run>, Error> {
    let (statement, params) = match (filter.session, filter.automation, status) {
        (Some(_), _, _) => (
            sql!("runs/page_of_session", rows::RUN_COLUMNS),
            page_params!(
                "runs/page_of_session",
                scope,
                filter,
                page,
                content_chars,
                status
            ),
        ),
        (None, Some(_), _) => (
            sql!("runs/page_of_automation", rows::RUN_COLUMNS),
            page_params!(
                "runs/page_of_automation",
                scope,
                filter,
                page,
                content_chars,
                status
            ),
        ),
        (None, None, Some(open)) if !open.is_over() => (
            sql!("runs/page_open", rows::RUN_COLUMNS),
            page_params!("runs/page_open", scope, filter, page, content_chars, status),
        ),
        (None, None, _) if scope == Scope::System => (
            sql!("runs/page_of_all", rows::RUN_COLUMNS),
            page_params!(
                "runs/page_of_all",
                scope,
                filter,
                page,
                content_chars,
                status
            ),
        ),
        (None, None, _) if filter.reason.is_some() => (
            sql!("runs/page_with_reason", rows::RUN_COLUMNS),
            page_params!(
                "runs/page_with_reason",
                scope,
                filter,
                page,
                content_chars,
                status
            ),
        ),
        (None, None, Some(over)) if over != RunStatus::Succeeded => (
            sql!("runs/page_without_success", rows::RUN_COLUMNS),
            page_params!(
                "runs/page_without_success",
                scope,
                filter,
                page,
                content_chars,
                status
            ),
        ),
        (None, None, _) => (
            sql!("runs/page", rows::RUN_COLUMNS),
            page_params!("runs/page", scope, filter, page, content_chars, status),
        ),
    };
    let found = tx.fetch_all(statement, params).await?;
    found.iter().map(rows::run).collect()
}

/// Returns the lowest ID that a run of a list can have.
fn first_id(filter: &RunFilter) -> Uuid {
    filter.created_from.map_or_else(Uuid::nil, |from| {
        RunId::first_at(from.saturating_sub(RESERVED_ID_MARGIN)).uuid()
    })
}

/// Returns the ID before which a page of a list begins.
fn before(filter: &RunFilter, page: Page<RunId>) -> Uuid {
    let end = filter
        .created_before
        .map_or_else(Uuid::max, |end| RunId::first_at(end + CLOCK_MARGIN).uuid());
    end.min(page.before())
}
