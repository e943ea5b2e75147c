//! The position and length of one page of a list that is sorted from the newest to the oldest.

use uuid::Uuid;

/// One page of a list that is sorted by ID, from the newest to the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<I> {
    /// The last ID of the previous page. `None` for the first page.
    pub after: Option<I>,
    /// The maximum number of items on the page.
    pub limit: u32,
}

impl<I> Page<I> {
    /// Returns the first page.
    pub const fn first(limit: u32) -> Self {
        Self { after: None, limit }
    }
}

impl<I: Into<Uuid>> Page<I> {
    /// Returns the ID below which the page begins. For the first page, it is the highest possible ID, so that a
    /// statement needs no special case.
    pub(crate) fn before(self) -> Uuid {
        self.after.map_or_else(Uuid::max, Into::into)
    }
}
