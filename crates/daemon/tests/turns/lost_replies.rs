//! Committed writes whose replies are lost.

use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering},
};

use daemon::WorkerTurnStore;
use futures::future::BoxFuture;
use model::{
    Clock as _, RunId,
    run::RunStatus,
    turn::{StartReply, TurnAssignment},
};
use testkit::scripted::Step;
use turn::{TurnEnd, TurnStore, TurnStoreError};

use crate::world::{World, eventually, prompt_log};

/// The storage of a worker whose connection fails after the first begin was committed.
struct FailingFirstBegin {
    inner: WorkerTurnStore,
    begins: AtomicU32,
}

impl FailingFirstBegin {
    fn new(world: &World) -> Self {
        Self {
            inner: WorkerTurnStore::new(world.host.clone()),
            begins: AtomicU32::new(0),
        }
    }
}

impl TurnStore for FailingFirstBegin {
    delegate!(decline_to_finish);
    delegate!(record);
    delegate!(live);
    delegate!(ask);

    fn begin(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
        Box::pin(async move {
            let begun = self.inner.begin(run, secret).await?;
            if self.begins.fetch_add(1, Ordering::SeqCst) > 0 {
                return Ok(begun);
            }
            Err(TurnStoreError {
                source: "the connection broke".into(),
                transient: true,
            })
        })
    }

    fn begin_after_precheck(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
        self.begin(run, secret)
    }
}

async fn claim(world: &World, run: RunId) {
    let (host, now) = (&world.host, world.clock.now());
    let claimed = world
        .store()
        .claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
}

pub(crate) async fn begin_with_lost_reply_is_repeated_and_takes_turn(world: &World) {
    let script = world.script().prompt([Step::text("Here I am")]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "One").await;
    claim(world, run).await;
    let orders = turn::TurnControl::idle();
    let ended = turn::execute(
        &FailingFirstBegin::new(world),
        &world.host.agent_runtime,
        run,
        &orders,
    )
    .await;
    assert_eq!(ended.unwrap(), TurnEnd::Finished);

    let attempts = world.attempts(run).await;
    let [only] = attempts.as_slice() else {
        panic!("{attempts:#?}")
    };
    assert_eq!(only.status(), RunStatus::Succeeded, "{only:#?}");
    assert_eq!(prompt_log(&script).prompts(), ["One"]);
    let messages = world.messages(session).await;
    let texts: Vec<_> = messages.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["One", "Here I am"], "the transcript shows it once");
}

pub(crate) async fn begin_with_lost_reply_is_requeued_by_stopping_server(world: &World) {
    let agent = world.agent(&world.script()).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "One").await;
    claim(world, run).await;
    let orders = turn::TurnControl::idle();
    orders.requeue.cancel();
    let ended = turn::execute(
        &FailingFirstBegin::new(world),
        &world.host.agent_runtime,
        run,
        &orders,
    )
    .await;
    assert_eq!(ended.unwrap(), TurnEnd::Requeued);
    let second = world.attempts(run).await.pop().unwrap();
    assert_eq!((second.status(), second.failures), (RunStatus::Queued, 0));
}

pub(crate) async fn begin_with_lost_reply_leaves_stalled_run_unchanged(world: &World) {
    let agent = world.agent(&world.script()).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "One").await;
    claim(world, run).await;
    let breaking = FailingFirstBegin::new(world);
    breaking.begin(run, [7; 32]).await.unwrap_err();
    let now = world.clock.now();
    let given_up = world.store().stall_run(run, &world.host.worker, now);
    assert!(given_up.await.unwrap());
    let before = world.snapshot(session).await;
    breaking.begins.store(0, Ordering::SeqCst);

    let orders = turn::TurnControl::idle();
    let ended = turn::execute(&breaking, &world.host.agent_runtime, run, &orders).await;
    assert_eq!(ended.unwrap(), TurnEnd::Lost);
    assert_eq!(world.snapshot(session).await, before);
}

pub(crate) async fn claim_with_lost_reply_is_taken_up_by_claiming_worker(world: &World) {
    let script = world.script().prompt([Step::Echo]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    // Rename the folder that every claim reads first, so that claims fail.
    let (workers, away) = (world.path("workers"), world.path("away"));
    fs::rename(&workers, &away).unwrap();
    let daemon = world.daemon();
    let run = world.send_message(session, "One").await;
    claim(world, run).await;
    daemon.signals().wake();
    eventually("a claim that fails", async || {
        let figures = world.host.metrics.encode(None).unwrap();
        figures
            .contains("matins_loop_errors_total{of=\"workers\"}")
            .then_some(())
    })
    .await;
    fs::rename(&away, &workers).unwrap();
    let run = world.wait_until_over(run).await;
    daemon.stop().await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!((run.attempt, run.failures), (1, 0));
    assert_eq!(prompt_log(&script).prompts(), ["One"]);
}
