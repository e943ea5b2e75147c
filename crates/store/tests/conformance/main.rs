//! What the store promises, shown on both databases.
//!
//! One file for each concept; a behaviour is an `async fn name(db: &TestStore)`. It is listed once,
//! below, and becomes a test for each database it speaks of. A behaviour that is not here does not
//! exist.

#![expect(clippy::unwrap_used, reason = "behaviours and their helpers are tests")]

mod broken;
mod catalog;
mod fixtures;
mod opening;
mod row_security;
mod say;
mod schema;
mod sessions;
mod stage;
mod statements;
mod transactions;
mod values;

use std::pin::Pin;

use fixtures::TestStore;
use store::database::Dialect;

type Running<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// One behaviour as the registry knows it.
struct Behaviour {
    name: &'static str,
    run: for<'a> fn(&'a TestStore) -> Running<'a>,
}

/// Makes a test of each behaviour for each database, and the registry of them all.
macro_rules! behaviours {
    (
        both { $($both:ident: [$($on_both:ident),* $(,)?])* }
        sqlite { $($sqlite:ident: [$($on_sqlite:ident),* $(,)?])* }
        postgres { $($postgres:ident: [$($on_postgres:ident),* $(,)?])* }
    ) => {
        mod on_sqlite {
            behaviours! { @tests Sqlite $($both: [$($on_both),*])* }
            behaviours! { @tests Sqlite $($sqlite: [$($on_sqlite),*])* }
        }

        mod on_postgres {
            behaviours! { @tests Postgres $($both: [$($on_both),*])* }
            behaviours! { @tests Postgres $($postgres: [$($on_postgres),*])* }
        }

        /// All behaviours that a database shows.
        fn behaviours(dialect: Dialect) -> Vec<Behaviour> {
            let mut all = vec![$($(behaviours!(@entry $both $on_both)),*),*];
            match dialect {
                Dialect::Sqlite => {
                    all.extend([$($(behaviours!(@entry $sqlite $on_sqlite)),*),*]);
                }
                Dialect::Postgres => {
                    all.extend([$($(behaviours!(@entry $postgres $on_postgres)),*),*]);
                }
            }
            all
        }
    };
    (@tests $dialect:ident $($concept:ident: [$($behaviour:ident),*])*) => {$($(
        #[tokio::test]
        async fn $behaviour() {
            let db = crate::TestStore::open(crate::Dialect::$dialect).await;
            crate::$concept::$behaviour(&db).await;
        }
    )*)*};
    (@entry $concept:ident $behaviour:ident) => {
        Behaviour {
            name: stringify!($behaviour),
            run: |db| Box::pin($concept::$behaviour(db)),
        }
    };
}

behaviours! {
    both {
        schema: [
            what_is_unique_is_refused_twice_by_name,
            what_is_over_or_deleted_makes_room,
            what_does_not_fit_together_is_refused_by_name,
            no_two_unique_indexes_of_a_table_have_the_same_columns,
            every_foreign_key_between_tenants_rows_holds_the_tenant,
            no_row_can_refer_to_another_tenants,
            a_session_takes_all_that_is_its_own_with_it,
        ]
        values: [
            every_kind_of_value_comes_back_as_it_was,
            every_kind_of_value_may_be_absent,
            a_stored_value_that_makes_no_sense_names_its_place,
        ]
        transactions: [
            what_was_not_committed_never_was,
            a_reader_sees_one_state_throughout,
            a_reader_cannot_write,
            writers_wait_for_each_other,
            one_row_means_exactly_one,
        ]
        opening: [
            opening_again_changes_nothing,
            many_may_open_at_once,
            an_interrupted_opening_can_be_repeated,
            a_newer_database_is_refused_and_left_alone,
            the_database_of_another_application_is_refused_and_left_alone,
        ]
        sessions: [
            a_move_that_its_state_does_not_allow_names_the_state,
            another_tenants_session_is_as_if_it_were_not_there,
            a_key_names_one_session_of_a_tenant,
            a_session_without_a_folder_gets_one_of_its_own,
            pausing_holds_what_is_queued_and_lets_a_turn_go_on,
            a_claimed_run_whose_session_is_paused_waits_again,
            resuming_starts_what_waited_in_its_order,
            a_draft_holds_its_inputs_until_it_is_enabled,
            closing_a_session_calls_off_what_waits_and_lets_a_turn_end,
            a_claimed_run_whose_session_is_closed_is_called_off,
            a_closed_session_gets_no_further_attempt,
            holding_a_run_lets_the_automations_next_one_start,
            bound_automations_of_people_block_deleting,
            system_jobs_and_other_threads_never_block_deleting,
            a_continuous_automation_lets_go_of_a_deleted_session,
            deleting_a_session_lets_the_automations_next_run_start,
            a_seat_and_its_memory_go_with_the_session,
        ]
        say: [
            a_closed_session_refuses_words,
            words_to_a_free_seat_are_queued_at_once,
            words_to_a_busy_seat_wait_and_the_end_of_its_turn_starts_them,
            people_go_before_automations_and_each_in_their_order,
            an_occurrence_is_never_seen_by_the_turn_that_runs,
            many_who_speak_at_once_get_one_seat_in_turn,
            the_same_session_key_in_two_tenants_is_two_sessions,
        ]
    }
    sqlite {
        opening: [
            a_file_that_is_no_database_is_refused_and_left_alone,
            a_damaged_file_is_refused_and_left_alone,
            an_empty_file_is_a_new_database,
            a_missing_folder_is_named,
            the_file_is_for_its_owner_alone,
            a_database_in_memory_keeps_what_it_is_given,
        ]
        transactions: [a_full_disk_is_told_apart]
    }
    postgres {
        opening: [a_role_above_row_security_is_refused]
        row_security: [
            every_table_is_guarded,
            a_tenant_sees_and_changes_only_its_own_rows,
            without_a_scope_nothing_is_seen_or_written,
        ]
        transactions: [
            a_connection_that_died_while_idle_is_replaced,
            a_change_of_a_session_wakes_its_readers_once,
        ]
    }
}
