//! The idempotency keys whose requests this process carries out at present.
//!
//! **Invariant:** of the requests with one key of one tenant, at most one holds a [`KeyTurn`].

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::TenantId;
use tokio::sync::{self, OwnedMutexGuard};

/// The keys that requests hold or wait for. An entry lives as long as such a request.
#[derive(Default)]
pub(crate) struct KeysInProgress(Mutex<HashMap<TenantKey, Entry>>);

type TenantKey = (TenantId, String);

#[derive(Default)]
struct Entry {
    turn: Arc<sync::Mutex<()>>,
    /// The number of requests that hold the turn or wait for it.
    requests: usize,
}

/// The turn of one request with a key. The next request gets it when this one is dropped: after a response, at the
/// end of the time limit, or when the client is away.
pub(crate) struct KeyTurn<'a> {
    // Dropped before the waiter, so that the entry outlives the turn.
    _turn: OwnedMutexGuard<()>,
    _waiter: Waiter<'a>,
}

/// A request that holds the turn or waits for it.
struct Waiter<'a> {
    keys: &'a KeysInProgress,
    key: TenantKey,
}

impl KeysInProgress {
    /// Waits until no other request has the key. Requests get their turns in the order of their calls.
    pub(crate) async fn wait(&self, tenant: TenantId, key: &str) -> KeyTurn<'_> {
        let key = (tenant, key.to_owned());
        let turn = {
            let mut entries = self.lock();
            let entry = entries.entry(key.clone()).or_default();
            entry.requests += 1;
            Arc::clone(&entry.turn)
        };
        // Before the wait, because the request may be dropped while it waits.
        let waiter = Waiter { keys: self, key };
        KeyTurn {
            _turn: turn.lock_owned().await,
            _waiter: waiter,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantKey, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut entries = self.keys.lock();
        if let Some(entry) = entries.get_mut(&self.key) {
            entry.requests -= 1;
            if entry.requests == 0 {
                entries.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn next_request_gets_turn_of_dropped_one_and_no_entry_stays() {
        let keys = KeysInProgress::default();
        let tenant = TenantId::from_uuid(Uuid::from_u128(1));
        let first = keys.wait(tenant, "k").await;
        let mut second = Box::pin(keys.wait(tenant, "k"));
        let mut third = Box::pin(keys.wait(tenant, "k"));
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        // Another key and another tenant do not wait.
        let _other_key = keys.wait(tenant, "l").await;
        let other_tenant = TenantId::from_uuid(Uuid::from_u128(2));
        let _other_tenant = keys.wait(other_tenant, "k").await;
        assert!(poll!(&mut second).is_pending());
        drop(second);
        assert!(poll!(&mut third).is_pending());
        drop(first);
        drop(third.await);
        assert_eq!(keys.lock().len(), 2);
    }
}
