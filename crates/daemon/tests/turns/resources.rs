//! The resource limits and the file descriptors of an agent's processes.

use model::{
    agent::{AgentConfig, ResourceLimits},
    entity::Run,
    run::RunStatus,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testkit::scripted::{Script, Step};

use crate::{hostile_agents::assert_failed, world::World};

/// Takes one turn with an agent whose configuration has these limits.
async fn take_turn_with_limits(
    world: &World,
    script: &Script,
    limit: impl FnOnce(&mut ResourceLimits),
) -> Run {
    let mut config = AgentConfig::new(script.command().unwrap());
    limit(&mut config.limits);
    let agent = world.agent_with(&config).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "Go").await
}

pub(crate) async fn fork_bomb_is_stopped_by_process_limit(world: &World) {
    let script = world.script().prompt([Step::text("Boom"), Step::ForkBomb]);
    let run = take_turn_with_limits(world, &script, |limits| limits.processes = Some(40)).await;
    assert_failed(
        world,
        &run,
        "limit",
        "it started more processes than the agent configuration allows",
    )
    .await;
    assert_eq!(world.attempts(run.id).await.len(), 1);
}

pub(crate) async fn agent_over_memory_limit_fails(world: &World) {
    let script = world
        .script()
        .prompt([Step::AllocateMemory(200 << 20), Step::Stall]);
    let run = take_turn_with_limits(world, &script, |limits| {
        limits.memory_bytes = Some(100 << 20);
    })
    .await;
    assert_failed(
        world,
        &run,
        "limit",
        "used more memory than the agent configuration allows",
    )
    .await;
    let modest = world.script().prompt([Step::AllocateMemory(10 << 20)]);
    let run = take_turn_with_limits(world, &modest, |limits| {
        limits.memory_bytes = Some(100 << 20);
    })
    .await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
}

pub(crate) async fn agent_over_cpu_limit_fails(world: &World) {
    let script = world.script().prompt([Step::BurnCpu]);
    let run = take_turn_with_limits(world, &script, |limits| limits.cpu_seconds = Some(1)).await;
    assert_failed(
        world,
        &run,
        "limit",
        "more processor time than the agent configuration allows",
    )
    .await;
}

pub(crate) async fn file_limits_apply_and_core_dumps_are_disabled(world: &World) {
    let file = world.path("written");
    let script = world.script().prompt([
        Step::CoreLimit,
        Step::OpenFiles(1000),
        Step::WriteFile(file.clone(), 4 << 20),
    ]);
    let run = take_turn_with_limits(world, &script, |limits| {
        limits.open_files = Some(64);
        limits.file_bytes = Some(1 << 20);
    })
    .await;
    // SIGXFSZ: the kernel kills a process that writes beyond the limit of a file, unless the process handles the
    // signal.
    assert_failed(world, &run, "agent_exited", "signal 25").await;
    assert_eq!(std::fs::metadata(file).unwrap().len(), 1 << 20);
    let words = world.messages(run.session_id.unwrap()).await;
    let said = &words
        .iter()
        .find(|(role, _)| role == "assistant")
        .unwrap()
        .1;
    let core = said.lines().next().unwrap();
    let numbers: Vec<_> = core
        .split_whitespace()
        .filter(|word| *word == "0")
        .collect();
    assert_eq!(numbers.len(), 2, "{said}");
    let opened = said.split("opened ").nth(1).unwrap();
    assert!(opened.trim().parse::<u32>().unwrap() < 64, "{said}");
}

pub(crate) async fn agent_does_not_inherit_servers_open_file_limit(world: &World) {
    let many = getrlimit(Resource::Nofile).maximum;
    assert!(many.is_none_or(|many| many > 1024), "{many:?}");
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: many,
            maximum: many,
        },
    )
    .unwrap();
    let script = world.script().prompt([Step::OpenFiles(2000)]);
    let run = take_turn_with_limits(world, &script, |_| {}).await;
    let words = world.messages(run.session_id.unwrap()).await;
    let said = &words
        .iter()
        .find(|(role, _)| role == "assistant")
        .unwrap()
        .1;
    let opened = said.split("opened ").nth(1).unwrap();
    assert!(opened.trim().parse::<u32>().unwrap() < 1024, "{said}");
}

pub(crate) async fn agent_and_guard_environment_has_no_server_secrets(world: &World) {
    let script = world.script().prompt([Step::Environment]);
    let mut config = AgentConfig::new(script.command().unwrap());
    config.env = [("OWN".to_owned(), "agent".to_owned())].into();
    config.pass_env = vec!["API_KEY".into()];
    let agent = world.agent_with(&config).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "Go").await;
    let mut host = world.host.clone();
    host.agent_runtime.environment = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/nowhere"),
        ("API_KEY", "asked-for"),
        ("MATINS_DATABASE", "canary-database"),
        ("MATINS_DATA", "canary-data"),
        ("PGPASSWORD", "canary-password"),
        ("AWS_SECRET_ACCESS_KEY", "canary-key"),
        ("LD_PRELOAD", "canary-preload"),
        ("NODE_OPTIONS", "canary-options"),
        ("SSH_AUTH_SOCK", "canary-socket"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let now = model::Clock::now(&*world.clock);
    let claimed = world
        .store()
        .claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let ledger = daemon::WorkerTurnStore::new(host.clone());
    turn::execute(
        &ledger,
        &host.agent_runtime,
        run,
        &turn::TurnControl::idle(),
    )
    .await
    .unwrap();
    let words = world.messages(session).await;
    let said = &words.last().unwrap().1;
    assert!(!said.contains("canary"), "{said}");
    // The process of the agent and the process of its guard have only these descriptors.
    let expected = format!(
        "API_KEY=asked-for\nHOME=/nowhere\nMATINS_RUN={run}\nOWN=agent\nPATH=/usr/bin:/bin"
    );
    assert_eq!(*said, format!("own\n{expected}\nparent\n{expected}"));
}
