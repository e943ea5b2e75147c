//! The timeline of a tenant: what ran in a period, and what will run, by automation.

use std::collections::{BTreeMap, HashMap};

use api_types::{Lane, OutcomeCounts, RunOutcome, Timeline, TimelineBucket};
use model::{AutomationId, Timestamp, run::RunStatus};
use store::{AutomationItem, Period, PeriodOutcomes};

use crate::{
    Error, Service,
    automations::run_outcome,
    boxed,
    overview::{DEFAULT_PERIOD, LONGEST_PERIOD, MAX_OUTCOMES, check_instant, count},
    upcoming_runs,
};

/// The number of lanes of a timeline if the request names none.
pub const DEFAULT_LANES: u32 = 20;
/// The maximum number of lanes of a timeline.
pub const MAX_LANES: u32 = 200;
/// The maximum number of runs of a lane, and of its next runs.
const MAX_RUNS_OF_LANE: usize = 200;
/// The number of parts into which a lane with more runs is divided.
const BUCKETS: u32 = 96;

/// The period and the extent of a timeline.
#[derive(Debug, Clone, Default)]
pub struct TimelineQuery {
    /// The beginning. `None`: 24 hours before now.
    pub from: Option<Timestamp>,
    /// The end. `None`: 24 hours after now.
    pub to: Option<Timestamp>,
    /// The automation: its name, its ID or an ID prefix. `None`: all automations, and the conversations of people.
    pub automation: Option<String>,
    /// The maximum number of lanes.
    pub lanes: u32,
}

impl Service {
    /// Returns what ran in a period, and what will run, by automation.
    ///
    /// # Errors
    ///
    /// Refuses a period that is empty, or longer than [`LONGEST_PERIOD`] before or after now.
    #[boxed]
    pub async fn timeline(&self, query: &TimelineQuery) -> Result<Timeline, Error> {
        let now = self.now();
        let from = query.from.unwrap_or(now.saturating_sub(DEFAULT_PERIOD));
        let to = query.to.unwrap_or(now + DEFAULT_PERIOD);
        check_instant("from", from, now.saturating_sub(LONGEST_PERIOD), now)?;
        check_instant("to", to, from, now + LONGEST_PERIOD)?;
        let automation = match &query.automation {
            Some(given) => Some(self.find_automation(given).await?.id),
            None => None,
        };
        let lanes = usize::try_from(query.lanes).unwrap_or(usize::MAX);
        let found = self
            .store
            .timeline(
                self.tenant,
                Period { from, to },
                automation,
                MAX_OUTCOMES,
                query.lanes + 1,
            )
            .await?;
        let mut runs: HashMap<Option<AutomationId>, Vec<RunOutcome>> = HashMap::new();
        let PeriodOutcomes { outcomes, cut } = found.outcomes;
        for outcome in outcomes {
            // A missed or late instant may lie before the period in which it was recorded.
            if outcome.outcome.at >= from || outcome.outcome.ended_at.is_none() {
                let of_lane = runs.entry(outcome.automation).or_default();
                of_lane.push(run_outcome(outcome.outcome));
            }
        }
        let order = lane_order(&runs, &found.due);
        let shown: Vec<_> = order.iter().take(lanes).copied().collect();
        let ids: Vec<_> = shown.iter().copied().flatten().collect();
        let items = self
            .store
            .automation_items_by_id(self.tenant, &ids, 0)
            .await?;
        let mut items: HashMap<_, _> = items
            .readable
            .into_iter()
            .map(|item| (item.automation.id, item))
            .collect();
        let mut timeline = Timeline {
            now,
            from,
            to,
            lanes: Vec::with_capacity(shown.len()),
            lanes_cut: order.len() > lanes,
            runs_cut: cut,
        };
        for id in shown {
            let runs = runs.remove(&id).unwrap_or_default();
            let item = id.and_then(|id| items.remove(&id));
            // The runs of a deleted automation stay in the list of runs. It has no lane.
            if id.is_none() || item.is_some() {
                timeline.lanes.push(lane(item, runs, now, (from, to))?);
            }
        }
        Ok(timeline)
    }
}

/// Returns the lanes in their order: automations whose newest input that is over did not succeed, then the others by
/// their next run, then the conversations of people.
fn lane_order(
    runs: &HashMap<Option<AutomationId>, Vec<RunOutcome>>,
    due: &[AutomationId],
) -> Vec<Option<AutomationId>> {
    let turns: HashMap<_, _> = due
        .iter()
        .enumerate()
        .map(|(turn, id)| (*id, turn))
        .collect();
    let mut lanes: Vec<_> = runs.keys().copied().collect();
    lanes.extend(
        due.iter()
            .map(|id| Some(*id))
            .filter(|id| !runs.contains_key(id)),
    );
    lanes.sort_by_key(|lane| {
        let newest = runs.get(lane).into_iter().flatten().find_map(is_failure);
        let rank = match (lane, newest) {
            (None, _) => 2,
            (_, Some(true)) => 0,
            _ => 1,
        };
        let turn = lane
            .and_then(|id| turns.get(&id).copied())
            .unwrap_or(usize::MAX);
        (rank, turn, *lane)
    });
    lanes
}

/// Returns `true` for a failure and `false` for a success. Other outcomes say nothing about an automation.
fn is_failure(outcome: &RunOutcome) -> Option<bool> {
    match outcome.status {
        RunStatus::Succeeded => Some(false),
        RunStatus::Failed | RunStatus::Stalled | RunStatus::Missed => Some(true),
        _ => None,
    }
}

/// Returns the lane of an automation, or that of the conversations of people.
fn lane(
    item: Option<AutomationItem>,
    runs: Vec<RunOutcome>,
    now: Timestamp,
    (from, to): (Timestamp, Timestamp),
) -> Result<Lane, Error> {
    let mut upcoming = match &item {
        Some(item) => upcoming_runs::upcoming_of_triggers(
            item.triggers.iter().map(|trigger| &trigger.spec),
            &item.automation.policies.quiet_hours,
            now.max(from),
            item.automation.expires_at.map_or(to, |end| end.min(to)),
            MAX_RUNS_OF_LANE + 1,
        )?,
        None => Vec::new(),
    };
    let upcoming_cut = upcoming.len() > MAX_RUNS_OF_LANE;
    upcoming.truncate(MAX_RUNS_OF_LANE);
    let divided = runs.len() > MAX_RUNS_OF_LANE;
    Ok(Lane {
        buckets: if divided {
            buckets(&runs, from, to.min(now))
        } else {
            Vec::new()
        },
        runs: if divided { Vec::new() } else { runs },
        upcoming,
        upcoming_cut,
        automation_id: item.as_ref().map(|item| item.automation.id),
        state: item.as_ref().map(|item| item.automation.state),
        automation_name: item.map(|item| item.automation.name),
    })
}

/// Divides a period into equal parts, and counts the inputs of each. Leaves out the parts without inputs.
fn buckets(runs: &[RunOutcome], from: Timestamp, to: Timestamp) -> Vec<TimelineBucket> {
    let length = to.since(from) / BUCKETS;
    let mut counts: BTreeMap<u32, OutcomeCounts> = BTreeMap::new();
    for run in runs {
        let place = run.at.since(from).as_micros() / length.as_micros().max(1);
        let place = u32::try_from(place).unwrap_or(u32::MAX).min(BUCKETS - 1);
        count(
            counts.entry(place).or_default(),
            run.status,
            run.occurrences,
        );
    }
    let bucket = |(place, counts)| TimelineBucket {
        from: from + length * place,
        to: from + length * (place + 1),
        counts,
    };
    counts.into_iter().map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use model::RunId;
    use uuid::Uuid;

    use super::*;

    fn instant(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn succeeded_run(at: &str) -> RunOutcome {
        RunOutcome {
            run_id: RunId::from_uuid(Uuid::from_u128(1)),
            status: RunStatus::Succeeded,
            reason: None,
            message: None,
            occurrences: 1,
            at: instant(at),
            started_at: Some(instant(at)),
            ended_at: Some(instant(at)),
        }
    }

    #[test]
    fn buckets_count_each_run_once() {
        let from = instant("2026-11-20T00:00:00Z");
        let to = instant("2026-11-21T00:00:00Z");
        let runs: Vec<_> = [
            "2026-11-20T00:00:00Z",
            "2026-11-20T00:14:59Z",
            "2026-11-20T00:15:00Z",
            "2026-11-20T23:59:59Z",
            "2026-11-21T00:00:00Z",
        ]
        .map(succeeded_run)
        .into();
        let buckets = buckets(&runs, from, to);
        let counts: Vec<_> = buckets
            .iter()
            .map(|bucket| (bucket.from.to_string(), bucket.counts.succeeded))
            .collect();
        let expected = [
            ("2026-11-20T00:00:00Z", 2),
            ("2026-11-20T00:15:00Z", 1),
            ("2026-11-20T23:45:00Z", 2),
        ];
        assert_eq!(counts, expected.map(|(at, count)| (at.to_owned(), count)));
        assert_eq!(buckets[2].to, to);
    }
}
