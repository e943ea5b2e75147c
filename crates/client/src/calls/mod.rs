//! The operations of the API, those of one kind of thing a file.

mod access;
mod approvals;
mod automations;
mod harnesses;
mod notifications;
mod runs;
mod server;
mod sessions;

use serde::de::DeserializeOwned;

use crate::{Error, request::Call};

pub use approvals::{ApprovalFilter, ApprovalStates};
pub use automations::AutomationFilter;
pub use runs::RunFilter;
pub use sessions::{MessagePart, SessionFilter, SessionMove};

/// Which part of a list is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// What `next` of the page before said.
    pub after: Option<String>,
    /// How many at the most; absent: as many as the server gives.
    pub limit: Option<u32>,
}

impl Part {
    /// The first so many.
    pub fn first(limit: u32) -> Self {
        Self {
            after: None,
            limit: Some(limit),
        }
    }
}

/// What can be edited, with what an edit says that it has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged<T> {
    /// What can be edited.
    pub value: T,
    /// Its entity tag.
    pub tag: Option<String>,
}

impl Call<'_> {
    fn part(self, part: &Part) -> Self {
        self.ask("after", part.after.as_ref())
            .ask("limit", part.limit)
    }

    /// Sends it and understands the answer, with its entity tag.
    async fn fetch_tagged<T: DeserializeOwned>(self) -> Result<Tagged<T>, Error> {
        let client = self.client();
        let answer = self.answer().await?;
        Ok(Tagged {
            value: client.understand(&answer)?,
            tag: answer.tag,
        })
    }
}
