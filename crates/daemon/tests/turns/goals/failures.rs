//! Workers of goals that die, with real agents.

use daemon::{Host, WorkerTurnStore, scheduler, watchdog};
use model::{
    Clock as _, RunId,
    goal::{NewTask, TaskStatus, WORKER},
    outcome::{Outcome, StopReason},
    run::RunStatus,
};
use testkit::{processes::processes_with_marker, scripted::Step};
use turn::TurnControl;

use super::{begin_turn, create_goal, end_turn, queued_run, task_of};
use crate::world::{Storage, World, create_file, eventually, prompt_log, wait_for_file};

on_both_databases! { task_of_killed_worker_restarts_within_lease }

/// An answer that reports the task as done, because the agents of these tests have no tools.
const DONE: &str = "```json\n{\"status\": \"done\", \"result\": \"The parser is fixed.\"}\n```\n";

/// Takes the turn of a run on a server.
async fn take_turn(host: Host, run: RunId) {
    let (worker, now) = (&host.worker, host.clock.now());
    let claimed = host.store.claim(worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let store = WorkerTurnStore::new(host.clone());
    let control = TurnControl::idle();
    let taken = turn::execute(&store, &host.agent_runtime, run, &control);
    taken.await.unwrap();
}

async fn task_of_killed_worker_restarts_within_lease(world: &World) {
    let session = create_goal(world, &[]).await;
    let planner = begin_turn(world).await;
    let task = NewTask {
        title: "Fix it".into(),
        ..NewTask::new("fix", WORKER)
    };
    let now = world.clock.now();
    let staged = world.store().create_task(&planner, &task, now).await;
    staged.unwrap();
    end_turn(world, planner.run, Outcome::Stopped(StopReason::EndTurn)).await;
    let (began, goes_on) = (world.path("began"), world.path("goes on"));
    let script = world.script().prompt([
        Step::Touch(began.clone()),
        Step::WaitFor(goes_on.clone()),
        Step::text(DONE),
    ]);
    // Rewrite the script of the goal's agent.
    script.command().unwrap();
    // 1. The server dies while the worker works, and its guard kills the agent.
    let first = queued_run(world).await.unwrap();
    let killed = tokio::spawn(take_turn(world.host.clone(), first));
    wait_for_file(&began).await;
    killed.abort();
    eventually("the end of the agent", async || {
        let left = processes_with_marker(&first.to_string()).unwrap();
        left.is_empty().then_some(())
    })
    .await;
    create_file(&goes_on);
    assert_eq!(world.run(first).await.status(), RunStatus::Running);
    // 2. The next server gives the run up, and the next attempt is due within the lease of a turn.
    let next = world.successor();
    let now = world.clock.now();
    watchdog::tick(&next, now).await.unwrap();
    assert_eq!(world.run(first).await.status(), RunStatus::Stalled);
    assert_eq!(task_of(world, session).await.status, TaskStatus::Running);
    let attempts = world.attempts(first).await;
    let [_, second] = attempts.as_slice() else {
        panic!("two attempts are expected: {attempts:#?}")
    };
    let due = second.state.not_before().unwrap();
    assert!(
        due <= now + daemon::Settings::default().lease(),
        "{second:#?}"
    );
    world.clock.set(due);
    scheduler::tick(&next, due).await.unwrap();
    // 3. The task is done once, by the second attempt, which knows of the first.
    take_turn(next, second.id).await;
    let second = world.run(second.id).await;
    assert_eq!(second.status(), RunStatus::Succeeded, "{second:#?}");
    assert_eq!(second.interrupted_run_id, Some(first));
    let task = task_of(world, session).await;
    assert_eq!(
        (task.status, task.result.as_deref(), task.attempts),
        (TaskStatus::Done, Some("The parser is fixed."), 0)
    );
    let log = prompt_log(&script);
    let prompts = log.prompts();
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert!(prompts[1].contains(&first.to_string()), "{}", prompts[1]);
}
