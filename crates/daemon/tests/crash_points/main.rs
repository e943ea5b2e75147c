//! Crash points: a process is aborted between any two durable effects, and another process takes over on the same
//! database. The agents' prompt logs are compared with the database. The aborted processes are this test binary itself,
//! started again for one job.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that prints its crash points"
)]

mod checks;
mod child;
mod goals;
mod points;
#[path = "../turns/routes.rs"]
mod routes;
mod runtimes;
mod stage;
mod tool_calls;
mod transitions;
mod turns;

/// Creates a test of each transition for each database.
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
    crash_while_sending_message_loses_none: SendMessage,
    crash_while_firing_on_demand_is_atomic: Fire,
    crash_while_firing_due_trigger_fires_once: FireDue,
    crash_while_recording_missed_range_records_once: RecordMissed,
    crash_while_claiming_loses_no_run: Claim,
    crash_while_beginning_turn_begins_again: Begin,
    crash_while_recording_turn_leaves_whole_rows: Record,
    crash_while_writing_live_text_leaves_whole_pieces: WriteLive,
    crash_while_finishing_turn_finishes_once: Finish,
    crash_while_failing_turn_retries_once: Fail,
    crash_while_stalling_run_stalls_once: Stall,
    crash_while_promoting_run_promotes_once: Promote,
    crash_while_cancelling_run_is_atomic: Cancel,
    crash_while_pausing_session_is_atomic: PauseSession,
    crash_while_closing_session_is_atomic: CloseSession,
    crash_while_pausing_automation_is_atomic: PauseAutomation,
}

/// Proves that the test finds an operation that is not one transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn non_atomic_fire_is_detected_by_crash_points() {
    use crate::{
        stage::Database,
        transitions::{Transition, abort_at_each_point},
    };

    let torn = abort_at_each_point(Transition::NonAtomicFire, Database::Sqlite);
    let failed = tokio::spawn(torn).await.unwrap_err().into_panic();
    let words = failed.downcast::<String>().unwrap();
    assert!(words.contains("I1"), "{words}");
}

/// Creates a test of each transition of a goal for each database.
macro_rules! goal_transitions {
    ($($name:ident: $transition:ident,)*) => {
        mod goals_on_sqlite {
            use crate::{goals::{GoalTransition, abort_at_each_point}, stage::Database};

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                abort_at_each_point(GoalTransition::$transition, Database::Sqlite).await;
            })*
        }

        mod goals_on_postgres {
            use crate::{goals::{GoalTransition, abort_at_each_point}, stage::Database};

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                abort_at_each_point(GoalTransition::$transition, Database::Postgres).await;
            })*
        }
    };
}

goal_transitions! {
    crash_while_ending_plan_publishes_it_once: EndPlan,
    crash_while_ending_work_starts_successors_once: EndWork,
    crash_while_ending_checks_ends_them_once: EndChecks,
    crash_while_ending_review_judges_once: EndReview,
    crash_while_cancelling_goal_is_atomic: Cancel,
}

/// Creates tests of the processes that deliver and take runs in a folder, for one database.
macro_rules! folder_tests {
    ($name:ident, $database:ident) => {
        mod $name {
            use crate::{
                runtimes::{Cause, abort_dispatcher_at_each_point, abort_runtime_at_each_point},
                stage::Database,
            };

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn runtime_killed_anywhere_in_turn_is_recovered() {
                abort_runtime_at_each_point(Database::$database, Cause::Schedule).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn runtime_killed_anywhere_while_firing_by_file_fires_once() {
                abort_runtime_at_each_point(Database::$database, Cause::ForeignFile).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn dispatcher_killed_anywhere_delivers_once() {
                abort_dispatcher_at_each_point(Database::$database).await;
            }
        }
    };
}

folder_tests!(folders_on_sqlite, Sqlite);
folder_tests!(folders_on_postgres, Postgres);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_killed_anywhere_in_turn_is_recovered_on_sqlite() {
    turns::abort_turn_at_each_point(stage::Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_killed_anywhere_in_turn_is_recovered_on_postgres() {
    turns::abort_turn_at_each_point(stage::Database::Postgres).await;
}
