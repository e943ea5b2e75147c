//! Turns from due to done, with real agent processes, on both databases.
//!
//! What the product claims is compared with what the agents' own ledgers say.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod invariants;
mod outcomes;
mod permissions;
mod records;
mod remembers;
mod world;

/// Makes a test of each scenario for each database.
macro_rules! scenarios {
    ($($file:ident: [$($scenario:ident),* $(,)?])*) => {
        mod on_sqlite {
            scenarios! { @tests Sqlite $($file: [$($scenario),*])* }
        }

        mod on_postgres {
            scenarios! { @tests Postgres $($file: [$($scenario),*])* }
        }
    };
    (@tests $database:ident $($file:ident: [$($scenario:ident),*])*) => {$($(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $scenario() {
            let world = crate::world::World::new(crate::world::Database::$database).await;
            crate::$file::$scenario(&world).await;
            crate::invariants::check(&world).await;
        }
    )*)*};
}

scenarios! {
    outcomes: [
        each_stop_reason_is_an_outcome_of_its_own,
        a_stop_reason_that_nobody_knows_is_a_failure,
        an_empty_answer_is_flagged_and_said,
        an_error_as_answer_fails_the_turn_and_keeps_what_was_said,
        an_answer_longer_than_is_kept_is_cut_and_said_so,
    ]
    permissions: [
        rules_allow_and_deny_and_what_none_covers_is_denied,
        a_request_of_a_cancelled_turn_is_answered_cancelled,
    ]
    records: [
        what_an_agent_does_is_kept_in_its_last_state,
        what_comes_after_the_answer_is_taken,
        what_a_load_replays_is_not_kept_twice,
        text_is_seen_while_it_is_written_and_once_afterwards,
    ]
    remembers: [
        a_continuous_automation_remembers_its_last_turn,
        a_persons_words_are_answered_in_the_session,
        a_person_and_a_schedule_at_the_same_moment_are_two_turns_in_order,
        a_session_that_must_settle_is_not_restored_before_its_time,
    ]
}
