//! Attempts that were given up and continue nevertheless.

use std::{
    os::unix::{fs::MetadataExt as _, process::ExitStatusExt as _},
    path::Path,
    process::Stdio,
    time::Duration,
};

use agent::guard::WORKER_VARIABLE;
use model::{Clock as _, RunId, SessionId, run::RunStatus};
use serde_json::json;
use store::SessionDeletion;
use testkit::{
    processes::processes_with_marker,
    scripted::{Script, Step},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use crate::world::{World, create_file, eventually, wait_for_file};

/// Returns a script whose turn waits, and the file that lets it continue.
fn script_waiting_in_prompt(world: &World, then: impl IntoIterator<Item = Step>) -> Script {
    let mut steps = vec![
        Step::text("I begin"),
        Step::Touch(world.path("began")),
        Step::WaitFor(world.path("goes on")),
    ];
    steps.extend(then);
    world.script().prompt(steps)
}

/// Begins a turn, waits until its agent has sent text, and gives the run up.
async fn start_and_stall_turn(
    world: &World,
    script: &Script,
    waker: &daemon::LoopSignals,
) -> (SessionId, RunId, Vec<String>) {
    let agent = world.agent(script).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "Go").await;
    waker.wake();
    wait_for_file(&world.path("began")).await;
    eventually("the first words", async || {
        let (live, _) = world
            .store()
            .live_text(world.scope(), run, 0)
            .await
            .unwrap();
        (live == "I begin").then_some(())
    })
    .await;
    let now = world.clock.advance(Duration::from_hours(24));
    // The server may have renewed the heartbeat at the new instant already, or have given the run up by itself.
    let after_heartbeat = now + Duration::from_secs(1);
    let stalled = world.store().stall_stale_runs(after_heartbeat, now);
    stalled.await.unwrap();
    assert_eq!(world.run(run).await.status(), RunStatus::Stalled);
    let before = world.snapshot(session).await;
    (session, run, before)
}

async fn assert_nothing_was_written(
    world: &World,
    session: SessionId,
    run: RunId,
    before: &[String],
) {
    eventually("the end of its agent", async || {
        processes_with_marker(&run.to_string())
            .unwrap()
            .is_empty()
            .then_some(())
    })
    .await;
    assert_eq!(world.snapshot(session).await, before);
    assert_eq!(world.run(run).await.status(), RunStatus::Stalled);
    // The transcript keeps the text up to then, and has a notice of the interruption.
    let words: Vec<_> = world
        .messages(session)
        .await
        .into_iter()
        .map(|row| row.1)
        .collect();
    assert_eq!(words[..2], ["Go", "I begin"]);
    assert!(words[2].contains("was interrupted"), "{words:#?}");
}

pub(crate) async fn finish_of_stalled_attempt_is_rejected(world: &World) {
    let script = script_waiting_in_prompt(world, [Step::text(" and end")]);
    let daemon = world.daemon();
    let (session, run, before) = start_and_stall_turn(world, &script, &daemon.signals()).await;
    create_file(&world.path("goes on"));
    assert_nothing_was_written(world, session, run, &before).await;
    daemon.stop().await;
    assert_eq!(world.snapshot(session).await, before);
}

pub(crate) async fn stalled_attempt_is_killed_at_its_next_write(world: &World) {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "pay"});
    let script = script_waiting_in_prompt(world, [Step::Update(call), Step::Stall]);
    let daemon = world.daemon();
    let (session, run, before) = start_and_stall_turn(world, &script, &daemon.signals()).await;
    create_file(&world.path("goes on"));
    assert_nothing_was_written(world, session, run, &before).await;
    daemon.stop().await;
    assert_eq!(world.snapshot(session).await, before);
}

pub(crate) async fn silent_stalled_attempt_is_killed_at_next_heartbeat(world: &World) {
    let script = script_waiting_in_prompt(world, []);
    let daemon = world.daemon();
    let (session, run, before) = start_and_stall_turn(world, &script, &daemon.signals()).await;
    daemon.signals().wake();
    assert_nothing_was_written(world, session, run, &before).await;
    daemon.stop().await;
    assert_eq!(world.snapshot(session).await, before);
}

pub(crate) async fn next_attempt_starts_after_stalled_agent_is_dead(world: &World) {
    let script = script_waiting_in_prompt(world, []);
    let daemon = world.daemon();
    let (_, run, _) = start_and_stall_turn(world, &script, &daemon.signals()).await;
    daemon.signals().wake();
    eventually("the end of its agent", async || {
        processes_with_marker(&run.to_string())
            .unwrap()
            .is_empty()
            .then_some(())
    })
    .await;
    create_file(&world.path("goes on"));
    let next = world.attempts(run).await.pop().unwrap();
    world.clock.set(next.state.not_before().unwrap());
    daemon.signals().wake();
    let next = world.wait_until_over(next.id).await;
    assert_eq!(next.interrupted_run_id, Some(run));
    let now = world.clock.now();
    assert_eq!(world.store().stall_stale_runs(now, now).await.unwrap(), []);
    daemon.stop().await;
}

pub(crate) async fn agent_of_deleted_session_is_killed_at_next_heartbeat(world: &World) {
    let script = script_waiting_in_prompt(world, []);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let daemon = world.daemon();
    let run = world.send_message(session, "Go").await;
    daemon.signals().wake();
    wait_for_file(&world.path("began")).await;
    let now = world.clock.now();
    let deletion = world
        .store()
        .delete_session(world.tenant, session, false, now);
    let deletion = deletion.await.unwrap();
    assert!(matches!(
        deletion,
        SessionDeletion::Deleted {
            cancelled_turns: 1,
            ..
        }
    ));
    daemon.signals().wake();
    eventually("the end of its agent", async || {
        processes_with_marker(&run.to_string())
            .unwrap()
            .is_empty()
            .then_some(())
    })
    .await;
    let stopped = daemon.stop().await;
    assert_eq!((stopped.finished, stopped.requeued), (0, 0));
    let gone = world.store().run(world.scope(), run).await;
    assert!(gone.is_err(), "nothing was written again");
}

pub(crate) async fn leftovers_of_worker_without_runs_are_killed_before_next_turn(world: &World) {
    // The worker was killed together with its guards. Only the mark of its processes names the worker, and no run leads
    // to them.
    let next = world.successor();
    let left = Path::new("workers").join(format!("{}.lock", world.host.worker));
    let sign = std::fs::metadata(world.path("").join(left)).unwrap();
    let mark = format!("{}@{}:{}", world.host.worker, sign.dev(), sign.ino());
    let mut left = tokio::process::Command::new("cat")
        .env(WORKER_VARIABLE, mark)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    // The environment of the process is visible once its exec is done, and its reply proves that.
    let (mut says, mut hears) = (left.stdin.take().unwrap(), left.stdout.take().unwrap());
    says.write_all(b"?").await.unwrap();
    hears.read_exact(&mut [0]).await.unwrap();
    let agent = world.agent(&world.script()).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "Go on").await;
    let taken = daemon::take_standalone_turn(&next, run, CancellationToken::new()).await;
    assert_eq!(taken.unwrap().status(), RunStatus::Succeeded);
    // The process has written nothing since. So the next read finds the end of its output, or a reply if it still
    // lives.
    let goes_on = says.write_all(b"?").await.is_ok() && hears.read_exact(&mut [0]).await.is_ok();
    assert!(!goes_on, "the turn was taken beside it");
    assert_eq!(left.wait().await.unwrap().signal(), Some(9));
}
