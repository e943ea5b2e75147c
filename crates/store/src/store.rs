//! The store: a database, and where ids come from.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use model::{Entropy, InstanceId, SessionId, TenantId};

use crate::{database::Database, together::Together, waking::Wakes};

/// The one door to the database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: Database,
    pub(crate) entropy: Arc<dyn Entropy>,
    folders: PathBuf,
    /// Everybody in this process who waits for changes.
    pub(crate) wakes: Arc<Wakes>,
    pub(crate) together: Arc<Together>,
    /// The tenant whose run was claimed last here: among equals it is the next one's turn.
    pub(crate) served: Arc<Mutex<Option<TenantId>>>,
    /// Which tenants know which instances, as far as this process has seen.
    pub(crate) known: Arc<Mutex<HashSet<(TenantId, InstanceId)>>>,
}

impl Store {
    /// Makes a store of an open database. Sessions that are given no working directory get one of
    /// their own below `folders`, an absolute path.
    pub fn new(db: Database, entropy: Arc<dyn Entropy>, folders: PathBuf) -> Self {
        let wakes = Arc::<Wakes>::default();
        Self {
            db: db.observed_by(Arc::clone(&wakes) as Arc<_>),
            entropy,
            folders,
            wakes,
            together: Arc::default(),
            served: Arc::default(),
            known: Arc::default(),
        }
    }

    /// The working directory of a session: the one that was given, or a folder of its own.
    pub fn working_directory(&self, given: Option<&str>, session: SessionId) -> String {
        let own = || {
            self.folders
                .join(session.to_string())
                .to_string_lossy()
                .into_owned()
        };
        given.map_or_else(own, str::to_owned)
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
        let mut lost = 0_u32;
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
                    // Its locks must be gone before it is done again: `skip locked` would pass over
                    // them. Where that fails, so does the next try, and says why.
                    let _ = transaction.rollback().await;
                    error
                }
            };
            lost = lost.saturating_add(error.weight());
            if lost > $store.db.races() {
                break Err(error);
            }
        }
    }};
}

pub(crate) use transact;
