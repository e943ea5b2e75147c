//! The ends of the turns of tasks. The transition that ends a run calls this module once no attempt at the input follows.

use std::collections::{BTreeMap, HashMap};

use model::{
    InputId, SeatId, SessionId, TaskId, Timestamp,
    entity::Run,
    goal::{
        Activity, Event, Input, Plan, ReportBody, ReportStatus, SeatNo, Task, TaskKind, TurnEnd,
    },
    session::Admission,
};

use super::step::{lock_goal, move_goal};
use crate::{
    Error,
    database::Tx,
    goals::{Goal, read_staged},
    locks::lock_sessions,
    session_log::SessionLogWriter,
    store::Store,
    stored::{self, goals::StoredReport},
};

/// A turn of a task that is over for good.
#[derive(Debug, Clone, Copy)]
pub(in crate::runs) struct EndedTurn {
    session: SessionId,
    seat: SeatId,
    input: InputId,
    task: TaskId,
    has_succeeded: bool,
}

impl EndedTurn {
    /// Returns the turn of a run. Returns `None` if the run is none of a task.
    pub(in crate::runs) fn of(run: &Run, has_succeeded: bool) -> Option<Self> {
        Some(Self {
            session: run.session_id?,
            seat: run.seat_id?,
            input: run.input_id,
            task: run.task?.id,
            has_succeeded,
        })
    }
}

/// The report of a turn.
struct Report {
    status: ReportStatus,
    body: ReportBody,
}

/// Moves the goals of turns that are over. The caller must hold the locks of all seats of their sessions.
pub(in crate::runs) async fn end_turns(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    turns: &[EndedTurn],
    now: Timestamp,
) -> Result<(), Error> {
    if turns.is_empty() {
        return Ok(());
    }
    // 1. Lock all sessions in their order, before the first goal moves.
    let mut by_session: BTreeMap<SessionId, Vec<EndedTurn>> = BTreeMap::new();
    for turn in turns {
        by_session.entry(turn.session).or_default().push(*turn);
    }
    lock_sessions(tx, by_session.keys().copied()).await?;
    let reports = read_reports(tx, turns).await?;
    for (session, turns) in by_session {
        let Some(mut goal) = lock_goal(tx, session).await? else {
            continue;
        };
        // 2. Decide on the end of each turn.
        let mut events = Vec::new();
        let is_closed = goal.session_status.admission() == Admission::Refuse;
        if is_closed && !goal.graph.goal().is_over() {
            events.push(Event::Cancel);
        }
        for turn in turns {
            let Some((seat, task)) = turn_of(&goal, &turn) else {
                continue;
            };
            let report = reports.get(&turn.input);
            let end = decide_end(tx, &goal, &turn, task, report).await?;
            store_result(tx, &turn, report, &end).await?;
            let has_follow_up = report.is_some_and(|report| report.body.follow_up.is_some());
            events.push(Event::TurnEnded {
                seat,
                end,
                follow_up: has_follow_up && turn.has_succeeded,
                new_artifact: false,
            });
        }
        // 3. Move the goal.
        move_goal(store, tx, log, &mut goal, events, now).await?;
    }
    Ok(())
}

/// Returns the seat and the task of a turn that the graph has under way. Returns `None` for another one, such as a turn whose
/// seat was removed.
fn turn_of<'a>(goal: &'a Goal, turn: &EndedTurn) -> Option<(SeatNo, &'a Task)> {
    let seat = goal.seat_no(turn.seat)?;
    let no = goal.task_no(turn.task)?;
    let under_way = goal.graph.seats().get(seat.0)?.turn.and_then(Input::task);
    (under_way == Some(no)).then(|| (seat, &goal.graph.tasks()[no.0]))
}

async fn decide_end(
    tx: &mut Tx,
    goal: &Goal,
    turn: &EndedTurn,
    task: &Task,
    report: Option<&Report>,
) -> Result<TurnEnd, Error> {
    if !turn.has_succeeded {
        return Ok(TurnEnd::Failed);
    }
    let is_judge = matches!(task.activity(), Some(Activity::Review { .. }));
    let reported = match task.kind {
        TaskKind::Report => None,
        _ if is_judge => report
            .and_then(|report| report.body.verdict(report.status))
            .map(TurnEnd::Verdict),
        TaskKind::Plan => {
            let plan = read_staged(tx, goal.session).await?;
            (!plan.is_empty()).then_some(TurnEnd::Planned(plan))
        }
        TaskKind::Work | TaskKind::Check => report.and_then(|report| match report.status {
            ReportStatus::Done => Some(TurnEnd::Reported),
            ReportStatus::Failed => Some(TurnEnd::ReportedFailure),
            ReportStatus::Accept | ReportStatus::SendBack => None,
        }),
    };
    if let Some(reported) = reported {
        return Ok(reported);
    }
    let row = tx
        .fetch_one(sql!("goals/pending_questions"), params![turn.input])
        .await?;
    let open: i64 = row.get("open")?;
    Ok(match (u32::try_from(open).unwrap_or(0), task.kind) {
        (open @ 1.., TaskKind::Plan | TaskKind::Work | TaskKind::Check) => TurnEnd::Questions(open),
        // A planner that changes nothing says so by no call.
        (_, TaskKind::Plan) if !is_judge => TurnEnd::Planned(Plan::default()),
        // An agent that lists no tools cannot be told apart yet.
        _ => TurnEnd::WithoutReport { listed_tools: true },
    })
}

async fn read_reports(tx: &mut Tx, turns: &[EndedTurn]) -> Result<HashMap<InputId, Report>, Error> {
    let inputs = turns.iter().filter(|turn| turn.has_succeeded);
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

/// Stores the result that the agent of a task reported, because the prompt of the judge and of later tasks has it.
async fn store_result(
    tx: &mut Tx,
    turn: &EndedTurn,
    report: Option<&Report>,
    end: &TurnEnd,
) -> Result<(), Error> {
    let is_result = matches!(end, TurnEnd::Reported | TurnEnd::ReportedFailure);
    if let (true, Some(report)) = (is_result, report) {
        let result = report.body.result.as_deref();
        tx.execute(sql!("tasks/set_result"), params![turn.task, result])
            .await?;
    }
    Ok(())
}
