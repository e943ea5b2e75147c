//! Messages to the seats of a session: of people, and of its agents.

use api_types::{Page, SeatMessage, SeatMessageRequest};
use model::{
    MessageId, SeatId,
    nearest::nearest,
    seat_message::{NamedSeat, Sender, TEXT_BYTES},
};
use serde_json::json;
use store::{NewSeatMessage, Recipients};

use crate::{Error, Service, boxed, naming};

/// The word that names all seats of a session but the sender's.
const ALL_SEATS: &str = "all";

/// The order of a list of messages between seats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SeatMessageOrder {
    /// The oldest message first.
    #[default]
    Oldest,
    /// The newest message first.
    Newest,
}

/// The filters and the page of a list of messages between seats.
#[derive(Debug, Clone, Default)]
pub struct SeatMessageQuery {
    /// The name or the ID of the receiving seat. `None` and `all` mean any.
    pub to: Option<String>,
    /// The order of the list.
    pub order: SeatMessageOrder,
    /// The message after which the page begins, in that order.
    pub since: Option<MessageId>,
    /// The highest number of messages on the page.
    pub limit: u32,
}

impl Service {
    /// Lists the messages between the seats of a session, in the order of the query.
    ///
    /// # Errors
    ///
    /// Returns an error if the session has no such seat, or no message `since`.
    #[boxed]
    pub async fn seat_messages(
        &self,
        given: &str,
        query: &SeatMessageQuery,
    ) -> Result<Page<SeatMessage>, Error> {
        let session = self.session_id(given).await?;
        let seats = self.store.seat_names(self.tenant, session).await?;
        let to = match &query.to {
            Some(to) if to != ALL_SEATS => Some(find_seat(&seats, to)?),
            _ => None,
        };
        let since = match query.since {
            Some(since) => {
                let since = self.store.seat_message(self.tenant, session, since);
                Some(since.await?.seq)
            }
            None => None,
        };
        let (store, tenant, limit) = (&self.store, self.tenant, query.limit + 1);
        let found = match query.order {
            SeatMessageOrder::Oldest => {
                let after = since.unwrap_or(0);
                store
                    .seat_messages(tenant, session, to, after, limit)
                    .await?
            }
            SeatMessageOrder::Newest => {
                let before = since.unwrap_or(i64::MAX);
                store
                    .seat_messages_before(tenant, session, to, before, limit)
                    .await?
            }
        };
        let found = found.into_iter().map(to_view).collect();
        Ok(Page::of(found, query.limit, |message: &SeatMessage| {
            message.id.to_string()
        }))
    }

    /// Sends a message of a person to one seat of a session, or to all. With a reserved ID, a repeated request does not send
    /// the message again.
    ///
    /// # Errors
    ///
    /// Returns an error if the message is empty or too long, if the session has no such seat or takes no more messages, or if
    /// a receiving seat has too many undelivered ones.
    #[boxed]
    pub async fn send_seat_message(
        &self,
        given: &str,
        request: &SeatMessageRequest,
        by: &str,
        reserved: Option<MessageId>,
    ) -> Result<Vec<SeatMessage>, Error> {
        let text = validate_text(&request.text)?;
        let session = self.session_id(given).await?;
        let seats = self.store.seat_names(self.tenant, session).await?;
        let new = NewSeatMessage {
            from: Sender::Person(by.to_owned()),
            to: find_recipients(&seats, &request.to)?,
            content: text.to_owned(),
            metadata: json!({}),
        };
        let sent =
            self.store
                .publish_seat_message(self.tenant, session, reserved, &new, self.now());
        let sent = match (sent.await, reserved) {
            // The same request has sent the message before the server stopped.
            (Err(store::Error::AlreadyCreated { .. }), Some(first)) => {
                let first = self.store.seat_message(self.tenant, session, first).await?;
                let count = u32::try_from(seats.len()).unwrap_or(u32::MAX);
                let found =
                    self.store
                        .seat_messages(self.tenant, session, None, first.seq - 1, count);
                let mut found = found.await?;
                found.retain(|message| {
                    message.from == first.from
                        && message.content == first.content
                        && message.created_at == first.created_at
                });
                found
            }
            (sent, _) => sent?,
        };
        Ok(sent.into_iter().map(to_view).collect())
    }

    /// Acknowledges a message to a seat, so that no turn carries it any more.
    ///
    /// # Errors
    ///
    /// Returns an error if the session has no such message.
    #[boxed]
    pub async fn acknowledge_seat_message(
        &self,
        given: &str,
        message: MessageId,
    ) -> Result<SeatMessage, Error> {
        let session = self.session_id(given).await?;
        let found = self
            .store
            .seat_message(self.tenant, session, message)
            .await?;
        self.store
            .acknowledge_seat_message(self.tenant, message, found.to, self.now())
            .await?;
        let found = self
            .store
            .seat_message(self.tenant, session, message)
            .await?;
        Ok(to_view(found))
    }
}

/// Returns a message as the API shows it.
pub(crate) fn to_view(message: store::SeatMessage) -> SeatMessage {
    let state = message.status();
    let (from_seat_id, from) = match message.from {
        Sender::Seat(seat) => (Some(seat.id), seat.name),
        Sender::Person(name) => (None, name),
    };
    SeatMessage {
        id: message.id,
        seq: message.seq,
        from_seat_id,
        from,
        to_seat_id: message.to,
        to: message.to_name,
        text: message.content,
        state,
        created_at: message.created_at,
        delivered_at: message.delivered_at,
    }
}

/// Returns the recipients that a sender names.
pub(crate) fn find_recipients(seats: &[NamedSeat], given: &str) -> Result<Recipients, Error> {
    if given == ALL_SEATS {
        return Ok(Recipients::Others);
    }
    Ok(Recipients::Seat(find_seat(seats, given)?))
}

/// Returns the seat with a name or an ID.
fn find_seat(seats: &[NamedSeat], given: &str) -> Result<SeatId, Error> {
    let by_id = given.parse::<SeatId>().ok();
    if let Some(seat) = seats.iter().find(|seat| Some(seat.id) == by_id) {
        return Ok(seat.id);
    }
    let mut named = seats.iter().filter(|seat| seat.name == given);
    match (named.next(), named.next()) {
        (Some(seat), None) => Ok(seat.id),
        (Some(_), Some(_)) => {
            let problem = "several seats of the session have this name: give the ID of one of them";
            Err(Error::invalid("to", given, problem))
        }
        (None, _) => {
            let names = || seats.iter().map(|seat| seat.name.as_str());
            let nearest = nearest(given, names());
            let nearest =
                nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            let names: Vec<String> = names().map(|name| format!("`{name}`")).collect();
            let problem = format!(
                "the session has no such seat, accepted are {} and `{ALL_SEATS}`{nearest}",
                names.join(", ")
            );
            Err(Error::invalid("to", given, problem))
        }
    }
}

/// Returns the text of a message.
pub(crate) fn validate_text(given: &str) -> Result<&str, Error> {
    naming::validate_content("text", given)?;
    if given.len() > TEXT_BYTES {
        let problem = format!(
            "it has {} bytes, accepted are up to {TEXT_BYTES}",
            given.len()
        );
        return Err(Error::invalid("text", given, problem));
    }
    Ok(given)
}
