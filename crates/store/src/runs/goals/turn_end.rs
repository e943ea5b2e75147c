//! The ends of turns. The transition that ends the run of a task calls this module once no attempt at the input follows, and the
//! one after which another run has left its seat calls it each time, because a task may wait for that seat.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::{
    InputId, RunId, SeatId, SessionId, TaskId, Timestamp,
    entity::Run,
    goal::{
        AnswerReport, Event, Input, Plan, Prompt, ReportBody, ReportFault, ReportKind,
        ReportStatus, SeatNo, Task, TaskKind, TaskRole, TurnEnd, report_in_answer,
        text_limits::{PROSE_BYTES, RESULT_BYTES},
    },
    run::RunStatus,
    session::Admission,
    turn::TurnResult,
};

use super::{
    prompts::has_unplanned,
    step::{lock_goal, move_goal},
};
use crate::{
    Error,
    database::Tx,
    goals::{Goal, note_other_turns, read_staged, stage},
    locks::lock_sessions,
    session_log::SessionLogWriter,
    store::Store,
    stored::{self, DOCUMENT_FORMAT, goals::StoredReport},
};

/// A turn that is over.
#[derive(Debug, Clone, Copy)]
pub(in crate::runs) enum EndedTurn<'a> {
    /// A turn of a task, for good.
    Task(TaskTurn<'a>),
    /// A turn without a task in this session, of which an attempt may follow.
    Other(SessionId),
}

/// A turn of a task that is over for good.
#[derive(Debug, Clone, Copy)]
pub(in crate::runs) struct TaskTurn<'a> {
    session: SessionId,
    seat: SeatId,
    run: RunId,
    input: InputId,
    task: TaskId,
    prompt: Option<Prompt>,
    finished: &'a TurnResult,
}

impl<'a> EndedTurn<'a> {
    /// Returns the turn of a run. Returns `None` if the run has no session, or is one of a task and another attempt follows.
    pub(in crate::runs) fn of(run: &Run, finished: &'a TurnResult, is_final: bool) -> Option<Self> {
        let session = run.session_id?;
        let Some(task) = run.task else {
            return Some(Self::Other(session));
        };
        let turn = TaskTurn {
            session,
            seat: run.seat_id?,
            run: run.id,
            input: run.input_id,
            task: task.id,
            prompt: task.prompt,
            finished,
        };
        is_final.then_some(Self::Task(turn))
    }
}

impl TaskTurn<'_> {
    fn is_plan(&self, goal: &Goal) -> bool {
        let no = goal.task_no(self.task);
        no.is_some_and(|no| goal.graph.tasks()[no.0].kind == TaskKind::Plan)
    }

    fn has_succeeded(&self) -> bool {
        self.finished.outcome.status() == RunStatus::Succeeded
    }

    fn is_cancelled(&self) -> bool {
        self.finished.outcome.status() == RunStatus::Cancelled
    }
}

/// The report of a turn.
struct Report {
    status: ReportStatus,
    body: ReportBody,
}

/// The report in the answer of an agent.
enum Answered {
    /// The answer has no report of its own, or one that is staged by now.
    Nothing,
    /// A result or a verdict.
    Report(Report),
    /// A report of which nothing is stored: one with these faults, or one for which no reminder has asked.
    Refused(Vec<ReportFault>),
}

/// Moves the goals of turns that are over, so that what waited for them can start. The caller must hold the locks of all seats of
/// their sessions.
pub(in crate::runs) async fn end_turns(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    turns: &[EndedTurn<'_>],
    now: Timestamp,
) -> Result<(), Error> {
    // 1. Lock all sessions in their order, before the first goal moves.
    let (mut of_tasks, mut others) = (Vec::new(), BTreeSet::new());
    for turn in turns {
        match turn {
            EndedTurn::Task(turn) => of_tasks.push(*turn),
            EndedTurn::Other(session) => {
                others.insert(*session);
            }
        }
    }
    let others = active_goals(tx, others).await?;
    if of_tasks.is_empty() && others.is_empty() {
        return Ok(());
    }
    let by_session = others.iter().map(|session| (*session, Vec::new()));
    let mut by_session: BTreeMap<SessionId, Vec<TaskTurn<'_>>> = by_session.collect();
    for turn in &of_tasks {
        by_session.entry(turn.session).or_default().push(*turn);
    }
    lock_sessions(tx, by_session.keys().copied()).await?;
    let mut reports = read_reports(tx, &of_tasks).await?;
    for (session, mut turns) in by_session {
        let Some(mut goal) = lock_goal(tx, session).await? else {
            continue;
        };
        // 2. Decide on the end of each turn.
        let mut events = Vec::new();
        let is_closed = goal.session_status.admission() == Admission::Refuse;
        if is_closed && !goal.graph.goal().is_over() {
            events.push(Event::Cancel);
        }
        // A plan ends last, so that one further plan gets the proposals of the other turns and those that its prompt had no
        // room for.
        turns.sort_by_key(|turn| turn.is_plan(&goal));
        for turn in turns {
            let Some((seat, task)) = turn_of(&goal, &turn) else {
                continue;
            };
            let (report, refused) = match reports.remove(&turn.input) {
                Some(report) => (Some(report), None),
                None => match report_of_answer(tx, &goal, &turn, task, now).await? {
                    Answered::Nothing => (None, None),
                    Answered::Report(report) => (Some(report), None),
                    Answered::Refused(faults) => (None, Some(faults)),
                },
            };
            let (end, answered) =
                decide_end(tx, &goal, &turn, task, (report.as_ref(), refused)).await?;
            store_result(tx, &goal, &turn, task, (report.as_ref(), &end)).await?;
            let has_proposal = report.is_some_and(|report| report.body.follow_up.is_some());
            let follow_up = match &end {
                TurnEnd::Planned(_) => has_unplanned(tx, &goal, turn.task).await?,
                _ => has_proposal && turn.has_succeeded(),
            };
            let artifact = tx
                .fetch_optional(sql!("artifacts/of_input"), params![turn.input])
                .await?;
            events.push(Event::TurnEnded {
                seat,
                end,
                follow_up,
                new_artifact: artifact.is_some(),
            });
            // These answers came before the turn had ended.
            let task = goal.task_no(turn.task).map(Event::Answered);
            events.extend(
                task.into_iter()
                    .flat_map(|event| std::iter::repeat_n(event, answered)),
            );
        }
        // 3. Move the goal.
        if others.contains(&session) {
            let occupied = note_other_turns(tx, session, &mut goal.graph, Some(now)).await?;
            events.push(Event::OtherTurns(occupied));
        }
        move_goal(store, tx, log, &mut goal, events, now).await?;
    }
    Ok(())
}

/// Returns those of `sessions` whose goal is active. The others start no turn.
async fn active_goals(
    tx: &mut Tx,
    sessions: BTreeSet<SessionId>,
) -> Result<BTreeSet<SessionId>, Error> {
    if sessions.is_empty() {
        return Ok(sessions);
    }
    let rows = sessions.iter().map(|session| params![*session]).collect();
    let found = tx
        .fetch_rows(sql!("goals/active"), rows, params![DOCUMENT_FORMAT])
        .await?;
    let active = found.iter().map(|row| row.get("session_id"));
    Ok(active.collect::<Result<_, _>>()?)
}

/// Returns the seat and the task of a turn that the graph has under way. Returns `None` for another one, such as a turn whose
/// seat was removed.
fn turn_of<'a>(goal: &'a Goal, turn: &TaskTurn<'_>) -> Option<(SeatNo, &'a Task)> {
    let seat = goal.seat_no(turn.seat)?;
    let no = goal.task_no(turn.task)?;
    let under_way = goal.graph.seats().get(seat.0)?.turn.and_then(Input::task);
    (under_way == Some(no)).then(|| (seat, &goal.graph.tasks()[no.0]))
}

/// Stores the report in the answer of an agent that has not listed the tools, or that a reminder has asked for it. A task of the
/// plan is staged. Checks the limits first, because keys of a row have a limit of the database, and prompts are never cut.
async fn report_of_answer(
    tx: &mut Tx,
    goal: &Goal,
    turn: &TaskTurn<'_>,
    task: &Task,
    now: Timestamp,
) -> Result<Answered, Error> {
    let kind = TaskRole::of_task(task).report_kind();
    let Some(kind) = kind.filter(|_| turn.has_succeeded()) else {
        return Ok(Answered::Nothing);
    };
    let Some(found) = report_in_answer(kind, &task.key, &turn.finished.answer).transpose() else {
        return Ok(Answered::Nothing);
    };
    // An agent with the tools may quote the report of another one, and forget its own.
    if turn.prompt != Some(Prompt::Reminder) && has_listed_tools(tx, turn.input).await? {
        return Ok(Answered::Refused(Vec::new()));
    }
    match found {
        Err(faults) => Ok(Answered::Refused(faults)),
        Ok(AnswerReport::Task(new)) => {
            stage(tx, (goal.tenant, goal.session), &new, true, now).await?;
            Ok(Answered::Nothing)
        }
        Ok(AnswerReport::Report(status, body)) => {
            let faults = faults_of_body(tx, goal, task, &body).await?;
            if !faults.is_empty() {
                return Ok(Answered::Refused(faults));
            }
            let document = stored::write::<StoredReport>(&body);
            let kind = if status.is_verdict() {
                "verdict"
            } else {
                "result"
            };
            tx.execute(
                sql!("task_reports/put"),
                params! { "task_reports/put";
                    input: turn.input,
                    tenant: goal.tenant,
                    session: goal.session,
                    task: turn.task,
                    run: turn.run,
                    kind: kind,
                    status: status.as_str(),
                    body: document.value,
                    format: DOCUMENT_FORMAT,
                    needs_format: document.needs_format,
                    now: now,
                },
            )
            .await?;
            Ok(Answered::Report(Report { status, body }))
        }
    }
}

/// Returns the faults for which the tools refuse a report, beside those of its texts.
async fn faults_of_body(
    tx: &mut Tx,
    goal: &Goal,
    task: &Task,
    body: &ReportBody,
) -> Result<Vec<ReportFault>, Error> {
    let mut faults: Vec<_> = body.criterion_fault(task.acceptance).into_iter().collect();
    for name in &body.artifacts {
        let params = params![goal.tenant, goal.session, name.as_str()];
        let found = tx.fetch_optional(sql!("artifacts/newest"), params).await?;
        if found.is_none() {
            faults.push(ReportFault::UnknownArtifact(name.clone()));
        }
    }
    Ok(faults)
}

/// Decides on the end of a turn. Returns the end, and the number of its questions that are answered already.
///
/// The report of a worker or a judge comes before its questions, which nothing waits for then. The questions of a planner come
/// before its staged tasks, which stay staged for the turn that gets the answer.
async fn decide_end(
    tx: &mut Tx,
    goal: &Goal,
    turn: &TaskTurn<'_>,
    task: &Task,
    (report, refused): (Option<&Report>, Option<Vec<ReportFault>>),
) -> Result<(TurnEnd, usize), Error> {
    if turn.is_cancelled() {
        return Ok((TurnEnd::Cancelled, 0));
    }
    if !turn.has_succeeded() {
        return Ok((TurnEnd::Failed, 0));
    }
    let kind = TaskRole::of_task(task).report_kind();
    let reported = match kind {
        // The staged tasks of a planner that asks are no plan yet, because the answer may change them.
        None | Some(ReportKind::Plan) => None,
        Some(ReportKind::Verdict) => report
            .and_then(|report| report.body.verdict(report.status))
            .map(TurnEnd::Verdict),
        Some(ReportKind::Result) => report.and_then(|report| match report.status {
            ReportStatus::Done => Some(TurnEnd::Reported),
            ReportStatus::Failed => Some(TurnEnd::ReportedFailure),
            ReportStatus::Accept | ReportStatus::SendBack => None,
        }),
    };
    if let Some(reported) = reported {
        return Ok((reported, 0));
    }
    let row = tx
        .fetch_one(sql!("goals/questions_of_input"), params![turn.input])
        .await?;
    let asked = u32::try_from(row.get::<i64>("asked")?).unwrap_or(0);
    if asked > 0 && kind.is_some() {
        let answered = usize::try_from(row.get::<i64>("answered")?).unwrap_or(0);
        return Ok((TurnEnd::Questions(asked), answered));
    }
    if kind == Some(ReportKind::Plan) {
        let plan = read_staged(tx, goal.session).await?;
        if !plan.is_empty() {
            return Ok((TurnEnd::Planned(plan), 0));
        }
    }
    // The agent knows the schema, so that a reminder helps although it may not have listed the tools.
    if let Some(faults) = refused {
        return Ok((TurnEnd::RefusedReport(faults), 0));
    }
    let listed_tools = has_listed_tools(tx, turn.input).await?;
    // A planner that changes nothing says so by no call.
    if kind == Some(ReportKind::Plan) && listed_tools {
        return Ok((TurnEnd::Planned(Plan::default()), 0));
    }
    Ok((TurnEnd::WithoutReport { listed_tools }, 0))
}

/// Returns `true` if an agent has listed the tools of Matins in an attempt at an input.
async fn has_listed_tools(tx: &mut Tx, input: InputId) -> Result<bool, Error> {
    let listed = tx
        .fetch_optional(sql!("runs/listed_tools"), params![input])
        .await?;
    Ok(listed.is_some())
}

/// Reads the reports of turns that have succeeded, and of cancelled ones, whose results people may still accept.
async fn read_reports(
    tx: &mut Tx,
    turns: &[TaskTurn<'_>],
) -> Result<HashMap<InputId, Report>, Error> {
    let counts = |turn: &&TaskTurn<'_>| turn.has_succeeded() || turn.is_cancelled();
    let inputs = turns.iter().filter(counts);
    let rows = inputs.map(|turn| params![turn.input]).collect();
    let found = tx
        .fetch_rows(sql!("task_reports/of_inputs"), rows, params![])
        .await?;
    let mut reports = HashMap::with_capacity(found.len());
    for row in &found {
        let report = Report {
            status: row.parse("status")?,
            body: stored::read::<StoredReport>(row, "body")?,
        };
        reports.insert(row.get("input_id")?, report);
    }
    Ok(reports)
}

/// Stores the result of a turn, because the prompts of the judge and of later tasks have it: the reported one, or the answer
/// of an agent that reported none. The answer of the report's turn is the prose of the goal's report.
async fn store_result(
    tx: &mut Tx,
    goal: &Goal,
    turn: &TaskTurn<'_>,
    task: &Task,
    (report, end): (Option<&Report>, &TurnEnd),
) -> Result<(), Error> {
    let answer = turn.finished.answer.trim();
    let answer = Some(answer).filter(|answer| !answer.is_empty());
    let role = goal.graph.team().roles.get(task.role);
    let kind = TaskRole::of_task(task).report_kind();
    let accepts_answers = role.is_some_and(|role| role.accept_answers);
    let result = match (task.kind, end) {
        (_, TurnEnd::Reported | TurnEnd::ReportedFailure) => {
            report.map(|report| report.body.result.clone())
        }
        (_, TurnEnd::Cancelled) if kind == Some(ReportKind::Result) => {
            report.map(|report| report.body.result.clone())
        }
        (TaskKind::Report, TurnEnd::WithoutReport { .. }) => {
            answer.map(|it| Some(shortened(it, PROSE_BYTES)))
        }
        (
            TaskKind::Plan | TaskKind::Work,
            TurnEnd::WithoutReport {
                listed_tools: false,
            },
        ) if !accepts_answers && kind != Some(ReportKind::Verdict) => {
            Some(Some(unavailable_tools(tx, turn.seat).await?))
        }
        (TaskKind::Work, TurnEnd::WithoutReport { .. } | TurnEnd::RefusedReport(_))
            if kind == Some(ReportKind::Result) =>
        {
            answer.map(|it| Some(shortened(it, RESULT_BYTES)))
        }
        _ => None,
    };
    if let Some(result) = result {
        tx.execute(sql!("tasks/set_result"), params![turn.task, result])
            .await?;
    }
    Ok(())
}

/// Returns the reason for which an agent without the tools cannot report, with the next step.
async fn unavailable_tools(tx: &mut Tx, seat: SeatId) -> Result<String, Error> {
    let row = tx
        .fetch_one(sql!("goals/agent_of_seat"), params![seat])
        .await?;
    let agent: String = row.get("name")?;
    Ok(format!(
        "The agent `{agent}` has not listed the tools of Matins. Check them with `matins agent check {agent}`."
    ))
}

/// Returns a text, or its longest beginning that has at most this many bytes with the mark of the cut.
fn shortened(text: &str, bytes: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes.saturating_sub(MARK.len()));
    format!("{}{MARK}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_at_character_with_mark() {
        assert_eq!(shortened("ab", 2), "ab");
        assert_eq!(shortened("äöüx", 7), "äöüx");
        assert_eq!(shortened("äöüxy", 7), "äö…");
        assert_eq!(shortened("äöüxyz", 8), "äö…");
    }
}
