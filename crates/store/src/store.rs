//! The store: a database, and where ids come from.

use std::sync::Arc;

use model::Entropy;

use crate::database::Database;

/// How often a transaction that lost a race is done again before its error is given.
pub(crate) const RACES: u32 = 20;

/// The one door to the database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: Database,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Store {
    /// Makes a store of an open database.
    pub fn new(db: Database, entropy: Arc<dyn Entropy>) -> Self {
        Self { db, entropy }
    }

    /// The database, for tests and checks of it.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// Where ids come from.
    pub(crate) fn ids(&self) -> &dyn Entropy {
        &*self.entropy
    }
}

/// Does `$body` in one transaction. A transaction that lost a race (a unique index that another
/// process filled first, a deadlock, a serialization failure) is done again from the start, on what
/// is true by then.
macro_rules! transact {
    ($store:expr, $scope:expr, |$tx:ident| $body:block) => {{
        let mut lost = 0;
        loop {
            let mut transaction = $store.db.begin($scope).await?;
            let done: Result<_, $crate::Error> = async {
                let $tx = &mut transaction;
                $body
            }
            .await;
            let error = match done {
                Ok(value) => match transaction.commit().await {
                    Ok(()) => break Ok(value),
                    Err(error) => $crate::Error::from(error),
                },
                Err(error) => {
                    transaction.rollback().await;
                    error
                }
            };
            if !error.is_lost_race() || lost == $crate::store::RACES {
                break Err(error);
            }
            lost += 1;
        }
    }};
}

pub(crate) use transact;
