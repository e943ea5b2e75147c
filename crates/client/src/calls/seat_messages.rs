//! Operations on the messages to the seats of a session.

use api_types::{Page, SeatMessage, SeatMessageRequest};

use crate::{Client, Error, boxed};

/// The filter of a list of messages to seats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatMessageFilter {
    /// The name or the ID of the receiving seat. `None` means any.
    pub to: Option<String>,
    /// The ID of the message after which the page begins.
    pub since: Option<String>,
    /// The highest number of messages.
    pub limit: Option<u32>,
}

impl Client {
    /// Lists the messages to the seats of a session, in order.
    #[boxed]
    pub async fn seat_messages(
        &self,
        session: &str,
        filter: &SeatMessageFilter,
    ) -> Result<Page<SeatMessage>, Error> {
        self.get(&["sessions", session, "seat-messages"])
            .query_param("to", filter.to.as_ref())
            .query_param("since", filter.since.as_ref())
            .query_param("limit", filter.limit)
            .fetch()
            .await
    }

    /// Sends a message to a seat of a session, or to all, and returns one message for each receiving seat.
    #[boxed]
    pub async fn send_seat_message(
        &self,
        session: &str,
        request: &SeatMessageRequest,
    ) -> Result<Page<SeatMessage>, Error> {
        self.post(&["sessions", session, "seat-messages"])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }

    /// Acknowledges a message to a seat.
    #[boxed]
    pub async fn acknowledge_seat_message(
        &self,
        session: &str,
        message: &str,
    ) -> Result<SeatMessage, Error> {
        self.post(&["sessions", session, "seat-messages", message, "ack"])
            .fetch()
            .await
    }
}
