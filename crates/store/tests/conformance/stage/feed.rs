//! The feed of the stage's tenant.

use model::{AutomationId, feed::FeedCursor};
use store::FeedEvent;

use super::Stage;
use crate::{feed::wait_for_feed, fixtures::TestStore};

impl Stage {
    /// Reads a feed to its end, `limit` events per page.
    pub(crate) async fn feed(
        &self,
        automation: Option<AutomationId>,
        mut after: FeedCursor,
        limit: u32,
    ) -> Vec<FeedEvent> {
        let mut read = Vec::new();
        loop {
            let page = match automation {
                None => self.store.feed(self.tenant, after, limit).await,
                Some(id) => {
                    let page = self.store.automation_feed(self.tenant, id, after, limit);
                    page.await
                }
            };
            let page = page.unwrap();
            assert_eq!(page.unusable_cursor, None);
            assert!(page.events.len() <= limit as usize);
            assert!(page.next_cursor >= after);
            read.extend(page.events);
            after = page.next_cursor;
            if !page.has_more {
                return read;
            }
        }
    }

    pub(crate) async fn whole_feed(&self, db: &TestStore) -> Vec<FeedEvent> {
        wait_for_feed(db, self.tenant).await;
        self.feed(None, FeedCursor::START, 100).await
    }
}
