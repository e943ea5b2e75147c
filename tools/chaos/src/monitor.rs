//! The measurements during the test: the lengths of the queues, the number of agent processes, and the responses to
//! strangers. A stranger is a user of one tenant who requests objects of another tenant.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{
    faults::FaultTargets,
    history::{Measurements, Probe},
    http::{Api, ApiResponse},
    processes, queries,
    rng::Rng,
    workload::Workload,
};

/// The interval between two measurements of queues and processes.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(700);
/// The pause between two probes of a stranger, and the timeout of the request for the newest run.
const PROBE_INTERVAL: Duration = Duration::from_millis(900);
/// The time after which a stranger gives up the retries of a request.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct QueueLength {
    automation: String,
    length: i64,
}

/// Measures queues and processes until `stop` is cancelled. Skips the queues while the database is down.
pub(crate) async fn measure(field: Arc<FaultTargets>, stop: CancellationToken) -> Measurements {
    let mut measured = Measurements::default();
    while !stop.is_cancelled() {
        let agents = processes::find_agents(&field.root).len();
        measured.max_processes = measured.max_processes.max(agents);
        let queues = field.database.rows::<QueueLength>(queries::QUEUE_LENGTHS);
        if let Ok(queues) = queues.await {
            measured.queue_samples += 1;
            for queue in queues {
                let most = measured.max_waiting.entry(queue.automation).or_default();
                *most = (*most).max(queue.length);
            }
        }
        tokio::select! {
            () = sleep(SAMPLE_INTERVAL) => {}
            () = stop.cancelled() => {}
        }
    }
    measured
}

/// The record of all probes. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct ProbeLog(Arc<Mutex<Vec<Probe>>>);

impl ProbeLog {
    /// Returns all probes so far.
    pub(crate) fn all(&self) -> Vec<Probe> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

/// Requests objects of the first tenant, and objects that do not exist, with the token of the second tenant. Does
/// nothing if there is only one tenant.
pub(crate) fn probe_other_tenant(
    world: &Workload,
    dice: Rng,
    probes: ProbeLog,
    stop: CancellationToken,
) -> impl Future<Output = ()> + use<> {
    let apis: Vec<Api> = world
        .tenants
        .iter()
        .map(|tenant| tenant.api.clone())
        .collect();
    let ids = world.object_ids();
    async move {
        if let [owner, stranger, ..] = apis.as_slice() {
            send_probes(owner, stranger, &ids, dice, probes, stop).await;
        }
    }
}

/// Sends pairs of requests, one for an existing object and one for an unknown ID, until `stop` is cancelled.
async fn send_probes(
    owner: &Api,
    stranger: &Api,
    ids: &[(&'static str, String)],
    mut dice: Rng,
    probes: ProbeLog,
    stop: CancellationToken,
) {
    while !stop.is_cancelled() {
        let newest = newest_run_id(owner).await.map(|run| ("runs", run));
        let mut all: Vec<_> = ids.iter().cloned().chain(newest).collect();
        all.reverse();
        // Select the newest run, which is now first in the list, at least every other time. Otherwise, the sessions
        // and automations would crowd out the only run.
        let chosen = if dice.chance(50) {
            all.first()
        } else {
            dice.choose(&all)
        };
        if let Some((kind, id)) = chosen {
            let below = match *kind {
                "sessions" => dice.choose(&["", "/messages", "/seats", "/replay"]),
                "automations" => dice.choose(&["", "/occurrences", "/triggers"]),
                _ => dice.choose(&["", "/record"]),
            };
            let below = below.copied().unwrap_or_default();
            let other = unknown_id(id, &mut dice);
            let ask = async |id: &str| {
                let path = format!("/{kind}/{id}{below}");
                stranger.get(&path, PROBE_TIMEOUT).await
            };
            // Compare only complete pairs, because a missing response says nothing about the tenant's isolation.
            if let (Ok(there), Ok(nowhere)) = (ask(id).await, ask(&other).await) {
                let mut all = probes.0.lock().unwrap_or_else(PoisonError::into_inner);
                all.push(Probe {
                    path: format!("/{kind}/{id}{below}"),
                    existing: mask_id(&there, id),
                    missing: mask_id(&nowhere, &other),
                });
            }
        }
        tokio::select! {
            () = sleep(PROBE_INTERVAL) => {}
            () = stop.cancelled() => {}
        }
    }
}

/// Returns the ID of the owner's newest run. Returns `None` if there is no run or no server answers.
async fn newest_run_id(owner: &Api) -> Option<String> {
    let page = owner.get("/runs?limit=1", PROBE_INTERVAL).await.ok()?;
    Some(page.body["items"][0]["id"].as_str()?.to_owned())
}

/// Returns a random ID of the same kind that no object has.
fn unknown_id(id: &str, dice: &mut Rng) -> String {
    let prefix = id.split('_').next().unwrap_or_default();
    // Keep the timestamp of the UUIDv7, and set its version and variant. So the API cannot refuse the ID for its form
    // or its age.
    let bare = id.rsplit('_').next().unwrap_or_default();
    let (time, _) = bare.split_at(bare.len().min(12));
    let (one, other) = (dice.hex_string(), dice.hex_string());
    format!("{prefix}_{time}7{}8{}", &one[..3], &other[..15])
}

/// Returns the status and the body of a response with the requested ID replaced, so that the responses to two IDs are
/// comparable.
fn mask_id(answer: &ApiResponse, id: &str) -> (u16, Value) {
    let body = answer.body.to_string().replace(id, "it");
    let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
    (answer.status, body)
}

impl Workload {
    /// Returns the sessions and automations of the first tenant: pairs of the path's first segment and an ID.
    fn object_ids(&self) -> Vec<(&'static str, String)> {
        let Some(first) = self.tenants.first() else {
            return Vec::new();
        };
        let sessions = first
            .message_sessions
            .iter()
            .map(|id| ("sessions", id.clone()));
        let automations = first
            .automations
            .iter()
            .map(|id| ("automations", id.clone()));
        sessions.chain(automations).collect()
    }
}
