//! The scheduler: fires due triggers, promotes runs whose backoff is over, lets the defaults of unanswered questions
//! count, moves goals at their deadlines and when their seats come or go, and ends the waits of runs for instances that were
//! removed and for directories that no server has.
//!
//! **Invariants:** an idle tick is one SQL statement. Several servers may run schedulers at the same time: each
//! trigger is locked while it fires, and locked triggers are skipped. [`tick`] does nothing while the time is
//! unknown.

use std::time::Duration;

use model::{Timestamp, schedule::zone_rules_edition};
use store::Scope;

use crate::{Error, Host, LoopSignals, boxed, directories, loop_runner::LoopBody};

/// The pause before a retry if the due triggers are locked by another process.
const LOCKED_RETRY_PAUSE: Duration = Duration::from_millis(250);
/// The highest number of transactions in a row that fire triggers before the tick turns to its other work.
const MAX_FIRE_TRANSACTIONS: u32 = 16;
/// The highest number of transactions in a row that recompute next instants before the next tick fires due triggers.
const MAX_RECOMPUTE_TRANSACTIONS: u32 = 4;

/// Runs one tick of the scheduler. Returns when the next tick is due. An idle tick is one SQL statement.
#[boxed]
pub async fn tick(host: &Host, now: Timestamp) -> Result<TickResult, Error> {
    // Do not ask for a next tick: the loop that reads the clock wakes the scheduler once the time is known.
    if !host.time_is_known() {
        return Ok(TickResult {
            started: 0,
            next: None,
        });
    }
    // One statement tells whether there is any work, so that an idle tick costs no more than that.
    let mut status = host.store.scheduler_status(now).await?;
    let mut started = 0;
    let mut more = false;
    if status.due.is_some_and(|at| at <= now) {
        (started, more) = fire(host, now).await?;
    }
    if status.has_promotable {
        started += promote(host, now).await?;
    }
    let has_overdue_question = status.question_deadline.is_some_and(|at| at <= now);
    let questions_failed = has_overdue_question && !expire_questions(host, now, &mut started).await;
    let has_due_goal = status.goal_deadline.is_some_and(|at| at <= now);
    let goals_failed = has_due_goal && !pass_goal_deadlines(host, now, &mut started).await;
    if status.has_idle_goal {
        move_idle_goals(host, now, &mut started).await;
    }
    // Before the runs of removed instances fail: a seat that is lost with its instance is no failed attempt of its task.
    if status.has_seat_change {
        started += note_seat_presence(host, now).await;
    }
    if status.has_lost_checks {
        started += break_lost_checks(host, now).await;
    }
    if status.has_removed_instance {
        let ended = host.store.end_waits_for_removed_instances(now).await?;
        tracing::warn!(
            ended,
            "{ended} runs no longer wait for instances that were removed: they failed, or begin elsewhere"
        );
        started += ended;
    }
    if status.directory_refusal.is_some() {
        started += directories::review(host, now).await?;
    }
    if status.has_outdated_triggers {
        more |= recompute(host, now).await?;
    }
    if status.has_promotable
        || status.has_outdated_triggers
        || has_overdue_question
        || has_due_goal
        || status.due.is_some_and(|at| at <= now)
    {
        // Read again, because firing has moved the next instants and promotion has ended backoffs.
        status = host.store.scheduler_status(now).await?;
    }
    // A question that cannot be written must not make the scheduler spin. The next tick tries it again.
    if questions_failed {
        status.question_deadline = None;
    }
    // The same for a goal that cannot be moved.
    if goals_failed {
        status.goal_deadline = None;
    }
    let next = match status.next_work_at() {
        _ if more => Some(now),
        // A trigger that is still due is locked by another process, so retrying at once would only spin.
        Some(at) if at <= now => Some(now + LOCKED_RETRY_PAUSE),
        next => next,
    };
    Ok(TickResult { started, next })
}

/// Fires the due triggers, including those that become due meanwhile. Returns the number of occurrences, and `true`
/// if more triggers are due. The number of transactions is bounded, so that a burst of due triggers cannot starve
/// promotions.
async fn fire(host: &Host, now: Timestamp) -> Result<(u32, bool), Error> {
    let (mut started, mut at) = (0, now);
    for _ in 0..MAX_FIRE_TRANSACTIONS {
        let fired = host.store.fire_due(Scope::System, at).await?;
        if let Some(due) = fired.earliest_due {
            let lag = host.now().since(due);
            host.metrics
                .record_fired(fired.occurrences, fired.missed, lag);
        }
        started += fired.occurrences;
        if fired.missed > 0 {
            tracing::info!(
                missed = fired.missed,
                "{} instants were missed",
                fired.missed
            );
        }
        if !fired.has_more {
            return Ok((started, false));
        }
        // A long burst advances the time, so that the next transaction judges lateness by the present and not by the
        // beginning of the tick.
        at = at.max(host.now());
    }
    Ok((started, true))
}

/// Computes next instants of another edition of the zone rules again. Returns `true` if the next tick must follow at
/// once: more of them remain, or one that has moved may be due. The number of transactions is bounded, so that they
/// delay no due trigger.
async fn recompute(host: &Host, now: Timestamp) -> Result<bool, Error> {
    for _ in 0..MAX_RECOMPUTE_TRANSACTIONS {
        let recomputed = host.store.recompute_outdated_triggers(now).await?;
        let (triggers, moved) = (recomputed.triggers, recomputed.moved);
        if triggers > 0 {
            tracing::info!(
                triggers,
                moved,
                "zone rules {} computed the next runs of {triggers} triggers again, and {moved} have moved",
                zone_rules_edition()
            );
        }
        if !recomputed.has_more {
            return Ok(moved > 0);
        }
    }
    Ok(true)
}

/// Lets the defaults of overdue questions count, and adds the number of these questions to `started`. Returns `false` if
/// one of them could not be written. The error is only logged, because one question must not delay the other work.
async fn expire_questions(host: &Host, now: Timestamp, started: &mut u32) -> bool {
    match host.store.expire_overdue_questions(now).await {
        Ok(expired) => {
            *started += expired;
            true
        }
        Err(error) => {
            let error: &(dyn std::error::Error + 'static) = &error;
            tracing::error!(error, "cannot expire overdue questions");
            host.metrics.record_loop_error(Scheduler::NAME);
            false
        }
    }
}

/// Moves the goals whose deadline has passed, and adds their number to `started`. Returns `false` if one of them could not
/// be moved. The error is only logged, because one goal must not delay the other work.
async fn pass_goal_deadlines(host: &Host, now: Timestamp, started: &mut u32) -> bool {
    match host.store.pass_goal_deadlines(now).await {
        Ok(passed) => {
            *started += passed;
            true
        }
        Err(error) => {
            let error: &(dyn std::error::Error + 'static) = &error;
            tracing::error!(error, "cannot move goals at their deadlines");
            host.metrics.record_loop_error(Scheduler::NAME);
            false
        }
    }
}

/// Moves the active goals that nothing else would move, and adds their number to `started`. They are faults of this program,
/// so they are logged as errors and counted. An error is only logged, because one goal must not delay the other work.
async fn move_idle_goals(host: &Host, now: Timestamp, started: &mut u32) {
    match host.store.move_idle_goals(now).await {
        Ok(moved) => {
            host.metrics.record_sweep_faults(moved);
            *started += moved;
        }
        Err(error) => {
            let error: &(dyn std::error::Error + 'static) = &error;
            tracing::error!(error, "cannot move goals without an open turn");
            host.metrics.record_loop_error(Scheduler::NAME);
        }
    }
}

/// Moves the goals whose seats came, went or were removed with their instances. Returns their number. An error is only
/// logged, because one goal must not delay the other work.
async fn note_seat_presence(host: &Host, now: Timestamp) -> u32 {
    match host.store.note_seat_presence(host.instance, now).await {
        Ok(moved) => moved,
        Err(error) => {
            let error: &(dyn std::error::Error + 'static) = &error;
            tracing::error!(error, "cannot move goals whose seats came or went");
            host.metrics.record_loop_error(Scheduler::NAME);
            0
        }
    }
}

/// Ends the checks that wait for removed instances. Returns the number of their tasks. An error is only logged, because one
/// goal must not delay the other work.
async fn break_lost_checks(host: &Host, now: Timestamp) -> u32 {
    match host.store.break_checks_of_removed_instances(now).await {
        Ok(broken) => broken,
        Err(error) => {
            let error: &(dyn std::error::Error + 'static) = &error;
            tracing::error!(error, "cannot end checks of removed instances");
            host.metrics.record_loop_error(Scheduler::NAME);
            0
        }
    }
}

/// Queues the runs whose backoff is over, and deferred runs that an earlier promotion has missed. Returns their
/// number. Missed promotions are faults of this program, so they are logged as errors and counted.
pub(crate) async fn promote(host: &Host, now: Timestamp) -> Result<u32, Error> {
    let swept = host.store.promote_due(now).await?;
    host.metrics.record_sweep_faults(swept.missed_promotions);
    if swept.missed_promotions > 0 {
        tracing::error!(
            faults = swept.missed_promotions,
            "{} deferred runs had been missed by earlier promotions and are queued now",
            swept.missed_promotions
        );
    }
    Ok(swept.backoff_ended + swept.missed_promotions)
}

/// The result of one tick.
#[derive(Debug, Clone, Copy)]
pub struct TickResult {
    /// The number of occurrences that were fired plus the numbers of runs that were promoted, of questions that expired,
    /// of goals that moved, of runs that no longer wait for removed instances, and of runs whose directory is there now. Some
    /// of these occurrences may have been skipped or deferred, and some of these runs have failed, so the workers may be woken
    /// for nothing.
    pub started: u32,
    /// The instant of the next tick. `None` if no trigger, no backoff, no question and no goal is
    /// pending.
    pub next: Option<Timestamp>,
}

/// The scheduler loop of one server.
pub(crate) struct Scheduler {
    pub(crate) host: Host,
    pub(crate) signals: LoopSignals,
}

impl LoopBody for Scheduler {
    const NAME: &'static str = "scheduler";

    async fn tick(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let tick = tick(&self.host, now).await?;
        if tick.started > 0 {
            self.signals.wake_queue();
        }
        Ok(tick.next)
    }
}
