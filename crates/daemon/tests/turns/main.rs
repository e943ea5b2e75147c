//! Turns from due to done, with real agent processes, on both databases.
//!
//! What the product claims is compared with what the agents' own ledgers say.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

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
        }
    )*)*};
}

scenarios! {
    remembers: [
        a_continuous_automation_remembers_its_last_turn,
        a_persons_words_are_answered_in_the_session,
        a_person_and_a_schedule_at_the_same_moment_are_two_turns_in_order,
        a_session_that_must_settle_is_not_restored_before_its_time,
    ]
}
