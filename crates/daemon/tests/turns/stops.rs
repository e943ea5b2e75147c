//! A server that stops while turns run.

use std::time::Duration;

use daemon::{Daemon, StopSummary};
use model::run::RunStatus;
use testkit::scripted::{Event, Step};

use crate::world::{World, create_file, prompt_log, wait_for_file};

pub(crate) async fn stop_waits_for_turn_that_ends_before_deadline(world: &World) {
    let (began, go_on) = (world.path("began"), world.path("goes on"));
    let script = world.script().prompt([
        Step::Touch(began.clone()),
        Step::WaitFor(go_on.clone()),
        Step::Echo,
    ]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let daemon = world.daemon();
    let waker = daemon.signals();
    let run = world.send_message(session, "One").await;
    waker.wake();
    wait_for_file(&began).await;

    let stop = tokio::spawn(daemon.stop());
    // A run that is queued after the stop began is not started.
    let late = world.send_message(session, "Two").await;
    waker.wake();
    create_file(&go_on);
    let stopped = stop.await.unwrap();
    assert_eq!(
        stopped,
        StopSummary {
            finished: 1,
            requeued: 0
        }
    );
    assert_eq!(world.run(run).await.status(), RunStatus::Succeeded);
    assert_eq!(world.run(late).await.status(), RunStatus::Queued);
    assert_eq!(prompt_log(&script).prompts(), ["One"]);
}

pub(crate) async fn unfinished_turn_is_requeued_at_stop_and_resumed(world: &World) {
    let began = world.path("began");
    let script = world
        .script()
        .prompt([Step::Echo])
        .prompt([
            Step::text("I begin"),
            Step::Touch(began.clone()),
            Step::Stall,
        ])
        .prompt([Step::text("It is done")]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "One").await;

    let host = world.host_with(|settings, _| settings.stop_deadline = Duration::ZERO);
    let daemon = Daemon::start(host);
    let run = world.send_message(session, "Two").await;
    daemon.signals().wake();
    wait_for_file(&began).await;
    let stopped = daemon.stop().await;
    assert_eq!(
        stopped,
        StopSummary {
            finished: 0,
            requeued: 1
        }
    );
    // When the server has stopped, all ends are recorded and no process is alive.
    crate::invariants::check(world).await;
    let attempts = world.attempts(run).await;
    let [first, second] = attempts.as_slice() else {
        panic!("{attempts:#?}")
    };
    assert_eq!(first.status(), RunStatus::Stalled);
    assert_eq!(first.state.reason(), Some("handed_back"));
    assert_eq!((second.status(), second.failures), (RunStatus::Queued, 0));
    assert!(
        prompt_log(&script)
            .events()
            .any(|event| *event == Event::Cancel)
    );

    // Another server claims the run at once.
    let daemon = Daemon::start(world.successor());
    let second = world.wait_until_over(second.id).await;
    daemon.stop().await;
    assert_eq!(second.status(), RunStatus::Succeeded, "{second:#?}");
    assert_eq!(second.interrupted_run_id, Some(first.id));
    let ledger = prompt_log(&script);
    assert!(ledger.prompts()[2].contains(&first.id.to_string()));
    let words: Vec<_> = world
        .messages(session)
        .await
        .into_iter()
        .map(|row| row.1)
        .collect();
    assert_eq!(
        words[2..],
        [
            "Two",
            "I begin",
            "The turn was interrupted: the server stopped, and the input was requeued. The run will be \
             retried.",
            "Attempt 2 begins.",
            "It is done",
        ]
    );
}

pub(crate) async fn turn_stopped_before_prompt_is_requeued_uninterrupted(world: &World) {
    let began = world.path("began");
    let mut script = world.script();
    script.before_open = vec![Step::Touch(began.clone()), Step::Stall];
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let host = world.host_without_grace();
    let daemon = Daemon::start(host);
    let run = world.send_message(session, "One").await;
    daemon.signals().wake();
    wait_for_file(&began).await;
    // This is what a second Ctrl-C does.
    daemon.requeue_token().cancel();
    assert_eq!(daemon.stop().await.requeued, 1);
    crate::invariants::check(world).await;

    script.before_open.clear();
    script.command().unwrap();
    let second = world.attempts(run).await.pop().unwrap();
    let second = world.take_turn(second.id).await;
    assert_eq!(second.status(), RunStatus::Succeeded, "{second:#?}");
    // The agent had not received the message, so it is sent unchanged.
    assert_eq!(second.interrupted_run_id, None);
    assert_eq!(prompt_log(&script).prompts(), ["One"]);
}

pub(crate) async fn agent_ignoring_cancel_does_not_block_server_stop(world: &World) {
    let began = world.path("began");
    let mut script = world.script().prompt([
        Step::text("I begin"),
        Step::Touch(began.clone()),
        Step::Stall,
    ]);
    script.ignores_cancel = true;
    script.ignores_end_of_input = true;
    script.ignores_term = true;
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let mut host = world.host_without_grace();
    host.settings.stop_deadline = Duration::ZERO;
    let daemon = Daemon::start(host);
    let run = world.send_message(session, "One").await;
    daemon.signals().wake();
    wait_for_file(&began).await;
    assert_eq!(daemon.stop().await.requeued, 1);
    crate::invariants::check(world).await;
    assert_eq!(world.run(run).await.status(), RunStatus::Stalled);
}
