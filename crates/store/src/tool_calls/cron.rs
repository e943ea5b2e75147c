//! The automations that agents make, bound to the session in which they make them.
//!
//! **Invariant:** the numbers of such automations are counted under the locks of the tenant and the seat, so that two
//! turns cannot both make the last one.

use model::{
    AutomationId, Timestamp,
    entity::{Automation, Trigger},
    event::AutomationChange,
    schedule::Spec,
    tools::{self, MadeBy, PROPOSED},
};

use super::{CallingTurn, Quota, ToolCaller, check_not_cancelled, check_session, lock_turn};
use crate::{
    Error, NewAutomation, Scope,
    agents::keep_agent,
    automations::{self, live_triggers, lock_of_any_format},
    boxed,
    database::Tx,
    locks,
    runs::cancel::cancel_waiting_of_automation,
    session_log::SessionLogWriter,
    store::Store,
};

/// An automation that an agent makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgentAutomation {
    /// The name for the agents of the session, unique among the automations that they have made there.
    pub name: String,
    /// The automation. Its session key is ignored: the store binds it to the session of the turn.
    pub new: NewAutomation,
    /// The end of its lifetime.
    pub expires_at: Timestamp,
    /// `true` to leave it paused until a person accepts it.
    pub is_proposal: bool,
}

impl Store {
    /// Creates an automation that an agent makes in its turn, and returns its ID. A repetition returns the automation
    /// that the first call has created.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`] or if the turn was asked to stop, [`Error::Refused`] if the session
    /// is closed, [`Error::LimitReached`] if the turn, the session or the tenant has too many such automations,
    /// [`Error::OtherContent`] if the session has another one of that name, and [`Error::NameTaken`] if another automation of
    /// the tenant has the name of `new.new`.
    #[boxed]
    pub async fn create_agent_automation(
        &self,
        caller: &ToolCaller,
        new: &NewAgentAutomation,
        now: Timestamp,
    ) -> Result<AutomationId, Error> {
        let id = AutomationId::generate(now, self.ids());
        let created = self
            .transact(Scope::System, |tx, _| {
                Box::pin(async move {
                    // 1. Lock: the agent and the tenant, whose automations are counted, then the automation and the
                    // seat of the turn, and its session, whose state and key are read.
                    let before = super::read_turn(tx, caller, now).await?;
                    keep_agent(tx, before.tenant, new.new.agent).await?;
                    locks::lock_tenant(tx, before.tenant).await?;
                    lock_turn(tx, caller, now).await?;
                    locks::lock_session(tx, before.session.id).await?;
                    let turn = super::read_turn(tx, caller, now).await?;
                    check_session(&turn.session, "take an automation")?;
                    check_not_cancelled(turn.run, turn.is_cancelled)?;
                    // 2. Find the automation of an earlier call.
                    if let Some(existing) = find(tx, &turn, &new.name).await? {
                        let scope = Scope::Tenant(turn.tenant);
                        return if is_same(tx, scope, existing, &new.new).await? {
                            Ok(existing)
                        } else {
                            Err(Error::OtherContent {
                                what: "automation",
                                name: new.name.clone(),
                            })
                        };
                    }
                    // 3. Count.
                    check_quotas(tx, &turn).await?;
                    // 4. Bind the automation to the session, which may have no key yet.
                    let key = match &turn.session.session_key {
                        Some(key) => key.clone(),
                        None => format!("session:{}", turn.session.id.uuid().simple()),
                    };
                    let bound = NewAutomation {
                        bound_session_key: Some(key.clone()),
                        ..new.new.clone()
                    };
                    // 5. Write.
                    let is_enabled = !new.is_proposal;
                    self.insert_automation(tx, (turn.tenant, id), &bound, is_enabled, now)
                        .await?;
                    let made_by = MadeBy {
                        session: turn.session.id,
                        run: turn.run,
                        turn: turn.seat.turns + 1,
                        name: new.name.clone(),
                    };
                    set_made_by(tx, id, &made_by, new.expires_at).await?;
                    if new.is_proposal {
                        propose(tx, id, now).await?;
                    }
                    tx.execute(sql!("sessions/set_key"), params![turn.session.id, key])
                        .await?;
                    Ok(id)
                })
            })
            .await;
        created.map_err(|error| automations::map_name_conflict(error, &new.new.name))
    }

    /// Deletes an automation that an agent of the same session has made, by its name there. Returns `false` if there is
    /// none.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`] or if the turn was asked to stop, and [`Error::Refused`] if the
    /// session is closed.
    #[boxed]
    pub async fn delete_agent_automation(
        &self,
        caller: &ToolCaller,
        name: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let turn = super::read_turn(tx, caller, now).await?;
                let Some(id) = find(tx, &turn, name).await? else {
                    return Ok(false);
                };
                // The triggers and the automation come before the locks of the turn, by the order of `locks`.
                let scope = Scope::Tenant(turn.tenant);
                let automation = match lock_of_any_format(tx, scope, id).await {
                    // Another turn has deleted it since.
                    Err(Error::NotFound { .. }) => return Ok(false),
                    locked => locked?,
                };
                let turn = lock_turn(tx, caller, now).await?;
                check_session(&turn.session, "delete its automations")?;
                check_not_cancelled(turn.run, turn.is_cancelled)?;
                let reason = "an agent deleted the automation";
                delete_with_waiting_runs(self, tx, &automation, reason, now).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Deletes automations of agents whose lifetime has ended and that wait for nobody. Returns their number.
    ///
    /// # Errors
    ///
    /// An automation that cannot be deleted does not block the others. The first such error is returned after all
    /// others are deleted.
    #[boxed]
    pub async fn delete_expired_automations(&self, now: Timestamp) -> Result<u64, Error> {
        let expired = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            fetch_expired(&mut tx, None, now).await?
        };
        let mut deleted = 0;
        let mut first_error = None;
        for id in expired {
            let deletion = self
                .transact(Scope::System, |tx, _| {
                    Box::pin(delete_if_expired(self, tx, id, now))
                })
                .await;
            match deletion {
                Ok(was_deleted) => deleted += u64::from(was_deleted),
                // A database that cannot be reached fails for all the others too.
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(deleted), Err)
    }
}

/// Returns automations of agents whose lifetime has ended and that wait for nobody, or `id` alone if it is one.
async fn fetch_expired(
    tx: &mut Tx,
    id: Option<AutomationId>,
    now: Timestamp,
) -> Result<Vec<AutomationId>, Error> {
    const LIMIT: u32 = 100;
    let expired = tx
        .fetch_all(
            sql!("automations/expired_of_agents"),
            params![now, PROPOSED, LIMIT, id],
        )
        .await?;
    Ok(expired
        .iter()
        .map(|row| row.get("id"))
        .collect::<Result<_, _>>()?)
}

/// Deletes an automation of an agent, unless a person has kept or deleted it since it was found.
async fn delete_if_expired(
    store: &Store,
    tx: &mut Tx,
    id: AutomationId,
    now: Timestamp,
) -> Result<bool, Error> {
    let locked = match lock_of_any_format(tx, Scope::System, id).await {
        Err(Error::NotFound { .. }) => return Ok(false),
        locked => locked,
    };
    if fetch_expired(tx, Some(id), now).await?.is_empty() {
        return Ok(false);
    }
    match locked {
        Ok(automation) => {
            let reason = "the automation has expired";
            delete_with_waiting_runs(store, tx, &automation, reason, now).await?;
        }
        Err(error) if error.is_corrupt() => automations::delete_corrupt(tx, id, now).await?,
        Err(error) => return Err(error),
    }
    Ok(true)
}

/// Deletes an automation, and cancels its runs that wait.
async fn delete_with_waiting_runs(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    automations::delete(store, tx, automation, now).await?;
    let mut log = SessionLogWriter::default();
    cancel_waiting_of_automation(store, tx, &mut log, automation.id, reason, now).await?;
    log.write(tx, now).await
}

async fn find(tx: &mut Tx, turn: &CallingTurn, name: &str) -> Result<Option<AutomationId>, Error> {
    let found = tx
        .fetch_optional(
            sql!("automations/of_agents_by_name"),
            params![turn.session.id, name],
        )
        .await?;
    Ok(found.map(|row| row.get("id")).transpose()?)
}

/// Returns `true` if an automation has the prompt and the schedule of a new one.
async fn is_same(
    tx: &mut Tx,
    scope: Scope,
    id: AutomationId,
    new: &NewAutomation,
) -> Result<bool, Error> {
    let row = tx
        .fetch_one(sql!("automations/by_id"), params![scope.tenant(), id])
        .await?;
    let automation = crate::rows::automation(&row)?;
    let triggers = live_triggers(tx, id).await?;
    Ok(automation.prompt == new.prompt && has_schedules(&triggers, &new.triggers))
}

/// Returns `true` if triggers have these schedules, in the same order. The manual trigger does not count, nor does the
/// anchor of an interval, because each call begins it anew.
fn has_schedules(triggers: &[Trigger], specs: &[Spec]) -> bool {
    let mut timed = triggers
        .iter()
        .map(|trigger| &trigger.spec)
        .filter(|spec| **spec != Spec::Manual {});
    let same = specs.iter().all(|spec| {
        timed
            .next()
            .is_some_and(|present| is_same_schedule(present, spec))
    });
    same && timed.next().is_none()
}

fn is_same_schedule(one: &Spec, other: &Spec) -> bool {
    match (one, other) {
        (
            Spec::Every { period, zone, .. },
            Spec::Every {
                period: other,
                zone: its,
                ..
            },
        ) => period == other && zone == its,
        _ => one == other,
    }
}

async fn check_quotas(tx: &mut Tx, turn: &CallingTurn) -> Result<(), Error> {
    let made = tx
        .fetch_one(
            sql!("automations/count_of_turn"),
            params![turn.session.id, turn.input],
        )
        .await?;
    let live = tx
        .fetch_one(
            sql!("automations/count_of_agents"),
            params![turn.tenant, turn.session.id],
        )
        .await?;
    for (what, limit, actual) in [
        (
            "automations that an agent makes in a turn",
            tools::AUTOMATIONS_PER_TURN,
            made.get("made")?,
        ),
        (
            "automations made by agents in a session",
            tools::AUTOMATIONS_PER_SESSION,
            live.get("of_session")?,
        ),
        (
            "automations made by agents",
            tools::AUTOMATIONS_PER_TENANT,
            live.get("of_tenant")?,
        ),
    ] {
        Quota {
            what,
            limit,
            actual,
        }
        .check()?;
    }
    Ok(())
}

async fn set_made_by(
    tx: &mut Tx,
    id: AutomationId,
    made_by: &MadeBy,
    expires_at: Timestamp,
) -> Result<(), Error> {
    let MadeBy {
        session,
        run,
        turn,
        name,
    } = made_by;
    tx.execute(
        sql!("automations/set_made_by"),
        params![id, *session, *run, *turn, name.as_str(), expires_at],
    )
    .await?;
    Ok(())
}

/// Pauses a new automation until a person accepts it.
async fn propose(tx: &mut Tx, id: AutomationId, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        sql!("automations/set_paused"),
        params![id, now, PROPOSED, now],
    )
    .await?;
    let change = AutomationChange::Paused {
        reason: PROPOSED.to_owned(),
    };
    automations::log::write_change(tx, id, change, now).await?;
    let text = "an agent proposes this automation: resume it to accept it, or delete it";
    automations::request_attention(tx, id, text, now).await
}
