//! API tokens, and links that sign a browser in once.
//!
//! **Invariants:** a token expires with the token that made it at the latest. A revocation of [`RevocationExtent::Made`]
//! leaves no valid token that the revoked one made, because a transition that makes a token locks its maker.

use std::collections::BTreeSet;

use model::{
    InstanceId, TenantId, Timestamp, TokenId,
    access::{self, Permission, Role, Token},
    limits,
};

use crate::{
    Error, Page, Scope, boxed,
    database::Tx,
    instances::keep_instance,
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
    /// The token that makes this one. `None` if a person at the private socket does.
    pub made_by: Option<TokenId>,
    /// The instant from which the token is invalid. `None`: the end of the token that makes it, if it has one.
    pub expires_at: Option<Timestamp>,
}

/// The tokens that end with a revoked token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevocationExtent {
    /// The token itself, and the tokens of the browsers that it signed in.
    Own,
    /// Also all tokens that it made, directly or through others, and the tokens of the browsers that these signed in.
    Made,
}

/// The result of a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRevocation {
    /// The number of other tokens that were revoked with the token, those of browsers included.
    pub also_revoked: u64,
    /// The number of valid tokens of programs that the token made, directly or through others, and that stay valid.
    pub still_valid: u64,
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
    /// The instant from which the token is invalid, if the tokens that sign the browser in do not expire earlier.
    pub expires_at: Timestamp,
}

impl Store {
    /// Creates a token for a program.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyCreated`] if the ID is used, [`Error::OutlivesMaker`] if the token would expire after the token
    /// that makes it, and [`Error::NotFound`] if that token is revoked or expired.
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
                insert_token(tx, tenant, None, new, now).await
            })
        })
        .await
    }

    /// Creates the token of the runtime of an instance, and revokes its earlier tokens. Returns the number of revoked
    /// tokens. The token has the role [`Role::Runtime`], whatever role and scopes `new` has.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the tenant has no such instance, or if the token that makes this one is revoked or expired,
    /// and [`Error::OutlivesMaker`] if the token would expire after the token that makes it.
    #[boxed]
    pub async fn create_runtime_token(
        &self,
        tenant: TenantId,
        instance: InstanceId,
        new: &NewToken,
        now: Timestamp,
    ) -> Result<u64, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                // The lock of the instance orders two concurrent requests, so that one valid token is left.
                keep_instance(tx, tenant, Some(instance)).await?;
                let revoked = tx
                    .execute(
                        sql!("tokens/revoke_of_instance"),
                        params![tenant, instance, now],
                    )
                    .await?;
                insert_runtime_token(tx, tenant, instance, new, now).await?;
                Ok(revoked)
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

    /// Returns the instant from which a valid token, or the token that signed its browser in, is invalid.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the token is revoked or expired.
    #[boxed]
    pub async fn end_of_valid_token(
        &self,
        scope: Scope,
        id: TokenId,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move { lock_valid(tx, scope, id, now).await })
        })
        .await
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

    /// Revokes a token, and with it the tokens of the browsers that it signed in, or all that it made. A token that is
    /// already revoked stays as it is, and what it made is revoked all the same.
    #[boxed]
    pub async fn revoke_token(
        &self,
        scope: Scope,
        id: TokenId,
        extent: RevocationExtent,
        now: Timestamp,
    ) -> Result<TokenRevocation, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Revoke the token and its browsers. This waits for transactions in which they make a token.
                let before = read(tx, scope, id).await?;
                let mut revoked = tx.execute(sql!("tokens/revoke"), params![id, now]).await?;
                if before.revoked_at.is_none() {
                    revoked = revoked.saturating_sub(1);
                }
                // 2. Revoke what they made.
                if extent == RevocationExtent::Made {
                    revoked += revoke_made(tx, id, now).await?;
                }
                // 3. Count the tokens that stay valid.
                let counted = tx
                    .fetch_one(sql!("tokens/count_made"), params![id, now])
                    .await?;
                Ok(TokenRevocation {
                    also_revoked: revoked,
                    still_valid: counted.get::<u32>("valid")?.into(),
                })
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

/// Inserts the first token of the runtime of an instance. The token has the role [`Role::Runtime`], whatever role and scopes
/// `new` has.
pub(crate) async fn insert_runtime_token(
    tx: &mut Tx,
    tenant: TenantId,
    instance: InstanceId,
    new: &NewToken,
    now: Timestamp,
) -> Result<(), Error> {
    let new = NewToken {
        role: Role::Runtime,
        scopes: None,
        ..new.clone()
    };
    insert_token(tx, tenant, Some(instance), &new, now).await
}

/// Inserts a token for a program, for the runtime of `instance` if one is given.
async fn insert_token(
    tx: &mut Tx,
    tenant: TenantId,
    instance: Option<InstanceId>,
    new: &NewToken,
    now: Timestamp,
) -> Result<(), Error> {
    // The lock holds until the row is inserted, so that a revocation with all made tokens finds it.
    let latest = match new.made_by {
        Some(maker) => lock_valid(tx, Scope::Tenant(tenant), maker, now).await?,
        None => None,
    };
    let expires_at = access::expiry_of_made_token(new.expires_at, latest)?;
    let scopes = new.scopes.as_ref();
    let params = params! { "tokens/insert";
        id: new.id,
        tenant: tenant,
        role: new.role.as_str(),
        instance: instance,
        name: new.name.as_str(),
        hash: &new.hash[..],
        shown: new.secret_prefix.as_str(),
        scopes: scopes.map(|scopes| stored::write::<StoredScopes>(scopes).value),
        made_by: new.made_by,
        now: now,
        expires_at: expires_at,
    };
    tx.execute(sql!("tokens/insert"), params).await?;
    Ok(())
}

async fn read(tx: &mut Tx, scope: Scope, id: TokenId) -> Result<Token, Error> {
    let row = tx
        .fetch_optional(sql!("tokens/by_id"), params![scope.tenant(), id])
        .await?;
    rows::token(&row.ok_or_else(|| Error::not_found("token", id))?)
}

/// Locks a token, so that it is not revoked before the transaction ends. Returns the instant at which it becomes invalid,
/// if it does: the token of a browser also does when the token that signed the browser in expires.
///
/// # Errors
///
/// Returns [`Error::NotFound`] if the token is revoked or expired.
async fn lock_valid(
    tx: &mut Tx,
    scope: Scope,
    id: TokenId,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let row = tx
        .fetch_optional(sql_by_dialect!("tokens/lock"), params![scope.tenant(), id])
        .await?;
    let not_found = || Error::not_found("token", id);
    let row = row.ok_or_else(not_found)?;
    let ends: [Option<Timestamp>; 2] = [
        row.optional("expires_at")?,
        row.optional("parent_expires_at")?,
    ];
    let revocations: [Option<Timestamp>; 2] = [
        row.optional("revoked_at")?,
        row.optional("parent_revoked_at")?,
    ];
    let expires_at = ends.into_iter().flatten().min();
    let is_revoked = revocations.into_iter().flatten().next().is_some();
    if is_revoked || expires_at.is_some_and(|end| end <= now) {
        return Err(not_found());
    }
    Ok(expires_at)
}

/// Revokes all tokens that a token made, directly or through others. Returns their number. The caller must have revoked
/// the token itself, so that it makes no more.
async fn revoke_made(tx: &mut Tx, id: TokenId, now: Timestamp) -> Result<u64, Error> {
    let mut revoked = 0;
    // On PostgreSQL, a statement does not see a token that its maker made while the statement waited for the lock of
    // that maker. Repeat it until it finds no valid token: all makers are then locked, and all that they made was seen.
    loop {
        let more = tx
            .execute(sql!("tokens/revoke_made"), params![id, now])
            .await?;
        if more == 0 {
            return Ok(revoked);
        }
        revoked += more;
    }
}

/// Inserts the token of a browser that another token signs in. Returns `None` if that other token, or the one that
/// signed that one's browser in, is revoked or expired.
async fn insert_browser_token(
    tx: &mut Tx,
    signed_in_by: TokenId,
    new: &NewBrowserToken,
    now: Timestamp,
) -> Result<Option<Token>, Error> {
    let scope = tx.scope();
    let (signer, parent_end) = match lock_parent(tx, scope, signed_in_by, now).await {
        Err(Error::NotFound { .. }) => return Ok(None),
        found => found?,
    };
    let ends = [Some(new.expires_at), signer.expires_at, parent_end];
    let expires_at = ends.into_iter().flatten().min();
    let row = tx
        .fetch_optional(
            sql!("tokens/insert_browser_token"),
            params! { "tokens/insert_browser_token";
                id: new.id,
                hash: &new.hash[..],
                shown: new.secret_prefix.as_str(),
                expires_at: expires_at,
                tenant: scope.tenant(),
                signed_in_by: signed_in_by,
                now: now,
            },
        )
        .await?;
    row.as_ref().map(rows::token).transpose()
}

/// Locks the token to which the browsers belong that a token signs in: the token itself, or if it is a browser's, that
/// of the program behind it. Returns the first token, and the end of the locked one.
///
/// The lock keeps a revocation of the locked token from missing the new browser. Every token that the browser makes
/// later is then found by way of the browser.
async fn lock_parent(
    tx: &mut Tx,
    scope: Scope,
    signed_in_by: TokenId,
    now: Timestamp,
) -> Result<(Token, Option<Timestamp>), Error> {
    let signer = read(tx, scope, signed_in_by).await?;
    let parent = signer.parent_id.unwrap_or(signer.id);
    let parent_end = lock_valid(tx, scope, parent, now).await?;
    Ok((signer, parent_end))
}
