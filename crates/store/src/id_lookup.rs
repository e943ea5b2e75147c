//! Finds objects by the beginning of their IDs, and keys that could be taken for IDs.

use model::{RunId, SessionId, TokenId};
use uuid::Uuid;

use crate::{Error, Scope, boxed, store::Store};

/// The number of keys that are read at once.
const KEYS_PAGE_SIZE: u32 = 1000;

impl Store {
    /// Returns the sessions whose key has the form of an ID, with these keys, in ascending order of their IDs. Such keys
    /// are older than the rule that refuses them.
    #[boxed]
    pub async fn session_keys_in_id_form(
        &self,
        scope: Scope,
    ) -> Result<Vec<(SessionId, String)>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let mut keys = Vec::new();
        let mut after = SessionId::from_uuid(Uuid::nil());
        loop {
            let found = tx
                .fetch_all(
                    sql!("sessions/keys_like_ids"),
                    params![scope.tenant(), after, KEYS_PAGE_SIZE],
                )
                .await?;
            for row in &found {
                after = row.get("id")?;
                let key: String = row.get("session_key")?;
                if model::has_id_form(&key) {
                    keys.push((after, key));
                }
            }
            if found.len() < KEYS_PAGE_SIZE as usize {
                return Ok(keys);
            }
        }
    }

    /// Returns up to `limit` run IDs from `first` to `last`, both included, in ascending order.
    #[boxed]
    pub async fn run_ids_between(
        &self,
        scope: Scope,
        first: RunId,
        last: RunId,
        limit: u32,
    ) -> Result<Vec<RunId>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("runs/ids_between"),
                params![scope.tenant(), first, last, limit],
            )
            .await?;
        found.iter().map(|row| Ok(row.get("id")?)).collect()
    }

    /// Returns up to `limit` session IDs from `first` to `last`, both included, in ascending order.
    #[boxed]
    pub async fn session_ids_between(
        &self,
        scope: Scope,
        first: SessionId,
        last: SessionId,
        limit: u32,
    ) -> Result<Vec<SessionId>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("sessions/ids_between"),
                params![scope.tenant(), first, last, limit],
            )
            .await?;
        found.iter().map(|row| Ok(row.get("id")?)).collect()
    }

    /// Returns up to `limit` token IDs from `first` to `last`, both included, in ascending order.
    #[boxed]
    pub async fn token_ids_between(
        &self,
        scope: Scope,
        first: TokenId,
        last: TokenId,
        limit: u32,
    ) -> Result<Vec<TokenId>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("tokens/ids_between"),
                params![scope.tenant(), first, last, limit],
            )
            .await?;
        found.iter().map(|row| Ok(row.get("id")?)).collect()
    }
}
