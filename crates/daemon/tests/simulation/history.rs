//! The check of the whole history at the end: compares the agents' record, the requests and the due instants with the
//! database.

use std::collections::BTreeMap;

use model::{RunId, SeatId, SessionId, Timestamp, outcome::StopReason};
use serde_json::Value;

use crate::{checks::occurrence_row, sql, world::World};

/// The fields of a run that the check needs.
struct Run {
    status: String,
    is_from_person: bool,
    session: SessionId,
    input_at: Timestamp,
    /// `true` if only the seat decides when the run starts.
    seat_decides: bool,
}

impl World {
    /// Checks the whole history, after everything is over.
    pub(crate) async fn check_history(&self) -> anyhow::Result<()> {
        let runs = self.check_ends().await?;
        self.check_occurrences().await?;
        self.check_log(&runs).await
    }

    /// Checks that every run is over with a visible end (I3), and that only turns that their agents ended well have
    /// succeeded (I6).
    async fn check_ends(&self) -> anyhow::Result<BTreeMap<RunId, Run>> {
        let found = sql::rows(
            &self.store,
            "select r.id, r.status, r.stop_reason, r.origin, r.session_id, r.seat_id, r.input_at, \
             r.attempt,  a.session_mode, \
             exists (select 1 from agent_messages m where m.run_id = r.id \
             and m.role in ('assistant', 'system') and m.kind in ('message', 'notice') \
             and json_extract(m.metadata, '$.outcome') is not null) as closed \
             from agent_runs r left join automations a on a.id = r.automation_id \
             where r.session_id is not null",
        );
        let mut runs = BTreeMap::new();
        let mut words = 0;
        for row in found.await? {
            let id: RunId = row.get("id")?;
            let status: String = row.get("status")?;
            let over = ["succeeded", "failed", "cancelled", "stalled"].contains(&status.as_str());
            anyhow::ensure!(over, "I3: {id} is {status} at the end");
            anyhow::ensure!(
                row.get::<bool>("closed")?,
                "I3: the end of {id} ({status}) is not to be seen"
            );
            let said = self.agents.stop_of(id);
            let told: Option<StopReason> = row.parse_optional("stop_reason")?;
            anyhow::ensure!(
                told.is_none() || told == said,
                "I6: {id} ended by {told:?}, its agent said {said:?}"
            );
            anyhow::ensure!(
                status != "succeeded" || said == Some(StopReason::EndTurn),
                "I6: {id} succeeded, its agent said {said:?}"
            );
            let seat: SeatId = row.get("seat_id")?;
            anyhow::ensure!(
                self.agents.seat_of(id).is_none_or(|took| took == seat),
                "I2: {id} belongs to {seat}, but its agent took another seat"
            );
            let person = row.get::<String>("origin")? == "person";
            words += i64::from(person && row.get::<i64>("attempt")? == 1);
            let mode: Option<String> = row.optional("session_mode")?;
            let run = Run {
                status,
                is_from_person: person,
                session: row.get("session_id")?,
                input_at: row.get("input_at")?,
                seat_decides: person || mode.as_deref() == Some("bound"),
            };
            runs.insert(id, run);
        }
        anyhow::ensure!(
            words == self.expected_inputs.messages,
            "I3: people said {} things, and {words} are there",
            self.expected_inputs.messages
        );
        Ok(runs)
    }

    /// Checks that each due instant has exactly one row (I1).
    async fn check_occurrences(&self) -> anyhow::Result<()> {
        let found = sql::rows(
            &self.store,
            "select t.kind, r.trigger_id, r.scheduled_for, r.missed_until, r.occurrences, \
             r.status, r.reason, r.created_at from agent_runs r \
             join automation_triggers t on t.id = r.trigger_id where r.attempt = 1",
        );
        let found = found.await?;
        let mut fires = 0;
        let mut rows = Vec::with_capacity(found.len());
        for row in &found {
            fires += i64::from(row.get::<String>("kind")? == "manual");
            rows.push(occurrence_row(row)?);
        }
        anyhow::ensure!(
            fires == self.expected_inputs.fires,
            "I1: people fired {} times, and {fires} occurrences are there",
            self.expected_inputs.fires
        );
        self.schedules.check_rows(rows)
    }

    /// Checks that the log of each session has each change once, including the end of each run (I3, I5), and that
    /// waiting runs started in the order of their arrival, interactive ones first.
    async fn check_log(&self, runs: &BTreeMap<RunId, Run>) -> anyhow::Result<()> {
        let found = sql::rows(
            &self.store,
            "select session_id, seq, ref_id, body, created_at from session_events \
             where kind = 'run' order by session_id, seq",
        );
        let mut waiting: BTreeMap<SessionId, BTreeMap<RunId, Option<Timestamp>>> = BTreeMap::new();
        let mut last: BTreeMap<RunId, String> = BTreeMap::new();
        for row in found.await? {
            let (session, run): (SessionId, RunId) = (row.get("session_id")?, row.get("ref_id")?);
            let at: Timestamp = row.get("created_at")?;
            let body: Value = row.json("body")?;
            let status = body["status"].as_str().unwrap_or_default().to_owned();
            let line = waiting.entry(session).or_default();
            if status == "deferred" {
                line.insert(run, serde_json::from_value(body["not_before"].clone())?);
            } else {
                line.remove(&run);
            }
            if status == "queued" {
                check_order(runs, line, run, at)?;
            }
            let before = last.insert(run, status);
            anyhow::ensure!(
                before.as_ref().is_none_or(
                    |before| ["queued", "deferred", "running"].contains(&before.as_str())
                ),
                "I3: {run} goes on after it was {before:?}"
            );
        }
        for (id, run) in runs {
            anyhow::ensure!(
                last.get(id) == Some(&run.status),
                "I5: the log of {} ends {id} as {:?}, and it is {}",
                run.session,
                last.get(id),
                run.status
            );
        }
        Ok(())
    }
}

/// Checks that the started run has the first rank in its seat's queue, except for runs that wait for another reason.
fn check_order(
    runs: &BTreeMap<RunId, Run>,
    line: &BTreeMap<RunId, Option<Timestamp>>,
    started: RunId,
    at: Timestamp,
) -> anyhow::Result<()> {
    let Some(run) = runs.get(&started) else {
        return Ok(());
    };
    for (other, not_before) in line {
        let Some(waits) = runs.get(other) else {
            continue;
        };
        let in_backoff = not_before.is_some_and(|until| until > at);
        let before = (!waits.is_from_person, waits.input_at) < (!run.is_from_person, run.input_at);
        anyhow::ensure!(
            !before || in_backoff || !waits.seat_decides,
            "order: {started} starts at {at} while {other} waits since {}",
            waits.input_at
        );
    }
    Ok(())
}
