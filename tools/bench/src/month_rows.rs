//! The rows of the inputs of a [month](super::month).

use std::{collections::BTreeMap, ops::Range, sync::Arc, time::Duration};

use anyhow::Result;
use model::{
    AgentId, ApprovalId, AutomationId, Entropy, InstanceId, MessageId, RunId, SeatId, SessionId,
    TenantId, Timestamp, TriggerId,
    run::{Origin, RunStatus},
};
use serde_json::{Value, json};
use sqlx::types::Uuid;

use super::{
    fixture::Fixture,
    month_inputs::{Input, Turn},
    set_insert::{Row, RowWriter, row},
};

/// One running turn in so many waits for no approval.
const RUNNING_PER_UNASKED: usize = 3;
/// One ended turn in so many has asked for an approval.
const TURNS_PER_APPROVAL: usize = 40;
/// The time from the end of the month to each deadline that must not pass during the measurement.
const FAR: Duration = Duration::from_hours(24);
/// The time from a failed attempt to the next one.
const BACKOFF: Duration = Duration::from_mins(1);

pub(crate) const PROMPT: &str = "Read the issues and the failed builds of the last day. Write a summary of at most ten lines: what \
     changed, what is blocked and who should look at it. Compare it with your last summary.";

const ANSWER: &str = "Eleven issues changed since yesterday. Two of them are blocked: the migration waits for a review of \
     its lock order, and the upload of large files fails behind the proxy with status 413. Three builds failed, all in \
     the same test of the clock, which passed when it was repeated. Nothing in the dependencies needs a change. Compared \
     with my last summary, the crash of the importer is gone, and the memory of the worker grows more slowly. I would \
     look at the review first, because two other changes wait for it, and then at the proxy.";

const QUESTION: &str =
    "Which of these changes should go into the release, and what would you leave for the next one?";

/// An automation or a conversation.
pub(crate) struct Source {
    pub(crate) title: String,
    pub(crate) agent: AgentId,
    /// `None` for a conversation of a person.
    pub(crate) automation: Option<(AutomationId, TriggerId)>,
    /// `true` if each input gets a session of its own.
    pub(crate) fresh: bool,
    /// The session that continues. `None` before the first input.
    pub(crate) location: Option<Location>,
}

/// The location of a turn: a session and its seat.
#[derive(Clone, Copy)]
pub(crate) struct Location {
    session: SessionId,
    seat: SeatId,
    last_seq: i64,
}

/// What a spender used on a day.
#[derive(Default)]
struct Usage {
    tokens: i64,
    cost_micros: i64,
    turns: i64,
    turn_ms: i64,
}

/// The rows of some inputs, by table.
#[derive(Default)]
struct Chunk {
    sessions: Vec<Row>,
    seats: Vec<Row>,
    runs: Vec<Row>,
    heartbeats: Vec<Row>,
    messages: Vec<Row>,
    events: Vec<Row>,
    approvals: Vec<Row>,
}

/// Makes the rows of inputs.
pub(crate) struct RowMaker {
    tenant: TenantId,
    instance: InstanceId,
    worker: String,
    entropy: Arc<dyn Entropy>,
    end: Timestamp,
    sources: Vec<Source>,
    chunk: Chunk,
    /// By automation, which is `None` for people, and by day.
    usage: BTreeMap<(Option<Uuid>, Timestamp), Usage>,
    runs: usize,
}

impl RowMaker {
    /// Makes rows of a tenant whose turns run on the instance of `world`.
    pub(crate) fn new(world: &Fixture, end: Timestamp, sources: Vec<Source>) -> Self {
        Self {
            tenant: world.tenant,
            instance: world.instance,
            worker: world.worker.to_string(),
            entropy: Arc::clone(&world.entropy),
            end,
            sources,
            chunk: Chunk::default(),
            usage: BTreeMap::new(),
            runs: 0,
        }
    }

    /// Returns the number of runs so far.
    pub(crate) fn runs(&self) -> usize {
        self.runs
    }

    /// Returns the sessions of sources that continue.
    pub(crate) fn sessions_of(&self, sources: Range<usize>) -> Vec<SessionId> {
        let sources = self.sources[sources].iter();
        sources
            .filter_map(|source| Some(source.location?.session))
            .collect()
    }

    /// Adds the rows of an input.
    pub(crate) fn add(&mut self, input: &Input) {
        let outcome = input.outcome(self.sources[input.source].automation.is_some());
        let has_turn = !matches!(outcome, RunStatus::Skipped | RunStatus::Missed);
        let mut location = has_turn.then(|| self.location(input));
        let first = RunId::generate(input.at, &*self.entropy);
        let mut at = input.at;
        for attempt in 1..=input.attempts {
            let (run, status) = if attempt < input.attempts {
                (first, RunStatus::Failed)
            } else if attempt == 1 {
                (first, outcome)
            } else {
                (RunId::generate(at, &*self.entropy), outcome)
            };
            let turn = Turn::of(input, status, at, self.end);
            self.add_run(input, (first, run), attempt, &turn, location);
            if let Some(location) = &mut location {
                self.add_transcript(input, run, attempt, &turn, location);
            }
            at = turn.ended_at.unwrap_or(at) + BACKOFF;
        }
        let source = &mut self.sources[input.source];
        if !source.fresh && location.is_some() {
            source.location = location;
        }
    }

    /// Returns the session of an input, which is new if its source has none or needs another one.
    fn location(&mut self, input: &Input) -> Location {
        let source = &self.sources[input.source];
        if let Some(location) = source.location {
            return location;
        }
        let at = input.at;
        let location = Location {
            session: SessionId::generate(at, &*self.entropy),
            seat: SeatId::generate(at, &*self.entropy),
            last_seq: 0,
        };
        let automation = source.automation.map(|(automation, _)| automation.uuid());
        let (kind, session_type) = match automation {
            Some(_) => ("automation", "schedule_cron"),
            None => ("interactive", "regular"),
        };
        let tenant = self.tenant.uuid();
        // Sessions that continue get their last number at the end.
        let events = match input.status {
            RunStatus::Queued | RunStatus::Deferred => 0,
            RunStatus::Running => 2,
            _ => 4 * input.attempts,
        };
        self.chunk.sessions.push(row! {
            id: location.session.uuid(),
            tenant_id: tenant,
            kind: kind,
            type: session_type,
            state: "active",
            title: source.title.as_str(),
            cwd: "/srv/project",
            schedule_id: automation,
            last_seq: events,
            created_at: at,
            updated_at: at,
        });
        self.chunk.seats.push(row! {
            id: location.seat.uuid(),
            tenant_id: tenant,
            session_id: location.session.uuid(),
            role: "agent",
            name: "agent",
            harness_id: source.agent.uuid(),
            is_entry: true,
            instance_id: self.instance.uuid(),
            acp_session_id: location.seat.to_string(),
            turns: 1,
            settings: json!({}),
            created_at: at,
            updated_at: at,
        });
        location
    }

    /// Adds the row of a run, whose IDs are those of the input and of the attempt.
    fn add_run(
        &mut self,
        input: &Input,
        (first, run): (RunId, RunId),
        attempt: i64,
        turn: &Turn,
        location: Option<Location>,
    ) {
        self.runs += 1;
        let source = &self.sources[input.source];
        let automation = source.automation;
        let of_person = automation.is_none();
        let is_running = turn.status == RunStatus::Running;
        let taken_at = turn.started_at;
        let worker = taken_at.map(|_| self.worker.clone());
        let usage = turn.usage(input);
        let content = if of_person { QUESTION } else { PROMPT };
        self.chunk.runs.push(row! {
            id: run.uuid(),
            tenant_id: self.tenant.uuid(),
            input_id: first.uuid(),
            attempt: attempt,
            failures: attempt - 1,
            status: turn.status.as_str(),
            origin: if of_person { Origin::Person } else { Origin::Occurrence }.as_str(),
            priority: i64::from(!of_person),
            session_id: location.map(|location| location.session.uuid()),
            seat_id: location.map(|location| location.seat.uuid()),
            automation_id: automation.map(|(automation, _)| automation.uuid()),
            trigger_id: automation.map(|(_, trigger)| trigger.uuid()),
            scheduled_for: automation.map(|_| input.at),
            occurrences: 1,
            exclusive: false,
            content: content,
            not_before: (turn.status == RunStatus::Deferred).then(|| self.end + FAR),
            instance_id: location.map(|_| self.instance.uuid()),
            worker_id: worker.clone(),
            claimed_at: taken_at,
            started_at: taken_at,
            ended_at: turn.ended_at,
            reason: turn.reason(input).map(str::to_owned),
            message: turn.reason(input).map(|reason| format!("The turn ended early: {reason}.")),
            stop_reason: (turn.status == RunStatus::Succeeded).then(|| "end_turn".to_owned()),
            flags: json!({}),
            usage: usage.clone(),
            input_at: input.at,
            created_at: turn.created_at,
        });
        if is_running {
            self.chunk.heartbeats.push(row! {
                run_id: run.uuid(),
                tenant_id: self.tenant.uuid(),
                worker_id: worker,
                // Later than every instant of the measurement, so that no watchdog gives the run up.
                beat_at: self.end + FAR,
            });
        }
        self.count_usage(
            automation.map(|(automation, _)| automation.uuid()),
            turn,
            &usage,
        );
    }

    fn count_usage(&mut self, spender: Option<Uuid>, turn: &Turn, usage: &Value) {
        let (Some(started), Some(ended)) = (turn.started_at, turn.ended_at) else {
            return;
        };
        let into_day = started.as_microsecond().rem_euclid(86_400_000_000);
        let day = started.saturating_sub(Duration::from_micros(into_day.unsigned_abs()));
        let used = self.usage.entry((spender, day)).or_default();
        used.tokens += usage["spent"]["tokens"].as_i64().unwrap_or(0);
        used.cost_micros += usage["spent"]["cost"]["USD"].as_i64().unwrap_or(0);
        used.turns += 1;
        used.turn_ms += i64::try_from(ended.since(started).as_millis()).unwrap_or(0);
    }

    /// Adds the transcript and the log of a turn, and its approval.
    fn add_transcript(
        &mut self,
        input: &Input,
        run: RunId,
        attempt: i64,
        turn: &Turn,
        location: &mut Location,
    ) {
        let Some(started) = turn.started_at else {
            return;
        };
        let of_person = self.sources[input.source].automation.is_none();
        let question = if of_person {
            QUESTION
        } else {
            "Summarise the day."
        };
        self.add_message(location, run, ("user", question), started);
        let running = json!({ "status": "running", "attempt": attempt, "worker_id": self.worker });
        self.add_event(location, ("run", run.uuid()), running, started);
        if let Some(ended) = turn.ended_at {
            // Two in three answers are cut in lists.
            let length = ANSWER.len() / (1 + input.random % 3);
            self.add_message(location, run, ("assistant", &ANSWER[..length]), ended);
            let mut change = json!({ "status": turn.status.as_str(), "attempt": attempt });
            if let Some(reason) = turn.reason(input) {
                change["reason"] = json!(reason);
            }
            self.add_event(location, ("run", run.uuid()), change, ended);
        }
        let asks = match turn.status {
            RunStatus::Running => !input.random.is_multiple_of(RUNNING_PER_UNASKED),
            _ => input.random.is_multiple_of(TURNS_PER_APPROVAL),
        };
        if asks {
            self.add_approval(input, run, started, turn.ended_at, location);
        }
    }

    fn add_message(
        &mut self,
        location: &mut Location,
        run: RunId,
        (role, content): (&str, &str),
        at: Timestamp,
    ) {
        let message = MessageId::generate(at, &*self.entropy);
        let from = (role == "assistant").then(|| location.seat.uuid());
        self.chunk.messages.push(row! {
            id: message.uuid(),
            tenant_id: self.tenant.uuid(),
            session_id: location.session.uuid(),
            seq: location.last_seq + 1,
            run_id: run.uuid(),
            from_seat_id: from,
            role: role,
            kind: "message",
            content: content,
            metadata: json!({}),
            created_at: at,
        });
        let body = json!({ "role": role, "kind": "message" });
        self.add_event(location, ("message", message.uuid()), body, at);
    }

    fn add_event(
        &mut self,
        location: &mut Location,
        (kind, about): (&str, Uuid),
        body: Value,
        at: Timestamp,
    ) {
        location.last_seq += 1;
        self.chunk.events.push(row! {
            session_id: location.session.uuid(),
            seq: location.last_seq,
            tenant_id: self.tenant.uuid(),
            kind: kind,
            ref_id: about,
            body: body,
            created_at: at,
        });
    }

    fn add_approval(
        &mut self,
        input: &Input,
        run: RunId,
        at: Timestamp,
        ended: Option<Timestamp>,
        location: &Location,
    ) {
        let automation = self.sources[input.source].automation;
        let state = match (ended, input.random % 4) {
            (None, _) => "pending",
            (Some(_), 0) => "denied",
            (Some(_), 1) => "expired",
            (Some(_), _) => "allowed",
        };
        let by_person = matches!(state, "allowed" | "denied");
        let command = format!("git push origin fix-{}", input.random % 1000);
        self.chunk.approvals.push(row! {
            id: ApprovalId::generate(at, &*self.entropy).uuid(),
            tenant_id: self.tenant.uuid(),
            session_id: location.session.uuid(),
            run_id: run.uuid(),
            automation_id: automation.map(|(automation, _)| automation.uuid()),
            tool_kind: "execute",
            title: command.as_str(),
            tool_call: "call_1",
            input: json!({ "command": command, "cwd": "/srv/project" }),
            input_cut: false,
            state: state,
            deadline_at: ended.unwrap_or(self.end + FAR),
            decided_at: ended,
            decided_by: by_person.then(|| "someone".to_owned()),
            created_at: at,
        });
    }

    /// Inserts the rows that were added since the last call.
    pub(crate) async fn insert_chunk(&mut self, writer: &mut RowWriter) -> Result<()> {
        let chunk = &mut self.chunk;
        for (table, rows) in [
            ("agent_sessions", &mut chunk.sessions),
            ("agent_definitions", &mut chunk.seats),
            ("agent_runs", &mut chunk.runs),
            ("run_heartbeats", &mut chunk.heartbeats),
            ("agent_messages", &mut chunk.messages),
            ("session_events", &mut chunk.events),
            ("approvals", &mut chunk.approvals),
        ] {
            writer.insert(table, rows).await?;
        }
        Ok(())
    }

    /// Inserts the usage of all days.
    pub(crate) async fn insert_usage(&self, writer: &mut RowWriter) -> Result<()> {
        let tenant = self.tenant.uuid();
        let rows = self.usage.iter().map(|((automation, day), used)| {
            row! {
                tenant_id: tenant,
                spender_id: automation.unwrap_or(tenant),
                automation_id: *automation,
                day: *day,
                currency: "USD",
                tokens: used.tokens,
                cost: used.cost_micros,
                turns: used.turns,
                turn_ms: used.turn_ms,
            }
        });
        writer.insert("spending", &mut rows.collect()).await
    }
}
