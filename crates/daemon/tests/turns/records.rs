//! The records of a turn.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use daemon::WorkerTurnStore;
use futures::future::BoxFuture;
use model::{RunId, run::RunStatus, turn::WriteOutcome};
use serde_json::{Value, json};
use store::Scope;
use testkit::scripted::Step;
use turn::{TurnStore, TurnStoreError};

use crate::world::{World, create_file, eventually, session_openings};

pub(crate) async fn transcript_keeps_last_state_of_updates(world: &World) {
    let plan = |status: &str| {
        Step::Update(json!({"sessionUpdate": "plan", "entries": [
            {"content": "look", "priority": "high", "status": status},
            {"content": "tell", "priority": "low", "status": "pending"}]}))
    };
    let call = |id: &str, title: &str| {
        Step::Update(
            json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": title,
            "kind": "execute", "status": "pending", "rawInput": {"command": title}}),
        )
    };
    let changed = |id: &str, status: &str, output: &str| {
        Step::Update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": id,
            "status": status, "rawOutput": output}),
        )
    };
    let usage = |used: u64| {
        Step::Update(
            json!({"sessionUpdate": "usage_update", "used": used, "size": 100,
            "cost": {"amount": 0.25, "currency": "USD"}}),
        )
    };
    let title = Step::Update(json!({"sessionUpdate": "session_info_update", "title": "Looking"}));
    let script = world.script().prompt([
        Step::Thought("Let me ".into()),
        Step::Thought("think".into()),
        plan("pending"),
        Step::text("I look."),
        call("a", "ls"),
        call("b", "cat notes"),
        changed("b", "failed", "no such file"),
        changed("a", "in_progress", ""),
        changed("a", "completed", "x y"),
        changed("c", "completed", "it was not announced before"),
        plan("completed"),
        usage(5),
        usage(7),
        title,
        Step::text("I saw x and y."),
    ]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "Look").await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");

    let transcript = world.transcript(session).await;
    let rows: Vec<_> = transcript
        .iter()
        .map(|row| (row.role.as_str(), row.kind.as_str(), row.content.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            ("user", "message", "Look"),
            ("assistant", "thought", "Let me think"),
            ("assistant", "plan", "[completed] look\n[pending] tell"),
            ("tool", "tool_call", "ls"),
            ("tool", "tool_call", "cat notes"),
            ("tool", "tool_call", ""),
            ("assistant", "message", "I look.\n\nI saw x and y."),
        ]
    );
    let calls: Vec<_> = transcript
        .iter()
        .filter(|row| row.role.as_str() == "tool")
        .collect();
    assert_eq!(calls[0].metadata["status"], "completed");
    assert_eq!(calls[0].metadata["input"], json!({"command": "ls"}));
    assert_eq!(calls[0].metadata["output"], "x y");
    assert_eq!(calls[1].metadata["status"], "failed");
    assert_eq!(run.state.flags().tool_calls, 3);
    let usage = run.usage.unwrap();
    assert_eq!(
        (&usage["used"], &usage["cost"]["currency"]),
        (&json!(7), &json!("USD"))
    );
    let session = world.store().session(world.scope(), session).await.unwrap();
    assert_eq!(session.title.as_deref(), Some("Looking"));
}

pub(crate) async fn rows_keep_content_files_times_and_place_in_answer(world: &World) {
    let [begin, end] = ["begin", "end"].map(|name| world.path(name));
    let diff = |new: &str| json!([{"type": "diff", "path": "/n", "oldText": "a", "newText": new}]);
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "Edit", "kind": "edit",
        "status": "pending", "content": diff("b"), "locations": [{"path": "/n", "line": 2}]});
    let begun =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "in_progress"});
    let ended = json!({"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed",
        "rawOutput": {"lines": 1}, "content": diff("c")});
    let script = world.script().prompt([
        Step::Thought("Hm".into()),
        Step::text("Žluť."),
        Step::Update(call),
        Step::WaitFor(begin.clone()),
        Step::Update(begun),
        Step::WaitFor(end.clone()),
        Step::Update(ended),
        Step::text("Done."),
        Step::Update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "b", "title": "Left open"}),
        ),
    ]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let reported = model::Clock::now(&*world.clock);
    let watch = async {
        for (status, file) in [("pending", &begin), ("in_progress", &end)] {
            eventually(status, async || {
                let rows = world.transcript(session).await;
                let shown = rows.iter().any(|row| row.metadata["status"] == status);
                shown.then_some(())
            })
            .await;
            world.clock.advance(Duration::from_secs(3));
            create_file(file);
        }
    };
    let (run, ()) = tokio::join!(world.send_and_take_turn(session, "Edit"), watch);
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");

    let rows = world.transcript(session).await;
    let [_, thought, edit, open, answer] = &rows[..] else {
        panic!("{rows:#?}");
    };
    let at = |seconds| json!(reported + Duration::from_secs(seconds));
    assert_eq!(
        in_whole_seconds(&thought.metadata),
        json!({"answer_position": 0, "started_at": at(0), "ended_at": at(0)})
    );
    // A call begins when it no longer waits for its permission.
    assert_eq!(
        in_whole_seconds(&edit.metadata),
        json!({"tool_call_id": "a", "tool_kind": "edit", "status": "completed", "input": null,
            "output": {"lines": 1}, "content": diff("c"), "locations": [{"path": "/n", "line": 2}],
            "answer_position": "Žluť.".len(), "started_at": at(3), "ended_at": at(6)})
    );
    // The end of a call that the agent never reports as ended is unknown.
    assert_eq!(open.metadata["ended_at"], json!(null));
    // The answer is whole, and each position is a place in it.
    assert_eq!(answer.content, "Žluť.\n\nDone.");
    let position = edit.metadata["answer_position"].as_u64().unwrap();
    let (before, after) = answer.content.split_at(usize::try_from(position).unwrap());
    assert_eq!((before, after.trim()), ("Žluť.", "Done."));
    assert_eq!(open.metadata["answer_position"], answer.content.len());
}

/// Rounds the instants of a row down to seconds, because waiting moves the clock of the test by milliseconds.
fn in_whole_seconds(metadata: &Value) -> Value {
    let mut rounded = metadata.clone();
    for field in ["started_at", "ended_at"] {
        if let Some(at) = metadata[field].as_str() {
            let at: model::Timestamp = at.parse().unwrap();
            rounded[field] = json!(at.floor_second());
        }
    }
    rounded
}

pub(crate) async fn updates_after_stop_reason_are_recorded(world: &World) {
    let late = json!({"sessionUpdate": "tool_call_update", "toolCallId": "a",
        "status": "completed"});
    let script = world.script().prompt([
        Step::Update(json!({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "ls"})),
        Step::text("Done"),
        Step::stop("end_turn"),
        Step::UntilClosed,
        Step::text(" and dusted"),
        Step::Update(late),
    ]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "Go").await;
    let transcript = world.transcript(session).await;
    assert_eq!(transcript.last().unwrap().content, "Done and dusted");
    let call = transcript
        .iter()
        .find(|row| row.role.as_str() == "tool")
        .unwrap();
    assert_eq!(call.metadata["status"], "completed");
}

pub(crate) async fn replayed_history_is_not_recorded_twice(world: &World) {
    let mut script = world.script();
    script.capabilities.resume = false;
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "One").await;
    world.send_and_take_turn(session, "Two").await;
    assert_eq!(session_openings(&script), ["new", "load"]);
    let words: Vec<_> = world
        .messages(session)
        .await
        .into_iter()
        .map(|row| row.1)
        .collect();
    assert_eq!(words, ["One", "One", "Two", "Two"]);
}

pub(crate) async fn live_text_is_visible_during_turn_and_replaced_by_answer(world: &World) {
    let go_on = world.path("go on");
    let script = world.script().prompt([
        Step::text("It was "),
        Step::text("a dark "),
        Step::WaitFor(go_on.clone()),
        Step::text("and stormy night"),
    ]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let daemon = world.daemon();
    let run = world.send_message(session, "Tell").await;
    daemon.signals().wake();

    let seen = async |from| {
        world
            .store()
            .live_text(Scope::System, run, from)
            .await
            .unwrap()
    };
    eventually("text being written", async || {
        (seen(0).await.0 == "It was a dark ").then_some(())
    })
    .await;
    // A viewer that has received a part continues from there.
    assert_eq!(seen(7).await, ("a dark ".into(), 14));
    assert!(
        world
            .transcript(session)
            .await
            .iter()
            .all(|row| row.role.as_str() == "user")
    );

    create_file(&go_on);
    world.wait_until_over(run).await;
    assert_eq!(seen(0).await.0, "");
    let words: Vec<_> = world
        .messages(session)
        .await
        .into_iter()
        .map(|row| row.1)
        .collect();
    assert_eq!(words, ["Tell", "It was a dark and stormy night"]);
    daemon.stop().await;
}

/// The storage of a worker that counts the writes of live text.
struct FlushCounter {
    inner: WorkerTurnStore,
    flushes: AtomicU64,
}

impl TurnStore for FlushCounter {
    delegate!();
    delegate!(record);
    delegate!(ask);

    fn append_live_text(
        &self,
        run: RunId,
        position: u64,
        text: String,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        self.inner.append_live_text(run, position, text)
    }
}

pub(crate) async fn live_text_is_flushed_at_most_five_times_per_second(world: &World) {
    let go_on = world.path("go on");
    let mut steps = vec![Step::text("word "); 300];
    steps.push(Step::WaitFor(go_on.clone()));
    let script = world.script().prompt(steps);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "Tell").await;
    let (host, now) = (&world.host, model::Clock::now(&*world.clock));
    let claimed = world
        .store()
        .claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let ledger = FlushCounter {
        inner: WorkerTurnStore::new(host.clone()),
        flushes: AtomicU64::new(0),
    };
    let began = tokio::time::Instant::now();
    let orders = turn::TurnControl::idle();
    let turn = turn::execute(&ledger, &host.agent_runtime, run, &orders);
    let watch = async {
        eventually("the whole text", async || {
            let (text, _) = world
                .store()
                .live_text(Scope::System, run, 0)
                .await
                .unwrap();
            (text == "word ".repeat(300)).then_some(())
        })
        .await;
        create_file(&go_on);
    };
    let (ended, ()) = tokio::join!(turn, watch);
    ended.unwrap();
    // Up to five flushes per second, plus one at the beginning and one at the end.
    let most = began.elapsed().as_secs() * 5 + 7;
    let flushes = ledger.flushes.load(Ordering::Relaxed);
    assert!((1..=most).contains(&flushes), "{flushes} of {most}");
}
