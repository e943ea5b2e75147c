//! Turns that continue while some of their requests wait for a decision.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use daemon::WorkerTurnStore;
use futures::future::BoxFuture;
use model::{
    Clock as _, RunId,
    approval::ApprovalRequest,
    permission::Verdict,
    run::RunStatus,
    turn::{Entry, WriteOutcome},
};
use store::Scope;
use testkit::scripted::Step;
use tokio::sync::{Mutex, Notify};
use turn::{TurnStore, TurnStoreError};

use crate::{
    approvals::{decide, fire_with_approvals, wait_for_pending_approval},
    permissions::permission_replies,
    world::{World, eventually},
};

/// The storage of a worker whose writes wait for each other, as the writes of one run do in a database. The first
/// approval is allowed once the second holds the lock that the other writes wait for. The second continues only once
/// one of them waits.
struct SerializedWrites {
    inner: WorkerTurnStore,
    write_lock: Mutex<()>,
    approvals_requested: AtomicU32,
    lock_acquired: Notify,
    lock_contended: Notify,
    writes_started: AtomicU32,
    writes_finished: AtomicU32,
}

impl SerializedWrites {
    /// Writes once no other write is in progress.
    async fn write<T>(&self, write: BoxFuture<'_, T>) -> T {
        self.writes_started.fetch_add(1, Ordering::SeqCst);
        let row = if let Ok(row) = self.write_lock.try_lock() {
            row
        } else {
            self.lock_contended.notify_one();
            self.write_lock.lock().await
        };
        let written = write.await;
        drop(row);
        self.writes_finished.fetch_add(1, Ordering::SeqCst);
        written
    }
}

impl TurnStore for SerializedWrites {
    delegate!();

    fn record(
        &self,
        run: RunId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        Box::pin(self.write(self.inner.record(run, entries)))
    }

    fn append_live_text(
        &self,
        run: RunId,
        position: u64,
        text: String,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        Box::pin(self.write(self.inner.append_live_text(run, position, text)))
    }

    fn request_approval(
        &self,
        run: RunId,
        question: ApprovalRequest,
        patience: Duration,
    ) -> BoxFuture<'_, Result<Verdict, TurnStoreError>> {
        Box::pin(async move {
            if self.approvals_requested.fetch_add(1, Ordering::SeqCst) == 0 {
                self.lock_acquired.notified().await;
                return Ok(Verdict::Allow);
            }
            let row = self.write_lock.lock().await;
            self.lock_acquired.notify_one();
            self.lock_contended.notified().await;
            drop(row);
            self.inner.request_approval(run, question, patience).await
        })
    }
}

pub(crate) async fn updates_are_recorded_while_approval_is_pending(world: &World) {
    let mut both = Step::request_permission("1", "rm a", "execute");
    if let Step::RequestPermission { times, .. } = &mut both {
        *times = 2;
    }
    // The agent reports each answer as it arrives.
    let script = world.script().prompt([both]);
    let run = fire_with_approvals(world, "a", &script, |_| ()).await;
    let (host, now) = (&world.host, world.clock.now());
    let claimed = world
        .store()
        .claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let ledger = SerializedWrites {
        inner: WorkerTurnStore::new(host.clone()),
        write_lock: Mutex::default(),
        approvals_requested: AtomicU32::new(0),
        lock_acquired: Notify::new(),
        lock_contended: Notify::new(),
        writes_started: AtomicU32::new(0),
        writes_finished: AtomicU32::new(0),
    };
    let orders = turn::TurnControl::idle();
    let turn = turn::execute(&ledger, &host.agent_runtime, run, &orders);
    let told = "asked: option-allow_once";
    let watch = async {
        let second = wait_for_pending_approval(world, run).await;
        eventually("the text of the agent", async || {
            let (text, _) = world
                .store()
                .live_text(Scope::System, run, 0)
                .await
                .unwrap();
            (text == told).then_some(())
        })
        .await;
        decide(world, second.id, Verdict::Allow).await.unwrap();
    };
    let (ended, ()) = tokio::join!(turn, watch);
    ended.unwrap();
    let run = world.run(run).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!(permission_replies(&script), ["option-allow_once"; 2]);
    let words = world.messages(run.session_id.unwrap()).await.into_iter();
    let words = words.filter(|(role, _)| role == "assistant");
    let words: Vec<_> = words.map(|(_, content)| content).collect();
    assert_eq!(words, [format!("{told}\n\n{told}")]);
    // No write of the turn blocked another one forever.
    let [begun, done] =
        [&ledger.writes_started, &ledger.writes_finished].map(|count| count.load(Ordering::SeqCst));
    assert!(begun > 0);
    assert_eq!(begun, done);
}
