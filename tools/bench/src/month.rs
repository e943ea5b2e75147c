//! Fills a database with a month of work: automations with schedules of several densities, conversations of people, and
//! the runs of both with retries, usage, approvals, missed and skipped instants.
//!
//! The store creates the automations. The rows of the runs are inserted in the order of their instants, like those of a
//! server, because their places in tables and indexes decide how much a request reads. Every number follows from a
//! counter, so that both databases get the same month.

use std::{collections::HashMap, ops::Range, time::Duration};

use anyhow::{Context as _, Result, ensure};
use jiff::tz::TimeZone;
use model::{
    AgentId, AutomationId, SessionId, Timestamp, TriggerId, policy::SessionMode, run::RunStatus,
    schedule::Spec,
};
use store::{AutomationFilter, Page};

use super::{
    due::{create_automations, new_automation},
    fixture::Fixture,
    month_inputs::Input,
    month_rows::{PROMPT, RowMaker, Source},
    set_insert::RowWriter,
};

pub(crate) const AUTOMATIONS: u32 = 1000;
pub(crate) const RUNS: usize = 100_000;
pub(crate) const DAYS: u32 = 30;
/// The number of turns that run at the end of the month, on another machine.
pub(crate) const RUNNING: usize = 40;
/// The number of runs that wait for a turn of that machine.
const QUEUED: usize = 40;
/// The number of messages of people that wait for the end of a backoff.
const DEFERRED: usize = 20;

/// One input in so many has two attempts.
const INPUTS_PER_RETRY: usize = 24;
/// The number of inputs, each of which has one run, or two if it is retried.
const INPUTS: usize = RUNS * INPUTS_PER_RETRY / (INPUTS_PER_RETRY + 1);
/// The number of conversations of people.
const CONVERSATIONS: usize = 300;
/// The number of inputs whose rows are collected before they are inserted.
const INPUTS_PER_CHUNK: usize = 2000;
/// One automation in so many keeps its session for all its runs.
const AUTOMATIONS_PER_CONTINUOUS: u32 = 3;
/// The zone of all schedules.
const ZONE: &str = "Europe/Prague";
/// The time from the end of the month until the first trigger is due, so that none fires during the measurement.
const QUIET_TIME: Duration = Duration::from_mins(32);

/// The parts of the month that requests name.
pub(crate) struct Month {
    /// The end of the month.
    pub(crate) end: Timestamp,
    /// The name of an automation that runs each hour.
    pub(crate) hourly: String,
    /// The conversations of people.
    pub(crate) conversations: Vec<SessionId>,
}

/// A group of automations with the same period.
struct Density {
    automations: u32,
    hours: u32,
    /// The time over which the automations of the group are spread.
    spread: Duration,
}

const DENSITIES: [Density; 3] = [
    Density {
        automations: 700,
        hours: 24,
        spread: Duration::from_hours(22),
    },
    Density {
        automations: 250,
        hours: 6,
        spread: Duration::from_hours(5),
    },
    Density {
        automations: 50,
        hours: 1,
        spread: Duration::from_mins(26),
    },
];

impl Density {
    fn period(&self) -> Duration {
        Duration::from_hours(self.hours.into())
    }

    /// Returns the schedule of the automations that are due at an instant.
    fn schedule(&self, due: Timestamp) -> Result<Spec> {
        let due = due.jiff().to_zoned(TimeZone::get(ZONE)?);
        let hours: Vec<String> = (0..24_u32)
            .filter(|hour| hour % self.hours == u32::from(due.hour().unsigned_abs()) % self.hours)
            .map(|hour| hour.to_string())
            .collect();
        Ok(Spec::Cron {
            expression: format!("{} {} * * *", due.minute(), hours.join(",")),
            zone: ZONE.into(),
        })
    }
}

/// An automation before it is created.
struct PlannedAutomation {
    name: String,
    agent: AgentId,
    schedule: Spec,
    session_mode: SessionMode,
    next_due: Timestamp,
    period: Duration,
}

/// A month that is planned: its automations exist, and its runs do not.
pub(crate) struct PlannedMonth {
    end: Timestamp,
    hourly: String,
    /// The range of the conversations among the sources.
    conversations: Range<usize>,
    inputs: Vec<Input>,
    maker: RowMaker,
}

/// Creates the automations of a month that ends at `end`, and plans its inputs. The runs that have not ended at its end
/// belong to the instance and the worker of `world`.
pub(crate) async fn plan(
    world: &Fixture,
    agents: &[AgentId],
    end: Timestamp,
) -> Result<PlannedMonth> {
    let planned = plan_automations(agents, end)?;
    let new = planned.iter().enumerate().map(|(number, planned)| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let mut new = new_automation(number, planned.agent, planned.schedule.clone());
        new.name.clone_from(&planned.name);
        new.session_mode = planned.session_mode;
        new.prompt = PROMPT.into();
        new
    });
    create_automations(world, world.tenant, new, end).await?;
    let (mut sources, inputs) = plan_inputs(world, &planned, end).await?;
    let first = sources.len();
    sources.extend((0..CONVERSATIONS).map(|number| Source {
        title: format!("Question {number} about the release"),
        agent: agents[number % agents.len()],
        automation: None,
        fresh: false,
        location: None,
    }));
    let mut inputs = add_messages(inputs, first, end)?;
    open_last(&mut inputs, &sources);
    let hourly = planned.last().context("there is no automation")?;
    Ok(PlannedMonth {
        end,
        hourly: hourly.name.clone(),
        conversations: first..first + CONVERSATIONS,
        inputs,
        maker: RowMaker::new(world, end, sources),
    })
}

impl PlannedMonth {
    /// Inserts the rows of all inputs.
    pub(crate) async fn insert(mut self, mut writer: RowWriter) -> Result<Month> {
        for part in self.inputs.chunks(INPUTS_PER_CHUNK) {
            for input in part {
                self.maker.add(input);
            }
            self.maker.insert_chunk(&mut writer).await?;
        }
        let runs = self.maker.runs();
        ensure!(runs == RUNS, "the month has {runs} runs instead of {RUNS}");
        self.maker.insert_usage(&mut writer).await?;
        for statement in COMPLETION {
            writer.execute(statement).await?;
        }
        writer.commit().await?;
        Ok(Month {
            end: self.end,
            hourly: self.hourly,
            conversations: self.maker.sessions_of(self.conversations),
        })
    }
}

const SUBJECTS: [&str; 8] = [
    "standup",
    "nightly review",
    "dependency check",
    "release notes",
    "inbox",
    "cost report",
    "flaky tests",
    "backup check",
];

fn plan_automations(agents: &[AgentId], end: Timestamp) -> Result<Vec<PlannedAutomation>> {
    let first_due = (end + QUIET_TIME).floor_second();
    let mut planned = Vec::new();
    for density in &DENSITIES {
        for number in 0..density.automations {
            let position = planned.len();
            let due = first_due + density.spread * number / density.automations;
            // Schedules have a precision of minutes.
            let seconds = due.as_microsecond().rem_euclid(60_000_000).unsigned_abs();
            let due = due + Duration::from_micros(60_000_000 - seconds);
            let subject = SUBJECTS[position % SUBJECTS.len()];
            planned.push(PlannedAutomation {
                name: format!("{subject} {position}"),
                agent: agents[position % agents.len()],
                schedule: density.schedule(due)?,
                session_mode: if number % AUTOMATIONS_PER_CONTINUOUS == 0 {
                    SessionMode::Continuous
                } else {
                    SessionMode::Fresh
                },
                next_due: due,
                period: density.period(),
            });
        }
    }
    ensure!(
        planned.len() == usize::try_from(AUTOMATIONS)?,
        "{} automations are planned instead of {AUTOMATIONS}",
        planned.len()
    );
    Ok(planned)
}

/// Returns the automations as sources of inputs, and their due instants of the month.
async fn plan_inputs(
    world: &Fixture,
    planned: &[PlannedAutomation],
    end: Timestamp,
) -> Result<(Vec<Source>, Vec<Input>)> {
    let all = AutomationFilter::default();
    let created = world
        .store
        .automation_items(world.tenant, &all, Page::first(AUTOMATIONS), 0);
    let created: HashMap<String, (AutomationId, TriggerId)> = created
        .await?
        .readable
        .into_iter()
        .filter_map(|item| {
            let cron = item
                .triggers
                .iter()
                .find(|trigger| matches!(trigger.spec, Spec::Cron { .. }))?;
            Some((item.automation.name, (item.automation.id, cron.id)))
        })
        .collect();
    let start = end.saturating_sub(Duration::from_hours(24) * DAYS);
    let mut sources = Vec::with_capacity(planned.len());
    let mut inputs = Vec::with_capacity(INPUTS);
    for planned in planned {
        let ids = created.get(&planned.name);
        let ids = *ids.with_context(|| format!("the automation `{}` is missing", planned.name))?;
        let mut at = planned.next_due.saturating_sub(planned.period);
        while at >= start {
            let source = sources.len();
            inputs.push(Input::of(at, source));
            at = at.saturating_sub(planned.period);
        }
        sources.push(Source {
            title: planned.name.clone(),
            agent: planned.agent,
            automation: Some(ids),
            fresh: planned.session_mode == SessionMode::Fresh,
            location: None,
        });
    }
    Ok((sources, inputs))
}

/// Adds as many messages of people as complete the month, and returns all inputs in the order of their instants.
/// The last ones have not ended.
fn add_messages(
    mut inputs: Vec<Input>,
    conversations: usize,
    end: Timestamp,
) -> Result<Vec<Input>> {
    let messages = INPUTS.checked_sub(inputs.len());
    let messages = messages.with_context(|| format!("{} instants are too many", inputs.len()))?;
    let distance = Duration::from_hours(24) * DAYS / u32::try_from(messages)?;
    let mut at = end;
    for number in 0..messages {
        at = at.saturating_sub(distance);
        inputs.push(Input::of(at, conversations + number % CONVERSATIONS));
    }
    inputs.sort_by_key(|input| (input.at, input.source));
    for (number, input) in inputs.iter_mut().enumerate() {
        input.decide(number, INPUTS_PER_RETRY);
    }
    Ok(inputs)
}

/// Lets the last inputs wait or run, so that no seat has two: each has a session of its own.
fn open_last(inputs: &mut [Input], sources: &[Source]) {
    let (mut queued, mut running, mut deferred) = (QUEUED, RUNNING, DEFERRED);
    for input in inputs.iter_mut().rev() {
        let source = &sources[input.source];
        let open = if input.retried() {
            continue;
        } else if source.fresh && queued > 0 {
            queued -= 1;
            RunStatus::Queued
        } else if source.fresh && running > 0 {
            running -= 1;
            RunStatus::Running
        } else if source.automation.is_none() && deferred > 0 {
            deferred -= 1;
            RunStatus::Deferred
        } else {
            continue;
        };
        input.status = open;
    }
}

/// Completes the rows that depend on later ones: the sessions that continue, and some notices for people.
const COMPLETION: [&str; 3] = [
    "update agent_sessions
     set last_seq = (select max(e.seq) from session_events e where e.session_id = agent_sessions.id),
         updated_at = (select max(e.created_at) from session_events e where e.session_id = agent_sessions.id)
     where id in (select e.session_id from session_events e where e.seq > 8)",
    "update automations
     set current_session_id = (
         select s.id from agent_sessions s where s.schedule_id = automations.id order by s.id desc limit 1
     )
     where session_mode = 'continuous'",
    "update automations set attention = 'The agent is not signed in on this machine.'
     where name like 'standup 1%' and name not like 'standup 1'",
];
