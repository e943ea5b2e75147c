//! The guard against killed and frozen workers, and processes that try to get away.

use std::{
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use agent::{Agent, Decision, ExceededLimit, ExitStatus, PromptError, ShutdownStep, guard::sweep};
use rustix::process::{Pid, Signal, kill_process};
use testkit::scripted::{Script, Step, program_path};

use crate::support::{
    AlwaysDecide, TEST_TIMEOUT, World, eventually, is_alive, pid_of, send_prompt, start,
    wait_for_file, with_timeout,
};

/// Starts a worker process with an agent that is ready for a prompt.
async fn worker(world: &World, script: &Script, lease: Duration) -> Child {
    let ready = world.path("ready");
    let worker = Command::new(program_path().unwrap())
        .arg("worker")
        .arg(&ready)
        .arg(world.marker())
        .arg(lease.as_millis().to_string())
        .args(script.command().unwrap())
        .current_dir(world.cwd())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_file(&ready).await;
    assert_eq!(world.alive().len(), 2, "a guard and an agent");
    worker
}

/// Returns the script of an agent that only SIGKILL ends.
fn unstoppable_script(world: &World) -> Script {
    let mut script = world.script();
    script.ignores_end_of_input = true;
    script.ignores_term = true;
    script
}

#[tokio::test]
async fn killed_worker_ends_its_agent() {
    let world = World::new();
    let mut worker = worker(&world, &unstoppable_script(&world), TEST_TIMEOUT * 10).await;
    worker.kill().unwrap();
    worker.wait().unwrap();
    world.wait_until_nothing_is_alive().await;
}

#[tokio::test]
async fn frozen_worker_loses_agent_at_lease_expiry() {
    let world = World::new();
    let mut worker = worker(&world, &unstoppable_script(&world), Duration::from_secs(2)).await;
    kill_process(Pid::from_child(&worker), Signal::STOP).unwrap();
    world.wait_until_nothing_is_alive().await;
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[tokio::test]
async fn expired_lease_is_reported_as_exit_reason() {
    let world = World::new();
    let script = world.script().prompt([Step::Stall]);
    let (agent, _) = world.open(&script).await;
    agent.lease().renew(Duration::ZERO).unwrap();
    let error = with_timeout(send_prompt(&agent, "go")).await.0.unwrap_err();
    let PromptError::AgentExited(ended) = error else {
        panic!("{error:?}")
    };
    assert!(ended.lease_expired);
    assert_eq!(ended.status, ExitStatus::Signal(9));
    let exit = world.end(agent).await;
    assert!(exit.lease_expired);
}

#[tokio::test]
async fn renewed_lease_keeps_agent_alive() {
    let (world, other) = (World::new(), World::new());
    let (agent, _) = world.open(&world.script()).await;
    agent.lease().renew(Duration::from_millis(100)).unwrap();
    agent.lease().renew(TEST_TIMEOUT * 10).unwrap();
    // The death of this agent proves that the time of the first lease has passed.
    let witness = other.start(&other.script()).await;
    witness.lease().renew(Duration::from_millis(200)).unwrap();
    other.wait_until_nothing_is_alive().await;
    send_prompt(&agent, "go").await.0.unwrap();
    assert!(!world.end(agent).await.lease_expired);
}

#[tokio::test]
async fn killed_guard_tree_is_swept() {
    let world = World::new();
    let pid_file = world.path("pid");
    let step = Step::Grandchild {
        pid_file: pid_file.clone(),
        clear_environment: false,
    };
    let script = world.script().prompt([step, Step::text("x"), Step::Stall]);
    let (agent, _) = world.open(&script).await;
    let kill = async {
        wait_for_file(&pid_file).await;
        kill_process(pid_of(&world.marker(), "guard"), Signal::KILL).unwrap();
    };
    let ((end, _), ()) = tokio::join!(with_timeout(send_prompt(&agent, "go")), kill);
    let PromptError::AgentExited(ended) = end.unwrap_err() else {
        panic!("the agent was killed")
    };
    assert_eq!(ended.status, ExitStatus::Unknown);
    assert!(agent.lease().renew(TEST_TIMEOUT).is_err());
    world.end(agent).await;
}

#[tokio::test]
async fn frozen_guard_tree_is_swept() {
    let world = World::new();
    let (agent, _) = world.open(&unstoppable_script(&world)).await;
    kill_process(pid_of(&world.marker(), "guard"), Signal::STOP).unwrap();
    drop(agent);
    world.wait_until_nothing_is_alive().await;
}

#[tokio::test]
async fn guard_survives_terminal_signals() {
    let world = World::new();
    let (agent, _) = world.open(&world.script()).await;
    let guard = pid_of(&world.marker(), "guard");
    assert_eq!(rustix::process::getsid(Some(guard)).unwrap(), guard);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(guard, signal).unwrap();
    }
    send_prompt(&agent, "go").await.0.unwrap();
    let exit = world.end(agent).await;
    assert_eq!(
        (exit.status, exit.step),
        (ExitStatus::Code(0), ShutdownStep::Exit)
    );
}

#[tokio::test]
async fn fast_forking_processes_are_killed() {
    let world = World::new();
    let storm = world.path("storm");
    let (agent, _) = world
        .open(&world.script().prompt([Step::ForkChain(storm)]))
        .await;
    send_prompt(&agent, "go").await.0.unwrap();
    drop(agent);
    world.wait_until_nothing_is_alive().await;
}

#[tokio::test]
async fn sweep_kills_marked_processes_and_descendants() {
    let world = World::new();
    let other = World::new();
    let (own, cleared) = (world.path("own"), world.path("cleared"));
    let sleeper = |world: &World, file: &std::path::Path| {
        Command::new(program_path().unwrap())
            .arg("sleeper")
            .arg(file)
            .env_clear()
            .env("MATINS_RUN", world.marker())
            .spawn()
            .unwrap()
    };
    let foreign = other.path("pid");
    let mut spared = sleeper(&other, &foreign);
    let mut marked = sleeper(&world, &own);
    let shell = format!(
        "env -i {} sleeper {} & wait",
        program_path().unwrap().display(),
        cleared.display()
    );
    let mut parent = Command::new("/bin/sh")
        .args(["-c", &shell])
        .env("MATINS_RUN", world.marker())
        .spawn()
        .unwrap();
    for file in [&own, &cleared, &foreign] {
        wait_for_file(file).await;
    }
    assert_eq!(sweep(&world.marker()).unwrap(), 3);
    marked.wait().unwrap();
    parent.wait().unwrap();
    eventually(|| !is_alive(&cleared)).await;
    assert!(is_alive(&foreign), "another run is spared");
    assert_eq!(sweep(&world.marker()).unwrap(), 0);
    spared.kill().unwrap();
    spared.wait().unwrap();
}

#[tokio::test]
async fn lease_can_be_renewed_while_agent_starts() {
    let world = World::new();
    let goes_on = world.path("goes on");
    let mut script = world.script();
    script.before_initialize = vec![
        Step::Touch(world.path("starting")),
        Step::WaitFor(goes_on.clone()),
    ];
    let mut launch = world.launch(&script);
    launch.lease = TEST_TIMEOUT;
    let starting = Agent::launch(launch, Arc::new(AlwaysDecide(Decision::Deny)));
    let starting = starting.await.unwrap();
    let lease = starting.lease();
    // The lease of the canary is never renewed, so its death shows when the other lease would have been over.
    let canary = World::new();
    let mut script = canary.script();
    script.before_initialize = vec![
        Step::Touch(canary.path("starting")),
        Step::WaitFor(canary.path("never")),
    ];
    let mut launch = canary.launch(&script);
    launch.lease = TEST_TIMEOUT;
    let alone = Agent::launch(launch, Arc::new(AlwaysDecide(Decision::Deny)));
    let alone = alone.await.unwrap();
    let short_lived = alone.lease();
    let looked_after = async {
        wait_for_file(&world.path("starting")).await;
        wait_for_file(&canary.path("starting")).await;
        let short = Duration::from_millis(300);
        lease.renew(short).unwrap();
        lease.renew(TEST_TIMEOUT * 10).unwrap();
        short_lived.renew(short).unwrap();
        eventually(|| canary.alive().is_empty()).await;
        std::fs::write(&goes_on, "").unwrap();
    };
    let all = async { tokio::join!(starting.negotiate(), alone.negotiate(), looked_after) };
    let (ready, ended, ()) = Box::pin(with_timeout(all)).await;
    assert!(ended.is_err(), "its lease is over");
    world.end(ready.unwrap()).await;
    assert!(lease.renew(TEST_TIMEOUT).is_err(), "the agent was dropped");
}

#[tokio::test]
async fn guard_reports_resource_usage_of_tree() {
    let world = World::new();
    let script = world.script().prompt([Step::AllocateMemory(64 << 20)]);
    let (agent, _) = world.open(&script).await;
    let before = agent.resource_usage().await.unwrap();
    assert!((1..=8).contains(&before.processes), "{before:?}");
    send_prompt(&agent, "go").await.0.unwrap();
    let after = agent.resource_usage().await.unwrap();
    let more = after.memory_bytes - before.memory_bytes;
    assert!((60 << 20..80 << 20).contains(&more), "{before:?} {after:?}");
    world.end(agent).await;
}

#[tokio::test]
async fn agent_above_process_limit_is_killed_with_descendants() {
    let world = World::new();
    let mut launch = world.launch(&world.script().prompt([Step::ForkBomb]));
    launch.resources.processes = Some(30);
    let agent = start(launch).await.unwrap();
    agent.new_session(world.cwd(), &[]).await.unwrap();
    let error = with_timeout(send_prompt(&agent, "go")).await.0.unwrap_err();
    let PromptError::AgentExited(ended) = error else {
        panic!("{error:?}")
    };
    assert_eq!(ended.exceeded_limit, Some(ExceededLimit::Processes));
    let exit = world.end(agent).await;
    assert_eq!(exit.exceeded_limit, Some(ExceededLimit::Processes));
}

#[test]
fn kernel_limits_cgroup_or_reason_is_returned() {
    // Print the group, because a machine without a delegated group tests only the limits that guards enforce.
    match agent::guard::kernel_limits_cgroup() {
        Ok(base) => assert!(base.join("cgroup.subtree_control").exists()),
        Err(reason) => {
            println!("no control groups here, so the kernel's limits are not tried: {reason}");
            assert!(!reason.is_empty());
        }
    }
}
