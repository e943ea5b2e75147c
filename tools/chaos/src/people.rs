//! Simulated people, who send messages, fire automations and cancel runs through a random replica.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::Method;
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{dice::Dice, history::Asked, http::Api, world::World};

/// The time after which a person gives up the retries of a request.
const PATIENCE: Duration = Duration::from_secs(45);
/// The pause between two messages of one person, in milliseconds.
const TALKS: std::ops::Range<u64> = 300..2500;
/// The pause between two requests of one person to fire an automation, in milliseconds.
const FIRES: std::ops::Range<u64> = 800..3500;
/// The percentage of messages whose run is cancelled.
const CALLED_OFF: usize = 6;
/// The percentage of requests to fire that a reset of the automation's session follows.
const RESETS: usize = 10;

/// The number of requests to each session and automation after the last fault.
const REQUESTS_AFTER_FAULTS: usize = 3;

/// The record of all requests and responses. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Asking(Arc<Mutex<Vec<Asked>>>);

impl Asking {
    /// Adds a request with its outcome.
    fn note(&self, asked: Asked) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(asked);
    }

    /// Returns all requests so far.
    pub(crate) fn all(&self) -> Vec<Asked> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

/// Starts one person for each session and for each automation that people fire. After `stop` is cancelled, each
/// person finishes the current request, then the task ends.
pub(crate) fn begin(
    world: &World,
    dice: &Dice,
    asking: &Asking,
    stop: &CancellationToken,
) -> JoinSet<()> {
    let mut people = JoinSet::new();
    for tenant in &world.tenants {
        for (number, session) in tenant.talks.iter().enumerate() {
            let person = Person {
                api: tenant.api.clone(),
                dice: dice.of(&format!("{} {number}", tenant.name)),
                asking: asking.clone(),
                stop: stop.clone(),
                calm: false,
            };
            people.spawn(person.talk(session.clone()));
        }
        for (number, automation) in tenant.by_hand.iter().enumerate() {
            let person = Person {
                api: tenant.api.clone(),
                dice: dice.of(&format!("{} fires {number}", tenant.name)),
                asking: asking.clone(),
                stop: stop.clone(),
                calm: false,
            };
            people.spawn(person.fire(automation.clone()));
        }
    }
    people
}

/// Sends requests to each session and automation after the last fault. Each must succeed at the first attempt.
pub(crate) async fn send_after_faults(world: &World, dice: &Dice, asking: &Asking) {
    for tenant in &world.tenants {
        let mut person = Person {
            api: tenant.api.clone(),
            dice: dice.of(&format!("{} in peace", tenant.name)),
            asking: asking.clone(),
            stop: CancellationToken::new(),
            calm: true,
        };
        for _ in 0..REQUESTS_AFTER_FAULTS {
            for session in &tenant.talks {
                person.say(session).await;
            }
            for automation in &tenant.by_hand {
                let path = format!("/automations/{automation}/fire");
                person.ask(&path, None, "").await;
            }
        }
    }
}

/// A simulated person.
struct Person {
    api: Api,
    dice: Dice,
    asking: Asking,
    stop: CancellationToken,
    /// `true` if the last fault is over.
    calm: bool,
}

impl Person {
    /// Sends messages to a session, and cancels some of the runs, until the test stops.
    async fn talk(mut self, session: String) {
        while self.pause(TALKS).await {
            if let Some(run) = self.say(&session).await
                && self.dice.chance(CALLED_OFF)
            {
                let path = format!("/runs/{run}/cancel");
                // Ignore an error: the run may have ended already.
                let asked = self.api.ask(Method::POST, &path, None, None, PATIENCE);
                asked.await.ok();
            }
        }
    }

    /// Sends a message with a unique text. Returns the ID of its run if a server confirmed it.
    async fn say(&mut self, session: &str) -> Option<String> {
        let words = format!("Words {}.", self.dice.word());
        let path = format!("/sessions/{session}/messages");
        let body = json!({ "words": words });
        self.ask(&path, Some(&body), &words).await
    }

    /// Fires an automation, and resets it now and then, until the test stops.
    async fn fire(mut self, automation: String) {
        while self.pause(FIRES).await {
            let path = format!("/automations/{automation}/fire");
            self.ask(&path, None, "").await;
            if self.dice.chance(RESETS) {
                let path = format!("/automations/{automation}/reset");
                let asked = self.api.ask(Method::POST, &path, None, None, PATIENCE);
                asked.await.ok();
            }
        }
    }

    /// Sends a request with an idempotency key, and records the request and its outcome. Returns the ID of the run if
    /// a server confirmed it. `words` is the text of a message, or empty.
    async fn ask(
        &mut self,
        path: &str,
        body: Option<&serde_json::Value>,
        words: &str,
    ) -> Option<String> {
        let (key, calm) = (self.dice.word(), self.calm);
        let asked = self.api.ask(Method::POST, path, body, Some(&key), PATIENCE);
        let answered = asked.await;
        let (run, refused) = match answered {
            Ok(answer) if answer.status < 300 => {
                (answer.body["id"].as_str().map(str::to_owned), None)
            }
            Ok(answer) => (None, Some(format!("{}: {}", answer.status, answer.body))),
            // No final response arrived, so the request may or may not have been executed.
            Err(_) => (None, None),
        };
        self.asking.note(Asked {
            path: path.to_owned(),
            words: words.to_owned(),
            run: run.clone(),
            refused,
            calm,
        });
        run
    }

    /// Waits for a random time. Returns `false` if the test stops.
    async fn pause(&mut self, between: std::ops::Range<u64>) -> bool {
        tokio::select! {
            () = sleep(self.dice.millis(between)) => !self.stop.is_cancelled(),
            () = self.stop.cancelled() => false,
        }
    }
}
