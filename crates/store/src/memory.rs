//! Memory entries: facts under keys, which belong to an automation or to a session.
//!
//! **Invariants:** an owner has one entry for a key, by a unique index. Its entries are counted under the lock of the
//! owner's row. An expired entry is never returned: each statement compares its end with the present time, and
//! [`Store::trim_memory_entries`] only frees its space.

use model::{
    MemoryEntryId, RunId, TenantId, Timestamp,
    memory::{self, MemoryAuthor, MemoryEntry, MemoryOwner},
};

use crate::{
    Error, Scope, automations, boxed, database::Tx, locks, new_memory_entry::NewMemoryEntry, rows,
    store::Store, text_search::SearchPatterns,
};

/// The maximum number of expired entries that one call of [`Store::trim_memory_entries`] deletes.
const MAX_TRIMMED_ENTRIES: u32 = 500;

/// The version of an entry that a person has read, with the end that raises no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryVersion {
    /// The ID of the entry. An entry that was deleted and written again under its key begins with the first version, too.
    pub id: MemoryEntryId,
    /// The number of the content.
    pub version: i64,
    /// The instant from which the entry is no longer returned.
    pub expires_at: Option<Timestamp>,
}

/// A part of the list of an owner's entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPage {
    /// A text in the key or in the value, without regard to case.
    pub text: Option<String>,
    /// The last key of the previous part.
    pub after: Option<String>,
    /// The highest number of entries.
    pub limit: u32,
}

impl Store {
    /// Lists the entries of an owner by their keys.
    ///
    /// # Errors
    ///
    /// Returns an error if the owner does not exist in `scope`.
    #[boxed]
    pub async fn memory_entries(
        &self,
        scope: Scope,
        owner: MemoryOwner,
        page: &MemoryPage,
        now: Timestamp,
    ) -> Result<Vec<MemoryEntry>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        check_owner(&mut tx, scope, owner).await?;
        let patterns = SearchPatterns::new(page.text.as_deref(), MemoryEntryId::PREFIX);
        let found = tx
            .fetch_all(
                sql!("memory/page"),
                params! { "memory/page";
                    automation: owner.automation(),
                    session: owner.session(),
                    after: page.after.as_deref(),
                    now: now,
                    limit: page.limit,
                    pattern: patterns.as_written,
                    lower_pattern: patterns.lower,
                },
            )
            .await?;
        found.iter().map(rows::memory_entry).collect()
    }

    /// Returns one entry of an owner, by its key.
    ///
    /// # Errors
    ///
    /// Returns an error if the owner or the entry does not exist in `scope`.
    #[boxed]
    pub async fn memory_entry(
        &self,
        scope: Scope,
        owner: MemoryOwner,
        key: &str,
        now: Timestamp,
    ) -> Result<MemoryEntry, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        check_owner(&mut tx, scope, owner).await?;
        let found = find(&mut tx, owner, key, now).await?;
        found.ok_or_else(|| not_found(key))
    }

    /// Writes an entry of an owner for a person, and returns it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::LimitReached`] if the owner has too many entries, [`Error::StaleVersion`] if the entry is no longer
    /// `seen`, and an error if the owner does not exist.
    #[boxed]
    pub async fn set_memory_entry(
        &self,
        tenant: TenantId,
        owner: MemoryOwner,
        new: &NewMemoryEntry,
        author: &str,
        seen: Option<MemoryVersion>,
        now: Timestamp,
    ) -> Result<MemoryEntry, Error> {
        let scope = Scope::Tenant(tenant);
        let author = MemoryAuthor::Person {
            name: author.to_owned(),
        };
        self.transact(scope, |tx, _| {
            let author = &author;
            Box::pin(async move {
                lock_owner(tx, scope, owner).await?;
                let present = find(tx, owner, &new.key, now).await?;
                check_version(&new.key, present.as_ref(), seen)?;
                write(self, tx, (tenant, owner), new, author, now).await
            })
        })
        .await
    }

    /// Deletes an entry of an owner, by its key, and returns it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::StaleVersion`] if the entry is no longer `seen`, and an error if the owner or the entry does not exist.
    #[boxed]
    pub async fn delete_memory_entry(
        &self,
        tenant: TenantId,
        owner: MemoryOwner,
        key: &str,
        seen: Option<MemoryVersion>,
        now: Timestamp,
    ) -> Result<MemoryEntry, Error> {
        let scope = Scope::Tenant(tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                lock_owner(tx, scope, owner).await?;
                let found = find(tx, owner, key, now).await?;
                check_version(key, found.as_ref(), seen)?;
                let entry = found.ok_or_else(|| not_found(key))?;
                delete(tx, owner, key, now).await?;
                Ok(entry)
            })
        })
        .await
    }

    /// Deletes some expired entries. Returns their number.
    #[boxed]
    pub async fn trim_memory_entries(&self, now: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !crate::retention::try_retention_lock(tx).await? {
                    return Ok(0);
                }
                Ok(tx
                    .execute(sql!("memory/trim"), params![now, MAX_TRIMMED_ENTRIES])
                    .await?)
            })
        })
        .await
    }
}

/// Refuses to change an entry that is no longer the one which the caller has read.
///
/// The caller must hold the lock of the owner.
fn check_version(
    key: &str,
    present: Option<&MemoryEntry>,
    seen: Option<MemoryVersion>,
) -> Result<(), Error> {
    let present = present.map(|entry| MemoryVersion {
        id: entry.id,
        version: entry.version,
        expires_at: entry.expires_at,
    });
    if seen.is_none() || present == seen {
        return Ok(());
    }
    Err(Error::StaleVersion {
        what: "memory entry",
        name: key.to_owned(),
    })
}

fn not_found(key: &str) -> Error {
    Error::not_found("memory entry", key)
}

/// Refuses an owner that does not exist in a scope.
async fn check_owner(tx: &mut Tx, scope: Scope, owner: MemoryOwner) -> Result<(), Error> {
    match owner {
        MemoryOwner::Automation(id) => {
            automations::read(tx, scope, id).await?;
        }
        MemoryOwner::Session(id) => {
            let found = tx
                .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), id])
                .await?;
            found.ok_or_else(|| Error::not_found("session", id))?;
        }
    }
    Ok(())
}

/// Locks the row of an owner, under which its entries are counted.
async fn lock_owner(tx: &mut Tx, scope: Scope, owner: MemoryOwner) -> Result<(), Error> {
    check_owner(tx, scope, owner).await?;
    match owner {
        MemoryOwner::Automation(id) => {
            locks::lock_automation_row(tx, id).await?;
        }
        MemoryOwner::Session(id) => locks::lock_session(tx, id).await?,
    }
    // The owner may have been deleted before the lock.
    check_owner(tx, scope, owner).await
}

/// Returns an entry of an owner, unless it has expired.
async fn find(
    tx: &mut Tx,
    owner: MemoryOwner,
    key: &str,
    now: Timestamp,
) -> Result<Option<MemoryEntry>, Error> {
    let found = tx
        .fetch_optional(
            sql!("memory/by_key"),
            params![owner.automation(), owner.session(), key],
        )
        .await?;
    let entry = found.as_ref().map(rows::memory_entry).transpose()?;
    Ok(entry.filter(|entry| entry.expires_at.is_none_or(|end| end > now)))
}

/// Writes an entry of an owner, and returns it. An entry with the same value and confidence keeps its version.
///
/// The caller must hold the lock of the owner.
///
/// # Errors
///
/// Returns [`Error::LimitReached`] before it writes anything but the deletion of expired entries.
pub(crate) async fn write(
    store: &Store,
    tx: &mut Tx,
    (tenant, owner): (TenantId, MemoryOwner),
    new: &NewMemoryEntry,
    author: &MemoryAuthor,
    now: Timestamp,
) -> Result<MemoryEntry, Error> {
    // 1. Read.
    let stored = StoredMemory::read(tx, owner, &new.key, author.run(), now).await?;
    if stored.has_expired {
        // Free their keys and their space.
        tx.execute(
            sql!("memory/delete_expired_of"),
            params![owner.automation(), owner.session(), now],
        )
        .await?;
    }
    // 2. Decide.
    let size = i64::try_from(new.key.len() + new.value.len()).unwrap_or(i64::MAX);
    stored.check_limits(size, author.run())?;
    // 3. Write.
    let written = if let Some(StoredEntry { entry: present, .. }) = &stored.present {
        let is_same =
            present.value == new.value && present.confidence.total_cmp(&new.confidence).is_eq();
        let params = params! { "memory/update";
            id: present.id,
            value: new.value.as_str(),
            size_bytes: size,
            confidence: new.confidence,
            version: present.version + i64::from(!is_same),
            author: author.name(),
            run: author.run(),
            expires_at: new.expires_at,
            now: now,
        };
        tx.fetch_one(sql!("memory/update"), params).await?
    } else {
        let params = params! { "memory/insert";
            id: MemoryEntryId::generate(now, store.ids()),
            tenant: tenant,
            automation: owner.automation(),
            session: owner.session(),
            key: new.key.as_str(),
            value: new.value.as_str(),
            size_bytes: size,
            confidence: new.confidence,
            author: author.name(),
            run: author.run(),
            expires_at: new.expires_at,
            now: now,
        };
        tx.fetch_one(sql!("memory/insert"), params).await?
    };
    rows::memory_entry(&written)
}

/// The facts about an owner's entries that decide whether one is written.
struct StoredMemory {
    /// The number of entries that have not expired.
    entries: i64,
    /// The bytes of those entries.
    total_bytes: i64,
    /// The number of those entries that the writing run has written last.
    of_run: i64,
    /// `true` if some entries have expired.
    has_expired: bool,
    /// The entry under the key that is written.
    present: Option<StoredEntry>,
}

struct StoredEntry {
    entry: MemoryEntry,
    size_bytes: i64,
}

impl StoredMemory {
    async fn read(
        tx: &mut Tx,
        owner: MemoryOwner,
        key: &str,
        run: Option<RunId>,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let params = params![owner.automation(), owner.session(), key, run, now];
        let row = tx.fetch_one(sql!("memory/stored"), params).await?;
        let present = match row.optional::<MemoryEntryId>("id")? {
            Some(_) => Some(StoredEntry {
                entry: rows::memory_entry(&row)?,
                size_bytes: row.get("size_bytes")?,
            }),
            None => None,
        };
        Ok(Self {
            entries: row.get("entries")?,
            total_bytes: row.get("total_bytes")?,
            of_run: row.get("of_run")?,
            has_expired: row.get::<i64>("expired")? > 0,
            present,
        })
    }

    /// Refuses an entry of `size` bytes by `run` with which there would be too many. An entry counts in place of the one
    /// that it replaces.
    fn check_limits(&self, size: i64, run: Option<RunId>) -> Result<(), Error> {
        let (is_new, replaced_bytes, replaced_run) = match &self.present {
            Some(present) => (false, present.size_bytes, present.entry.author.run()),
            None => (true, 0, None),
        };
        let is_first_of_run = run.is_some() && replaced_run != run;
        for (what, limit, actual) in [
            (
                "memory entries that an agent writes in a turn",
                memory::ENTRIES_PER_TURN,
                self.of_run + i64::from(is_first_of_run),
            ),
            (
                "memory entries of an automation or a session",
                memory::ENTRIES_PER_OWNER,
                self.entries + i64::from(is_new),
            ),
            (
                "bytes in the memory of an automation or a session",
                memory::BYTES_PER_OWNER,
                self.total_bytes.saturating_add(size) - replaced_bytes,
            ),
        ] {
            if actual > i64::from(limit) {
                return Err(Error::LimitReached { what, limit });
            }
        }
        Ok(())
    }
}

/// Deletes an entry of an owner. Returns `false` if there is none, or only an expired one.
pub(crate) async fn delete(
    tx: &mut Tx,
    owner: MemoryOwner,
    key: &str,
    now: Timestamp,
) -> Result<bool, Error> {
    let deleted = tx
        .execute(
            sql!("memory/delete"),
            params![owner.automation(), owner.session(), key, now],
        )
        .await?;
    Ok(deleted > 0)
}
