//! The one path on which a goal moves.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    time::Duration,
};

use model::{
    InputId, SeatId, SessionId, Timestamp,
    event::{Change, SessionChange},
    goal::{
        Activity, Effect, Event, GoalState, Graph, Input, MessageDelay, PauseReason, SeatNo, Task,
        TaskNo, TurnEnd,
    },
    lifecycle::{InvalidTransition, Lifecycle as _},
    session::{SessionEvent, SessionStatus},
};

use super::{
    checks,
    deadline::advance_goal,
    message_turns::{insert_message_turns, read_message_turns},
    starts::{self, Start},
    stop,
    usage::budget_event,
};
use crate::{
    Error,
    database::Tx,
    goals::{Goal, TaskText, note_other_turns, read_goal, write_goal},
    locks::{lock_seats, lock_session},
    runs::admit::promote_after,
    session_log::SessionLogWriter,
    store::Store,
};

/// Locks all seats of a session by their IDs and then the session, and reads its goal. Returns `None` if the session has
/// none.
pub(super) async fn lock_goal(tx: &mut Tx, session: SessionId) -> Result<Option<Goal>, Error> {
    let rows = tx.fetch_all(sql!("goals/seats"), params![session]).await?;
    let seats = rows.iter().map(|row| row.get("id"));
    let seats: BTreeSet<SeatId> = seats.collect::<Result<_, _>>()?;
    lock_seats(tx, &seats).await?;
    lock_session(tx, session).await?;
    read_goal(tx, session).await
}

/// Moves the goal of a session by events.
///
/// # Errors
///
/// Returns [`Error::Goal`] if the goal does not accept an event, and a not-found error if the session has no goal.
pub(super) async fn goal_step(
    store: &Store,
    tx: &mut Tx,
    session: SessionId,
    events: Vec<Event>,
    now: Timestamp,
) -> Result<Goal, Error> {
    let locked = lock_goal(tx, session).await?;
    let mut goal = locked.ok_or_else(|| Error::not_found("goal", session))?;
    let mut log = SessionLogWriter::default();
    move_goal(store, tx, &mut log, &mut goal, events, now).await?;
    log.write(tx, now).await?;
    Ok(goal)
}

/// Cancels the goal of a session that is being closed. The caller must hold the locks of all seats of the session.
pub(crate) async fn close_goal(
    store: &Store,
    tx: &mut Tx,
    session: SessionId,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(mut goal) = read_goal(tx, session).await? else {
        return Ok(());
    };
    if goal.graph.goal().is_over() {
        return Ok(());
    }
    let mut log = SessionLogWriter::default();
    move_goal(store, tx, &mut log, &mut goal, vec![Event::Cancel], now).await?;
    log.write(tx, now).await
}

/// Returns an error if the session has a goal that is not over. Its turns would wait for the session without a word in the
/// goal, which knows only its own pauses.
pub(crate) async fn check_has_no_open_goal(tx: &mut Tx, session: SessionId) -> Result<(), Error> {
    match read_goal(tx, session).await? {
        Some(goal) if !goal.graph.goal().is_over() => Err(Error::Refused(InvalidTransition {
            what: SessionStatus::WHAT,
            object: Some(session.to_string()),
            state: "that of a goal, which has a pause of its own (`matins goal pause`)".into(),
            event: SessionEvent::Pause.to_string(),
        })),
        _ => Ok(()),
    }
}

/// Starts the goal of a session that a person has just enabled, if it is a draft. The caller must hold the locks of all seats of
/// the session.
pub(crate) async fn start_draft(
    store: &Store,
    tx: &mut Tx,
    session: SessionId,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(mut goal) = read_goal(tx, session).await? else {
        return Ok(());
    };
    if goal.graph.goal() != GoalState::Draft {
        return Ok(());
    }
    let mut log = SessionLogWriter::default();
    move_goal(store, tx, &mut log, &mut goal, vec![Event::Start], now).await?;
    log.write(tx, now).await
}

/// The consequences of events that are not written yet.
#[derive(Default)]
struct Consequences {
    /// The turns that start.
    starts: BTreeMap<SeatNo, Start>,
    /// The texts of new and of edited tasks by their keys.
    texts: HashMap<String, TaskText>,
    drop_staged: bool,
    /// The seats whose waiting runs were cancelled.
    freed: BTreeSet<SeatId>,
    /// The seats for whose messages the caller starts no turn, each with the reason for which the messages wait for a turn of a
    /// task. Without one they wait for the end of another turn, or their turn starts by this move.
    delayed: Vec<(SeatNo, Option<MessageDelay>)>,
    /// The turns for messages that start after they have waited for the end of another turn.
    message_turns: Vec<(SeatNo, InputId)>,
}

impl Consequences {
    /// Notes the effects on turns for messages.
    fn note_messages(&mut self, effect: &Effect) {
        match *effect {
            Effect::MessageTurn { seat, delayed_by } => {
                self.delayed
                    .extend(delayed_by.map(|delay| (seat, Some(delay))));
            }
            Effect::MessageTurnWaits(seat) => self.delayed.push((seat, None)),
            Effect::MessageTurnStarted { seat, input } => {
                self.delayed.push((seat, None));
                self.message_turns.push((seat, input));
            }
            _ => {}
        }
    }
}

/// Moves a goal by events, and writes the result. Returns the seats for whose messages the caller starts no turn, each with the
/// reason for which the messages wait for a turn of a task, if they do. The caller must hold the locks of all seats of the
/// session, and of the session. The caller writes `log`.
pub(super) async fn move_goal(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &mut Goal,
    events: Vec<Event>,
    now: Timestamp,
) -> Result<Vec<(SeatNo, Option<MessageDelay>)>, Error> {
    // 1. Decide. The usage of a turn that ended counts before the next turn starts.
    let tasks_before = goal.graph.tasks().to_vec();
    let state_before = goal.graph.goal();
    let mut found = Consequences::default();
    note_other_turns(tx, goal.session, &mut goal.graph, Some(now)).await?;
    // The seats of turns without a task come before the events that start turns, which the database does not have yet.
    let (other_turns, events): (Vec<_>, Vec<_>) = events
        .into_iter()
        .partition(|event| matches!(event, Event::OtherTurns(_)));
    let mut waiting: VecDeque<Event> = budget_event(tx, goal, now).await?.into_iter().collect();
    waiting.extend(other_turns);
    waiting.extend(read_message_turns(tx, goal).await?);
    waiting.extend(events);
    while let Some(event) = waiting.pop_front() {
        if is_settled(&goal.graph, &event) {
            continue;
        }
        let task = ended_task(&goal.graph, &event);
        if let Event::TurnEnded { end, .. } = &event {
            match end {
                TurnEnd::RefusedReport(faults) => note_refusal(goal, task, faults),
                // The faults of an earlier turn are no cause of this end.
                TurnEnd::WithoutReport { .. } => {
                    if let Some(task) = task {
                        goal.refusals.remove(&task);
                    }
                }
                _ => {}
            }
        }
        let is_plan_of_planner = keep_texts(&mut found.texts, &goal.graph, &event);
        for effect in advance_goal(goal, event, now)? {
            match effect {
                Effect::Started {
                    seat,
                    input: Input::Task { task, prompt },
                    memory,
                    ..
                } => {
                    let start = Start {
                        seat,
                        task,
                        prompt,
                        memory,
                    };
                    found.starts.insert(seat, start);
                }
                Effect::StopTurn(seat) => {
                    let is_over = stop_turn(tx, log, goal, &mut found, seat, now).await?;
                    // The end of a turn that has ended in this transaction is among the events already.
                    if is_over && !waiting.iter().any(|event| is_end_of_turn(event, seat)) {
                        waiting.push_back(failed_turn(seat));
                    }
                }
                Effect::LoseTurn(seat) => {
                    stop_turn(tx, log, goal, &mut found, seat, now).await?;
                }
                Effect::RunChecks(task) => {
                    waiting.extend(checks::start_checks(tx, goal, task, now).await?);
                }
                Effect::StopChecks(task) => {
                    waiting.extend(checks::stop_checks(tx, goal, task, now).await?);
                }
                Effect::PlanRefused(faults) => note_refusal(goal, task, &faults),
                Effect::Published { .. } => found.drop_staged |= is_plan_of_planner,
                Effect::DropStaged => found.drop_staged = true,
                other => found.note_messages(&other),
            }
        }
    }
    let state = goal.graph.goal();
    if state != GoalState::Draft && !state.is_over() {
        leave_wait(tx, log, goal, state_before, &mut found.freed, now).await?;
    }
    // 2. Write the tasks and the goal, and log the move of the goal. This is its only place, so that each move has one event.
    write_goal(store, tx, log, goal, &tasks_before, &found.texts, now).await?;
    if state != state_before {
        let session_id = goal.session;
        log.add_change(session_id, Change::Goal { session_id, state });
    }
    if found.drop_staged {
        tx.execute(sql!("staged_tasks/delete"), params![goal.session])
            .await?;
    }
    // 3. Start the turns. Seats whose waiting run was cancelled may have other inputs. Void the questions that no task and no
    // turn waits for any more.
    let starts: Vec<Start> = found.starts.into_values().collect();
    starts::insert_starts(store, tx, log, goal, &starts, now).await?;
    insert_message_turns(store, tx, log, goal, &found.message_turns, now).await?;
    promote_after(tx, log, found.freed, BTreeSet::new(), now).await?;
    if goal.has_question {
        stop::void_questions(tx, log, goal.session, now).await?;
    }
    // 4. Close the session of a goal that is over.
    if goal.graph.goal().is_over() && !state_before.is_over() {
        stop::close_session(tx, log, goal, now).await?;
    }
    Ok(found.delayed)
}

/// Starts the time and the session of a goal that was a draft. Adds the seats to `freed` whose turns waited for the start or for
/// the end of a pause.
async fn leave_wait(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &mut Goal,
    state_before: GoalState,
    freed: &mut BTreeSet<SeatId>,
    now: Timestamp,
) -> Result<(), Error> {
    if state_before == GoalState::Draft {
        // The hours of the team count from the start, because a draft may wait longer than they last.
        let hours = u64::from(goal.definition.limits.hours);
        goal.until = goal.until.or(Some(now + Duration::from_hours(hours)));
    }
    // Drafts of earlier versions have an active session, and a server of such a version starts a goal without its session.
    if goal.session_status == SessionStatus::Draft {
        enable_session(tx, log, goal, freed, now).await?;
    }
    // Turns that had not begun when a person paused the goal have waited for this.
    if state_before == GoalState::Paused(PauseReason::Person) && goal.graph.goal() != state_before {
        freed.extend(goal.seats.iter().copied());
    }
    Ok(())
}

/// Enables the session of a goal that was a draft. Adds its seats to `freed`, because their inputs waited for that.
async fn enable_session(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &mut Goal,
    freed: &mut BTreeSet<SeatId>,
    now: Timestamp,
) -> Result<(), Error> {
    let (session_id, before) = (goal.session, goal.session_status);
    let state = SessionStatus::Active;
    let moved = tx
        .execute(
            sql!("sessions/set_state"),
            params![
                session_id,
                before.as_str(),
                state.as_str(),
                None::<&str>,
                None::<Timestamp>,
                now
            ],
        )
        .await?;
    if moved == 0 {
        return Err(Error::LostRace {
            what: "the session of the goal",
        });
    }
    goal.session_status = state;
    let change = SessionChange::Moved {
        state,
        reason: None,
    };
    log.add_change(session_id, Change::Session { session_id, change });
    freed.extend(goal.seats.iter().copied());
    Ok(())
}

/// Cancels the turn on a seat. Returns `true` if it is over at once, because it has no run yet, or no worker has its run.
async fn stop_turn(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    found: &mut Consequences,
    seat: SeatNo,
    now: Timestamp,
) -> Result<bool, Error> {
    if found.starts.remove(&seat).is_some() {
        return Ok(true);
    }
    stop::stop_turn(tx, log, goal, seat, &mut found.freed, now).await
}

/// Keeps the reasons for which a report was refused for the reminder, which may start in a later move.
fn note_refusal<F: ToString>(goal: &mut Goal, task: Option<TaskNo>, faults: &[F]) {
    let reasons = faults.iter().map(ToString::to_string).collect();
    goal.refusals.extend(task.map(|task| (task, reasons)));
}

/// Returns `true` for an event that an earlier one of the same transaction has made needless: a higher budget has resumed the
/// goal, or the task of an answer no longer waits for it.
fn is_settled(graph: &Graph, event: &Event) -> bool {
    match event {
        Event::Resume => graph.goal() == GoalState::Active,
        Event::Answered(TaskNo(no)) => {
            let task = graph.tasks().get(*no);
            let activity = task.and_then(Task::activity);
            !matches!(activity, Some(Activity::Question { .. }))
        }
        _ => false,
    }
}

/// Returns the task whose turn an event ends.
fn ended_task(graph: &Graph, event: &Event) -> Option<TaskNo> {
    let Event::TurnEnded { seat, .. } = event else {
        return None;
    };
    graph.seats().get(seat.0)?.turn.and_then(Input::task)
}

fn is_end_of_turn(event: &Event, of: SeatNo) -> bool {
    matches!(event, Event::TurnEnded { seat, .. } if *seat == of)
}

/// Returns the end of a turn that never began.
pub(super) fn failed_turn(seat: SeatNo) -> Event {
    Event::TurnEnded {
        seat,
        end: TurnEnd::Failed,
        follow_up: false,
        new_artifact: false,
    }
}

/// Keeps the texts of the tasks of a plan, or of an edited task, which the graph does not have. Returns `true` if the planner
/// made the plan.
fn keep_texts(texts: &mut HashMap<String, TaskText>, graph: &Graph, event: &Event) -> bool {
    let (plan, is_of_planner) = match event {
        Event::TurnEnded {
            end: TurnEnd::Planned(plan),
            ..
        } => (plan, true),
        Event::Publish { plan, .. } => (plan, false),
        Event::EditTask(edit) => {
            let task = graph.tasks().get(edit.task.0);
            let text = TaskText::edited(&edit.after);
            texts.extend(task.map(|task| (task.key.clone(), text)));
            return false;
        }
        _ => return false,
    };
    let tasks = plan.tasks.iter().flat_map(model::goal::NewTask::expand);
    texts.extend(tasks.map(|task| (task.key.clone(), TaskText::of(task))));
    is_of_planner
}
