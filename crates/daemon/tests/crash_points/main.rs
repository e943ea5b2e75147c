//! Crash points: a process is aborted between any two durable effects, and another one takes over on the
//! same database. What the agents did is in ledgers of their own, and compared with what is there.
//!
//! The processes that are aborted are this test binary itself, started again for one job.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test, whose points are told"
)]

mod checks;
mod child;
mod stage;
mod transitions;
mod turns;

/// Makes a test of each transition for each database.
macro_rules! transitions {
    ($($name:ident: $transition:ident,)*) => {
        mod on_sqlite {
            use crate::{stage::Database, transitions::{Transition, abort_at_each_point}};

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                abort_at_each_point(Transition::$transition, Database::Sqlite).await;
            })*
        }

        mod on_postgres {
            use crate::{stage::Database, transitions::{Transition, abort_at_each_point}};

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                abort_at_each_point(Transition::$transition, Database::Postgres).await;
            })*
        }
    };
}

transitions! {
    a_crash_while_words_are_said_loses_none: Say,
    a_crash_while_an_automation_is_fired_by_hand_leaves_all_or_nothing: Fire,
    a_crash_while_what_is_due_is_fired_fires_it_once: FireDue,
    a_crash_while_what_was_missed_is_noted_notes_it_once: Miss,
    a_crash_while_a_run_is_claimed_loses_no_run: Claim,
    a_crash_while_a_turn_begins_begins_it_again: Begin,
    a_crash_while_a_turn_is_recorded_leaves_whole_rows: Record,
    a_crash_while_text_is_written_leaves_whole_pieces: WriteLive,
    a_crash_while_a_turn_ends_ends_it_once: Finish,
    a_crash_while_a_turn_fails_tries_it_again_once: Fail,
    a_crash_while_a_run_is_given_up_gives_it_up_once: Stall,
    a_crash_while_backoffs_end_promotes_once: Promote,
    a_crash_while_a_run_is_called_off_leaves_all_or_nothing: Cancel,
    a_crash_while_a_session_is_paused_leaves_all_or_nothing: Pause,
    a_crash_while_a_session_is_closed_leaves_all_or_nothing: Close,
    a_crash_while_an_automation_is_paused_leaves_all_or_nothing: Hold,
}

/// The net has no hole: what is not one transaction is found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instant_that_is_lost_between_two_commits_is_found() {
    use crate::{
        stage::Database,
        transitions::{Transition, abort_at_each_point},
    };

    let torn = abort_at_each_point(Transition::Torn, Database::Sqlite);
    let failed = tokio::spawn(torn).await.unwrap_err().into_panic();
    let words = failed.downcast::<String>().unwrap();
    assert!(words.contains("I1"), "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_anywhere_in_a_turn_is_taken_over_on_sqlite() {
    turns::die_at_each_point(stage::Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_anywhere_in_a_turn_is_taken_over_on_postgres() {
    turns::die_at_each_point(stage::Database::Postgres).await;
}
