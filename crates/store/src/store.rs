//! The store: a database, the source of IDs, and the state that the transitions of one process share.

use std::{
    collections::HashSet,
    marker::PhantomData,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex},
};

use futures::future::BoxFuture;
use model::{
    Entropy, InstanceId, SessionId, TenantId,
    entity::{Seat, Session},
};

use crate::{
    batches::Batches,
    changes::{ChangeNotifier, Changes, ListenerState, WorkSubscription},
    closed_days::ClosedDays,
    database::{Database, Scope, Tx},
    error::Error,
};

/// The only access to the database. Clones share all state.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: Database,
    pub(crate) entropy: Arc<dyn Entropy>,
    session_folders: PathBuf,
    /// The directories that all servers of the database have at the same path.
    shared_directories: Arc<[PathBuf]>,
    /// The tasks of this process that wait for changes.
    pub(crate) change_notifier: Arc<ChangeNotifier>,
    pub(crate) batches: Arc<Batches>,
    /// The tenant whose run this process claimed last. Among tenants with equal claims, the next tenant follows it.
    pub(crate) last_claimed_tenant: Arc<Mutex<Option<TenantId>>>,
    /// What tenants have used on earlier days of this month.
    pub(crate) closed_days: Arc<ClosedDays>,
    /// The instances that each tenant knows, as far as this process has seen.
    pub(crate) registered_instances: Arc<Mutex<HashSet<(TenantId, InstanceId)>>>,
}

/// Declares that the borrows of a closure's environment outlive each call of the closure.
pub(crate) type Environment<'t, 'env> = PhantomData<&'t &'env ()>;

impl Store {
    /// Returns a store for an open database. Clones of a store wake each other after commits. Two stores of one
    /// database notice each other's commits in the way of two processes. A session without a given working
    /// directory has a folder below `folders`, which must be an absolute path.
    pub fn new(db: Database, entropy: Arc<dyn Entropy>, folders: PathBuf) -> Self {
        let change_notifier = Arc::<ChangeNotifier>::default();
        Self {
            db: db.observed_by(Arc::clone(&change_notifier) as Arc<_>),
            entropy,
            session_folders: folders,
            shared_directories: Arc::default(),
            change_notifier,
            batches: Arc::default(),
            last_claimed_tenant: Arc::default(),
            closed_days: Arc::default(),
            registered_instances: Arc::default(),
        }
    }

    /// Returns the same store, for a server on which these directories are those of all servers. They are absolute paths
    /// without `..`.
    #[must_use]
    pub fn with_shared_directories(mut self, directories: Vec<PathBuf>) -> Self {
        self.shared_directories = directories.into();
        self
    }

    /// Returns `true` if a directory is one of the shared directories, or below one.
    pub(crate) fn is_on_all_servers(&self, directory: &str) -> bool {
        let path = Path::new(directory);
        // Such a path may lead out of the directory with which it begins.
        let has_parent = path.components().any(|part| part == Component::ParentDir);
        let mut shared = self.shared_directories.iter();
        !has_parent && shared.any(|shared| path.starts_with(shared))
    }

    /// Returns the working directory of a session on this server: the one that a person gave, or the session's own
    /// folder in the data folder of this server.
    pub fn working_directory(&self, given: Option<&str>, session: SessionId) -> String {
        let own_folder = || {
            self.session_folders
                .join(session.to_string())
                .to_string_lossy()
                .into_owned()
        };
        given.map_or_else(own_folder, str::to_owned)
    }

    /// Returns the working directory of a seat on this server: the seat's own folder below that of its session, or the
    /// directory of the session.
    pub fn seat_directory(&self, session: &Session, seat: &Seat) -> String {
        let folder = self.working_directory(seat.given_directory(session), session.id);
        match seat.own_folder() {
            Some(name) => Path::new(&folder).join(name).to_string_lossy().into_owned(),
            None => folder,
        }
    }

    /// Returns the database, for tests and checks.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// Subscribes to changes of all processes. This process reports its own changes after each commit. It learns of
    /// others through one listening connection on PostgreSQL, and by polling the file ten times a second on SQLite.
    ///
    /// The caller must subscribe first and read afterwards: a change between a read and the subscription would be
    /// missed. Must be called inside a Tokio runtime.
    pub fn changes(&self) -> Changes {
        Changes::subscribe(&self.change_notifier, &self.db)
    }

    /// Subscribes to work that other processes create.
    ///
    /// Must be called inside a Tokio runtime.
    pub fn subscribe_work(&self) -> WorkSubscription {
        WorkSubscription::subscribe(&self.change_notifier, &self.db)
    }

    /// Returns the way in which this process notices the changes of other processes at this moment.
    pub fn listener_state(&self) -> ListenerState {
        self.change_notifier.listener_state()
    }

    /// Returns the source of IDs.
    pub(crate) fn ids(&self) -> &dyn Entropy {
        &*self.entropy
    }

    /// Runs `body` in one transaction and commits it.
    ///
    /// A transaction that loses a race (a unique index that another process filled first, a deadlock, a serialization
    /// failure) is rolled back and runs again from the start, on the rows as they are by then. `Error::retry_weight`
    /// bounds the retries.
    ///
    /// `body` returns a boxed future, because an async closure cannot promise that its future is `Send`: stable Rust
    /// has no name for it. `Environment` lets that future borrow from the caller, whose borrows outlive every call.
    pub(crate) async fn transact<'env, T>(
        &self,
        scope: Scope,
        mut body: impl for<'t> FnMut(
            &'t mut Tx,
            Environment<'t, 'env>,
        ) -> BoxFuture<'t, Result<T, Error>>
        + Send
        + 'env,
    ) -> Result<T, Error> {
        let mut retry_weight = 0_u32;
        loop {
            let mut tx = self.db.begin(scope).await?;
            let error = match body(&mut tx, PhantomData).await {
                Ok(value) => match tx.commit().await {
                    Ok(()) => return Ok(value),
                    Err(error) => Error::from(error),
                },
                Err(error) => {
                    // Release the locks before the retry, because `skip locked` would pass over them. If the rollback
                    // fails, the next attempt fails too and returns the error.
                    let _ = tx.rollback().await;
                    error
                }
            };
            retry_weight = retry_weight.saturating_add(error.retry_weight());
            if retry_weight > self.db.max_retry_weight() {
                return Err(error);
            }
        }
    }
}
