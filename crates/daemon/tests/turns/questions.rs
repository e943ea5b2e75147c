//! Questions of agents: the answers that become their next inputs.

use std::time::Duration;

use daemon::scheduler;
use model::{
    Clock as _, RunId,
    outcome::Outcome,
    question::{Question, QuestionBody},
    run::RunStatus,
    turn::{StartReply, TurnResult, WriteOutcome},
};
use serde_json::json;
use store::{NewQuestion, ToolCaller};
use testkit::scripted::Step;

use crate::world::World;

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
