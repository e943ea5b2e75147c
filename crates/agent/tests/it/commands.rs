//! Commands that speak no protocol, under a guard.

use std::{collections::BTreeMap, time::Duration};

use agent::{Command, CommandError, ExitStatus};
use model::agent::ResourceLimits;

use crate::support::{TEST_TIMEOUT, World, guard_program, wait_for_file, with_timeout};

fn command(world: &World, words: &str) -> Command {
    Command {
        command: ["/bin/sh", "-c", words].map(str::to_owned).to_vec(),
        cwd: world.cwd().to_owned(),
        env: BTreeMap::new(),
        guard: guard_program(),
        marker: world.marker(),
        lease: TEST_TIMEOUT * 10,
        resources: ResourceLimits::default(),
    }
}

/// Returns a shell script that starts a process in a new session, which ignores SIGTERM, and then waits.
fn unstoppable_script(world: &World) -> String {
    let began = world.path("began");
    format!(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; touch {}; while :; do sleep 1000; done' & \
         while :; do sleep 1000; done",
        began.display()
    )
}

#[tokio::test]
async fn command_end_has_status_and_output_tail() {
    let world = World::new();
    for (words, status, said) in [
        (
            "echo out; echo err >&2; exit 7",
            ExitStatus::Code(7),
            "err\n",
        ),
        ("kill -9 $$", ExitStatus::Signal(9), ""),
        // The standard input of a command is empty.
        ("cat; echo read", ExitStatus::Code(0), "read\n"),
    ] {
        let running = command(&world, words).start().unwrap();
        with_timeout(running.wait()).await;
        let end = with_timeout(running.kill()).await;
        assert_eq!((end.status, &end.start_error), (status, &None), "{words}");
        assert!(end.output_tail.contains(said), "{words}: {end:?}");
        assert!(!end.lease_expired);
        assert_eq!(world.alive(), [] as [String; 0]);
    }
}

#[tokio::test]
async fn command_that_cannot_start_reports_reason() {
    let world = World::new();
    let mut nowhere = command(&world, "");
    nowhere.command = vec!["/nowhere/check".into()];
    let running = nowhere.start().unwrap();
    with_timeout(running.wait()).await;
    let end = with_timeout(running.kill()).await;
    assert!(end.start_error.unwrap().contains("No such file"));
    nowhere.command.clear();
    assert!(matches!(nowhere.start(), Err(CommandError::Empty)));
    let mut homeless = command(&world, "true");
    homeless.cwd = world.path("nowhere");
    let error = homeless.start().err();
    assert!(matches!(error, Some(CommandError::WorkingDirectory { .. })));
}

#[tokio::test]
async fn dropped_command_is_killed_with_descendants() {
    let world = World::new();
    let running = command(&world, &unstoppable_script(&world))
        .start()
        .unwrap();
    wait_for_file(&world.path("began")).await;
    assert_eq!(running.status(), None);
    let end = with_timeout(running.kill()).await;
    assert_eq!(end.status, ExitStatus::Signal(9));
    assert_eq!(world.alive(), [] as [String; 0]);

    std::fs::remove_file(world.path("began")).unwrap();
    let running = command(&world, &unstoppable_script(&world))
        .start()
        .unwrap();
    wait_for_file(&world.path("began")).await;
    drop(running);
    world.wait_until_nothing_is_alive().await;
}

#[tokio::test]
async fn command_with_expired_lease_is_killed_and_reported() {
    let world = World::new();
    let running = command(&world, &unstoppable_script(&world))
        .start()
        .unwrap();
    wait_for_file(&world.path("began")).await;
    running.lease().renew(Duration::ZERO).unwrap();
    with_timeout(running.wait()).await;
    let end = with_timeout(running.kill()).await;
    assert!(end.lease_expired, "{end:?}");
    assert_eq!(world.alive(), [] as [String; 0]);
}
