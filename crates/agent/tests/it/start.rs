//! The start of an agent: protocol version, sign-in, limits, and failures that leave no process.

use std::{sync::Arc, time::Duration};

use agent::{Agent, Decision, ExitStatus, Limits, OpenError, StartError};
use serde_json::json;
use testkit::scripted::{Capabilities, Crash, Event, Step};

use crate::support::{AlwaysDecide, TEST_TIMEOUT, World, events, start, wait_for_file};

#[tokio::test]
async fn agent_capabilities_are_returned() {
    let world = World::new();
    let mut script = world.script();
    script.capabilities = Capabilities {
        resume: false,
        load: true,
        list: false,
        close: true,
    };
    script.sign_in = Some("browser".into());
    let agent = world.start(&script).await;
    let offers = agent.capabilities().clone();
    assert_eq!(
        (offers.name.as_str(), offers.version.as_str()),
        ("scripted", "1.0.0")
    );
    assert_eq!(
        (offers.resume, offers.load, offers.list, offers.close),
        (false, true, false, true)
    );
    assert_eq!(offers.auth_methods[0].id, "browser");
    world.end(agent).await;
}

#[tokio::test]
async fn other_protocol_version_is_refused() {
    for version in [json!(2), json!(0), json!("1"), json!(null)] {
        let world = World::new();
        let mut script = world.script();
        script.protocol_version = version.clone();
        let error = start(world.launch(&script)).await.err().unwrap();
        let StartError::Version { protocol_version } = error else {
            panic!("{version}: {error:?}")
        };
        assert_eq!(protocol_version, version);
        assert!(world.alive().is_empty());
    }
}

#[tokio::test]
async fn missing_agent_program_is_named_in_error() {
    let world = World::new();
    let error = start(world.launch_command(vec!["/nowhere/agent".into()]))
        .await
        .err()
        .unwrap();
    let StartError::Program { program, reason } = error else {
        panic!("{error:?}")
    };
    assert_eq!(program, "/nowhere/agent");
    assert!(reason.contains("No such file"), "{reason}");
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn missing_guard_program_is_named_in_error() {
    let world = World::new();
    let mut launch = world.launch(&world.script());
    launch.guard.program = "/nowhere/matins".into();
    let error = start(launch).await.err().unwrap();
    assert!(matches!(error, StartError::Guard { .. }), "{error:?}");
}

#[tokio::test]
async fn missing_working_directory_is_named_in_error() {
    let world = World::new();
    let mut launch = world.launch(&world.script());
    launch.cwd = world.path("nowhere");
    let error = start(launch).await.err().unwrap();
    assert!(matches!(&error, StartError::WorkingDirectory { path } if path.ends_with("nowhere")));
}

#[tokio::test]
async fn empty_agent_command_is_refused() {
    let error = start(World::new().launch_command(Vec::new()))
        .await
        .err()
        .unwrap();
    assert!(matches!(error, StartError::NoCommand));
}

#[tokio::test]
async fn agent_crash_during_start_reports_stderr_tail() {
    let world = World::new();
    let mut script = world.script();
    script.before_initialize = vec![Step::Stderr(10), Step::Crash(Crash::Exit(3))];
    let error = start(world.launch(&script)).await.err().unwrap();
    let StartError::AgentExited(ended) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(ended.status, ExitStatus::Code(3));
    assert!(
        error.to_string().ends_with("exit code 3: the last word"),
        "{error}"
    );
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn agent_exit_during_start_reports_last_output_line() {
    let world = World::new();
    let mut script = world.script();
    script.before_initialize = vec![
        Step::raw_line("Please upgrade node to 22"),
        Step::Crash(Crash::Exit(1)),
    ];
    let error = start(world.launch(&script)).await.err().unwrap();
    assert!(
        error
            .to_string()
            .ends_with("exit code 1: Please upgrade node to 22"),
        "{error}"
    );
}

#[tokio::test]
async fn agent_start_timeout_kills_agent() {
    let world = World::new();
    let mut script = world.script();
    script.before_initialize = vec![Step::Touch(world.path("started")), Step::Stall];
    script.ignores_term = true;
    script.ignores_end_of_input = true;
    let mut launch = world.launch(&script);
    launch.limits = Limits {
        start: Duration::from_millis(300),
        ..Limits::default()
    };
    let error = start(launch).await.err().unwrap();
    assert!(matches!(error, StartError::Timeout { .. }), "{error:?}");
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn dropped_start_leaves_no_process() {
    let world = World::new();
    let mut script = world.script();
    script.before_initialize = vec![Step::Touch(world.path("started")), Step::Stall];
    script.ignores_end_of_input = true;
    let starting = Agent::start(
        world.launch(&script),
        Arc::new(AlwaysDecide(Decision::Deny)),
    );
    let started = world.path("started");
    tokio::select! {
        _ = starting => panic!("it never answers"),
        () = wait_for_file(&started) => {}
    }
    world.wait_until_nothing_is_alive().await;
}

#[tokio::test]
async fn sign_in_required_error_lists_methods() {
    let world = World::new();
    let mut script = world.script();
    script.sign_in = Some("api-key".into());
    let agent = world.start(&script).await;
    let error = agent.new_session(world.cwd(), &[]).await.unwrap_err();
    let OpenError::SignInNeeded { methods } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(methods[0].id, "api-key");
    assert!(error.to_string().contains("api-key"), "{error}");
    world.end(agent).await;
}

#[tokio::test]
async fn configured_agent_sign_in_method_is_used() {
    let world = World::new();
    let mut script = world.script();
    script.sign_in = Some("api-key".into());
    let mut launch = world.launch(&script);
    launch.authenticate = Some("api-key".into());
    let agent = start(launch).await.unwrap();
    agent.new_session(world.cwd(), &[]).await.unwrap();
    assert_eq!(events(&script)[0], Event::SignedIn("api-key".into()));
    world.end(agent).await;
}

#[tokio::test]
async fn unknown_sign_in_method_error_lists_offered_methods() {
    let world = World::new();
    let mut script = world.script();
    script.sign_in = Some("api-key".into());
    let mut launch = world.launch(&script);
    launch.authenticate = Some("browser".into());
    let error = start(launch).await.err().unwrap();
    assert!(
        error
            .to_string()
            .ends_with("`browser`; the agent offers api-key"),
        "{error}"
    );
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn agent_process_inherits_no_environment() {
    let world = World::new();
    let mut launch = world.launch(&world.script());
    launch.env.insert("GIVEN".into(), "1".into());
    launch
        .env
        .insert("MATINS_RUN_WORKER".into(), "not me".into());
    launch.guard.worker = Some("host-1-00000001".into());
    launch.lease = TEST_TIMEOUT;
    let agent = start(launch).await.unwrap();
    let pid = crate::support::pid_of(&world.marker(), "agent");
    let environ = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap();
    let environ = String::from_utf8(environ).unwrap();
    let mut names: Vec<_> = environ.split_terminator('\0').collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "GIVEN=1",
            format!("MATINS_RUN={}", world.marker()).as_str(),
            "MATINS_RUN_WORKER=host-1-00000001",
        ]
    );
    world.end(agent).await;
}
