//! The last uses of tokens.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
};

use model::{Timestamp, TokenId, limits};
use store::Store;

/// The number of tokens above which [`TokenUses`] drops entries that are too old to suppress a write.
const MAX_TRACKED_TOKENS: usize = 10_000;

/// The instants at which the use of each token was last recorded. They spare most requests a write.
#[derive(Default)]
pub(crate) struct TokenUses(Mutex<HashMap<TokenId, Timestamp>>);

impl TokenUses {
    /// Records that a token was used, unless this process recorded a use of it within
    /// [`limits::TOKEN_USE_WRITE_INTERVAL`]. The write happens in a task of its own, so that the request neither waits for it nor fails with it.
    pub(crate) fn record(&self, store: &Store, token: TokenId, now: Timestamp) {
        {
            let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let before = now.saturating_sub(limits::TOKEN_USE_WRITE_INTERVAL);
            if recorded.get(&token).is_some_and(|at| *at > before) {
                return;
            }
            if recorded.len() >= MAX_TRACKED_TOKENS {
                recorded.retain(|_, at| *at > before);
            }
            recorded.insert(token, now);
        }
        let store = store.clone();
        tokio::spawn(async move {
            if let Err(error) = store.record_token_use(&BTreeSet::from([token]), now).await {
                tracing::warn!(%error, "cannot record the use of a token");
            }
        });
    }
}
