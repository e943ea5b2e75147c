//! Operations on memory entries.

use api_types::{MemoryEntry, MemoryEntryRequest, Page};
use http::Method;

use super::PageParams;
use crate::{Client, Error, boxed};

/// The owner of memory entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryOf {
    /// An automation, by its name, its ID or a prefix of its ID.
    Automation(String),
    /// A session, by its key, its ID or a prefix of its ID.
    Session(String),
}

impl MemoryOf {
    fn segments(&self) -> [&str; 3] {
        match self {
            Self::Automation(automation) => ["automations", automation, "memory"],
            Self::Session(session) => ["sessions", session, "memory"],
        }
    }

    fn segments_of_entry<'a>(&'a self, key: &'a str) -> [&'a str; 4] {
        let [kind, owner, memory] = self.segments();
        [kind, owner, memory, key]
    }
}

impl Client {
    /// Lists the memory entries of an owner by their keys. `text` selects those with a text in the key or in the value.
    #[boxed]
    pub async fn memory(
        &self,
        of: &MemoryOf,
        text: Option<&str>,
        page: &PageParams,
    ) -> Result<Page<MemoryEntry>, Error> {
        self.get(&of.segments())
            .query_param("text", text)
            .page(page)
            .fetch()
            .await
    }

    /// Writes a memory entry of an owner.
    #[boxed]
    pub async fn set_memory_entry(
        &self,
        of: &MemoryOf,
        key: &str,
        request: &MemoryEntryRequest,
    ) -> Result<MemoryEntry, Error> {
        self.call(Method::PUT, &of.segments_of_entry(key))
            .json(request)
            .fetch()
            .await
    }

    /// Deletes a memory entry of an owner, and returns it.
    #[boxed]
    pub async fn delete_memory_entry(
        &self,
        of: &MemoryOf,
        key: &str,
    ) -> Result<MemoryEntry, Error> {
        self.delete(&of.segments_of_entry(key)).fetch().await
    }
}
