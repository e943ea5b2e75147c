//! Answers to requests that may be repeated, by the keys that their senders choose.
//!
//! A key reserves the id of what its request makes, before it is made. The transition takes that id,
//! and is refused with [`Error::Made`] where it is used already: so a request is carried out once, though
//! the process may die between the transition and its answer.

use model::{TenantId, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use crate::{Error, Scope, database::Tx, store::Store};

/// What a key says of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyClaim {
    /// It is the first one: what it makes has this id.
    New(Uuid),
    /// It is the same one again.
    Again {
        /// The id of what it makes, or has made.
        id: Uuid,
        /// The status and the body that it was answered with; none where it is under way, or nobody
        /// lived to answer it.
        answer: Option<(u16, Value)>,
    },
    /// The key belongs to another request.
    OtherRequest,
}

/// An answer that is kept in the transaction that does what it tells of. So what makes no row of its own,
/// which would have the reserved id, is done once, too.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// The key of the request.
    pub key: &'a str,
    /// The status.
    pub status: u16,
    /// The body.
    pub response: &'a Value,
}

impl Store {
    /// Claims a key for a request. `proposed` is the id that what it makes will have, if it is the first.
    pub async fn claim_key(
        &self,
        tenant: TenantId,
        key: &str,
        request_sha256: &[u8; 32],
        proposed: Uuid,
        now: Timestamp,
    ) -> Result<KeyClaim, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let row = tx
                    .fetch_one(
                        sql!("answers/claim"),
                        params![tenant, key, &request_sha256[..], proposed, now],
                    )
                    .await?;
                let request: Vec<u8> = row.get("request_sha256")?;
                let id: Uuid = row.get("created_id")?;
                if request != request_sha256 {
                    return Ok(KeyClaim::OtherRequest);
                }
                // Ids are made anew for each claim.
                if id == proposed {
                    return Ok(KeyClaim::New(id));
                }
                let status: Option<u32> = row.optional("status")?;
                let status = status.map(u16::try_from).transpose();
                let status = status.map_err(|source| row.nonsense("status", source.into()))?;
                let body: Option<Value> = row.optional("response")?;
                let answer = status.zip(body);
                Ok(KeyClaim::Again { id, answer })
            })
        })
        .await
    }

    /// Keeps the answer to the request of a key. Where there is one already, that one stands.
    pub async fn answer_key(
        &self,
        tenant: TenantId,
        key: &str,
        status: u16,
        response: &Value,
    ) -> Result<(), Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                tx.execute(
                    sql!("answers/put"),
                    params![tenant, key, u32::from(status), response],
                )
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Lets go of a key whose request was refused, so that it may come again put right. An answered one stays.
    pub async fn release_key(&self, tenant: TenantId, key: &str) -> Result<(), Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                tx.execute(sql!("answers/release"), params![tenant, key])
                    .await?;
                Ok(())
            })
        })
        .await
    }
}

/// Keeps an answer with what it tells of. Refused with [`Error::Made`] where there is one already: it was done.
pub(crate) async fn keep(
    tx: &mut Tx,
    scope: Scope,
    answered: Option<Answered<'_>>,
) -> Result<(), Error> {
    let Some(answered) = answered else {
        return Ok(());
    };
    let Answered {
        key,
        status,
        response,
    } = answered;
    // Whoever comes at the same time waits here for the row.
    let params = params![scope.tenant(), key, u32::from(status), response];
    match tx.execute(sql!("answers/put"), params).await? {
        0 => Err(Error::made("the answer to", key)),
        _ => Ok(()),
    }
}
