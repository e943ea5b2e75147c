//! The gentle shutdown, step by step.

use std::time::Duration;

use agent::{ExitStatus, GracePeriods, ShutdownStep};
use testkit::scripted::{Event, Step};
use tokio::sync::mpsc;

use crate::support::{World, events, is_alive, long_grace_periods, send_prompt, with_timeout};

/// Returns grace periods of zero, for agents that ignore every step.
fn zero_grace_periods() -> GracePeriods {
    GracePeriods {
        cancel: Duration::ZERO,
        close: Duration::ZERO,
        eof: Duration::ZERO,
        term: Duration::ZERO,
    }
}

#[tokio::test]
async fn session_is_closed_before_agent_input() {
    let world = World::new();
    let script = world.script();
    let (agent, _) = world.open(&script).await;
    send_prompt(&agent, "go").await.0.unwrap();
    let exit = world.end(agent).await;
    assert_eq!(
        (exit.status, exit.step),
        (ExitStatus::Code(0), ShutdownStep::Exit)
    );
    let events = events(&script);
    assert_eq!(
        events[events.len() - 2..],
        [Event::Close, Event::EndOfInput]
    );
}

#[tokio::test]
async fn session_close_is_skipped_if_not_offered() {
    let world = World::new();
    let mut script = world.script();
    script.capabilities.close = false;
    let (agent, _) = world.open(&script).await;
    world.end(agent).await;
    let events = events(&script);
    assert!(!events.contains(&Event::Close));
    assert_eq!(events.last(), Some(&Event::EndOfInput));
}

#[tokio::test]
async fn agent_ignoring_end_of_input_gets_sigterm() {
    let world = World::new();
    let mut script = world.script();
    script.ignores_end_of_input = true;
    let (agent, _) = world.open(&script).await;
    let grace = GracePeriods {
        eof: Duration::ZERO,
        ..long_grace_periods()
    };
    let exit = with_timeout(agent.shutdown(grace)).await;
    assert_eq!(
        (exit.status, exit.step),
        (ExitStatus::Signal(15), ShutdownStep::Term)
    );
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn agent_ignoring_sigterm_gets_sigkill() {
    let world = World::new();
    let mut script = world.script();
    script.ignores_end_of_input = true;
    script.ignores_term = true;
    let (agent, _) = world.open(&script).await;
    let exit = with_timeout(agent.shutdown(zero_grace_periods())).await;
    assert_eq!(
        (exit.status, exit.step),
        (ExitStatus::Signal(9), ShutdownStep::Kill)
    );
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn tool_in_own_process_session_is_killed_at_shutdown() {
    for clear_environment in [false, true] {
        let world = World::new();
        let pid_file = world.path("pid");
        let step = Step::Grandchild {
            pid_file: pid_file.clone(),
            clear_environment,
        };
        let (agent, _) = world.open(&world.script().prompt([step])).await;
        send_prompt(&agent, "go").await.0.unwrap();
        assert!(is_alive(&pid_file));
        let exit = world.end(agent).await;
        assert_eq!(
            (exit.status, exit.step),
            (ExitStatus::Code(0), ShutdownStep::Exit)
        );
        assert!(!is_alive(&pid_file));
    }
}

#[tokio::test]
async fn orphaned_agent_of_exited_wrapper_is_killed() {
    let world = World::new();
    let mut script = world.script();
    script.ignores_end_of_input = true;
    let command = script.command().unwrap();
    // The shell starts the agent in the background and exits at once, like some launchers.
    let wrapper = ["/bin/sh", "-c", "\"$0\" \"$@\" <&0 & exit 0"].map(str::to_owned);
    let launch = world.launch_command(wrapper.into_iter().chain(command).collect());
    // The guard kills the tree once its first process has ended, so even the start may fail.
    if let Ok(agent) = crate::support::start(launch).await {
        world.end(agent).await;
    }
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn agent_below_waiting_wrapper_is_killed() {
    let world = World::new();
    let mut script = world.script();
    script.ignores_end_of_input = true;
    let command = script.command().unwrap();
    let wrapper = ["/bin/sh", "-c", "\"$0\" \"$@\"; exit $?"].map(str::to_owned);
    let launch = world.launch_command(wrapper.into_iter().chain(command).collect());
    let agent = crate::support::start(launch).await.unwrap();
    agent.new_session(world.cwd(), &[]).await.unwrap();
    let exit = with_timeout(agent.shutdown(zero_grace_periods())).await;
    assert!(exit.step >= ShutdownStep::Term, "{exit:?}");
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn shutdown_during_turn_cancels_prompt_before_close() {
    let world = World::new();
    let script = world.script().prompt([Step::text("x"), Step::Stall]);
    let (agent, _) = world.open(&script).await;
    let (updates, mut received) = mpsc::channel(8);
    tokio::select! {
        _ = agent.prompt(&["go"], updates) => panic!("it never ends"),
        update = received.recv() => assert!(update.is_some()),
    }
    let exit = world.end(agent).await;
    assert_eq!(exit.step, ShutdownStep::Exit);
    let events = events(&script);
    let at = |event: &Event| events.iter().position(|known| known == event).unwrap();
    assert!(at(&Event::Cancel) < at(&Event::Close));
}

#[tokio::test]
async fn dropped_agent_leaves_no_process() {
    let world = World::new();
    let pid_file = world.path("pid");
    let step = Step::Grandchild {
        pid_file: pid_file.clone(),
        clear_environment: true,
    };
    let mut script = world.script().prompt([step]);
    script.ignores_end_of_input = true;
    script.ignores_term = true;
    let (agent, _) = world.open(&script).await;
    send_prompt(&agent, "go").await.0.unwrap();
    drop(agent);
    world.wait_until_nothing_is_alive().await;
    assert!(!is_alive(&pid_file));
}

#[tokio::test]
async fn dropped_shutdown_leaves_no_process() {
    let world = World::new();
    let mut script = world.script();
    script.ignores_end_of_input = true;
    script.ignores_term = true;
    let (agent, _) = world.open(&script).await;
    tokio::select! {
        _ = agent.shutdown(long_grace_periods()) => panic!("it ignores all"),
        () = crate::support::eventually(|| events(&script).contains(&Event::EndOfInput)) => {}
    }
    world.wait_until_nothing_is_alive().await;
}

#[tokio::test]
async fn agent_can_save_after_end_of_input() {
    let world = World::new();
    let saved = world.path("saved");
    let command = world.script().command().unwrap();
    let saving = format!("\"$0\" \"$@\"; echo x > {}", saved.display());
    let wrapper = ["/bin/sh".to_owned(), "-c".to_owned(), saving];
    let launch = world.launch_command(wrapper.into_iter().chain(command).collect());
    let agent = crate::support::start(launch).await.unwrap();
    let exit = world.end(agent).await;
    assert_eq!(exit.step, ShutdownStep::Exit);
    assert!(saved.exists());
}
