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
mod schema;
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
