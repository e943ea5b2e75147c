//! The beginning of a list, which the API returns page by page.

use api_types::{MAX_PAGE_ITEMS, Page};
use client::PageParams;

/// Returns the first items of a list, at most `limit`. `read` requests one page.
///
/// # Errors
///
/// Returns the first error of `read`.
pub(crate) async fn first_items<T>(
    limit: u32,
    mut read: impl AsyncFnMut(PageParams) -> Result<Page<T>, client::Error>,
) -> Result<Vec<T>, client::Error> {
    let mut items = Vec::new();
    let mut missing = limit;
    let mut after = None;
    while missing > 0 {
        let params = PageParams {
            after,
            limit: Some(missing.min(MAX_PAGE_ITEMS)),
        };
        let page = read(params).await?;
        let came = u32::try_from(page.items.len()).unwrap_or(u32::MAX);
        missing = missing.saturating_sub(came);
        items.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(items)
}
