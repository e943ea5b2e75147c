//! The cancellation of turns.

use model::run::RunStatus;
use rustix::process::{Signal, kill_process};
use testkit::{
    processes::processes_with_marker,
    scripted::{Event, Step},
};

use crate::world::{World, prompt_log, session_openings, wait_for_file};

pub(crate) async fn running_turn_is_cancelled_without_waiting_for_heartbeat(world: &World) {
    let started = world.path("started");
    let script = world
        .script()
        .prompt([
            Step::text("I begin"),
            Step::Touch(started.clone()),
            Step::Stall,
        ])
        .prompt([Step::Echo]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    // The heartbeat interval is one hour, so only a wake-up can reach the turn in time.
    let daemon = world.daemon();
    let run = world.send_message(session, "One").await;
    let next = world.send_message(session, "Two").await;
    daemon.signals().wake();
    wait_for_file(&started).await;

    assert_eq!(world.cancel(run, "not wanted").await, RunStatus::Running);
    daemon.signals().wake();
    let cancelled = world.wait_until_over(run).await;
    assert_eq!(cancelled.status(), RunStatus::Cancelled, "{cancelled:#?}");
    assert_eq!(cancelled.state.reason(), Some("not wanted"));
    let next = world.wait_until_over(next).await;
    assert_eq!(next.status(), RunStatus::Succeeded, "{next:#?}");

    assert!(
        prompt_log(&script)
            .events()
            .any(|event| *event == Event::Cancel)
    );
    // The agent ended its turn itself, so its memory contains the turn.
    assert_eq!(session_openings(&script), ["new", "resume"]);
    let words: Vec<_> = world
        .messages(session)
        .await
        .into_iter()
        .map(|row| row.1)
        .collect();
    assert_eq!(
        words,
        [
            "One",
            "I begin",
            "The turn was cancelled: not wanted.",
            "Two",
            "Two"
        ]
    );
    daemon.stop().await;
}

pub(crate) async fn turn_finished_before_cancel_arrives_succeeds(world: &World) {
    let started = world.path("started");
    let script = world.script().prompt([
        Step::Touch(started.clone()),
        Step::UntilCancelled,
        Step::text("Done already"),
        Step::stop("end_turn"),
    ]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let daemon = world.daemon();
    let run = world.send_message(session, "One").await;
    daemon.signals().wake();
    wait_for_file(&started).await;
    world.cancel(run, "not wanted").await;
    daemon.signals().wake();
    assert_eq!(
        world.wait_until_over(run).await.status(),
        RunStatus::Succeeded
    );
    daemon.stop().await;
}

pub(crate) async fn turn_is_cancelled_while_agent_starts(world: &World) {
    let started = world.path("started");
    let mut script = world.script();
    script.before_initialize = vec![Step::Touch(started.clone()), Step::Stall];
    script.ignores_end_of_input = true;
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let daemon = world.daemon();
    let run = world.send_message(session, "One").await;
    daemon.signals().wake();
    wait_for_file(&started).await;
    // The test also holds if the guard is slow.
    let guard = processes_with_marker(&run.to_string()).unwrap().into_iter();
    let mut guard = guard.filter(|process| process.command[1] == "guard");
    kill_process(guard.next().unwrap().pid, Signal::STOP).unwrap();
    world.cancel(run, "not wanted").await;
    daemon.signals().wake();
    assert_eq!(
        world.wait_until_over(run).await.status(),
        RunStatus::Cancelled
    );
    // No process is alive when the run is over, not only some time later.
    crate::invariants::check(world).await;
    assert!(prompt_log(&script).prompts().is_empty());
    daemon.stop().await;
}

pub(crate) async fn queued_and_deferred_runs_are_cancelled_without_turn(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let queued = world.send_message(session, "One").await;
    let deferred = world.send_message(session, "Two").await;
    let last = world.send_message(session, "Three").await;
    assert_eq!(world.run(queued).await.status(), RunStatus::Queued);
    assert_eq!(world.run(deferred).await.status(), RunStatus::Deferred);
    for run in [deferred, queued] {
        assert_eq!(world.cancel(run, "not wanted").await, RunStatus::Cancelled);
    }
    // The run that waited behind them is queued next.
    assert_eq!(world.run(last).await.status(), RunStatus::Queued);
    world.take_turns().await;
    assert_eq!(prompt_log(&script).prompts(), ["Three"]);
    assert_eq!(world.run(last).await.status(), RunStatus::Succeeded);
}
