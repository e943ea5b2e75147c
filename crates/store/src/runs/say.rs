//! People's words for seats.

use std::collections::HashMap;

use model::{InputId, SeatId, SessionId, TenantId, Timestamp, run::Origin, turn::Submitted};

use crate::{
    Error, Scope,
    journal::Journal,
    runs::place::{Attempt, Known, insert_all},
    store::{Store, transact},
};

/// Words for a session's entry seat.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    tenant: TenantId,
    session: SessionId,
    content: String,
    now: Timestamp,
}

impl Words {
    /// Whether both may be written in one transaction.
    pub(crate) fn alike(&self, other: &Self) -> bool {
        self.tenant == other.tenant
    }
}

impl Store {
    /// Gives a session's entry seat a person's words. They wait while the seat is busy or the session
    /// is held; a closed session refuses them.
    pub async fn say(
        &self,
        tenant: TenantId,
        session: SessionId,
        words: &str,
        now: Timestamp,
    ) -> Result<Submitted, Error> {
        let words = Words {
            tenant,
            session,
            content: words.to_owned(),
            now,
        };
        self.together.say.submit(self, words).await?
    }

    /// Takes up what people of one tenant say at one time, in one transaction.
    pub(crate) async fn say_all(
        &self,
        said: &[Words],
    ) -> Result<Vec<Result<Submitted, Error>>, Error> {
        let (Some(first), Some(now)) = (said.first(), said.iter().map(|words| words.now).max())
        else {
            return Ok(Vec::new());
        };
        transact!(self, Scope::Tenant(first.tenant), |tx| {
            let rows = said.iter().map(|words| params![words.session]).collect();
            let entries = tx.fetch_rows(sql!("seats/entry"), rows, params![]).await?;
            let mut seats: HashMap<SessionId, SeatId> = HashMap::new();
            for row in &entries {
                if row.get::<TenantId>("tenant_id")? == first.tenant {
                    seats.insert(row.get("session_id")?, row.get("id")?);
                }
            }
            let mut attempts = Vec::with_capacity(said.len());
            for words in said {
                if let Some(seat) = seats.get(&words.session) {
                    attempts.push(self.attempt(words, *seat));
                }
            }
            let mut journal = Journal::default();
            let known = Known::default();
            let made = insert_all(self, tx, &mut journal, &attempts, known, now).await?;
            journal.write(tx, now).await?;
            let mut made = made.into_iter();
            let answers = said.iter().map(|words| {
                let no_session = || Error::not_found("session", words.session);
                let seat = *seats.get(&words.session).ok_or_else(no_session)?;
                let (run_id, status) = made.next().ok_or_else(no_session)??;
                Ok(Submitted {
                    run_id,
                    seat_id: Some(seat),
                    status,
                })
            });
            Ok(answers.collect())
        })
    }

    fn attempt<'a>(&self, words: &'a Words, seat: SeatId) -> Attempt<'a> {
        Attempt {
            tenant: words.tenant,
            input: InputId::generate(words.now, self.ids()),
            number: 1,
            failures: 0,
            origin: Origin::Person,
            session: words.session,
            seat,
            automation: None,
            trigger: None,
            scheduled_for: None,
            exclusive: false,
            content: &words.content,
            not_before: None,
            interrupted: None,
            input_at: words.now,
        }
    }
}
