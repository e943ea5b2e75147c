//! Questions of agents: the answers that become their next inputs.

use std::time::Duration;

use daemon::scheduler;
use model::{
    Clock as _, RunId,
    approval::Decider,
    outcome::Outcome,
    question::{Question, QuestionBody, QuestionKind, QuestionStatus},
    run::RunStatus,
    turn::{StartReply, TurnResult, WriteOutcome},
};
use serde_json::{Value, json};
use store::{NewQuestion, Page, QuestionFilter, Scope, ToolCaller};
use testkit::scripted::{Script, Step};

use crate::{
    approvals::fire_with_approvals,
    world::{World, eventually},
};

/// Asks a question in the turn of a run, whose agent a test plays, and ends the turn.
async fn ask_and_end(world: &World, run: RunId) -> Question {
    let host = &world.host;
    let caller = ToolCaller {
        run,
        secret: [7; 32],
        worker: host.worker.clone(),
        stale_after: Duration::from_mins(3),
    };
    let (worker, instance) = (&host.worker, host.instance);
    let now = world.clock.now();
    let claimed = host.store.claim(worker, instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let begun = host
        .store
        .begin(run, worker, instance, now, Some(caller.secret));
    assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
    let new = NewQuestion {
        text: "Which colour?".into(),
        body: QuestionBody {
            options: Vec::new(),
            default: Some(json!("red")),
            schema: None,
        },
        deadline: now + Duration::from_hours(1),
    };
    let question = host.store.ask_person(&caller, &new, now).await.unwrap();
    // No agent confirms a success here.
    let end = TurnResult::with_outcome(Outcome::Cancelled("the test ends it".into()));
    let finished = host.store.finish(run, worker, &end, now).await.unwrap();
    assert_eq!(finished, WriteOutcome::Committed);
    question
}

pub(crate) async fn default_of_unanswered_question_reaches_agent_once(world: &World) {
    let agent = world.agent(&world.script().prompt([Step::Echo])).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "Paint it").await;
    let question = ask_and_end(world, run).await;
    let tick = scheduler::tick(&world.host, world.clock.now())
        .await
        .unwrap();
    assert_eq!((tick.started, tick.next), (0, Some(question.deadline_at)));

    world.clock.set(question.deadline_at);
    let tick = scheduler::tick(&world.host, world.clock.now())
        .await
        .unwrap();
    assert_eq!((tick.started, tick.next), (1, None));
    let tick = scheduler::tick(&world.host, world.clock.now())
        .await
        .unwrap();
    assert_eq!((tick.started, tick.next), (0, None));
    world.take_turns().await;

    let messages = world.messages(session).await;
    let (role, answer) = messages.last().unwrap();
    assert_eq!(role, "assistant");
    assert!(answer.contains("so its default counts"), "{answer}");
    assert!(answer.contains("Question: Which colour?"), "{answer}");
    assert!(answer.contains("Answer: red"), "{answer}");
    let asked = messages.iter().find(|(role, _)| role == "system");
    let (_, notice) = asked.unwrap();
    assert!(
        notice.starts_with("The agent asks: Which colour?"),
        "{notice}"
    );
    let runs = world.runs().await;
    assert_eq!(runs.len(), 2);
    let answered = runs
        .iter()
        .filter(|run| run.status() == RunStatus::Succeeded);
    assert_eq!(answered.count(), 1);
}

/// Returns the text of the agent's answer, which is the reply to its question.
async fn reply_of(world: &World, run: RunId) -> Value {
    let run = eventually("the end of the turn", async || {
        let run = world.store().run(Scope::System, run).await.unwrap();
        run.status().is_over().then_some(run)
    })
    .await;
    let messages = world.messages(run.session_id.unwrap()).await;
    let mut answers = messages.iter().filter(|(role, _)| role == "assistant");
    serde_json::from_str(&answers.next_back().unwrap().1).unwrap()
}

async fn pending_question(world: &World) -> Question {
    eventually("a question that waits", async || {
        let filter = QuestionFilter {
            state: Some(QuestionStatus::Pending),
            ..QuestionFilter::default()
        };
        let page = world
            .store()
            .question_page(world.tenant, filter, Page::first(9));
        page.await.unwrap().into_iter().next()
    })
    .await
}

fn colour(default: Option<&str>) -> Value {
    let mut field = json!({ "type": "string", "enum": ["red", "blue"] });
    if let Some(default) = default {
        field["default"] = default.into();
    }
    json!({ "colour": field })
}

pub(crate) async fn declined_elicitation_is_declined_despite_its_default(world: &World) {
    let script = world
        .script()
        .prompt([Step::elicit("Which colour?", &colour(Some("red")))]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let daemon = world.daemon();
    let run = world.send_message(session, "Paint it").await;
    daemon.signals().wake();
    let question = pending_question(world).await;
    assert!(question.body.default.is_some());
    let by = Decider {
        token: None,
        name: "socket".into(),
    };
    let declined = world.store().answer_question(
        world.tenant,
        question.id,
        &Value::Null,
        &by,
        world.clock.now(),
    );
    let declined = declined.await.unwrap();
    assert!(declined.state.is_declined());
    assert_eq!(declined.state.input(), None);
    assert_eq!(reply_of(world, run).await, json!({ "action": "decline" }));
    daemon.stop().await;
    // The database gives back the same state.
    let stored = world.store().question(world.scope(), question.id).await;
    assert_eq!(stored.unwrap().state, declined.state);
    let notice = world.last_notice(session).await;
    assert_eq!(notice, "A person at the server declined to answer.");
    assert_eq!(world.runs().await.len(), 1, "the decline is no input");
}

pub(crate) async fn elicitation_is_answered_in_its_turn(world: &World) {
    let script = world
        .script()
        .prompt([Step::elicit("Which colour?", &colour(None))]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let daemon = world.daemon();
    let run = world.send_message(session, "Paint it").await;
    daemon.signals().wake();
    let question = pending_question(world).await;
    assert_eq!(question.kind, QuestionKind::Elicitation);
    assert_eq!(
        (question.run_id, question.text.as_str()),
        (run, "Which colour?")
    );
    let by = Decider {
        token: None,
        name: "socket".into(),
    };
    let answer = json!({ "colour": "blue" });
    let answered =
        world
            .store()
            .answer_question(world.tenant, question.id, &answer, &by, world.clock.now());
    assert_eq!(answered.await.unwrap().state.input(), None);
    assert_eq!(
        reply_of(world, run).await,
        json!({ "action": "accept", "content": answer })
    );
    daemon.stop().await;
    let messages = world.messages(session).await;
    let notices: Vec<_> = messages
        .iter()
        .filter(|(role, _)| role == "system")
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(
        notices,
        [
            "The agent asks: Which colour?",
            "A person at the server answered: {\"colour\":\"blue\"}"
        ]
    );
    assert_eq!(world.runs().await.len(), 1, "the answer is no input");
}

pub(crate) async fn unanswered_elicitation_takes_defaults_or_is_declined(world: &World) {
    for (default, expected, notice) in [
        (
            Some("red"),
            json!({ "action": "accept", "content": { "colour": "red" } }),
            "so the defaults of the form count",
        ),
        (
            None,
            json!({ "action": "decline" }),
            "so the question was declined",
        ),
    ] {
        let name = default.unwrap_or("none");
        let script =
            Script::new(world.path(name)).prompt([Step::elicit("Which colour?", &colour(default))]);
        let run =
            fire_with_approvals(world, name, &script, |policies| policies.ask_seconds = 1).await;
        let run = world.take_turn(run).await;
        assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
        assert_eq!(reply_of(world, run.id).await, expected);
        let messages = world.messages(run.session_id.unwrap()).await;
        assert!(
            messages
                .iter()
                .any(|(role, text)| role == "system" && text.contains(notice)),
            "{messages:?}"
        );
    }
}

pub(crate) async fn elicitation_without_checkable_form_is_declined_at_once(world: &World) {
    let url = json!({
        "mode": "url", "message": "Sign in", "elicitationId": "1", "url": "https://example.org",
    });
    let steps = [
        Step::Elicit(url),
        Step::elicit("Which file?", &json!({ "file": { "type": "file" } })),
    ];
    for (number, step) in steps.into_iter().enumerate() {
        let script = Script::new(world.path(&format!("agent-{number}"))).prompt([step]);
        let agent = world.agent_named(&format!("agent-{number}"), &script).await;
        let session = world.session(agent).await;
        let run = world.send_and_take_turn(session, "Go").await;
        assert_eq!(
            reply_of(world, run.id).await,
            json!({ "action": "decline" })
        );
    }
    let page = world
        .store()
        .question_page(world.tenant, QuestionFilter::default(), Page::first(9));
    assert_eq!(page.await.unwrap(), []);
}

pub(crate) async fn cancelled_turn_voids_its_elicitation(world: &World) {
    let script = world
        .script()
        .prompt([Step::elicit("Which colour?", &colour(None))]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let daemon = world.daemon();
    let run = world.send_message(session, "Paint it").await;
    daemon.signals().wake();
    let question = pending_question(world).await;
    let cancelled = world
        .store()
        .cancel_run(world.scope(), run, "enough", world.clock.now());
    cancelled.await.unwrap();
    daemon.signals().wake();
    // The agent learns that there is no answer by the void question or by the cancellation, and goes on.
    let reply = reply_of(world, run).await;
    assert_ne!(reply["action"], "accept", "{reply}");
    daemon.stop().await;
    let question = world.store().question(Scope::System, question.id).await;
    assert_eq!(question.unwrap().status(), QuestionStatus::Void);
}
