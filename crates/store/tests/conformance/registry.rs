//! Generates tests from behaviours, and lists all behaviours.

use std::pin::Pin;

use store::database::Dialect;
use tokio::runtime::Builder;

use crate::{fixtures::TestStore, statements::record_executed};

pub(crate) type BehaviourFuture<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// One behaviour of the registry.
pub(crate) struct Behaviour {
    pub(crate) name: &'static str,
    pub(crate) run: for<'a> fn(&'a TestStore) -> BehaviourFuture<'a>,
}

/// Runs one behaviour on a new database, and records its statements.
///
/// This is one function for all tests, because the compiler would compile a generic one for each of them.
pub(crate) fn run_behaviour(
    dialect: Dialect,
    run: for<'a> fn(&'a TestStore) -> BehaviourFuture<'a>,
) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let db = TestStore::open(dialect).await;
        run(&db).await;
    });
    record_executed();
}

/// Generates a test of each behaviour for each database, and the registry of all behaviours.
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

        /// Lists the behaviours that run on a database.
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
        #[test]
        fn $behaviour() {
            crate::registry::run_behaviour(crate::Dialect::$dialect, |db| {
                Box::pin(crate::$concept::$behaviour(db))
            });
        }
    )*)*};
    (@entry $concept:ident $behaviour:ident) => {
        Behaviour {
            name: stringify!($behaviour),
            run: |db| Box::pin($concept::$behaviour(db)),
        }
    };
}
