//! The memory of automations and sessions: entries that people read and edit, and that agents keep.

use api_types::{MemoryEntry, MemoryEntryRequest, Page};
use model::{
    Timestamp,
    memory::{self, MemoryOwner},
};
use store::{MemoryPage, MemorySearch, MemoryVersion, NewMemoryEntry, RecalledEntry};

use crate::{Error, RunTools, Service, boxed, naming};

/// The highest number of bytes of values in one answer to an agent. Models read the whole answer.
const MAX_RECALLED_BYTES: usize = 64 * 1024;
/// The number of entries in an answer to an agent that names no limit.
const DEFAULT_RECALLED: u32 = 20;

/// The owner of memory entries, as a request names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryOf {
    /// An automation: its name, its ID or an ID prefix.
    Automation(String),
    /// A session: its key, its ID or an ID prefix.
    Session(String),
}

/// The filters and the page of a list of memory entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryQuery {
    /// A text in the key or in the value.
    pub text: Option<String>,
    /// The last key of the previous page.
    pub after: Option<String>,
    /// The highest number of entries on the page.
    pub limit: u32,
}

/// An entry that an agent asks to keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Remember {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// The trust in the value, from 0 to 1. `None` means 1.
    pub confidence: Option<f64>,
    /// The lifetime in hours. `None` keeps the entry until it is deleted.
    pub ttl_hours: Option<u32>,
}

/// The entries of an answer to an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// The entries, the last written first.
    pub entries: Vec<RecalledEntry>,
    /// `true` if more entries match.
    pub has_more: bool,
}

impl Service {
    /// Lists the memory entries of an owner by their keys.
    ///
    /// # Errors
    ///
    /// Returns an error if the owner does not exist.
    #[boxed]
    pub async fn memory(
        &self,
        of: &MemoryOf,
        query: &MemoryQuery,
    ) -> Result<Page<MemoryEntry>, Error> {
        validate_search_text("text", query.text.as_deref())?;
        let owner = self.memory_owner(of).await?;
        let page = MemoryPage {
            text: query.text.clone(),
            after: query.after.clone(),
            limit: query.limit + 1,
        };
        let found = self
            .store
            .memory_entries(self.scope(), owner, &page, self.now());
        let page = Page::of(found.await?, query.limit, |entry| entry.key.clone());
        Ok(page.map(Into::into))
    }

    /// Returns one memory entry of an owner.
    ///
    /// # Errors
    ///
    /// Returns an error if the owner or the entry does not exist.
    #[boxed]
    pub async fn memory_entry(
        &self,
        of: &MemoryOf,
        key: &str,
    ) -> Result<memory::MemoryEntry, Error> {
        let owner = self.memory_owner(of).await?;
        let found = self
            .store
            .memory_entry(self.scope(), owner, key, self.now());
        Ok(found.await?)
    }

    /// Writes a memory entry of an owner for a person. `author` is the name of the person's token.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the owner does not exist, if a limit is reached, or if the entry is no longer
    /// `seen`.
    #[boxed]
    pub async fn set_memory_entry(
        &self,
        of: &MemoryOf,
        key: &str,
        request: &MemoryEntryRequest,
        author: &str,
        seen: Option<&memory::MemoryEntry>,
    ) -> Result<memory::MemoryEntry, Error> {
        let now = self.now();
        let new = NewMemoryEntry {
            key: validate_key(key)?,
            value: validate_value(&request.value)?,
            confidence: validate_confidence("confidence", request.confidence)?.unwrap_or(1.0),
            expires_at: request.expires_at,
        };
        if let Some(end) = new.expires_at.filter(|end| *end <= now) {
            let problem = "it is past; accepted is a later instant";
            return Err(Error::invalid("expires_at", &end.to_string(), problem));
        }
        let owner = self.memory_owner(of).await?;
        let written = self.store.set_memory_entry(
            self.tenant,
            owner,
            &new,
            author,
            seen.map(version_of),
            now,
        );
        Ok(written.await?)
    }

    /// Deletes a memory entry of an owner, and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the owner or the entry does not exist, or if the entry is no longer `seen`.
    #[boxed]
    pub async fn delete_memory_entry(
        &self,
        of: &MemoryOf,
        key: &str,
        seen: Option<&memory::MemoryEntry>,
    ) -> Result<memory::MemoryEntry, Error> {
        let owner = self.memory_owner(of).await?;
        let deleted = self.store.delete_memory_entry(
            self.tenant,
            owner,
            key,
            seen.map(version_of),
            self.now(),
        );
        Ok(deleted.await?)
    }

    async fn memory_owner(&self, of: &MemoryOf) -> Result<MemoryOwner, Error> {
        Ok(match of {
            MemoryOf::Automation(given) => {
                MemoryOwner::Automation(self.automation_id(given).await?)
            }
            MemoryOf::Session(given) => MemoryOwner::Session(self.session_id(given).await?),
        })
    }
}

/// Returns the version of an entry that a person has read.
const fn version_of(entry: &memory::MemoryEntry) -> MemoryVersion {
    MemoryVersion {
        id: entry.id,
        version: entry.version,
        expires_at: entry.expires_at,
    }
}

impl RunTools {
    /// Keeps an entry for later turns, and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the turn is over, or if a limit is reached.
    #[boxed]
    pub async fn remember(&self, request: &Remember) -> Result<memory::MemoryEntry, Error> {
        let now = self.service.now();
        let new = NewMemoryEntry {
            key: validate_key(&request.key)?,
            value: validate_value(&request.value)?,
            confidence: validate_confidence("confidence", request.confidence)?.unwrap_or(1.0),
            expires_at: validate_ttl(request.ttl_hours, now)?,
        };
        Ok(self.service.store.remember(&self.caller, &new, now).await?)
    }

    /// Lists the entries that match a search: those of the automation of the turn, of its session, and of the automations
    /// that run in the session. `limit` is at most [`memory::MAX_RECALLED`]; `None` means 20.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid or if the turn is over.
    #[boxed]
    pub async fn recall(
        &self,
        mut search: MemorySearch,
        limit: Option<u32>,
    ) -> Result<Recalled, Error> {
        let limit = limit.unwrap_or(DEFAULT_RECALLED);
        if !(1..=memory::MAX_RECALLED).contains(&limit) {
            let problem = format!("accepted are 1 to {}", memory::MAX_RECALLED);
            return Err(Error::invalid("limit", &limit.to_string(), problem));
        }
        validate_confidence("min_confidence", search.min_confidence)?;
        for (field, text) in [
            ("key", &search.key),
            ("prefix", &search.prefix),
            ("text", &search.text),
        ] {
            validate_search_text(field, text.as_deref())?;
        }
        search.limit = limit + 1;
        let found = self
            .service
            .store
            .recall(&self.caller, &search, self.service.now());
        let found = found.await?;
        let count = found.len();
        let mut bytes = 0;
        let entries: Vec<_> = found
            .into_iter()
            .take(limit as usize)
            .take_while(|recalled| {
                let is_first = bytes == 0;
                bytes += recalled.entry.value.len();
                is_first || bytes <= MAX_RECALLED_BYTES
            })
            .collect();
        Ok(Recalled {
            has_more: entries.len() < count,
            entries,
        })
    }

    /// Deletes an entry that this turn could have written. Returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the turn is over, and if another owner has the entry.
    #[boxed]
    pub async fn forget(&self, key: &str) -> Result<bool, Error> {
        let now = self.service.now();
        if self.service.store.forget(&self.caller, key, now).await? {
            return Ok(true);
        }
        let search = MemorySearch {
            key: Some(key.to_owned()),
            limit: 1,
            ..MemorySearch::default()
        };
        let found = self
            .service
            .store
            .recall(&self.caller, &search, now)
            .await?;
        if let Some(other) = found.first() {
            let owner = match &other.automation {
                Some(name) => format!("the automation `{name}`"),
                None => "the session".into(),
            };
            let problem = format!(
                "it belongs to {owner}; a turn deletes only entries of its own automation, or of the session if a \
                 person has sent the message"
            );
            return Err(Error::invalid("key", key, problem));
        }
        Ok(false)
    }
}

fn validate_key(given: &str) -> Result<String, Error> {
    // A key is the last segment of an address, from which clients remove these two.
    if matches!(given, "." | "..") {
        let problem = "it has another meaning in addresses; accepted are other texts";
        return Err(Error::invalid("key", given, problem));
    }
    // A key is bounded like a name: `memory::KEY_BYTES` equals `limits::NAME_BYTES`.
    naming::validate_name("key", given)
}

fn validate_value(given: &str) -> Result<String, Error> {
    if given.len() > memory::VALUE_BYTES {
        let problem = format!(
            "it has {} bytes, accepted are up to {}",
            given.len(),
            memory::VALUE_BYTES
        );
        return Err(Error::invalid("value", given, problem));
    }
    Ok(given.to_owned())
}

/// Refuses a text that is longer than any key. The database limits the length of a pattern.
fn validate_search_text(field: &'static str, given: Option<&str>) -> Result<(), Error> {
    match given {
        Some(given) if given.len() > memory::KEY_BYTES => {
            let problem = format!(
                "it has {} bytes, accepted are up to {}",
                given.len(),
                memory::KEY_BYTES
            );
            Err(Error::invalid(field, given, problem))
        }
        _ => Ok(()),
    }
}

fn validate_confidence(field: &'static str, given: Option<f64>) -> Result<Option<f64>, Error> {
    match given {
        Some(confidence) if !(0.0..=1.0).contains(&confidence) => {
            let problem = "accepted are numbers from 0 to 1";
            Err(Error::invalid(field, &confidence.to_string(), problem))
        }
        given => Ok(given),
    }
}

fn validate_ttl(hours: Option<u32>, now: Timestamp) -> Result<Option<Timestamp>, Error> {
    let Some(hours) = hours else { return Ok(None) };
    if !(1..=memory::MAX_TTL_HOURS).contains(&hours) {
        let problem = format!("accepted are 1 to {} hours", memory::MAX_TTL_HOURS);
        return Err(Error::invalid("ttl_hours", &hours.to_string(), problem));
    }
    Ok(Some(now + std::time::Duration::from_hours(hours.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_with_meaning_in_addresses_is_refused() {
        for refused in [".", ".."] {
            let error = validate_key(refused).unwrap_err().to_string();
            assert!(error.contains(&format!("`{refused}`")), "{error}");
        }
        for accepted in ["...", ".a", "a/..", "%2e"] {
            assert_eq!(validate_key(accepted).unwrap(), accepted);
        }
    }
}
