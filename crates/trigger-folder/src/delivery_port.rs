//! The port through which a server writes trigger files.

use delivery::TriggerName;
use futures::future::BoxFuture;

use crate::error::FolderError;

/// A way to write files into one trigger folder.
pub trait Delivery: Send + Sync {
    /// Writes a file so that it is there completely or not at all, also after a crash. Returns after the file is
    /// durable. If the file exists with the same content, writes nothing.
    fn deliver(
        &self,
        name: &TriggerName,
        content: &[u8],
    ) -> BoxFuture<'_, Result<Delivered, DeliveryError>>;
}

/// The result of a delivery. In both cases the file is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// The file has been written.
    Written,
    /// The file existed with the same content.
    AlreadyThere,
}

/// The error of a delivery. The file is not there, or the same delivery may be repeated without harm.
#[derive(Debug, thiserror::Error)]
#[error("cannot deliver the trigger file")]
pub struct DeliveryError {
    /// The cause.
    pub source: Box<dyn std::error::Error + Send + Sync>,
    /// `true` if the same delivery may succeed later without a change by a person.
    pub is_transient: bool,
}

impl DeliveryError {
    /// Returns the error with its causes, as text for people.
    pub fn message(&self) -> String {
        let first: &(dyn std::error::Error + 'static) = &*self.source;
        let causes = std::iter::successors(Some(first), |error| error.source());
        causes.fold(self.to_string(), |text, cause| format!("{text}: {cause}"))
    }
}

impl From<FolderError> for DeliveryError {
    fn from(error: FolderError) -> Self {
        Self {
            is_transient: error.is_transient(),
            source: Box::new(error),
        }
    }
}
