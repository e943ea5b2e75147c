//! One page of a list that goes from the newest to the oldest.

use uuid::Uuid;

/// One page of a list that goes from the newest to the oldest, by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<I> {
    /// The last one of the page before; none for the first page.
    pub after: Option<I>,
    /// How many it holds at the most.
    pub limit: u32,
}

impl<I> Page<I> {
    /// The first page.
    pub const fn first(limit: u32) -> Self {
        Self { after: None, limit }
    }
}

impl<I: Into<Uuid>> Page<I> {
    /// The id below which the page begins. No id is the highest that there could be, so that the first
    /// page begins below that one, and a statement needs no case of its own for it.
    pub(crate) fn before(self) -> Uuid {
        self.after.map_or_else(Uuid::max, Into::into)
    }
}
