//! Turns that go on while some of their requests wait for people.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use daemon::WorkerTurnStore;
use futures::future::BoxFuture;
use model::{
    Clock as _, RunId,
    approval::Question,
    permission::Verdict,
    run::RunStatus,
    turn::{Entry, Settled},
};
use store::Scope;
use testkit::scripted::Step;
use tokio::sync::{Mutex, Notify};
use turn::{Ledger, TurnStoreError};

use crate::{
    approvals::{decide, fired, waits},
    permissions::answers,
    world::{World, eventually},
};

/// The ledger of a worker whose writes wait for each other, as those of one run do in a database. What is
/// asked first is allowed once the second holds what the others wait for; and that goes on only once one
/// of them waits.
struct SerializedWrites {
    ledger: WorkerTurnStore,
    row: Mutex<()>,
    asked: AtomicU32,
    held: Notify,
    wanted: Notify,
    begun: AtomicU32,
    done: AtomicU32,
}

impl SerializedWrites {
    /// Writes once nobody else does.
    async fn write<T>(&self, write: BoxFuture<'_, T>) -> T {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let row = if let Ok(row) = self.row.try_lock() {
            row
        } else {
            self.wanted.notify_one();
            self.row.lock().await
        };
        let written = write.await;
        drop(row);
        self.done.fetch_add(1, Ordering::SeqCst);
        written
    }
}

impl Ledger for SerializedWrites {
    passing_on!();

    fn record(
        &self,
        run: RunId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<Settled, TurnStoreError>> {
        Box::pin(self.write(self.ledger.record(run, entries)))
    }

    fn live(
        &self,
        run: RunId,
        position: u64,
        text: String,
    ) -> BoxFuture<'_, Result<Settled, TurnStoreError>> {
        Box::pin(self.write(self.ledger.live(run, position, text)))
    }

    fn ask(
        &self,
        run: RunId,
        question: Question,
        patience: Duration,
    ) -> BoxFuture<'_, Result<Verdict, TurnStoreError>> {
        Box::pin(async move {
            if self.asked.fetch_add(1, Ordering::SeqCst) == 0 {
                self.held.notified().await;
                return Ok(Verdict::Allow);
            }
            let row = self.row.lock().await;
            self.held.notify_one();
            self.wanted.notified().await;
            drop(row);
            self.ledger.ask(run, question, patience).await
        })
    }
}

pub(crate) async fn updates_are_recorded_while_approval_is_pending(world: &World) {
    let mut both = Step::ask("1", "rm a", "execute");
    if let Step::Ask { times, .. } = &mut both {
        *times = 2;
    }
    // It says each answer as it comes.
    let script = world.script().prompt([both]);
    let run = fired(world, "a", &script, |_| ()).await;
    let (host, now) = (&world.host, world.clock.now());
    let claimed = world
        .store()
        .claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let ledger = SerializedWrites {
        ledger: WorkerTurnStore::new(host.clone()),
        row: Mutex::default(),
        asked: AtomicU32::new(0),
        held: Notify::new(),
        wanted: Notify::new(),
        begun: AtomicU32::new(0),
        done: AtomicU32::new(0),
    };
    let orders = turn::Orders::none();
    let turn = turn::execute(&ledger, &host.agents, run, &orders);
    let told = "asked: option-allow_once";
    let watch = async {
        let second = waits(world, run).await;
        eventually("what the agent says meanwhile", async || {
            let (text, _) = world.store().live(Scope::System, run, 0).await.unwrap();
            (text == told).then_some(())
        })
        .await;
        decide(world, second.id, Verdict::Allow).await.unwrap();
    };
    let (ended, ()) = tokio::join!(turn, watch);
    ended.unwrap();
    let run = world.run(run).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!(answers(&script), ["option-allow_once"; 2]);
    let words = world.words(run.session_id.unwrap()).await.into_iter();
    let words = words.filter(|(role, _)| role == "assistant");
    let words: Vec<_> = words.map(|(_, content)| content).collect();
    assert_eq!(words, [format!("{told}\n\n{told}")]);
    // No write of the turn kept another one from being done.
    let [begun, done] = [&ledger.begun, &ledger.done].map(|count| count.load(Ordering::SeqCst));
    assert!(begun > 0);
    assert_eq!(begun, done);
}
