//! The restore of a session, and every way in which it fails.

use std::{collections::BTreeMap, time::Duration};

use agent::{Limits, McpServer, OpenError};
use model::{AcpSessionId, agent::RestoreBy};
use testkit::scripted::{Capabilities, Event, OnRestore, Script, Step};

use crate::support::{World, events, prompt_log, send_prompt, start, text};

fn server() -> McpServer {
    McpServer {
        name: "tools".into(),
        command: "/bin/true".into(),
        args: vec!["--stdio".into()],
        env: BTreeMap::from([("TOKEN".into(), "t".into())]),
    }
}

/// Restores the only session of the world and returns the result.
async fn restore(world: &World, script: &Script, how: RestoreBy) -> Result<(), OpenError> {
    let opened = world.prompted_session(&world.script()).await;
    let agent = world.start(script).await;
    let restored = agent.restore(&opened.id, world.cwd(), &[], how).await;
    world.end(agent).await;
    restored.map(drop)
}

fn script_with_capabilities(world: &World, resume: bool, load: bool) -> Script {
    let mut script = world.script();
    script.capabilities = Capabilities {
        resume,
        load,
        list: true,
        close: true,
    };
    script
}

fn restore_methods_used(script: &Script) -> Vec<&'static str> {
    let ways = events(script).into_iter().filter_map(|event| match event {
        Event::Resume(..) => Some("resume"),
        Event::Load(..) => Some("load"),
        _ => None,
    });
    ways.collect()
}

#[tokio::test]
async fn restore_prefers_resume_unless_agent_config_sets_method() {
    for (resume, load, how, expected) in [
        (true, true, RestoreBy::Auto, "resume"),
        (true, false, RestoreBy::Auto, "resume"),
        (false, true, RestoreBy::Auto, "load"),
        (true, true, RestoreBy::Load, "load"),
        (true, true, RestoreBy::Resume, "resume"),
    ] {
        let world = World::new();
        let script = script_with_capabilities(&world, resume, load);
        restore(&world, &script, how).await.unwrap();
        assert_eq!(
            restore_methods_used(&script),
            [expected],
            "{resume} {load} {how:?}"
        );
    }
}

#[tokio::test]
async fn unsupported_restore_method_fails_without_new_session() {
    for (resume, load, how) in [
        (false, false, RestoreBy::Auto),
        (false, true, RestoreBy::Resume),
        (true, false, RestoreBy::Load),
    ] {
        let world = World::new();
        let script = script_with_capabilities(&world, resume, load);
        let error = restore(&world, &script, how).await.unwrap_err();
        assert!(matches!(error, OpenError::Unsupported { .. }), "{error:?}");
        let made = events(&script)
            .iter()
            .filter(|e| matches!(e, Event::New(..)))
            .count();
        assert_eq!(made, 1, "only the session that was there before");
    }
}

#[tokio::test]
async fn restore_of_unlisted_session_is_not_found_with_any_code() {
    for code in [-32002, -32602, -32603] {
        let world = World::new();
        let mut script = world.script();
        script.on_restore = OnRestore::NotFoundCode(code);
        let agent = world.start(&script).await;
        let id = AcpSessionId::new("never-made");
        let error = agent
            .restore(&id, world.cwd(), &[], RestoreBy::Auto)
            .await
            .unwrap_err();
        assert_eq!(error, OpenError::SessionNotFound { id }, "{code}");
        world.end(agent).await;
    }
}

#[tokio::test]
async fn restore_of_listed_session_is_never_not_found() {
    let world = World::new();
    let mut script = world.script();
    script.on_restore = OnRestore::Refuse {
        code: -32002,
        message: "disk is full".into(),
    };
    let error = restore(&world, &script, RestoreBy::Auto).await.unwrap_err();
    assert_eq!(
        error,
        OpenError::Refused {
            code: -32002,
            message: "disk is full".into()
        }
    );
}

#[tokio::test]
async fn restore_without_list_is_not_found_by_protocol_code_only() {
    for (code, gone) in [(-32002, true), (-32602, false), (-32603, false)] {
        let world = World::new();
        let mut script = world.script();
        script.capabilities.list = false;
        script.on_restore = OnRestore::NotFoundCode(code);
        let agent = world.start(&script).await;
        let id = AcpSessionId::new("never-made");
        let error = agent
            .restore(&id, world.cwd(), &[], RestoreBy::Auto)
            .await
            .unwrap_err();
        assert_eq!(
            matches!(error, OpenError::SessionNotFound { .. }),
            gone,
            "{code}: {error:?}"
        );
        world.end(agent).await;
    }
}

#[tokio::test]
async fn restore_of_unprompted_session_can_be_not_found() {
    let world = World::new();
    let mut script = world.script();
    script.forgets_unprompted = true;
    let (agent, opened) = world.open(&script).await;
    world.end(agent).await;
    let agent = world.start(&script).await;
    let error = agent
        .restore(&opened.id, world.cwd(), &[], RestoreBy::Auto)
        .await
        .unwrap_err();
    assert!(
        matches!(error, OpenError::SessionNotFound { .. }),
        "{error:?}"
    );
    world.end(agent).await;
}

#[tokio::test]
async fn restore_in_another_folder_is_refused() {
    let world = World::new();
    let script = world.script();
    let opened = world.prompted_session(&script).await;
    let agent = world.start(&script).await;
    let elsewhere = world.path("home");
    let error = agent
        .restore(&opened.id, &elsewhere, &[], RestoreBy::Auto)
        .await
        .unwrap_err();
    assert!(matches!(error, OpenError::Refused { .. }), "{error:?}");
    world.end(agent).await;
}

#[tokio::test]
async fn restore_of_session_in_use_is_busy() {
    for (code, message, busy) in [
        (-32003, "in use", true),
        (-31002, "in use", true),
        (-32600, "thread_active_writer: 1", true),
        (-32600, "Invalid request", false),
    ] {
        let world = World::new();
        let mut script = world.script();
        script.on_restore = OnRestore::Refuse {
            code,
            message: message.into(),
        };
        let error = restore(&world, &script, RestoreBy::Auto).await.unwrap_err();
        assert_eq!(matches!(error, OpenError::Busy { .. }), busy, "{error:?}");
    }
}

#[tokio::test]
async fn restore_in_second_process_is_busy() {
    let world = World::new();
    let mut script = world.script();
    script.refuses_second_writer = true;
    let (first, opened) = world.open(&script).await;
    let second = world.start(&script).await;
    let error = second
        .restore(&opened.id, world.cwd(), &[], RestoreBy::Auto)
        .await
        .unwrap_err();
    assert!(matches!(error, OpenError::Busy { .. }), "{error:?}");
    assert!(
        prompt_log(&script).check_turns_disjoint().is_err(),
        "the prompt log shows the overlap, too"
    );
    drop(second);
    drop(first);
    world.wait_until_nothing_is_alive().await;
}

#[tokio::test]
async fn history_replayed_by_load_is_discarded() {
    let world = World::new();
    let script = script_with_capabilities(&world, false, true);
    let opened = world.prompted_session(&script).await;
    let agent = world.start(&script).await;
    agent
        .restore(&opened.id, world.cwd(), &[], RestoreBy::Auto)
        .await
        .unwrap();
    let (end, told) = send_prompt(&agent, "second").await;
    end.unwrap();
    assert_eq!(text(&told), "second");
    world.end(agent).await;
}

#[tokio::test]
async fn null_reply_to_load_is_accepted() {
    let world = World::new();
    let mut script = script_with_capabilities(&world, false, true);
    script.on_restore = OnRestore::Null;
    restore(&world, &script, RestoreBy::Auto).await.unwrap();
}

#[tokio::test]
async fn restore_sends_folder_and_mcp_servers_again() {
    let world = World::new();
    let script = world.script();
    let agent = world.start(&script).await;
    let opened = agent.new_session(world.cwd(), &[server()]).await.unwrap();
    send_prompt(&agent, "first").await.0.unwrap();
    world.end(agent).await;
    for how in [RestoreBy::Resume, RestoreBy::Load] {
        let agent = world.start(&script).await;
        agent
            .restore(&opened.id, world.cwd(), &[server()], how)
            .await
            .unwrap();
        world.end(agent).await;
    }
    let place = (world.marker(), vec!["tools".to_owned()]);
    let places = events(&script).into_iter().filter_map(|event| match event {
        Event::New(cwd, servers) | Event::Resume(cwd, servers) | Event::Load(cwd, servers) => {
            Some((cwd, servers))
        }
        _ => None,
    });
    assert_eq!(
        places.collect::<Vec<_>>(),
        [place.clone(), place.clone(), place]
    );
}

#[tokio::test]
async fn restore_without_reply_times_out() {
    let world = World::new();
    let mut script = world.script();
    script.on_restore = OnRestore::NoReply;
    let mut launch = world.launch(&script);
    let limit = Duration::from_millis(50);
    launch.limits = Limits {
        restore: limit,
        ..launch.limits
    };
    let agent = start(launch).await.unwrap();
    let id = AcpSessionId::new("scripted-1");
    let error = agent
        .restore(&id, world.cwd(), &[], RestoreBy::Auto)
        .await
        .unwrap_err();
    assert_eq!(error, OpenError::Timeout { limit });
    world.end(agent).await;
}

#[tokio::test]
async fn agent_crash_during_restore_is_agent_exit() {
    let world = World::new();
    let mut script = world.script();
    script.before_open = vec![Step::Crash(testkit::scripted::Crash::Abort)];
    let agent = world.start(&script).await;
    let id = AcpSessionId::new("scripted-1");
    let error = agent
        .restore(&id, world.cwd(), &[], RestoreBy::Auto)
        .await
        .unwrap_err();
    let OpenError::AgentExited(ended) = error else {
        panic!("{error:?}")
    };
    assert_eq!(ended.status, agent::ExitStatus::Signal(6));
    world.end(agent).await;
}
