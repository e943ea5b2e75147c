//! Pages of lists, with a cursor to the next page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The maximum number of items in a page of a list.
pub const MAX_PAGE_ITEMS: u32 = 500;
/// The number of items in a page if the request names no limit.
pub const DEFAULT_PAGE_ITEMS: u32 = 50;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The value of `after` that returns the next page. Null if this page is the last one.
    #[serde(default)]
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Makes a page from the result of a query for `limit + 1` items. An item beyond `limit` proves that another page
    /// follows. `cursor` returns the value of `after` for an item.
    pub fn of(mut found: Vec<T>, limit: u32, cursor: impl Fn(&T) -> String) -> Self {
        let limit = limit as usize;
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(cursor);
        Self { items: found, next }
    }

    /// Makes a page that is the whole list.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }

    /// Converts each item and keeps the cursor.
    pub fn map<U>(self, make: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(make).collect(),
            next: self.next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_cursor_only_if_more_items_follow() {
        let page = Page::of(vec![1, 2, 3], 2, ToString::to_string);
        assert_eq!(page.items, [1, 2]);
        assert_eq!(page.next.as_deref(), Some("2"));
        assert_eq!(Page::of(vec![1, 2], 2, ToString::to_string).next, None);
        assert_eq!(
            Page::of(Vec::<u32>::new(), 2, ToString::to_string).next,
            None
        );
    }
}
