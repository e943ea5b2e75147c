//! Agents that misbehave: the outcome of each turn, and the proof that it ends.

use model::{Clock as _, entity::Run, run::RunStatus};
use serde_json::json;
use store::Error;
use testkit::scripted::{Crash, OnRestore, Script, Step};

use crate::world::{TEST_TIMEOUT, World, eventually, on_demand, prompt_log, session_openings};

/// Takes one turn of an agent in a new session.
async fn take_turn_of(world: &World, script: &Script) -> Run {
    let agent = world.agent(script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "Go").await
}

/// Checks that the turn failed for this reason with this text, and that it is not retried.
pub(crate) async fn assert_failed(world: &World, run: &Run, reason: &str, words: &str) {
    assert_eq!(run.status(), RunStatus::Failed, "{run:#?}");
    assert_eq!(run.state.reason(), Some(reason), "{run:#?}");
    let notice = world.last_notice(run.session_id.unwrap()).await;
    assert!(notice.contains(words), "{words:?} is not in {notice:?}");
    assert!(notice.len() < 4096, "{} bytes", notice.len());
}

async fn assert_succeeded(world: &World, run: &Run, answer: &str) {
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    let words = world.messages(run.session_id.unwrap()).await;
    assert_eq!(words.last().unwrap().1, answer);
}

pub(crate) async fn line_of_100_megabytes_fails_turn(world: &World) {
    let script = world
        .script()
        .prompt([Step::text("I begin"), Step::LongLine(100 << 20)]);
    let run = take_turn_of(world, &script).await;
    assert_failed(
        world,
        &run,
        "protocol",
        "a line is longer than 16777216 bytes",
    )
    .await;
    assert_eq!(world.attempts(run.id).await.len(), 1);
    // The text from before the failure is kept.
    let words = world.messages(run.session_id.unwrap()).await;
    assert!(words.iter().any(|(_, text)| text == "I begin"), "{words:?}");
}

pub(crate) async fn message_with_too_many_values_fails_turn(world: &World) {
    let script = world.script().prompt([Step::ManyValues(1_000_000)]);
    let run = take_turn_of(world, &script).await;
    assert_failed(world, &run, "protocol", "more than 250000 values").await;
}

pub(crate) async fn malformed_lines_are_dropped_and_turn_continues(world: &World) {
    let mut invalid = br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"scripted-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"#.to_vec();
    invalid.extend_from_slice(b"\xff\xfe\"}}}}\n");
    let script = world.script().prompt([
        Step::raw_line("\u{1b}[31mwarning\u{1b}[0m: not JSON"),
        Step::Raw(b"\xff\xfe\xfd\n".to_vec()),
        Step::Raw(invalid),
        Step::raw_line("{\"jsonrpc\":\"2.0\",\"method\":\"session/up"),
        Step::raw_line("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}"),
        Step::text("b"),
    ]);
    let run = take_turn_of(world, &script).await;
    assert_succeeded(world, &run, "a\u{fffd}\u{fffd}b").await;
    let record = world.store().run_record(world.scope(), run.id).await;
    let record = record.unwrap().unwrap();
    let process = &record.diagnostics["process"];
    assert_eq!(process["dropped_lines"], 3, "{record:#?}");
}

pub(crate) async fn exit_after_partial_message_fails_turn(world: &World) {
    let half = Step::Raw(br#"{"jsonrpc":"2.0","id":3,"res"#.to_vec());
    let script = world.script().prompt([half, Step::Crash(Crash::Exit(0))]);
    let run = take_turn_of(world, &script).await;
    assert_failed(world, &run, "agent_exited", "exit code 0: {\"jsonrpc\"").await;
}

pub(crate) async fn agent_exit_reason_depends_on_stage(world: &World) {
    let exit = || vec![Step::Crash(Crash::Exit(9))];
    let mut before_initialize = world.script();
    before_initialize.before_initialize = exit();
    let mut before_session = world.script();
    before_session.before_open = exit();
    let in_prompt = world.script().prompt(exit());
    for (script, reason, words) in [
        (
            before_initialize,
            "start",
            "the agent ended before it was ready, with exit code 9",
        ),
        (
            before_session,
            "agent_exited",
            "the agent ended before it opened the session, with exit code 9",
        ),
        (
            in_prompt,
            "agent_exited",
            "the agent ended before it answered, with exit code 9",
        ),
    ] {
        let run = take_turn_of(world, &script).await;
        assert_failed(world, &run, reason, words).await;
        world
            .cancel(world.attempts(run.id).await[1].id, "seen")
            .await;
    }
}

pub(crate) async fn unsupported_client_request_is_refused_and_turn_continues(world: &World) {
    let script = world.script().prompt([
        Step::Notify("session/hologram".into()),
        Step::Request("fs/read_text_file".into()),
        Step::Request("terminal/create".into()),
        Step::Request("vendor/anything".into()),
        Step::text("."),
    ]);
    let run = take_turn_of(world, &script).await;
    let answer = format!("{}.", "answered: -32601".repeat(3));
    assert_succeeded(world, &run, &answer).await;
}

pub(crate) async fn invalid_restore_reply_fails_turn_with_reason(world: &World) {
    let refused = |code, message: &str| OnRestore::Refuse {
        code,
        message: message.into(),
    };
    let endless = "no ".repeat(1 << 20);
    let wrong = [
        (
            OnRestore::AnotherSession,
            "protocol",
            "the agent restored session \"scripted-other\" instead of `scripted-1`",
        ),
        (
            refused(-32601, "what?"),
            "restore",
            "the agent replied with an error: what? (-32601)",
        ),
        (
            refused(-32602, "bad cwd"),
            "restore",
            "the agent replied with an error: bad cwd (-32602)",
        ),
        (
            refused(-32603, "oops"),
            "restore",
            "the agent replied with an error: oops (-32603)",
        ),
        (
            refused(-32000, "sign in"),
            "sign_in",
            "the agent requires a sign-in",
        ),
        (
            refused(7, &endless),
            "restore",
            "the agent replied with an error: no no",
        ),
        (
            refused(-32003, "busy"),
            "restore_busy",
            "in use elsewhere (-32003: busy)",
        ),
        (
            refused(-31002, "busy"),
            "restore_busy",
            "in use elsewhere (-31002: busy)",
        ),
        (
            refused(-32600, "thread_active_writer"),
            "restore_busy",
            "in use elsewhere",
        ),
    ];
    for load in [false, true] {
        let mut script = Script::new(world.path(if load { "loads" } else { "resumes" }));
        script.capabilities.resume = !load;
        let agent = world.agent(&script).await;
        let session = world.session(agent).await;
        world.send_and_take_turn(session, "One").await;
        for (on_restore, reason, words) in wrong.clone() {
            script.on_restore = on_restore;
            script.command().unwrap();
            let run = world.send_and_take_turn(session, "Two").await;
            assert_failed(world, &run, reason, words).await;
            for waiting in world.attempts(run.id).await.iter().skip(1) {
                world.cancel(waiting.id, "seen").await;
            }
        }
        // No prompt reached an agent without its memory.
        assert_eq!(prompt_log(&script).prompts(), ["One"]);
        script.on_restore = OnRestore::Null;
        script.command().unwrap();
        let run = world.send_and_take_turn(session, "Three").await;
        assert_succeeded(world, &run, "Three").await;
    }
}

pub(crate) async fn updates_replayed_after_load_reply_are_not_part_of_answer(world: &World) {
    let mut script = world.script();
    script.capabilities.resume = false;
    script.on_restore = OnRestore::LateReplay;
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "One").await;
    let run = world.send_and_take_turn(session, "Two").await;
    assert_eq!(session_openings(&script), ["new", "load"]);
    assert_succeeded(world, &run, "Two").await;
    assert_eq!(world.messages(session).await.len(), 4);
}

pub(crate) async fn agent_flooding_after_answer_is_shut_down_and_turn_succeeds(world: &World) {
    let mut script = world.script().prompt([
        Step::text("Done"),
        Step::stop("end_turn"),
        Step::Flood {
            count: u32::MAX,
            bytes: 1000,
        },
    ]);
    script.ignores_cancel = true;
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "Go").await;
    take_turn_without_grace(world, run).await;
    let run = world.run(run).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
}

/// Takes a turn with an agent that gets no time to end.
async fn take_turn_without_grace(world: &World, run: model::RunId) {
    let host = world.host_without_grace();
    let now = model::Clock::now(&*world.clock);
    let claimed = world
        .store()
        .claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let ledger = daemon::WorkerTurnStore::new(host.clone());
    let orders = turn::TurnControl::idle();
    let taken = turn::execute(&ledger, &host.agent_runtime, run, &orders);
    tokio::time::timeout(TEST_TIMEOUT, taken)
        .await
        .unwrap()
        .unwrap();
}

pub(crate) async fn agent_flooding_updates_is_stopped_at_timeout(world: &World) {
    for step in [
        Step::Flood {
            count: u32::MAX,
            bytes: 100,
        },
        Step::ToolCalls {
            count: u32::MAX,
            bytes: 10,
        },
    ] {
        let mut script = world.script().prompt([step]);
        script.ignores_cancel = true;
        let agent = world.agent(&script).await;
        let mut new = on_demand(agent);
        new.policies.timeout_seconds = 1;
        let id = world.create_automation(&new).await;
        let run = world.fire(id).await;
        take_turn_without_grace(world, run).await;
        let run = world.run(run).await;
        assert_failed(world, &run, "timeout", "longer than 1 s").await;
        world
            .store()
            .delete_automation(world.scope(), id, model::Clock::now(&*world.clock))
            .await
            .unwrap();
    }
}

pub(crate) async fn tool_calls_beyond_row_limit_are_dropped(world: &World) {
    let script = world.script().prompt([
        Step::ToolCalls {
            count: 10_200,
            bytes: 100,
        },
        Step::text("Done"),
    ]);
    let run = take_turn_of(world, &script).await;
    assert_succeeded(world, &run, "Done").await;
    assert_eq!(run.state.flags().tool_calls, 10_200);
    let record = world.store().run_record(world.scope(), run.id).await;
    let record = record.unwrap().unwrap();
    assert_eq!(record.diagnostics["updates"]["rows_dropped"], 200);
}

pub(crate) async fn tool_outputs_beyond_turn_size_limit_are_omitted(world: &World) {
    let script = world.script().prompt([
        Step::ToolCalls {
            count: 1,
            bytes: 1 << 20,
        },
        Step::ToolCalls {
            count: 400,
            bytes: 60_000,
        },
        Step::text("Done"),
    ]);
    let run = take_turn_of(world, &script).await;
    assert_succeeded(world, &run, "Done").await;
    let transcript = world.transcript(run.session_id.unwrap()).await;
    let calls: Vec<_> = transcript
        .iter()
        .filter(|row| row.role.as_str() == "tool")
        .collect();
    assert_eq!(calls.len(), 401);
    let kept = |row: &&&model::entity::Message| row.metadata["output"].is_string();
    let bytes: usize = calls.iter().filter(kept).map(|_| 60_000).sum();
    assert!(bytes <= model::limits::TURN_BYTES, "{bytes}");
    assert!(bytes > model::limits::TURN_BYTES / 2, "{bytes}");
    assert_eq!(
        calls[0].metadata["output"],
        json!({"omitted_bytes": (1 << 20) + 2})
    );
    let last = calls.last().unwrap();
    assert_eq!(last.metadata["output"], json!({"omitted_bytes": 60_002}));
    assert_eq!(last.content, "call 399");
}

pub(crate) async fn tool_contents_beyond_size_limit_are_omitted(world: &World) {
    let call = |id: usize, text: String| {
        Step::Update(
            json!({"sessionUpdate": "tool_call", "toolCallId": id.to_string(), "title": "edit",
            "locations": [{"path": format!("/{text}")}],
            "content": [{"type": "diff", "path": "/a", "newText": text}]}),
        )
    };
    let mut steps = vec![call(0, "x".repeat(1 << 20))];
    // The same call again and again takes the room of one.
    steps.extend((0..300).map(|_| call(1, "y".repeat(60_000))));
    steps.push(call(2, "z".into()));
    steps.push(Step::text("Done"));
    let run = take_turn_of(world, &world.script().prompt(steps)).await;
    assert_succeeded(world, &run, "Done").await;
    let transcript = world.transcript(run.session_id.unwrap()).await;
    let calls: Vec<_> = transcript
        .iter()
        .filter(|row| row.role.as_str() == "tool")
        .collect();
    for field in ["content", "locations"] {
        let omitted = calls[0].metadata[field]["omitted_bytes"].as_u64();
        assert!(omitted.is_some_and(|bytes| bytes > 1 << 20), "{omitted:?}");
    }
    let stored: usize = calls.iter().map(|row| row.metadata.to_string().len()).sum();
    assert!(stored <= model::limits::TURN_BYTES + (64 << 10), "{stored}");
}

pub(crate) async fn endless_stderr_is_drained_and_tail_is_kept(world: &World) {
    let some = Step::Stderr(1000);
    let script = world
        .script()
        .prompt([some, Step::EndlessStderr, Step::text("Done")]);
    let run = take_turn_of(world, &script).await;
    assert_succeeded(world, &run, "Done").await;
    let record = world.store().run_record(world.scope(), run.id).await;
    let record = record.unwrap().unwrap();
    let tail = record.diagnostics["process"]["stderr_tail"]
        .as_str()
        .unwrap();
    assert!(tail.len() <= 64 << 10, "{} bytes", tail.len());
    assert!(tail.contains("eeee"));
}

pub(crate) async fn well_behaved_agent_is_not_delayed_by_hostile_ones(world: &World) {
    let long = Step::LongLine(100 << 20);
    let flood = Step::Flood {
        count: u32::MAX,
        bytes: 10_000,
    };
    let bad = [long, flood, Step::EndlessStderr];
    let mut runs = Vec::new();
    for (number, step) in bad.into_iter().enumerate() {
        let name = format!("bad-{number}");
        let mut script = Script::new(world.path(&name)).prompt([
            Step::Touch(world.path(&format!("{name} began"))),
            step,
            Step::Stall,
        ]);
        script.ignores_cancel = true;
        let agent = world.agent_named(&name, &script).await;
        let session = world.session(agent).await;
        runs.push(world.send_message(session, "Go").await);
    }
    let good = world
        .agent_named("good", &Script::new(world.path("good")))
        .await;
    let host = world.host_without_grace();
    let daemon = daemon::Daemon::start(host);
    daemon.signals().wake();
    for number in 0..runs.len() {
        crate::world::wait_for_file(&world.path(&format!("bad-{number} began"))).await;
    }
    let session = world.session(good).await;
    for words in ["One", "Two", "Three"] {
        let run = world.send_message(session, words).await;
        daemon.signals().wake();
        let run = world.wait_until_over(run).await;
        assert_succeeded(world, &run, words).await;
    }
    for run in &runs {
        let (store, now) = (world.store(), world.clock.now());
        let cancelled = store.cancel_run(world.scope(), *run, "enough", now).await;
        // A turn that failed by itself is over.
        let is_over = matches!(cancelled, Ok(_) | Err(Error::Refused(_)));
        assert!(is_over, "{cancelled:?}");
    }
    daemon.signals().wake();
    eventually("the end of the bad ones", async || {
        let mut over = true;
        for run in &runs {
            over &= world.run(*run).await.status().is_over();
        }
        over.then_some(())
    })
    .await;
    daemon.stop().await;
}
