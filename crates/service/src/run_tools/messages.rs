//! Messages between the agents of a session.

use api_types::SeatMessage;
use model::{
    MessageId, goal::TaskRole, question::DEFAULT_HOURS, seat_message::CARRIED_PER_TURN,
    tools::ToolAccess,
};
use store::Recipients;

use super::RunTools;
use crate::{
    Error, boxed,
    seat_messages::{find_recipients, to_view, validate_text},
};

/// The receiver by which an agent means a person.
const PERSON: &str = "person";
/// The problem with a message to a person.
const PERSON_PROBLEM: &str = "messages go to seats alone: ask a person with `ask_person`, and tell a person in your answer; \
                              accepted are the other seats and `all`";

/// The tools that an agent gets in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolOffer {
    /// The access of the agent.
    pub access: ToolAccess,
    /// The number of messages that wait for the agent, beside those that its turn carries. `None` if the session has no other
    /// seat.
    pub unread: Option<i64>,
    /// `true` if the session has a goal.
    pub is_of_goal: bool,
    /// The part of the agent in the goal's task whose turn it is. `None` for a turn of another input.
    pub task: Option<TaskRole>,
    /// The time for the answer to a question that names none, in hours.
    pub question_hours: u32,
}

impl ToolOffer {
    /// The offer of a turn that has no tools.
    pub const NONE: Self = Self {
        access: ToolAccess::None,
        unread: None,
        is_of_goal: false,
        task: None,
        question_hours: DEFAULT_HOURS,
    };
}

/// Messages to the seat of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadMessages {
    /// The messages, in order.
    pub messages: Vec<SeatMessage>,
    /// The message after which further ones begin. `None` if there are no more.
    pub next: Option<MessageId>,
}

impl RunTools {
    /// Returns the tools that the agent gets in its turn.
    ///
    /// # Errors
    ///
    /// As [`crate::Service::run_tools`].
    #[boxed]
    pub async fn offer(&self) -> Result<ToolOffer, Error> {
        let (store, now) = (&self.service.store, self.service.now());
        let offer = store.turn_offer(&self.caller, now).await?;
        Ok(ToolOffer {
            access: offer.access,
            unread: (offer.seats > 1).then_some(offer.unread),
            is_of_goal: offer.is_of_goal,
            task: offer.task.map(|task| task.role),
            question_hours: offer.question_hours.unwrap_or(DEFAULT_HOURS),
        })
    }

    /// Sends a message to one seat of the session, or to all others. A repetition in the same turn returns the first message.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the automation of the turn has rules or a budget, which would not hold for the
    /// turns that the message starts, if the session takes no more messages, or if a limit is reached.
    #[boxed]
    pub async fn send_message(&self, to: &str, text: &str) -> Result<Vec<SeatMessage>, Error> {
        let now = self.service.now();
        let turn = self.turn(now).await?;
        let text = validate_text(text)?;
        let owner = turn.owner();
        let has_budget = owner.budget().is_some_and(|(.., budget)| !budget.is_none());
        if has_budget || !owner.permissions().is_empty() {
            let reason = "the automation of this turn has permission rules or a budget, which would not hold for the turns \
                          that a message starts";
            return Err(Error::NotAllowed {
                reason: reason.into(),
            });
        }
        let store = &self.service.store;
        let seats = store.seat_names(turn.tenant, turn.session.id).await?;
        let recipients = match find_recipients(&seats, to) {
            Err(_) if to == PERSON => return Err(Error::invalid("to", to, PERSON_PROBLEM)),
            found => found?,
        };
        if recipients == Recipients::Seat(turn.seat.id) {
            let problem = "it is your own seat; accepted are the other seats and `all`";
            return Err(Error::invalid("to", to, problem));
        }
        let sent = store
            .send_seat_message(&self.caller, recipients, text, now)
            .await?;
        Ok(sent.into_iter().map(to_view).collect())
    }

    /// Acknowledges messages to the agent's seat, and then returns others: those after `since`, or the undelivered ones that
    /// the turn does not carry.
    ///
    /// # Errors
    ///
    /// Returns an error if a message is not one to the agent's seat. Then none is acknowledged.
    #[boxed]
    pub async fn read_messages(
        &self,
        since: Option<&str>,
        acknowledged: &[String],
    ) -> Result<ReadMessages, Error> {
        let now = self.service.now();
        let turn = self.turn(now).await?;
        let store = &self.service.store;
        // 1. Check the IDs.
        let since = match since {
            Some(given) => {
                let id = parse_id("since", given)?;
                let found = store.seat_message(turn.tenant, turn.session.id, id);
                Some(found.await?.seq)
            }
            None => None,
        };
        if acknowledged.len() > CARRIED_PER_TURN {
            let given = acknowledged.len().to_string();
            let problem = format!("accepted are up to {CARRIED_PER_TURN} messages");
            return Err(Error::invalid("ack", &given, problem));
        }
        let ids = acknowledged.iter().map(|given| parse_id("ack", given));
        let ids: Vec<MessageId> = ids.collect::<Result<_, Error>>()?;
        // 2. Acknowledge, and read.
        if !ids.is_empty() {
            store
                .acknowledge_messages_of_turn(&self.caller, &ids, now)
                .await?;
        }
        let limit = u32::try_from(CARRIED_PER_TURN).unwrap_or(u32::MAX) + 1;
        let mut found = match since {
            Some(seq) => {
                let (session, seat) = (turn.session.id, turn.seat.id);
                let found = store.seat_messages(turn.tenant, session, Some(seat), seq, limit);
                found.await?
            }
            None => store.unread_messages_of_turn(&turn, limit).await?,
        };
        let has_more = found.len() > CARRIED_PER_TURN;
        found.truncate(CARRIED_PER_TURN);
        Ok(ReadMessages {
            next: found.last().filter(|_| has_more).map(|last| last.id),
            messages: found.into_iter().map(to_view).collect(),
        })
    }
}

fn parse_id(field: &'static str, given: &str) -> Result<MessageId, Error> {
    let problem = "accepted is the ID of a message, such as `id` in the answer of this tool";
    let parsed = given.parse();
    parsed.map_err(|_| Error::invalid(field, given, problem))
}
