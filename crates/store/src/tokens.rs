//! API tokens, and links that sign a browser in once.

use std::collections::BTreeSet;

use model::{
    TenantId, Timestamp, TokenId,
    access::{Permission, Role, Token},
    limits,
};

use crate::{
    Error, Page, Scope, boxed,
    database::Tx,
    rows,
    store::Store,
    stored::{self, StoredScopes},
};

/// A new token for a program. The store receives only the hash of its secret.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The ID of the token.
    pub id: TokenId,
    /// The name that a person gave the token.
    pub name: String,
    /// The role of the token's bearer in the tenant.
    pub role: Role,
    /// The subset of the role's permissions that the token has. `None`: all of them.
    pub scopes: Option<BTreeSet<Permission>>,
    /// SHA-256 of its secret.
    pub hash: [u8; 32],
    /// The beginning of its secret, by which a person recognizes it.
    pub secret_prefix: String,
    /// The instant from which the token is invalid.
    pub expires_at: Option<Timestamp>,
}

/// A new token for a browser. It has the permissions of the token that signs the browser in.
#[derive(Debug, Clone)]
pub struct NewBrowserToken {
    /// The ID of the token.
    pub id: TokenId,
    /// SHA-256 of its secret.
    pub hash: [u8; 32],
    /// The beginning of its secret, by which a person recognizes it.
    pub secret_prefix: String,
    /// The instant from which the token is invalid.
    pub expires_at: Timestamp,
}

impl Store {
    /// Creates a token for a program.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyCreated`] if the ID is used.
    #[boxed]
    pub async fn create_token(
        &self,
        tenant: TenantId,
        new: &NewToken,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let used = tx
                    .fetch_optional(sql!("tokens/by_id"), params![tenant, new.id])
                    .await?;
                if used.is_some() {
                    return Err(Error::already_created("token", new.id));
                }
                tx.execute(
                    sql!("tokens/insert"),
                    params! { "tokens/insert";
                        id: new.id,
                        tenant: tenant,
                        role: new.role.as_str(),
                        name: new.name.as_str(),
                        hash: &new.hash[..],
                        shown: new.secret_prefix.as_str(),
                        scopes: new.scopes
                            .as_ref()
                            .map(|scopes| stored::write::<StoredScopes>(scopes).value),
                        now: now,
                        expires_at: new.expires_at,
                    },
                )
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Creates the token of a browser. Another token signs the browser in and ends it. Returns `None` if that other
    /// token is revoked or expired.
    #[boxed]
    pub async fn sign_browser_in(
        &self,
        scope: Scope,
        parent: TokenId,
        new: &NewBrowserToken,
        now: Timestamp,
    ) -> Result<Option<Token>, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move { insert_browser_token(tx, parent, new, now).await })
        })
        .await
    }

    /// Returns the token with the hash of a secret. Returns `None` if the token, or the token that signed its browser
    /// in, is revoked or expired.
    #[boxed]
    pub async fn token_by_hash(
        &self,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<Token>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let row = tx
            .fetch_optional(sql!("tokens/by_hash"), params![&hash[..], now])
            .await?;
        row.as_ref().map(rows::token).transpose()
    }

    /// Returns one token, whether it is valid or not.
    #[boxed]
    pub async fn token(&self, scope: Scope, id: TokenId) -> Result<Token, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read(&mut tx, scope, id).await
    }

    /// Lists a tenant's tokens, the newest first, including those that are revoked or expired.
    #[boxed]
    pub async fn tokens(&self, tenant: TenantId, page: Page<TokenId>) -> Result<Vec<Token>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let found = tx
            .fetch_all(
                sql!("tokens/page"),
                params![tenant, page.before(), page.limit],
            )
            .await?;
        found.iter().map(rows::token).collect()
    }

    /// Revokes a token, and with it the tokens of the browsers that it signed in. Does nothing if the token is
    /// already revoked.
    #[boxed]
    pub async fn revoke_token(
        &self,
        scope: Scope,
        id: TokenId,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                read(tx, scope, id).await?;
                tx.execute(sql!("tokens/revoke"), params![id, now]).await?;
                Ok(())
            })
        })
        .await
    }

    /// Records that tokens were used, at most once a minute for each. Returns the number of tokens that were updated.
    #[boxed]
    pub async fn record_token_use(
        &self,
        tokens: &BTreeSet<TokenId>,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let before = now.saturating_sub(limits::TOKEN_USE_WRITE_INTERVAL);
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let rows = tokens.iter().map(|id| params![*id]).collect();
                Ok(tx
                    .execute_rows(sql!("tokens/note_use"), rows, params![now, before])
                    .await?)
            })
        })
        .await
    }

    /// Creates a link that signs one browser in with a token, once and until it expires.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the token is revoked or expired.
    #[boxed]
    pub async fn create_sign_in_link(
        &self,
        tenant: TenantId,
        token: TokenId,
        hash: &[u8; 32],
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let inserted = tx
                    .execute(
                        sql!("sign_in_links/insert"),
                        params![&hash[..], tenant, token, now, expires_at],
                    )
                    .await?;
                if inserted == 0 {
                    return Err(Error::not_found("token", token));
                }
                Ok(())
            })
        })
        .await
    }

    /// Uses a link and creates the browser's token in one transaction. Returns `None` if the link does not exist, is
    /// expired or used, or if its token is revoked or expired.
    #[boxed]
    pub async fn use_sign_in_link(
        &self,
        hash: &[u8; 32],
        new: &NewBrowserToken,
        now: Timestamp,
    ) -> Result<Option<Token>, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let used = tx
                    .fetch_optional(sql!("sign_in_links/use"), params![&hash[..], now])
                    .await?;
                match used {
                    None => Ok(None),
                    Some(link) => insert_browser_token(tx, link.get("token_id")?, new, now).await,
                }
            })
        })
        .await
    }
}

async fn read(tx: &mut Tx, scope: Scope, id: TokenId) -> Result<Token, Error> {
    let row = tx
        .fetch_optional(sql!("tokens/by_id"), params![scope.tenant(), id])
        .await?;
    rows::token(&row.ok_or_else(|| Error::not_found("token", id))?)
}

async fn insert_browser_token(
    tx: &mut Tx,
    parent: TokenId,
    new: &NewBrowserToken,
    now: Timestamp,
) -> Result<Option<Token>, Error> {
    let tenant = tx.scope().tenant();
    let row = tx
        .fetch_optional(
            sql!("tokens/insert_browser_token"),
            params! { "tokens/insert_browser_token";
                id: new.id,
                hash: &new.hash[..],
                shown: new.secret_prefix.as_str(),
                expires_at: new.expires_at,
                tenant: tenant,
                signed_in_by: parent,
                now: now,
            },
        )
        .await?;
    row.as_ref().map(rows::token).transpose()
}
