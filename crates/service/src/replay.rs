//! Replays a session: its transcript, with each run before its first row.

use std::collections::BTreeSet;

use api_types::{Replay, ReplayItem};

use crate::{Error, Service, boxed};

impl Service {
    /// Returns up to `limit` rows of a transcript after the number `after`, and each run before the first of its
    /// rows.
    #[boxed]
    pub async fn replay(&self, given: &str, after: i64, limit: u32) -> Result<Replay, Error> {
        let session = self.find_session(given).await?.id;
        let page = self.messages(&session.to_string(), after, limit).await?;
        let runs_on_page: BTreeSet<_> = page.items.iter().filter_map(|row| row.run_id).collect();
        // Leave out a run whose first row is on an earlier page, because that page has returned the run.
        let mut first_on_page = BTreeSet::new();
        for run in runs_on_page {
            if self.store.seq_before_run(self.scope(), run).await? >= after {
                first_on_page.insert(run);
            }
        }
        let mut items = Vec::with_capacity(page.items.len() + first_on_page.len());
        for message in page.items {
            if let Some(run) = message.run_id.filter(|run| first_on_page.remove(run)) {
                items.push(ReplayItem::Run(Box::new(self.run_by_id(run).await?.into())));
            }
            items.push(ReplayItem::Message(message));
        }
        Ok(Replay {
            items,
            next: page.next,
        })
    }
}
