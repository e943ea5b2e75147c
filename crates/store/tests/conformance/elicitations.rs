//! Questions of agents that wait in their turns.

use std::time::Duration;

use model::{
    QuestionId, RunId, WorkerId,
    question::{Elicitation, QuestionStatus},
    turn::WriteOutcome,
};
use serde_json::json;
use testkit::clock::SeededEntropy;

use crate::{
    fixtures::TestStore,
    stage::{Stage, unique},
    tool_calls::start_message,
};

impl Stage {
    /// Has the agent of a run ask, and wait for ten minutes.
    async fn elicit(&self, run: RunId) -> QuestionId {
        let id = QuestionId::generate(self.now(), &SeededEntropy::new(unique()));
        assert_eq!(
            self.elicit_as(&self.worker, run, id).await,
            WriteOutcome::Committed
        );
        id
    }

    async fn elicit_as(&self, worker: &WorkerId, run: RunId, id: QuestionId) -> WriteOutcome {
        let schema = json!({ "properties": { "colour": { "type": "string" } } });
        let asked = Elicitation::new("Which colour?", &schema).unwrap();
        let deadline = self.now() + Duration::from_mins(10);
        let requested = self
            .store
            .request_answer(run, worker, id, &asked, deadline, self.now());
        requested.await.unwrap()
    }
}

pub(crate) async fn elicitation_without_running_turn_is_fenced(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let id = QuestionId::generate(stage.now(), &SeededEntropy::new(unique()));
    let stranger = WorkerId::from_stored("host-2-bbbbbbbb".into());
    assert_eq!(
        stage.elicit_as(&stranger, run, id).await,
        WriteOutcome::Fenced
    );
    assert_eq!(stage.question_events(session).await, Vec::<String>::new());
    // A worker that does not know whether its request was committed repeats it.
    for _ in 0..2 {
        assert_eq!(
            stage.elicit_as(&stage.worker, run, id).await,
            WriteOutcome::Committed
        );
    }
    assert_eq!(stage.question_events(session).await, ["question pending"]);
    stage.succeed(run).await;
    let late = QuestionId::generate(stage.now(), &SeededEntropy::new(unique()));
    assert_eq!(
        stage.elicit_as(&stage.worker, run, late).await,
        WriteOutcome::Fenced
    );
}

pub(crate) async fn end_or_cancel_of_attempt_voids_its_elicitations_alone(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let later = stage.ask_person(&caller, "Which size?").await.unwrap().id;
    let [answered, waits] = [
        stage.elicit(caller.run).await,
        stage.elicit(caller.run).await,
    ];
    let run = stage.store.run_names(stage.scope(), caller.run).await;
    assert!(run.unwrap().waits_for_approval);
    let given = stage.answer_question(answered, "blue").await.unwrap();
    assert_eq!(
        (given.state.input(), stage.inputs(session).await.len()),
        (None, 1)
    );
    stage.succeed(caller.run).await;
    assert_eq!(stage.question_status(waits).await, QuestionStatus::Void);
    assert_eq!(
        stage.question_status(answered).await,
        QuestionStatus::Answered
    );
    assert_eq!(stage.question_status(later).await, QuestionStatus::Pending);
    assert_eq!(stage.refused_answer(waits).await, "void");

    // A run that is being cancelled gets no answer, although its turn has not ended.
    let (_, run) = stage.running_turn().await;
    let waits = stage.elicit(run).await;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "enough", stage.now());
    cancelled.await.unwrap();
    assert_eq!(stage.question_status(waits).await, QuestionStatus::Void);

    // A lost worker leaves none open, and a turn that stops waiting withdraws its own.
    let (_, run) = stage.running_turn().await;
    let waits = stage.elicit(run).await;
    stage.advance_seconds(200);
    assert!(stage.stall().await.contains(&run));
    assert_eq!(stage.question_status(waits).await, QuestionStatus::Void);
    let (_, run) = stage.running_turn().await;
    let waits = stage.elicit(run).await;
    let withdrawn = stage
        .store
        .withdraw_approvals(run, &stage.worker, stage.now());
    assert_eq!(withdrawn.await.unwrap(), WriteOutcome::Committed);
    assert_eq!(stage.question_status(waits).await, QuestionStatus::Void);
}

pub(crate) async fn unanswered_elicitation_expires_without_an_input(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let [waiter, unnoticed] = [stage.elicit(run).await, stage.elicit(run).await];
    let now = stage.advance_seconds(600);
    let expired = stage.store.expire_question(waiter, now).await.unwrap();
    assert_eq!(expired.status(), QuestionStatus::Expired);
    // No field is required, so that an empty form counts.
    assert_eq!(expired.state.answer(), Some(&json!({})));
    assert_eq!(
        stage.store.expire_question(waiter, now).await.unwrap(),
        expired
    );
    assert_eq!(stage.expire_questions(now).await, 1);
    assert_eq!(
        stage.question_status(unnoticed).await,
        QuestionStatus::Expired
    );
    assert_eq!(stage.inputs(session).await.len(), 1);
    let shown = stage.transcript(session).await;
    assert!(
        shown
            .last()
            .unwrap()
            .starts_with("system: Nobody answered in time"),
        "{shown:?}"
    );
}
