//! People who talk, fire automations and call turns off, through whichever replica answers.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::Method;
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{dice::Dice, history::Asked, http::Api, world::World};

/// For how long somebody asks again before they give up.
const PATIENCE: Duration = Duration::from_secs(45);
/// Pauses between what one person says, in milliseconds.
const TALKS: std::ops::Range<u64> = 300..2500;
const FIRES: std::ops::Range<u64> = 800..3500;
/// How many of a hundred turns are called off, and fires followed by a reset.
const CALLED_OFF: usize = 6;
const RESETS: usize = 10;

/// How often each of them is asked when nothing goes wrong any more.
const IN_PEACE: usize = 3;

/// What was asked, and what was answered.
#[derive(Clone, Default)]
pub(crate) struct Asking(Arc<Mutex<Vec<Asked>>>);

impl Asking {
    fn note(&self, asked: Asked) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(asked);
    }

    pub(crate) fn all(&self) -> Vec<Asked> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

/// Lets them begin. They end what they are at once they are told to stop.
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

/// Asks for something everywhere when nothing goes wrong any more.
pub(crate) async fn ask_in_peace(world: &World, dice: &Dice, asking: &Asking) {
    for tenant in &world.tenants {
        let mut person = Person {
            api: tenant.api.clone(),
            dice: dice.of(&format!("{} in peace", tenant.name)),
            asking: asking.clone(),
            stop: CancellationToken::new(),
            calm: true,
        };
        for _ in 0..IN_PEACE {
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

struct Person {
    api: Api,
    dice: Dice,
    asking: Asking,
    stop: CancellationToken,
    /// Whether nothing goes wrong any more.
    calm: bool,
}

impl Person {
    async fn talk(mut self, session: String) {
        while self.pause(TALKS).await {
            if let Some(run) = self.say(&session).await
                && self.dice.chance(CALLED_OFF)
            {
                let path = format!("/runs/{run}/cancel");
                // It may be over by now.
                let asked = self.api.ask(Method::POST, &path, None, None, PATIENCE);
                asked.await.ok();
            }
        }
    }

    async fn say(&mut self, session: &str) -> Option<String> {
        let words = format!("Words {}.", self.dice.word());
        let path = format!("/sessions/{session}/messages");
        let body = json!({ "words": words });
        self.ask(&path, Some(&body), &words).await
    }

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

    /// Asks for something that is to happen once, and notes what came of it.
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

    /// Waits; false once it is over.
    async fn pause(&mut self, between: std::ops::Range<u64>) -> bool {
        tokio::select! {
            () = sleep(self.dice.millis(between)) => !self.stop.is_cancelled(),
            () = self.stop.cancelled() => false,
        }
    }
}
