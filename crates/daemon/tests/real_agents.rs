//! Real agents keep their memory through the product's own path, although all their processes die in between.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

#[path = "turns/api_stores.rs"]
mod api_stores;
#[path = "turns/automations.rs"]
mod automations;
#[path = "turns/routes.rs"]
mod routes;
#[path = "turns/world.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the scenarios of `turns` use these functions"
)]
mod world;

use std::path::Path;

use daemon::Daemon;
use model::{SessionId, agent::AgentConfig, entity::Run, run::RunStatus};
use rustix::process::{Signal, kill_process};
use testkit::{
    acp_lines::AgentCommand, model_server::ModelServer, processes::processes_with_marker,
    real_agents,
};

use world::{Storage, World, eventually};

/// Returns the command of one kind of agent, for a model server and a folder.
type LaunchAgent = fn(&ModelServer, &Path) -> anyhow::Result<AgentCommand>;

fn config(launch: &AgentCommand) -> AgentConfig {
    let program = launch.command.to_str().unwrap().to_owned();
    let command = [program].into_iter().chain(launch.args.clone()).collect();
    let mut config = AgentConfig::new(command);
    config.env = launch.env.iter().cloned().collect();
    config
}

async fn take_successful_turn(world: &World, session: SessionId, words: &str) -> Run {
    let run = world.send_and_take_turn(session, words).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!(processes_with_marker(&run.id.to_string()).unwrap(), []);
    run
}

/// Returns the newest answer of the transcript.
async fn last_answer(world: &World, session: SessionId) -> String {
    let mut words = world.messages(session).await.into_iter();
    words.rfind(|(role, _)| role == "assistant").unwrap().1
}

/// Takes two turns in two processes, a third in which all processes are killed, and a fourth.
async fn check_memory_across_processes(storage: Storage, start: LaunchAgent) {
    let server = ModelServer::start().await.unwrap();
    let world = World::new(storage).await;
    let home = world.path("home");
    std::fs::create_dir(&home).unwrap();
    let launch = start(&server, &home).unwrap();
    let agent = world.agent_with(&config(&launch)).await;
    let session = world.session(agent).await;

    take_successful_turn(&world, session, "Remember the heron.").await;
    take_successful_turn(&world, session, "What was it?").await;
    let said = last_answer(&world, session).await;
    assert!(
        said.contains("[1] Remember the heron. [2] What was it?"),
        "{said}"
    );
    let known = world.store().seats(world.scope(), session).await.unwrap();
    let memory = known[0].acp_session_id.clone().unwrap();

    // The model has received the request and does not answer. Then all processes of the agent are killed.
    server.pause_answers(true);
    let daemon = Daemon::start(world.host.clone());
    let calls = server.seen_requests().len();
    let crashed = world.send_message(session, "Go on.").await;
    daemon.signals().wake();
    eventually("a call of the model", async || {
        (server.seen_requests().len() > calls).then_some(())
    })
    .await;
    let processes = processes_with_marker(&crashed.to_string()).unwrap();
    let guards = |arg: &String| arg == "guard";
    let own = processes
        .iter()
        .filter(|process| !process.command.get(1).is_some_and(guards));
    let mut killed = 0;
    for process in own {
        // A process may have ended already together with another one that was killed before it.
        killed += u32::from(kill_process(process.pid, Signal::KILL).is_ok());
    }
    assert!(killed > 0, "{processes:#?}");
    let crashed = world.wait_until_over(crashed).await;
    assert_eq!(crashed.state.reason(), Some("agent_exited"), "{crashed:#?}");
    assert_eq!(processes_with_marker(&crashed.id.to_string()).unwrap(), []);
    server.pause_answers(false);

    let next = world.attempts(crashed.id).await.pop().unwrap();
    world.clock.set(next.state.not_before().unwrap());
    daemon.signals().wake();
    let next = world.wait_until_over(next.id).await;
    assert_eq!(next.status(), RunStatus::Succeeded, "{next:#?}");
    assert_eq!(next.interrupted_run_id, Some(crashed.id));
    daemon.stop().await;
    // The agent remembers the first message, and its prompt names the interrupted run.
    let said = last_answer(&world, session).await;
    assert!(said.contains("[1] Remember the heron."), "{said}");
    let shown = server.seen_requests().pop().unwrap();
    assert!(shown.body.to_string().contains(&crashed.id.to_string()));
    let known = world.store().seats(world.scope(), session).await.unwrap();
    assert_eq!(known[0].acp_session_id, Some(memory));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goose_resumes_session_after_kill_on_sqlite() {
    check_memory_across_processes(Storage::Sqlite, real_agents::goose).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goose_resumes_session_after_kill_on_postgres() {
    check_memory_across_processes(Storage::Postgres, real_agents::goose).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_resumes_session_after_kill_on_sqlite() {
    check_memory_across_processes(Storage::Sqlite, real_agents::codex).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_resumes_session_after_kill_on_postgres() {
    check_memory_across_processes(Storage::Postgres, real_agents::codex).await;
}

/// The agents that ordinary test runs leave out. `scripts/test-long agents` runs these tests. gemini is not among them,
/// because it restores a session only once.
mod more_agents {
    use super::*;

    async fn check_memory(start: LaunchAgent) {
        check_memory_across_processes(Storage::Sqlite, start).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn claude_resumes_session_after_kill() {
        check_memory(real_agents::claude).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn kimi_resumes_session_after_kill() {
        check_memory(real_agents::kimi).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn opencode_resumes_session_after_kill() {
        check_memory(real_agents::opencode).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn qwen_resumes_session_after_kill() {
        check_memory(real_agents::qwen).await;
    }
}
