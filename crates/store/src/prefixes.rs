//! Finding what somebody names by the beginning of its id.

use model::{RunId, SessionId, TokenId};

use crate::{Error, Scope, store::Store};

impl Store {
    /// Lists up to `limit` ids of runs from `first` to `last`, both included, in order.
    pub async fn run_ids_between(
        &self,
        scope: Scope,
        first: RunId,
        last: RunId,
        limit: u32,
    ) -> Result<Vec<RunId>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("runs/ids_between"),
                params![scope.tenant(), first, last, limit],
            )
            .await?;
        found.iter().map(|row| Ok(row.get("id")?)).collect()
    }

    /// Lists up to `limit` ids of sessions from `first` to `last`, both included, in order.
    pub async fn session_ids_between(
        &self,
        scope: Scope,
        first: SessionId,
        last: SessionId,
        limit: u32,
    ) -> Result<Vec<SessionId>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("sessions/ids_between"),
                params![scope.tenant(), first, last, limit],
            )
            .await?;
        found.iter().map(|row| Ok(row.get("id")?)).collect()
    }

    /// Lists up to `limit` ids of tokens from `first` to `last`, both included, in order.
    pub async fn token_ids_between(
        &self,
        scope: Scope,
        first: TokenId,
        last: TokenId,
        limit: u32,
    ) -> Result<Vec<TokenId>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("tokens/ids_between"),
                params![scope.tenant(), first, last, limit],
            )
            .await?;
        found.iter().map(|row| Ok(row.get("id")?)).collect()
    }
}
