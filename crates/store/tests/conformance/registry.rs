//! Generates tests from behaviours, and lists all behaviours.

use std::pin::Pin;

use crate::fixtures::TestStore;

pub(crate) type BehaviourFuture<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// One behaviour of the registry.
pub(crate) struct Behaviour {
    pub(crate) name: &'static str,
    pub(crate) run: for<'a> fn(&'a TestStore) -> BehaviourFuture<'a>,
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
