//! Agents that break the rules of the protocol.

use agent::{Limits, PromptError, StartError, UnreadableOutput, Update};
use model::outcome::StopReason;
use testkit::scripted::{Crash, Step};
use tokio::sync::mpsc;

use crate::support::{
    World, eventually, gather_during, pid_of, send_prompt, start, text, with_timeout,
};

#[tokio::test]
async fn non_message_lines_are_dropped_counted_and_kept_as_tail() {
    let world = World::new();
    let script = world.script().prompt([
        Step::raw_line("npm warn deprecated"),
        Step::raw_line("42"),
        Step::raw_line("[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]"),
        Step::raw_line("{\"level\":\"info\"}"),
        Step::raw_line("{\"jsonrpc\":\"2.0\",\"method\":\"session/up"),
        Step::raw_line(""),
        Step::text("still here"),
    ]);
    let (agent, _) = world.open(&script).await;
    let (end, told) = send_prompt(&agent, "go").await;
    assert_eq!(end.unwrap(), StopReason::EndTurn);
    assert_eq!(told, [Update::Text("still here".into())]);
    let exit = world.end(agent).await;
    assert_eq!(exit.dropped_lines, 5);
    assert!(
        exit.noise_tail.starts_with("npm warn deprecated\n42\n"),
        "{}",
        exit.noise_tail
    );
}

#[tokio::test]
async fn invalid_utf8_in_update_is_replaced() {
    let world = World::new();
    let mut line = br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"scripted-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"#.to_vec();
    line.extend_from_slice(b"\xff\xfe\"}}}}\n");
    let script = world.script().prompt([Step::Raw(line), Step::text("b")]);
    let (agent, _) = world.open(&script).await;
    let (end, told) = send_prompt(&agent, "go").await;
    end.unwrap();
    assert_eq!(text(&told), "a\u{fffd}\u{fffd}b");
    world.end(agent).await;
}

#[tokio::test]
async fn partial_message_at_end_of_output_is_agent_exit() {
    let world = World::new();
    let half = Step::Raw(br#"{"jsonrpc":"2.0","id":3,"res"#.to_vec());
    let (agent, _) = world
        .open(&world.script().prompt([half, Step::Crash(Crash::Exit(0))]))
        .await;
    let error = send_prompt(&agent, "go").await.0.unwrap_err();
    let PromptError::AgentExited(ended) = error else {
        panic!("{error:?}")
    };
    assert_eq!(ended.noise_tail, "{\"jsonrpc\":\"2.0\",\"id\":3,\"res\n");
    world.end(agent).await;
}

#[tokio::test]
async fn overlong_line_is_an_error_and_agent_still_exits_by_itself() {
    let world = World::new();
    let script = world.script().prompt([Step::LongLine(300_000)]);
    let mut launch = world.launch(&script);
    launch.limits = Limits {
        max_line_bytes: 100_000,
        ..launch.limits
    };
    let agent = start(launch).await.unwrap();
    agent.new_session(world.cwd(), &[]).await.unwrap();
    let (end, told) = with_timeout(send_prompt(&agent, "go")).await;
    assert_eq!(
        end.unwrap_err(),
        PromptError::Unreadable(UnreadableOutput::LineTooLong { limit: 100_000 })
    );
    assert_eq!(told, []);
    let exit = world.end(agent).await;
    assert_eq!(exit.step, agent::ShutdownStep::Exit);
}

#[tokio::test]
async fn overlong_line_before_initialize_reply_is_reported() {
    let world = World::new();
    let mut script = world.script();
    script.before_initialize = vec![Step::Raw(vec![b'x'; 3000])];
    let mut launch = world.launch(&script);
    launch.limits.max_line_bytes = 2000;
    let error = start(launch).await.err().unwrap();
    let StartError::Unreadable(UnreadableOutput::LineTooLong { limit: 2000 }) = error else {
        panic!("{error:?}")
    };
    world.wait_until_nothing_is_alive().await;
}

#[tokio::test]
async fn message_with_too_many_values_is_refused() {
    for (values, read) in [(200_000, true), (300_000, false)] {
        let world = World::new();
        let script = world.script().prompt([Step::ManyValues(values)]);
        let (agent, _) = world.open(&script).await;
        let (end, told) = send_prompt(&agent, "go").await;
        assert_eq!(end.is_ok(), read, "{end:?}");
        assert_eq!(told.len(), usize::from(read));
        world.end(agent).await;
    }
}

#[tokio::test]
async fn line_below_the_limit_is_read_whole() {
    let world = World::new();
    let script = world.script().prompt([Step::LongLine(1_000_000)]);
    let (agent, _) = world.open(&script).await;
    let (end, told) = send_prompt(&agent, "go").await;
    end.unwrap();
    assert_eq!(text(&told).len(), 1_000_000);
    world.end(agent).await;
}

#[tokio::test]
async fn update_flood_waits_for_slow_reader_without_loss() {
    let world = World::new();
    let script = world.script().prompt([
        Step::Flood {
            count: 20_000,
            bytes: 100,
        },
        Step::text("end"),
    ]);
    let (agent, _) = world.open(&script).await;
    let (updates, mut received) = mpsc::channel(1);
    let (end, told) = gather_during(agent.prompt(&["go"], updates), &mut received).await;
    end.unwrap();
    assert_eq!(text(&told).len(), 20_000 * 100 + 3);
    world.end(agent).await;
}

/// Returns the number of bytes that a process has written so far.
fn bytes_written(pid: rustix::process::Pid) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{}/io", pid.as_raw_nonzero())).unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn update_flood_blocks_in_the_pipe_without_reader() {
    let world = World::new();
    let flood = Step::Flood {
        count: 1_000_000,
        bytes: 1000,
    };
    let (agent, _) = world.open(&world.script().prompt([flood])).await;
    let (updates, mut received) = mpsc::channel(1);
    let pid = pid_of(&world.marker(), "agent");
    let stuck = async {
        with_timeout(received.recv()).await.unwrap();
        // The agent stops writing once the reader stops: the number stays the same in many polls.
        let (mut before, mut same) = (0, 0);
        eventually(|| {
            let now = bytes_written(pid);
            same = if now == before { same + 1 } else { 0 };
            before = now;
            same == 40
        })
        .await;
        before
    };
    let bytes = tokio::select! {
        _ = agent.prompt(&["go"], updates) => panic!("the prompt ended although no reader takes its updates"),
        bytes = stuck => bytes,
    };
    assert!(bytes < 1_000_000, "{bytes} of a billion bytes were taken");
    drop(agent);
    world.wait_until_nothing_is_alive().await;
}

#[tokio::test]
async fn agent_with_unread_update_flood_can_be_shut_down() {
    let world = World::new();
    let script = world.script().prompt([Step::Flood {
        count: 1_000_000,
        bytes: 1000,
    }]);
    let (agent, _) = world.open(&script).await;
    let (updates, mut received) = mpsc::channel(1);
    tokio::select! {
        _ = agent.prompt(&["go"], updates) => panic!("the prompt ended although no reader takes its updates"),
        update = received.recv() => assert!(update.is_some()),
    }
    // The receiver is not dropped and stays full.
    let mut grace = crate::support::long_grace_periods();
    grace.close = std::time::Duration::from_millis(10);
    grace.eof = std::time::Duration::from_millis(10);
    let exit = with_timeout(agent.shutdown(grace)).await;
    assert!(exit.step >= agent::ShutdownStep::Exit);
    assert!(world.alive().is_empty());
    drop(received);
}

#[tokio::test]
async fn dropped_update_receiver_does_not_stop_turn() {
    let world = World::new();
    let script = world.script().prompt([Step::Flood {
        count: 1000,
        bytes: 1000,
    }]);
    let (agent, _) = world.open(&script).await;
    let (updates, received) = mpsc::channel(1);
    drop(received);
    with_timeout(agent.prompt(&["go"], updates)).await.unwrap();
    world.end(agent).await;
}

#[tokio::test]
async fn long_stderr_is_drained_and_its_tail_kept() {
    let world = World::new();
    let script = world
        .script()
        .prompt([Step::Stderr(1_000_000), Step::text("done")]);
    let (agent, _) = world.open(&script).await;
    let (end, told) = send_prompt(&agent, "go").await;
    end.unwrap();
    assert_eq!(text(&told), "done");
    let exit = world.end(agent).await;
    assert!(exit.stderr_tail.ends_with("the last word\n"));
    assert!(exit.stderr_tail.len() <= 64 * 1024);
}

#[tokio::test]
async fn unknown_agent_requests_are_refused_and_notifications_ignored() {
    let world = World::new();
    let script = world.script().prompt([
        Step::Notify("session/hologram".into()),
        Step::Notify("$/progress".into()),
        Step::Request("fs/read_text_file".into()),
        Step::Request("terminal/create".into()),
        Step::Request("vendor/anything".into()),
    ]);
    let (agent, _) = world.open(&script).await;
    let (end, told) = with_timeout(send_prompt(&agent, "go")).await;
    end.unwrap();
    assert_eq!(text(&told), "answered: -32601".repeat(3));
    world.end(agent).await;
}

#[tokio::test]
async fn unsolicited_replies_of_agent_are_ignored() {
    let world = World::new();
    let script = world.script().prompt([
        Step::raw_line("{\"jsonrpc\":\"2.0\",\"id\":\"ghost\",\"result\":{}}"),
        Step::raw_line(
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"x\"}}",
        ),
        Step::Echo,
    ]);
    let (agent, _) = world.open(&script).await;
    assert_eq!(text(&send_prompt(&agent, "go").await.1), "go");
    world.end(agent).await;
}
