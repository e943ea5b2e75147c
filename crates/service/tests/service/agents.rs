//! Configured agents: defaults, additions and checks.

use std::time::Duration;

use api_types::CheckDepth;
use model::agent::{AgentConfig, OfferedCapabilities, RestoreBy};
use service::{DEMO_AGENT, ErrorKind};

use crate::world::{World, error_chain, request, resuming};

fn demo_command(program: &str) -> Vec<String> {
    [program, "demo-agent", "--home", "/data/demo-agent"]
        .map(str::to_owned)
        .into()
}

async fn command_of(world: &World, name: &str) -> Vec<String> {
    let all = world.service.agents().await.unwrap();
    let found = all.into_iter().find(|agent| agent.name == name);
    found.unwrap().config.command
}

#[tokio::test]
async fn catalogue_agents_are_added_once_and_edits_are_kept() {
    let world = World::new().await;
    let there = std::env::current_exe().unwrap();
    let there = there.to_str().unwrap();
    world
        .service
        .add_known_agents(&demo_command(there))
        .await
        .unwrap();
    let mut changed = AgentConfig::new(vec!["my-claude".into()]);
    changed.pass_env = vec!["TOKEN".into()];
    world.service.add_agent("claude", &changed).await.unwrap();
    world
        .service
        .add_known_agents(&demo_command("/elsewhere/matins"))
        .await
        .unwrap();
    assert_eq!(command_of(&world, "claude").await, ["my-claude"]);
    assert_eq!(command_of(&world, "codex").await, ["codex-acp"]);
    // The program is still there, so nothing says that it was moved.
    assert_eq!(command_of(&world, DEMO_AGENT).await, demo_command(there));
}

#[tokio::test]
async fn demo_agent_follows_moved_program() {
    let world = World::new().await;
    let before = demo_command("/gone/matins");
    world.service.add_known_agents(&before).await.unwrap();
    let moved = demo_command("/elsewhere/matins");
    world.service.add_known_agents(&moved).await.unwrap();
    assert_eq!(command_of(&world, DEMO_AGENT).await, moved);
    let own = AgentConfig::new(vec!["/gone/of-a-person".into()]);
    world.service.add_agent(DEMO_AGENT, &own).await.unwrap();
    world.service.add_known_agents(&moved).await.unwrap();
    assert_eq!(command_of(&world, DEMO_AGENT).await, own.command);
}

#[tokio::test]
async fn agent_check_stores_capabilities() {
    let world = World::new().await;
    let checked = world
        .service
        .check_agent("good", CheckDepth::Session)
        .await
        .unwrap();
    assert!(checked.can_restore);
    assert_eq!(checked.took, Duration::ZERO);
    assert_eq!(checked.agent.offers, Some(resuming().into()));
    // A later version of the agent offers less: the check replaces the stored capabilities.
    world
        .agents
        .install("good-agent", OfferedCapabilities::default());
    let checked = world
        .service
        .check_agent("good", CheckDepth::Session)
        .await
        .unwrap();
    assert!(!checked.can_restore);
    let kept = world.service.agents().await.unwrap();
    let kept = kept.iter().find(|agent| agent.name == "good").unwrap();
    assert_eq!(kept.offers, Some(OfferedCapabilities::default()));
}

#[tokio::test]
async fn agent_with_load_only_cannot_restore_by_resume() {
    let world = World::new().await;
    let load = OfferedCapabilities {
        load: true,
        ..OfferedCapabilities::default()
    };
    world.agents.install("loading-agent", load);
    for (restore, can_restore) in [
        (RestoreBy::Auto, true),
        (RestoreBy::Load, true),
        (RestoreBy::Resume, false),
    ] {
        let mut config = AgentConfig::new(vec!["loading-agent".into()]);
        config.restore = restore;
        world.service.add_agent("loading", &config).await.unwrap();
        let checked = world
            .service
            .check_agent("loading", CheckDepth::Session)
            .await
            .unwrap();
        assert_eq!(checked.can_restore, can_restore, "{restore}");
    }
}

#[tokio::test]
async fn agent_start_error_has_install_hint() {
    let world = World::new().await;
    world
        .service
        .add_known_agents(&demo_command("/elsewhere/matins"))
        .await
        .unwrap();
    let error = world
        .service
        .check_agent("codex", CheckDepth::Session)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Agent);
    assert!(error_chain(&error).contains("no such program"), "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("npm install -g"), "{hint}");
    let error = world
        .service
        .check_agent("absent", CheckDepth::Session)
        .await
        .unwrap_err();
    assert!(error.hint().unwrap().contains("matins agent check"));
}

#[tokio::test]
async fn invalid_agent_config_is_refused() {
    let world = World::new().await;
    let sound = AgentConfig::new(vec!["agent".into()]);
    let mut unsound = sound.clone();
    unsound.pass_env = vec!["A=B".into()];
    let mut small = sound.clone();
    small.limits.memory_bytes = Some(1024);
    let mut hasty = sound.clone();
    hasty.start_seconds = 0;
    for (name, config, says) in [
        ("", &sound, "agent name"),
        (
            "mine",
            &AgentConfig::new(Vec::new()),
            "`command` is missing",
        ),
        (
            "mine",
            &AgentConfig::new(vec![String::new()]),
            "`command` is missing",
        ),
        ("mine", &unsound, "variable `A=B`"),
        ("mine", &small, "memory limit `1024`"),
        ("mine", &hasty, "start limit `0`"),
    ] {
        let error = world.service.add_agent(name, config).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn removed_catalogue_agent_stays_removed() {
    let world = World::new().await;
    let demo = demo_command("/gone/matins");
    world.service.add_known_agents(&demo).await.unwrap();
    for name in ["codex", DEMO_AGENT] {
        let removed = world.service.remove_agent(name).await.unwrap();
        assert_eq!(removed.name, name);
        let again = world.service.remove_agent(name).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::NotFound);
    }
    // The next start of a program adds what is missing, and moves the program of the demonstration agent.
    let moved = demo_command("/elsewhere/matins");
    world.service.add_known_agents(&moved).await.unwrap();
    let all = world.service.agents().await.unwrap();
    let names: Vec<_> = all.iter().map(|agent| agent.name.as_str()).collect();
    assert!(names.contains(&"claude"), "{names:?}");
    assert!(
        !names.contains(&"codex") && !names.contains(&DEMO_AGENT),
        "{names:?}"
    );
    let own = AgentConfig::new(vec!["my-codex".into()]);
    world.service.add_agent("codex", &own).await.unwrap();
    assert_eq!(command_of(&world, "codex").await, ["my-codex"]);
}

#[tokio::test]
async fn refused_agent_removal_names_its_users() {
    let world = World::new().await;
    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let session = world.conversation().await.id.to_string();
    let refused = world.service.remove_agent("good").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    let text = error_chain(&refused);
    for part in [
        "`good`",
        "the automation `news`",
        &format!("the session {session}"),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
