//! Turns that exceed their time limits.

use std::fs;

use model::{RunId, run::RunStatus};
use testkit::{
    processes::is_alive,
    scripted::{Event, Script, Step},
};
use turn::{TurnControl, execute};

use crate::world::{World, on_demand, prompt_log};

/// Takes an automation's turn with these limits of silence and total time in seconds, with an agent that gets no time
/// to end.
async fn take_limited_turn(world: &World, script: &Script, silence: u32, whole: u32) -> RunId {
    let agent = world.agent(script).await;
    let mut new = on_demand(agent);
    new.policies.inactivity_seconds = silence;
    new.policies.timeout_seconds = whole;
    let id = world.create_automation(&new).await;
    let run = world.fire(id).await;
    let host = world.host_without_grace();
    let (store, now) = (world.store(), model::Clock::now(&*world.clock));
    let claimed = store.claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let ledger = daemon::WorkerTurnStore::new(host.clone());
    execute(&ledger, &host.agent_runtime, run, &TurnControl::idle())
        .await
        .unwrap();
    run
}

/// Returns a script that starts a process which leaves its group, its session and its environment. That happens before
/// the prompt, so its duration does not count as silence. Then the agent is silent.
fn silent_script(world: &World) -> Script {
    let mut script = world.script().prompt([Step::text("I begin"), Step::Stall]);
    script.before_initialize = vec![Step::Grandchild {
        pid_file: world.path("grandchild"),
        clear_environment: true,
    }];
    script
}

fn assert_grandchild_is_dead(world: &World) {
    let pid = fs::read_to_string(world.path("grandchild")).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    assert!(!is_alive(pid));
}

async fn assert_stopped(world: &World, run: RunId, reason: &str, notice: &str) {
    let run = world.run(run).await;
    assert_eq!(run.status(), RunStatus::Failed, "{run:#?}");
    assert_eq!(run.state.reason(), Some(reason));
    // A turn that exceeded its limit is not retried.
    assert_eq!(world.attempts(run.id).await.len(), 1);
    assert_grandchild_is_dead(world);
    let words = world.messages(run.session_id.unwrap()).await.into_iter();
    let words: Vec<_> = words.map(|row| row.1).collect();
    assert_eq!(words[1..], ["I begin", notice]);
}

pub(crate) async fn silent_agent_obeying_cancel_keeps_its_session(world: &World) {
    let script = silent_script(world);
    let run = take_limited_turn(world, &script, 1, 600).await;
    assert_stopped(
        world,
        run,
        "inactive",
        "The turn failed: the agent was silent for 1 s.",
    )
    .await;
    assert!(
        prompt_log(&script)
            .events()
            .any(|event| *event == Event::Cancel)
    );
    let session = world.run(run).await.session_id.unwrap();
    let seat = &world.store().seats(world.scope(), session).await.unwrap()[0];
    assert!(seat.acp_session_id.is_some());
}

pub(crate) async fn silent_agent_ignoring_all_signals_is_killed(world: &World) {
    let mut script = silent_script(world);
    script.ignores_cancel = true;
    script.ignores_end_of_input = true;
    script.ignores_term = true;
    let run = take_limited_turn(world, &script, 1, 600).await;
    assert_stopped(
        world,
        run,
        "inactive",
        "The turn failed: the agent was silent for 1 s.",
    )
    .await;
    let record = world
        .store()
        .run_record(world.scope(), run)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        record.diagnostics["process"]["ended_by"], "kill",
        "{record:#?}"
    );
}

pub(crate) async fn endlessly_answering_agent_is_stopped_at_timeout(world: &World) {
    let mut script = world.script().prompt([
        Step::Grandchild {
            pid_file: world.path("grandchild"),
            clear_environment: true,
        },
        Step::text("I begin"),
        Step::StreamThoughts,
    ]);
    script.ignores_cancel = true;
    let run = take_limited_turn(world, &script, 600, 1).await;
    assert_stopped(
        world,
        run,
        "timeout",
        "The turn failed: the turn took longer than 1 s.",
    )
    .await;
}

pub(crate) async fn agent_hanging_at_start_is_stopped_at_timeout(world: &World) {
    let mut script = world.script();
    script.before_initialize = vec![
        Step::Grandchild {
            pid_file: world.path("grandchild"),
            clear_environment: true,
        },
        Step::Stall,
    ];
    let run = take_limited_turn(world, &script, 600, 1).await;
    let run = world.run(run).await;
    assert_eq!(run.state.reason(), Some("timeout"), "{run:#?}");
    assert_grandchild_is_dead(world);
}
