//! Simulated people, who send messages, fire automations and cancel runs through a random replica.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::Method;
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    history::{PersonRequest, is_end},
    http::Api,
    rng::Rng,
    workload::Workload,
};

/// The time after which a person gives up the retries of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(45);
/// The pause between two messages of one person, in milliseconds.
const MESSAGE_PAUSE_MILLIS: std::ops::Range<u64> = 300..2500;
/// The pause between two requests of one person to fire an automation, in milliseconds.
const FIRE_PAUSE_MILLIS: std::ops::Range<u64> = 800..3500;
/// The maximum number of messages of one person that wait for their answers. An agent that answers slower than a person
/// writes would otherwise have a backlog at the end that grows with the length of the test.
const MAX_UNANSWERED: usize = 8;
/// The percentage of messages whose run is cancelled.
const CANCEL_PERCENT: usize = 6;
/// The percentage of requests to fire that a reset of the automation's session follows.
const RESET_PERCENT: usize = 10;

/// The number of requests to each session and automation after the last fault.
const REQUESTS_AFTER_FAULTS: usize = 3;

/// The record of all requests and responses. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct RequestLog(Arc<Mutex<Vec<PersonRequest>>>);

impl RequestLog {
    /// Adds a request with its outcome.
    fn record(&self, request: PersonRequest) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(request);
    }

    /// Returns all requests so far.
    pub(crate) fn all(&self) -> Vec<PersonRequest> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

/// Starts one person for each session and for each automation that people fire. After `stop` is cancelled, each
/// person finishes the current request, then the task ends.
pub(crate) fn start(
    world: &Workload,
    dice: &Rng,
    asking: &RequestLog,
    stop: &CancellationToken,
) -> JoinSet<()> {
    let mut people = JoinSet::new();
    for tenant in &world.tenants {
        for (number, session) in tenant.message_sessions.iter().enumerate() {
            let person = Person {
                api: tenant.api.clone(),
                rng: dice.derive(&format!("{} {number}", tenant.name)),
                requests: asking.clone(),
                stop: stop.clone(),
                is_after_faults: false,
                slowdown: world.slowdown,
            };
            people.spawn(person.message_loop(session.clone()));
        }
        for (number, automation) in tenant.manual_automations.iter().enumerate() {
            let person = Person {
                api: tenant.api.clone(),
                rng: dice.derive(&format!("{} fires {number}", tenant.name)),
                requests: asking.clone(),
                stop: stop.clone(),
                is_after_faults: false,
                slowdown: world.slowdown,
            };
            people.spawn(person.fire_loop(automation.clone()));
        }
    }
    people
}

/// Sends requests to each session and automation after the last fault. Each must succeed at the first attempt.
pub(crate) async fn send_after_faults(world: &Workload, dice: &Rng, asking: &RequestLog) {
    for tenant in &world.tenants {
        let mut person = Person {
            api: tenant.api.clone(),
            rng: dice.derive(&format!("{} in peace", tenant.name)),
            requests: asking.clone(),
            stop: CancellationToken::new(),
            is_after_faults: true,
            slowdown: world.slowdown,
        };
        for _ in 0..REQUESTS_AFTER_FAULTS {
            for session in &tenant.message_sessions {
                person.send_message(session).await;
            }
            for automation in &tenant.manual_automations {
                let path = format!("/automations/{automation}/fire");
                person.send_request(&path, None, "").await;
            }
        }
    }
}

/// A simulated person.
struct Person {
    api: Api,
    rng: Rng,
    requests: RequestLog,
    stop: CancellationToken,
    /// `true` if the last fault is over.
    is_after_faults: bool,
    /// The factor of the pauses.
    slowdown: u8,
}

impl Person {
    /// Sends messages to a session, and cancels some of the runs, until the test stops.
    async fn message_loop(mut self, session: String) {
        let mut unanswered: VecDeque<String> = VecDeque::new();
        while self.pause(MESSAGE_PAUSE_MILLIS).await {
            if unanswered.len() == MAX_UNANSWERED
                && let Some(oldest) = unanswered.front()
            {
                if !self.has_ended(oldest).await {
                    continue;
                }
                unanswered.pop_front();
            }
            let Some(run) = self.send_message(&session).await else {
                continue;
            };
            if self.rng.chance(CANCEL_PERCENT) {
                let path = format!("/runs/{run}/cancel");
                // Ignore an error: the run may have ended already.
                let response = self
                    .api
                    .send(Method::POST, &path, None, None, REQUEST_TIMEOUT);
                response.await.ok();
            }
            unanswered.push_back(run);
        }
    }

    /// Sends a message with a unique text. Returns the ID of its run if a server confirmed it.
    async fn send_message(&mut self, session: &str) -> Option<String> {
        let text = format!("Message {}.", self.rng.hex_string());
        let path = format!("/sessions/{session}/messages");
        let body = json!({ "text": text });
        self.send_request(&path, Some(&body), &text).await
    }

    /// Returns `false` if a run has not ended, or if no server shows it now.
    async fn has_ended(&self, run: &str) -> bool {
        let shown = self.api.get(&format!("/runs/{run}"), REQUEST_TIMEOUT).await;
        shown.is_ok_and(|shown| {
            let status = shown.body["status"].as_str();
            status.is_some_and(is_end)
        })
    }

    /// Fires an automation, and resets it now and then, until the test stops.
    async fn fire_loop(mut self, automation: String) {
        while self.pause(FIRE_PAUSE_MILLIS).await {
            let path = format!("/automations/{automation}/fire");
            self.send_request(&path, None, "").await;
            if self.rng.chance(RESET_PERCENT) {
                let path = format!("/automations/{automation}/reset");
                let response = self
                    .api
                    .send(Method::POST, &path, None, None, REQUEST_TIMEOUT);
                response.await.ok();
            }
        }
    }

    /// Sends a request with an idempotency key, and records the request and its outcome. Returns the ID of the run if
    /// a server confirmed it. `text` is the text of a message, or empty.
    async fn send_request(
        &mut self,
        path: &str,
        body: Option<&serde_json::Value>,
        text: &str,
    ) -> Option<String> {
        let (key, calm) = (self.rng.hex_string(), self.is_after_faults);
        let response = self
            .api
            .send(Method::POST, path, body, Some(&key), REQUEST_TIMEOUT);
        let (run, refused) = match response.await {
            Ok(answer) if answer.status < 300 => {
                (answer.body["id"].as_str().map(str::to_owned), None)
            }
            Ok(answer) => (None, Some(format!("{}: {}", answer.status, answer.body))),
            // No final response arrived, so the request may or may not have been executed.
            Err(_) => (None, None),
        };
        self.requests.record(PersonRequest {
            path: path.to_owned(),
            text: text.to_owned(),
            run: run.clone(),
            refusal: refused,
            is_after_faults: calm,
        });
        run
    }

    /// Waits for a random time. Returns `false` if the test stops.
    async fn pause(&mut self, between: std::ops::Range<u64>) -> bool {
        tokio::select! {
            () = sleep(self.rng.millis(between) * self.slowdown.into()) => !self.stop.is_cancelled(),
            () = self.stop.cancelled() => false,
        }
    }
}
