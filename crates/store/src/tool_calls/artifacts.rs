//! The artifacts that agents save.
//!
//! **Invariant:** the number of a version and the sums of the limits are read under the locks of the tenant, the seat and
//! the session, so that two turns never make the same version and never exceed a limit together.

use model::{
    ArtifactId, Timestamp,
    artifact::{
        ARTIFACT_GIB_PER_TENANT, ARTIFACTS_PER_SESSION, ARTIFACTS_PER_TURN, Artifact,
        ArtifactContent,
    },
};

use super::{
    CallingTurn, Quota, ToolCaller, check_not_cancelled, check_session, lock_turn, read_turn,
};
use crate::{Error, Scope, artifacts::read_artifact, boxed, database::Tx, locks, store::Store};

/// A file or an address that an agent hands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtifact {
    /// The name within the session.
    pub name: String,
    /// The media type.
    pub media_type: String,
    /// The content. If it is a stored one, the data folder of its instance must hold it already.
    pub content: ArtifactContent,
}

impl Store {
    /// Saves the next version of an artifact of the turn's session, and returns it. If the newest version of the name has
    /// the same content, returns that version.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`] or if the turn was asked to stop, [`Error::Refused`] if the session
    /// is closed, and [`Error::LimitReached`] if the turn, the session or the tenant has too many artifacts.
    #[boxed]
    pub async fn save_artifact(
        &self,
        caller: &ToolCaller,
        new: &NewArtifact,
        now: Timestamp,
    ) -> Result<Artifact, Error> {
        let id = ArtifactId::generate(now, self.ids());
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock: the tenant, whose bytes are counted, the automation and the seat of the turn, and the session,
                // whose versions are numbered.
                let before = read_turn(tx, caller, now).await?;
                locks::lock_tenant(tx, before.tenant).await?;
                lock_turn(tx, caller, now).await?;
                locks::lock_session(tx, before.session.id).await?;
                let turn = read_turn(tx, caller, now).await?;
                check_session(&turn.session, "take an artifact")?;
                check_not_cancelled(turn.run, turn.is_cancelled)?;
                // 2. Compare with the newest version.
                let newest = tx
                    .fetch_optional(
                        sql!("artifacts/newest"),
                        params![turn.tenant, turn.session.id, new.name.as_str()],
                    )
                    .await?;
                let newest = newest.as_ref().map(read_artifact).transpose()?;
                let version = match newest {
                    Some(newest) if is_same(&newest.content, &new.content) => return Ok(newest),
                    Some(newest) => newest.version + 1,
                    None => 1,
                };
                // 3. Count.
                check_quotas(tx, &turn, &new.content).await?;
                // 4. Write.
                let artifact = Artifact {
                    id,
                    tenant_id: turn.tenant,
                    session_id: turn.session.id,
                    run_id: turn.run,
                    name: new.name.clone(),
                    version,
                    media_type: new.media_type.clone(),
                    content: new.content.clone(),
                    created_at: now,
                };
                insert(tx, &artifact).await?;
                Ok(artifact)
            })
        })
        .await
    }
}

/// Returns `true` if two contents are the same bytes, in whatever data folder, or the same address.
fn is_same(one: &ArtifactContent, other: &ArtifactContent) -> bool {
    match (one, other) {
        (ArtifactContent::Stored { sha256, .. }, ArtifactContent::Stored { sha256: other, .. }) => {
            sha256 == other
        }
        (ArtifactContent::Uri(uri), ArtifactContent::Uri(other)) => uri == other,
        _ => false,
    }
}

async fn check_quotas(
    tx: &mut Tx,
    turn: &CallingTurn,
    content: &ArtifactContent,
) -> Result<(), Error> {
    let counts = tx
        .fetch_one(
            sql!("artifacts/counts"),
            params![turn.tenant, turn.session.id, turn.input],
        )
        .await?;
    for (what, limit, actual) in [
        (
            "artifacts that an agent saves in a turn",
            ARTIFACTS_PER_TURN,
            counts.get("of_turn")?,
        ),
        (
            "artifacts of a session",
            ARTIFACTS_PER_SESSION,
            counts.get("of_session")?,
        ),
    ] {
        Quota {
            what,
            limit,
            actual,
        }
        .check()?;
    }
    let ArtifactContent::Stored { size, .. } = content else {
        return Ok(());
    };
    let stored: i64 = counts.get("bytes_of_tenant")?;
    let bytes = u64::try_from(stored).unwrap_or(0).saturating_add(*size);
    if bytes > u64::from(ARTIFACT_GIB_PER_TENANT) << 30 {
        return Err(Error::LimitReached {
            what: "GiB in artifacts of a tenant",
            limit: ARTIFACT_GIB_PER_TENANT,
        });
    }
    Ok(())
}

async fn insert(tx: &mut Tx, artifact: &Artifact) -> Result<(), Error> {
    let (uri, sha256, size, instance) = match &artifact.content {
        ArtifactContent::Uri(uri) => (Some(uri.as_str()), None, None, None),
        ArtifactContent::Stored {
            sha256,
            size,
            instance,
        } => (
            None,
            Some(sha256.to_string()),
            Some(i64::try_from(*size).unwrap_or(i64::MAX)),
            Some(*instance),
        ),
    };
    let params = params! { "artifacts/insert";
        id: artifact.id,
        tenant: artifact.tenant_id,
        session: artifact.session_id,
        run: artifact.run_id,
        name: artifact.name.as_str(),
        version: artifact.version,
        media_type: artifact.media_type.as_str(),
        uri: uri,
        hash: sha256,
        size_bytes: size,
        instance: instance,
        now: artifact.created_at,
    };
    tx.execute(sql!("artifacts/insert"), params).await?;
    Ok(())
}
