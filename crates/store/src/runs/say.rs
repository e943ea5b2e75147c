//! A person's words for a seat.

use model::{InputId, SeatId, SessionId, TenantId, Timestamp, run::Origin, turn::Submitted};

use crate::{
    Error, Scope,
    runs::place::{Attempt, insert},
    store::{Store, transact},
};

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
        transact!(self, Scope::Tenant(tenant), |tx| {
            let row = tx
                .fetch_optional(sql!("sessions/by_id"), params![tenant, session])
                .await?;
            row.ok_or_else(|| Error::not_found("session", session))?;
            let seat = tx.fetch_one(sql!("seats/entry"), params![session]).await?;
            let seat: SeatId = seat.get("id")?;
            let attempt = Attempt {
                tenant,
                input: InputId::generate(now, self.ids()),
                number: 1,
                failures: 0,
                origin: Origin::Person,
                session,
                seat,
                automation: None,
                trigger: None,
                scheduled_for: None,
                exclusive: false,
                content: words,
                not_before: None,
                interrupted: None,
                input_at: now,
            };
            let (run_id, status) = insert(self, tx, &attempt, now).await?;
            Ok(Submitted {
                run_id,
                seat_id: Some(seat),
                status,
            })
        })
    }
}
