//! Prompts, their updates and their ends.

use agent::{
    CompactionUpdate, Cost, ExitStatus, GracePeriods, Notice, PlanEntry, PromptError, ToolCall,
    ToolCallUpdate, Update, Usage,
};
use model::{agent::RestoreBy, outcome::StopReason};
use serde_json::json;
use testkit::scripted::{Crash, Event, Step};
use tokio::sync::mpsc;

use crate::support::{
    World, events, gather_during, long_grace_periods, prompt_log, send_prompt, start, text,
    with_timeout,
};

#[tokio::test]
async fn every_stop_reason_is_distinguished() {
    for (word, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("max_turn_requests", StopReason::MaxTurnRequests),
        ("refusal", StopReason::Refusal),
        ("cancelled", StopReason::Cancelled),
    ] {
        let world = World::new();
        let script = world.script().prompt([Step::stop(word)]);
        let (agent, _) = world.open(&script).await;
        let (end, told) = send_prompt(&agent, "go").await;
        assert_eq!(end.unwrap(), expected);
        assert_eq!(text(&told), "", "an answer without text shows as empty");
        world.end(agent).await;
    }
}

#[tokio::test]
async fn unknown_stop_reason_is_an_error() {
    let world = World::new();
    let (agent, _) = world
        .open(&world.script().prompt([Step::stop("bored")]))
        .await;
    let error = send_prompt(&agent, "go").await.0.unwrap_err();
    assert!(matches!(error, PromptError::Protocol(_)), "{error:?}");
    world.end(agent).await;
}

#[tokio::test]
async fn prompt_error_reply_is_returned_unchanged() {
    let world = World::new();
    let fail = Step::ReplyError {
        code: -32603,
        message: "no quota".into(),
    };
    let (agent, _) = world.open(&world.script().prompt([fail])).await;
    let error = send_prompt(&agent, "go").await.0.unwrap_err();
    let PromptError::AgentError { code, message, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!((code, message.as_str()), (-32603, "no quota"));
    world.end(agent).await;
}

fn notice(severity: &str, title: &str, description: Option<&str>) -> Update {
    Update::Notice(Notice {
        severity: severity.into(),
        title: title.into(),
        description: description.map(Into::into),
    })
}

fn compaction(status: &str, summary: Option<&str>, error: Option<&str>) -> Update {
    Update::Compaction(CompactionUpdate {
        id: "c".into(),
        status: status.into(),
        summary: summary.map(Into::into),
        error: error.map(Into::into),
    })
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one update of each kind")]
async fn all_update_kinds_arrive_in_order() {
    let update = |update| Step::Update(update);
    let unknown = json!({"sessionUpdate": "hologram", "size": 3});
    let world = World::new();
    let script = world.script().prompt([
        Step::Thought("hm".into()),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "ls",
            "kind": "execute", "status": "pending", "rawInput": {"command": "ls"}}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
            "status": "completed", "rawOutput": "a b", "locations": [{"path": "/a", "line": 3}],
            "content": [{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"},
                {"type": "content", "content": {"type": "text", "text": "changed"}}]}),
        ),
        update(json!({"sessionUpdate": "plan", "entries": [
            {"content": "look", "priority": "high", "status": "in_progress"}]})),
        update(
            json!({"sessionUpdate": "usage_update", "used": 5, "size": 100,
            "cost": {"amount": 0.25, "currency": "USD"}}),
        ),
        update(json!({"sessionUpdate": "session_info_update", "title": "Looking"})),
        update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "code"})),
        update(
            json!({"sessionUpdate": "available_commands_update", "availableCommands": [
            {"name": "web", "description": "search"}]}),
        ),
        update(
            json!({"sessionUpdate": "notice", "severity": "warning", "title": "Slow model",
            "description": "Answers may take long"}),
        ),
        update(json!({"sessionUpdate": "notice", "severity": "_custom", "title": "Hm"})),
        update(
            json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress",
            "summary": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
        ),
        update(
            json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "c",
            "content": {"type": "text", "text": "c"}}),
        ),
        update(
            json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "failed",
            "summary": null, "error": "no room"}),
        ),
        update(unknown.clone()),
        Step::text("done"),
    ]);
    let (agent, opened) = world.open(&script).await;
    let (end, told) = send_prompt(&agent, "go").await;
    let usage = Usage {
        used: 5,
        size: 100,
        cost: Some(Cost {
            amount: 0.25,
            currency: "USD".into(),
        }),
    };
    let expected = [
        Update::Thought("hm".into()),
        Update::ToolCall(ToolCall {
            id: "1".into(),
            title: "ls".into(),
            kind: "execute".into(),
            status: "pending".into(),
            input: Some(json!({"command": "ls"})),
            output: None,
            content: None,
            locations: None,
        }),
        // The output of the tool does not displace the content that the agent shows to people.
        Update::ToolCallUpdate(ToolCallUpdate {
            id: "1".into(),
            status: Some("completed".into()),
            output: Some(json!("a b")),
            content: Some(json!([
                {"type": "diff", "path": "/a", "oldText": "x", "newText": "y"},
                {"type": "content", "content": {"type": "text", "text": "changed"}},
            ])),
            locations: Some(json!([{"path": "/a", "line": 3}])),
            ..ToolCallUpdate::default()
        }),
        Update::Plan(vec![PlanEntry {
            content: "look".into(),
            priority: "high".into(),
            status: "in_progress".into(),
        }]),
        Update::Usage(usage.clone()),
        Update::Title(Some("Looking".into())),
        Update::ModeChanged("code".into()),
        Update::Commands(vec!["web".into()]),
        notice("warning", "Slow model", Some("Answers may take long")),
        notice("_custom", "Hm", None),
        compaction("in_progress", Some("a\n\nb"), None),
        Update::CompactionSummary {
            id: "c".into(),
            text: "c".into(),
        },
        compaction("failed", Some(""), Some("no room")),
        Update::Other(json!({"sessionId": opened.id.as_str(), "update": unknown})),
        Update::Text("done".into()),
    ];
    assert_eq!(told, expected);
    assert_eq!(end.unwrap(), StopReason::EndTurn);
    world.end(agent).await;
}

#[tokio::test]
async fn updates_of_another_session_are_ignored() {
    let world = World::new();
    let foreign = json!({"jsonrpc": "2.0", "method": "session/update", "params": {
        "sessionId": "other", "update": {"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "not mine"}}}});
    let script = world
        .script()
        .prompt([Step::raw_line(&foreign.to_string()), Step::text("mine")]);
    let (agent, _) = world.open(&script).await;
    assert_eq!(text(&send_prompt(&agent, "go").await.1), "mine");
    world.end(agent).await;
}

#[tokio::test]
async fn updates_after_the_answer_are_delivered() {
    let world = World::new();
    let script = world.script().prompt([
        Step::text("early "),
        Step::stop("end_turn"),
        Step::WaitFor(world.path("answered")),
        Step::text("late"),
    ]);
    let (agent, _) = world.open(&script).await;
    let (updates, mut received) = mpsc::channel(8);
    let (end, told) = gather_during(agent.prompt(&["go"], updates), &mut received).await;
    assert_eq!(end.unwrap(), StopReason::EndTurn);
    assert_eq!(text(&told), "early ");
    let end = async {
        std::fs::write(world.path("answered"), "").unwrap();
        world.end(agent).await;
    };
    let ((), told) = gather_during(end, &mut received).await;
    assert_eq!(text(&told), "late");
    assert!(received.recv().await.is_none(), "the sender was dropped");
}

#[tokio::test]
async fn second_prompt_before_the_answer_is_refused() {
    let world = World::new();
    let go = world.path("go");
    let script = world
        .script()
        .prompt([Step::text("x"), Step::WaitFor(go.clone())]);
    let (agent, _) = world.open(&script).await;
    let (updates, mut received) = mpsc::channel(8);
    let (second, unread) = mpsc::channel(8);
    let first = agent.prompt(&["one"], updates);
    let meanwhile = async {
        with_timeout(received.recv()).await.unwrap();
        let error = agent.prompt(&["two"], second).await.unwrap_err();
        assert_eq!(error, PromptError::PromptInProgress);
        std::fs::write(&go, "").unwrap();
    };
    let (end, ()) = tokio::join!(first, meanwhile);
    end.unwrap();
    drop(unread);
    assert_eq!(prompt_log(&script).prompts(), ["one"]);
    world.end(agent).await;
    prompt_log(&script).check_turns_disjoint().unwrap();
}

#[tokio::test]
async fn prompt_without_session_is_refused() {
    let world = World::new();
    let agent = world.start(&world.script()).await;
    assert_eq!(
        send_prompt(&agent, "go").await.0.unwrap_err(),
        PromptError::NoSession
    );
    world.end(agent).await;
}

#[tokio::test]
async fn cancelled_prompt_has_stop_reason_cancelled() {
    let world = World::new();
    let script = world.script().prompt([Step::text("x"), Step::Stall]);
    let (agent, _) = world.open(&script).await;
    let (updates, mut received) = mpsc::channel(8);
    let cancel = async {
        with_timeout(received.recv()).await.unwrap();
        agent.cancel();
    };
    let (end, ()) = tokio::join!(with_timeout(agent.prompt(&["go"], updates)), cancel);
    assert_eq!(end.unwrap(), StopReason::Cancelled);
    world.end(agent).await;
}

#[tokio::test]
async fn dropped_prompt_is_cancelled_and_blocks_later_prompts() {
    let world = World::new();
    let mut script = world
        .script()
        .prompt([Step::text("x"), Step::Stall, Step::Stall]);
    script.ignores_cancel = true;
    let (agent, _) = world.open(&script).await;
    let (updates, mut received) = mpsc::channel(8);
    tokio::select! {
        _ = agent.prompt(&["go"], updates) => panic!("it never ends"),
        update = received.recv() => assert!(update.is_some()),
    }
    crate::support::eventually(|| events(&script).contains(&Event::Cancel)).await;
    assert_eq!(
        send_prompt(&agent, "more").await.0.unwrap_err(),
        PromptError::PromptInProgress
    );
    // The agent does not reply to `session/close` either.
    let grace = GracePeriods {
        close: std::time::Duration::ZERO,
        ..long_grace_periods()
    };
    with_timeout(agent.shutdown(grace)).await;
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn agent_crash_during_prompt_returns_exit_and_partial_text() {
    for (crash, status) in [
        (Crash::Exit(7), ExitStatus::Code(7)),
        (Crash::Abort, ExitStatus::Signal(6)),
    ] {
        let world = World::new();
        let script = world
            .script()
            .prompt([Step::text("half an "), Step::Crash(crash)]);
        let (agent, opened) = world.open(&script).await;
        let (end, told) = send_prompt(&agent, "go").await;
        let PromptError::AgentExited(ended) = end.unwrap_err() else {
            panic!("{crash:?}")
        };
        assert_eq!((ended.status, ended.lease_expired), (status, false));
        assert_eq!(text(&told), "half an ");
        let exit = world.end(agent).await;
        assert_eq!(exit.status, status);
        // The agent has stored the prompt, so a blind retry would show it twice.
        let kept = script.home.join(format!("sessions/{}.json", opened.id));
        assert!(std::fs::read_to_string(kept).unwrap().contains("go"));
    }
}

#[tokio::test]
async fn agent_crash_after_answer_keeps_stop_reason() {
    let world = World::new();
    let script = world.script().prompt([
        Step::text("whole"),
        Step::stop("end_turn"),
        Step::Crash(Crash::Exit(1)),
    ]);
    let (agent, _) = world.open(&script).await;
    let (end, told) = send_prompt(&agent, "go").await;
    assert_eq!(end.unwrap(), StopReason::EndTurn);
    assert_eq!(text(&told), "whole");
    assert_eq!(world.end(agent).await.status, ExitStatus::Code(1));
}

#[tokio::test]
async fn agent_crash_does_not_affect_other_agents() {
    let world = World::new();
    let other = World::new();
    let go = other.path("go");
    let crashing = world.script().prompt([Step::Crash(Crash::Abort)]);
    let waiting = other
        .script()
        .prompt([Step::WaitFor(go.clone()), Step::Echo]);
    let (dying, _) = world.open(&crashing).await;
    let (living, _) = other.open(&waiting).await;
    let death = async {
        send_prompt(&dying, "die").await.0.unwrap_err();
        std::fs::write(&go, "").unwrap();
    };
    let ((end, told), ()) = tokio::join!(send_prompt(&living, "live"), death);
    end.unwrap();
    assert_eq!(text(&told), "live");
    world.end(dying).await;
    other.end(living).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_lifecycle_runs_in_spawned_task() {
    let world = World::new();
    let script = world.script();
    let launch = world.launch(&script);
    let cwd = world.cwd().to_owned();
    let life = tokio::spawn(async move {
        let agent = start(launch).await.unwrap();
        let opened = agent.new_session(&cwd, &[]).await.unwrap();
        let restored = agent.restore(&opened.id, &cwd, &[], RestoreBy::Auto).await;
        agent
            .apply_settings(None, &std::collections::BTreeMap::new())
            .await
            .unwrap();
        let told = send_prompt(&agent, "go").await.1;
        (
            agent.shutdown(long_grace_periods()).await,
            restored.is_ok(),
            text(&told),
        )
    });
    let (exit, restored, told) = with_timeout(life).await.unwrap();
    assert_eq!(
        (exit.status, restored, told.as_str()),
        (ExitStatus::Code(0), true, "go")
    );
    assert!(world.alive().is_empty());
}
