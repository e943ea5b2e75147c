//! The rows on which the start of a turn depends: seats, agents, triggers and payloads.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
};

use model::{
    AgentId, InputId, MessageId, RunId, SeatId, SessionId, TriggerId,
    agent::Agent,
    entity::{Run, Seat, Session, Trigger},
    owner::RunOwner,
    prompt::{self, RenderedPrompt},
    schedule::Spec,
    team::SeatPolicies,
};

use crate::{
    Error,
    database::{FromColumn, Param, Row, Statement, Tx},
    locks::LockedRuns,
    rows,
    runs::interrupted::read_interrupted_states,
    runs::seat_policies::read_seat_policies,
    seat_message_rows::{SeatMessage, read_carried},
    stored,
};

/// A seat, with the lowest format whose servers support its settings.
#[derive(Clone)]
pub(super) struct SeatWithFormat {
    pub(super) seat: Seat,
    needs_format: i64,
    /// `true` if the session of the seat has a goal.
    pub(super) is_of_goal: bool,
    /// `true` if the seat shares a directory that is not on all servers, so that its turns go where its files are.
    pub(super) files_on_one_server: bool,
    /// `true` if a person has paused the goal.
    pub(super) goal_is_paused: bool,
}

/// The rows from which prompts and assignments are built.
pub(super) struct TurnContext {
    agents: HashMap<AgentId, Agent>,
    /// The seats whose sessions have a goal.
    of_goals: HashSet<SeatId>,
    /// The policies of these seats.
    seat_policies: HashMap<SeatId, SeatPolicies>,
    /// The triggers that this server supports.
    triggers: HashMap<TriggerId, Trigger>,
    /// The inputs that the transcript shows already, because an earlier attempt has begun its turn.
    pub(super) inputs_in_transcript: HashSet<InputId>,
    /// The payloads of the inputs that are webhooks or trigger files.
    pub(super) payloads: HashMap<InputId, String>,
    /// The messages that the runs of inputs for messages carry.
    messages: HashMap<RunId, Vec<SeatMessage>>,
    /// The states that interrupted attempts before the runs have left, as prompts have them.
    interrupted_states: HashMap<RunId, String>,
}

impl TurnContext {
    /// Reads the rows for the runs that a transition has locked.
    pub(super) async fn read(
        tx: &mut Tx,
        locked: &LockedRuns,
        seats: &HashMap<SeatId, SeatWithFormat>,
    ) -> Result<Self, Error> {
        let runs = locked.runs.values();
        let agents = seats.values().map(|one| one.seat.agent_id).collect();
        let agents = read_by_id(tx, sql!("harnesses/by_ids"), agents, |row| {
            none_if_newer_format(rows::agent(row))
        });
        let agents = agents.await?;
        let triggers = runs.clone().filter_map(|run| run.trigger_id).collect();
        let triggers = read_by_id(tx, sql!("triggers/by_ids"), triggers, |row| {
            none_if_newer_format(rows::trigger(row))
        });
        let triggers = only_supported(triggers.await?);
        let retried = runs.clone().filter(|run| run.attempt > 1);
        let retried = retried.map(|run| run.input_id).collect();
        let of_goals = seats.iter().filter(|(_, seat)| seat.is_of_goal);
        let of_goals: HashSet<SeatId> = of_goals.map(|(id, _)| *id).collect();
        Ok(Self {
            agents: only_supported(agents),
            seat_policies: read_seat_policies(tx, of_goals.iter().copied().collect()).await?,
            of_goals,
            payloads: read_payloads(tx, runs, &triggers).await?,
            triggers,
            inputs_in_transcript: inputs_in_transcript(tx, retried).await?,
            messages: read_carried(tx, locked.runs.values()).await?,
            interrupted_states: read_interrupted_states(tx, locked.runs.values()).await?,
        })
    }

    /// Returns `true` if this server supports every document on which a turn depends. The statements that claim runs
    /// must test the same condition. Otherwise a worker would claim and requeue a run without end.
    pub(super) fn supports_run(
        &self,
        run: &Run,
        seat: &SeatWithFormat,
        owner: RunOwner<'_>,
    ) -> bool {
        let trigger = run.trigger_id;
        let automation = owner.automation();
        let agent = self.agents.get(&seat.seat.agent_id);
        stored::supports_format(seat.needs_format)
            && automation.is_none_or(|automation| stored::supports_format(automation.needs_format))
            && agent.is_some_and(|agent| stored::supports_format(agent.needs_format))
            && trigger.is_none_or(|trigger| self.triggers.contains_key(&trigger))
    }

    /// Returns the configured agent of a seat.
    pub(super) fn agent(&self, seat: &Seat) -> Result<Agent, Error> {
        let found = self.agents.get(&seat.agent_id).cloned();
        found.ok_or_else(|| Error::not_found("agent", seat.agent_id))
    }

    /// Returns `true` if the session of a seat has a goal.
    pub(super) fn is_of_goal(&self, seat: SeatId) -> bool {
        self.of_goals.contains(&seat)
    }

    /// Returns the policies of a seat whose session has a goal.
    pub(super) fn seat_policies(&self, seat: SeatId) -> Option<&SeatPolicies> {
        self.seat_policies.get(&seat)
    }

    /// Returns the schedule of the trigger that fired the automation of a run.
    pub(super) fn trigger_spec(&self, run: &Run) -> Option<&Spec> {
        let trigger = run.trigger_id.and_then(|id| self.triggers.get(&id));
        trigger.map(|trigger| &trigger.spec)
    }

    /// Returns the messages that a run carries to its seat.
    pub(super) fn messages(&self, run: RunId) -> &[SeatMessage] {
        self.messages.get(&run).map_or(&[], Vec::as_slice)
    }

    /// Returns the messages that a run carries to its seat, each with the input of the run.
    pub(super) fn carried_by(&self, run: &Run) -> impl Iterator<Item = (MessageId, InputId)> {
        let messages = self.messages(run.id).iter();
        messages.map(|message| (message.id, run.input_id))
    }

    /// Returns `false` if a run would carry messages, and none is left.
    pub(super) fn has_message(&self, run: RunId) -> bool {
        let messages = self.messages.get(&run);
        messages.is_none_or(|messages| !messages.is_empty())
    }

    /// Renders the prompt of a run from the template of its owner.
    pub(super) fn render_prompt(
        &self,
        run: &Run,
        owner: RunOwner<'_>,
    ) -> Result<RenderedPrompt, Error> {
        if matches!(owner, RunOwner::SeatMessages) {
            return self.render_messages(run);
        }
        let context = prompt::PromptContext {
            template: owner.template(run.task),
            content: &run.content,
            trigger: self.trigger_spec(run),
            scheduled_for: run.scheduled_for,
            payload: self.payloads.get(&run.input_id).map(String::as_str),
            interrupted: run.interrupted_run_id,
            earlier_state: self.interrupted_states.get(&run.id).map(String::as_str),
        };
        prompt::render_turn_prompt(&context).map_err(|source| Error::Prompt {
            run: run.id,
            source,
        })
    }

    fn render_messages(&self, run: &Run) -> Result<RenderedPrompt, Error> {
        let messages = self.messages(run.id).iter();
        let messages = messages.map(|message| prompt::CarriedMessage {
            id: message.id,
            sender: &message.from,
            is_own: message.is_own(),
            text: &message.content,
            again: message.input.is_some_and(|input| input != run.input_id),
        });
        let messages: Vec<_> = messages.collect();
        let rendered = prompt::render_seat_messages(&messages, run.interrupted_run_id);
        rendered.map_err(|source| Error::Prompt {
            run: run.id,
            source,
        })
    }
}

/// Reads the payloads of those inputs that may be webhooks or trigger files. Runs no query if there are none.
async fn read_payloads(
    tx: &mut Tx,
    runs: impl Iterator<Item = &Run>,
    triggers: &HashMap<TriggerId, Trigger>,
) -> Result<HashMap<InputId, String>, Error> {
    let may_have_payload = |run: &&Run| {
        let trigger = run.trigger_id.and_then(|id| triggers.get(&id));
        // A trigger file fires the manual trigger, as a person does.
        trigger.is_some_and(|trigger| matches!(trigger.spec, Spec::Webhook {} | Spec::Manual {}))
    };
    let rows = runs
        .filter(may_have_payload)
        .map(|run| params![run.input_id]);
    let rows = rows.collect();
    let found = tx
        .fetch_rows(sql!("webhooks/payloads"), rows, params![])
        .await?;
    let read = |row: &Row| Ok((row.get("input_id")?, row.get("payload")?));
    found.iter().map(read).collect()
}

/// Reads the sessions and the seats of runs.
pub(super) async fn read_sessions_and_seats(
    tx: &mut Tx,
    locked: &LockedRuns,
) -> Result<(HashMap<SessionId, Session>, HashMap<SeatId, SeatWithFormat>), Error> {
    let runs = locked.runs.values();
    let sessions = runs.clone().filter_map(|run| run.session_id).collect();
    let seats = runs.filter_map(|run| run.seat_id).collect();
    let sessions = read_by_id(tx, sql!("sessions/by_ids"), sessions, rows::session).await?;
    let seats = read_by_id(tx, sql!("seats/by_ids"), seats, |row| {
        Ok(SeatWithFormat {
            seat: rows::seat(row)?,
            needs_format: stored::needs_format(row)?,
            is_of_goal: row.get("is_of_goal")?,
            files_on_one_server: row.get("files_on_one_server")?,
            goal_is_paused: row.get("goal_is_paused")?,
        })
    });
    let seats = seats.await?;
    Ok((sessions, seats))
}

/// Returns `None` for a row that a later version has written and this server does not support.
fn none_if_newer_format<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Err(error) if error.is_newer_format() => Ok(None),
        read => read.map(Some),
    }
}

/// Drops the rows that this server does not support.
fn only_supported<I: Eq + Hash, T>(read: HashMap<I, Option<T>>) -> HashMap<I, T> {
    read.into_iter()
        .filter_map(|(id, read)| Some((id, read?)))
        .collect()
}

/// Reads the rows of `ids`, and returns them by ID.
async fn read_by_id<I, T>(
    tx: &mut Tx,
    statement: &'static Statement,
    ids: BTreeSet<I>,
    read: fn(&Row) -> Result<T, Error>,
) -> Result<HashMap<I, T>, Error>
where
    I: Copy + Ord + Hash + FromColumn,
    Param: From<I>,
{
    let rows = ids.iter().map(|id| params![*id]).collect();
    let found = tx.fetch_rows(statement, rows, params![]).await?;
    found
        .iter()
        .map(|row| Ok((row.get("id")?, read(row)?)))
        .collect()
}

/// Returns those of `inputs` that the transcript shows already, because an earlier attempt has begun its turn.
pub(super) async fn inputs_in_transcript(
    tx: &mut Tx,
    inputs: BTreeSet<InputId>,
) -> Result<HashSet<InputId>, Error> {
    let rows = inputs.iter().map(|id| params![*id]).collect();
    let shown = tx
        .fetch_rows(sql!("runs/inputs_in_transcript"), rows, params![])
        .await?;
    shown
        .iter()
        .map(|row| Ok(InputId::from_uuid(row.get("id")?)))
        .collect()
}
