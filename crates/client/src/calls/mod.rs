//! The operations of the API, one file for each kind of resource.

mod access;
mod agents;
mod approvals;
mod artifacts;
mod automations;
mod goals;
mod instances;
mod memory;
mod notifications;
mod overview;
mod questions;
mod runs;
mod runtime;
mod runtime_tools;
mod seat_messages;
mod server_info;
mod sessions;

use serde::de::DeserializeOwned;

use crate::{Error, request::Call};

pub use approvals::{ApprovalFilter, ApprovalStates};
pub use automations::AutomationFilter;
pub use goals::GoalFilter;
pub use memory::MemoryOf;
pub use overview::TimelineFilter;
pub use questions::{QuestionFilter, QuestionStates};
pub use runs::RunFilter;
pub use runtime::RuntimeClient;
pub use runtime_tools::ToolsAnswer;
pub use seat_messages::SeatMessageFilter;
pub use sessions::{MessageRange, SessionFilter, SessionMove};

/// The requested part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageParams {
    /// The value of `next` of the previous page. `None` requests the first page.
    pub after: Option<String>,
    /// The maximum number of items. `None` means the default of the server.
    pub limit: Option<u32>,
}

impl PageParams {
    /// Returns the first part with up to `limit` items.
    pub fn first(limit: u32) -> Self {
        Self {
            after: None,
            limit: Some(limit),
        }
    }
}

/// A resource, and its entity tag for a later edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged<T> {
    /// The resource.
    pub value: T,
    /// The entity tag. `None` if the server sent none.
    pub tag: Option<String>,
}

/// Returns a query parameter that lists values, or `None` if there is none.
fn comma_separated(values: &[impl ToString]) -> Option<String> {
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    (!values.is_empty()).then(|| values.join(","))
}

impl Call<'_> {
    fn page(self, part: &PageParams) -> Self {
        self.query_param("after", part.after.as_ref())
            .query_param("limit", part.limit)
    }

    /// Sends the request and parses the response and its entity tag.
    async fn fetch_tagged<T: DeserializeOwned>(self) -> Result<Tagged<T>, Error> {
        let client = self.client();
        let answer = self.send().await?;
        Ok(Tagged {
            value: client.parse_response(&answer)?,
            tag: answer.tag,
        })
    }
}
