//! Finds objects by the beginning of their IDs.

use model::{RunId, SessionId, TokenId};

use crate::{Error, Scope, boxed, store::Store};

impl Store {
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
