//! The overview of a tenant.

use api_types::{Overview, Timeline};
use model::Timestamp;

use crate::{Client, Error, boxed};

/// The period and the extent of a timeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimelineFilter {
    /// The beginning. `None`: 24 hours ago.
    pub from: Option<Timestamp>,
    /// The end. `None`: in 24 hours.
    pub to: Option<Timestamp>,
    /// The automation, by its name, its ID or a prefix of its ID. `None`: all.
    pub automation: Option<String>,
    /// The maximum number of lanes. `None` means the default of the server.
    pub lanes: Option<u32>,
}

impl Client {
    /// Returns what ran since an instant, what failed, what waits, what comes next and what it cost. `None`: of the last
    /// 24 hours.
    #[boxed]
    pub async fn overview(&self, since: Option<Timestamp>) -> Result<Overview, Error> {
        let call = self.get(&["overview"]);
        call.query_param("since", since).fetch().await
    }

    /// Returns the runs of a period and the next ones, by automation.
    #[boxed]
    pub async fn timeline(&self, filter: &TimelineFilter) -> Result<Timeline, Error> {
        self.get(&["timeline"])
            .query_param("from", filter.from)
            .query_param("to", filter.to)
            .query_param("automation", filter.automation.as_ref())
            .query_param("lanes", filter.lanes)
            .fetch()
            .await
    }
}
