//! Lists, a page at a time.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most that one page of a list holds.
pub const MAX_PAGE: u32 = 500;
/// What a page holds where nobody says how much.
pub const DEFAULT_PAGE: u32 = 50;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The value of `after` for the next page. Null: this is the last one.
    #[serde(default)]
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Makes a page of what was found when one more than `limit` was looked for. `cursor` gives what
    /// stands for an item in `after`.
    pub fn of(mut found: Vec<T>, limit: u32, cursor: impl Fn(&T) -> String) -> Self {
        let limit = limit as usize;
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(cursor);
        Self { items: found, next }
    }

    /// Makes the only page of a list.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }

    /// The same page of something else.
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
    fn a_page_names_the_next_one_only_if_there_is_one() {
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
