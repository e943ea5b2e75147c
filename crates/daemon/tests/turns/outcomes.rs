//! The outcomes of turns that their agents end.

use model::{limits, run::RunStatus};
use testkit::scripted::{Script, Step};

use crate::world::{World, on_demand, session_openings};

pub(crate) async fn stop_reasons_map_to_distinct_outcomes(world: &World) {
    let expected = [
        (
            "refusal",
            RunStatus::Failed,
            "The turn failed: the agent refused.",
        ),
        (
            "max_tokens",
            RunStatus::Failed,
            "The turn failed: the model's limit of tokens was reached.",
        ),
        (
            "max_turn_requests",
            RunStatus::Failed,
            "The turn failed: the limit of requests in one turn was reached.",
        ),
        (
            "cancelled",
            RunStatus::Failed,
            "The turn failed: the agent ended it as cancelled without a request to cancel it.",
        ),
    ];
    let says = |script: Script, reason: &str| {
        script.prompt([Step::text(format!("half of {reason}")), Step::stop(reason)])
    };
    let script = expected
        .iter()
        .fold(world.script(), |script, (reason, ..)| says(script, reason));
    let script = says(script, "end_turn");
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;

    for (reason, status, notice) in expected {
        let run = world.send_and_take_turn(session, reason).await;
        assert_eq!(run.status(), status, "{run:#?}");
        assert_eq!(run.state.stop_reason(), Some(reason));
        assert_eq!(run.state.reason(), Some(reason));
        // None of these outcomes is retried.
        assert_eq!(world.attempts(run.id).await.len(), 1);
        let transcript = world.transcript(session).await;
        let [.., answer, end] = transcript.as_slice() else {
            panic!("{transcript:#?}")
        };
        assert_eq!(answer.content, format!("half of {reason}"));
        assert_eq!(answer.metadata["interrupted"], true);
        assert_eq!(end.content, notice);
    }
    let run = world.send_and_take_turn(session, "end_turn").await;
    assert_eq!(
        (run.status(), run.state.reason()),
        (RunStatus::Succeeded, None)
    );
    // Whatever the stop reason, the agent ended its turn, so its session is the seat's memory.
    let opened = session_openings(&script);
    assert_eq!(opened, ["new", "resume", "resume", "resume", "resume"]);
}

pub(crate) async fn unknown_stop_reason_fails_turn(world: &World) {
    let script = world.script().prompt([Step::stop("tired")]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "Go").await;
    assert_eq!(run.status(), RunStatus::Failed, "{run:#?}");
    assert_eq!(run.state.reason(), Some("protocol"));
    assert_eq!(world.attempts(run.id).await.len(), 1);
}

pub(crate) async fn empty_answer_is_flagged_with_notice(world: &World) {
    let script = world.script().prompt([]).prompt([Step::text(" \n")]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    for words in ["One", "Two"] {
        let run = world.send_and_take_turn(session, words).await;
        assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
        assert!(run.state.flags().empty_answer);
        let notice = world.last_notice(session).await;
        assert_eq!(notice, "The agent ended its turn with no answer.");
    }
    let roles: Vec<_> = world
        .messages(session)
        .await
        .into_iter()
        .map(|row| row.0)
        .collect();
    assert_eq!(roles, ["user", "system", "user", "system"]);
}

pub(crate) async fn prompt_error_fails_turn_and_keeps_partial_answer(world: &World) {
    let overloaded = Step::ReplyError {
        code: -32603,
        message: "the model is overloaded".into(),
    };
    let script = world
        .script()
        .prompt([Step::Echo])
        .prompt([Step::text("Let me see"), overloaded])
        .prompt([Step::Echo]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "One").await;

    let run = world.send_and_take_turn(session, "Two").await;
    assert_eq!(run.status(), RunStatus::Failed, "{run:#?}");
    assert_eq!(run.state.reason(), Some("agent_error"));
    // An error reply of the agent is not retried.
    assert_eq!(world.attempts(run.id).await.len(), 1);
    let transcript = world.transcript(session).await;
    let said = transcript
        .iter()
        .find(|row| row.content == "Let me see")
        .unwrap();
    assert_eq!(said.metadata["interrupted"], true);
    let notice = world.last_notice(session).await;
    assert!(notice.contains("the model is overloaded"), "{notice}");
    let record = world
        .store()
        .run_record(world.scope(), run.id)
        .await
        .unwrap();
    assert!(record.unwrap().error.unwrap().contains("-32603"));

    let run = world.send_and_take_turn(session, "Three").await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!(session_openings(&script), ["new", "resume", "resume"]);
}

pub(crate) async fn answer_over_size_limit_is_truncated_with_notice(world: &World) {
    let flood = Step::Flood {
        count: 5,
        bytes: 1 << 20,
    };
    let script = world
        .script()
        .prompt([Step::text("å"), flood, Step::text("the end")]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "Talk").await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert!(run.state.flags().answer_cut);
    let transcript = world.transcript(session).await;
    let answer = transcript
        .iter()
        .find(|row| row.role.as_str() == "assistant")
        .unwrap();
    assert_eq!(answer.content.len(), limits::ANSWER_BYTES);
    assert!(answer.content.starts_with("åx"));
    assert_eq!(
        world.last_notice(session).await,
        "The answer was longer than 4 MiB; the rest was not kept."
    );
}

pub(crate) async fn oversized_session_fails_until_automation_is_reset(world: &World) {
    let too_large = Step::ReplyError {
        code: -32603,
        message: "prompt is too long: 210000 tokens > 200000 maximum".into(),
    };
    let script = world
        .script()
        .prompt([Step::Echo])
        .prompt([too_large])
        .prompt([Step::Echo]);
    let agent = world.agent(&script).await;
    let id = world.create_automation(&on_demand(agent)).await;
    let turn = async || {
        let fired = world.fire(id).await;
        world.take_turn(fired).await
    };
    let first = turn().await;
    let too_large = turn().await;
    assert_eq!(too_large.status(), RunStatus::Failed, "{too_large:#?}");
    assert_eq!(too_large.session_id, first.session_id);
    assert_eq!(world.attempts(too_large.id).await.len(), 1);
    let notice = world.last_notice(first.session_id.unwrap()).await;
    assert!(notice.contains("prompt is too long"), "{notice}");

    let now = model::Clock::now(&*world.clock);
    let reset = world.store().reset_automation(world.scope(), id, now);
    reset.await.unwrap();
    let anew = turn().await;
    assert_eq!(anew.status(), RunStatus::Succeeded, "{anew:#?}");
    assert_ne!(anew.session_id, first.session_id);
    // The agent got a new session instead of a shortened conversation.
    assert_eq!(session_openings(&script), ["new", "resume", "new"]);
}
