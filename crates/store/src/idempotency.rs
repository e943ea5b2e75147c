//! Idempotency: the recorded responses to requests that a client may repeat, by idempotency key.
//!
//! An idempotency key reserves the ID of the object that its request creates, before the object is created. The
//! transition uses that ID, and refuses with [`Error::AlreadyCreated`] if the ID is used. So a repeated request takes
//! effect once, even if the process dies between the transition and its response.

use model::{TenantId, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    store::Store,
};

/// The result of claiming an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyClaim {
    /// The request is the first one with this key. The object that it creates gets this ID.
    New(Uuid),
    /// The same request was sent before.
    Repeated {
        /// The ID of the object that the request creates or has created.
        id: Uuid,
        /// The status and the body of the recorded response. `None` if the request is in progress, or if its process
        /// died before it responded.
        response: Option<(u16, Value)>,
    },
    /// The key belongs to a different request.
    OtherRequest,
}

/// A response that is recorded in the transaction of its request. It protects a request that creates no object with
/// the reserved ID: without it, a repeated request could take effect twice.
#[derive(Debug, Clone, Copy)]
pub struct RecordedResponse<'a> {
    /// The idempotency key of the request.
    pub key: &'a str,
    /// The status of the response.
    pub status: u16,
    /// The body.
    pub response: &'a Value,
}

impl Store {
    /// Claims an idempotency key for a request. `proposed` is the ID of the created object if the request is the
    /// first.
    #[boxed]
    pub async fn claim_idempotency_key(
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
                        sql!("idempotency_keys/claim"),
                        params![tenant, key, &request_sha256[..], proposed, now],
                    )
                    .await?;
                let request: Vec<u8> = row.get("request_sha256")?;
                let id: Uuid = row.get("created_id")?;
                if request != request_sha256 {
                    return Ok(KeyClaim::OtherRequest);
                }
                // Each claim proposes a new ID, so an equal ID means that this claim inserted the row.
                if id == proposed {
                    return Ok(KeyClaim::New(id));
                }
                let response = read_response(&row)?;
                Ok(KeyClaim::Repeated { id, response })
            })
        })
        .await
    }

    /// Records the response to the request of a key. Keeps a response that is already recorded, and returns its
    /// status and its body.
    #[boxed]
    pub async fn record_response(
        &self,
        tenant: TenantId,
        key: &str,
        status: u16,
        response: &Value,
    ) -> Result<Option<(u16, Value)>, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let params = params![tenant, key, u32::from(status), response];
                let statement = sql!("idempotency_keys/record_response");
                if tx.execute(statement, params).await? > 0 {
                    return Ok(None);
                }
                let recorded = tx
                    .fetch_optional(sql!("idempotency_keys/response"), params![tenant, key])
                    .await?;
                recorded.map_or(Ok(None), |row| read_response(&row))
            })
        })
        .await
    }

    /// Releases a key whose request was refused, so that the client can correct the request and reuse the key. Keeps
    /// a key whose response is recorded.
    #[boxed]
    pub async fn release_idempotency_key(&self, tenant: TenantId, key: &str) -> Result<(), Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                tx.execute(sql!("idempotency_keys/release"), params![tenant, key])
                    .await?;
                Ok(())
            })
        })
        .await
    }
}

/// Reads the status and the body of a recorded response. Returns `None` if no response is recorded.
fn read_response(row: &Row) -> Result<Option<(u16, Value)>, Error> {
    let status: Option<u32> = row.optional("status")?;
    let status = status.map(u16::try_from).transpose();
    let status = status.map_err(|source| row.corrupt_value("status", source.into()))?;
    let body: Option<Value> = row.optional("response")?;
    Ok(status.zip(body))
}

/// Records a response in the transaction of its request.
///
/// # Errors
///
/// [`Error::AlreadyCreated`] if a response is already recorded, which means that the request took effect before.
pub(crate) async fn record_response_in_tx(
    tx: &mut Tx,
    scope: Scope,
    recorded: Option<RecordedResponse<'_>>,
) -> Result<(), Error> {
    let Some(recorded) = recorded else {
        return Ok(());
    };
    let RecordedResponse {
        key,
        status,
        response,
    } = recorded;
    // A concurrent transaction with the same key waits here for this row, so that only one of them takes effect.
    let params = params![scope.tenant(), key, u32::from(status), response];
    match tx
        .execute(sql!("idempotency_keys/record_response"), params)
        .await?
    {
        0 => Err(Error::already_created("response to idempotency key", key)),
        _ => Ok(()),
    }
}
