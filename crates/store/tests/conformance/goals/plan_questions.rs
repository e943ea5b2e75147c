//! Planners that ask a person: their staged tasks wait for the answer.

use model::{SessionId, goal::Refusal, outcome::FailureKind, question::QuestionStatus::Pending};
use store::{Error, GoalChange, StagedCancellation, ToolCaller};

use super::stage::{team, work};
use crate::{fixtures::TestStore, stage::Stage};

impl Stage {
    /// Begins the next turn of the planner, which gets an answer.
    async fn turn_with_answer(&self, db: &TestStore, session: SessionId) -> (ToolCaller, String) {
        let planner = self.turn(db, session, "planner").await;
        let run = self.run(planner.run).await;
        assert_eq!(run.prompt_ref.unwrap().id, "goal.answer");
        (planner, run.content)
    }

    /// Creates a goal whose planner has staged the task `c` and the cancellation of `b`, has asked, and gets the answer `no`.
    async fn refused_plan(&self, db: &TestStore) -> (SessionId, ToolCaller, String) {
        let plan = [work("a", &[]), work("b", &["a"])];
        let session = self.planned_goal(db, team(1, None), &plan).await;
        self.change(session, GoalChange::Replan).await.unwrap();
        let planner = self.turn(db, session, "planner").await;
        self.stage_task(&planner, &work("c", &[])).await.unwrap();
        let cancelled = self
            .store
            .stage_cancellation(&planner, "b", self.now())
            .await;
        assert_eq!(cancelled.unwrap(), StagedCancellation::Staged(2));
        let asked = self.ask_person(&planner, "May I do this?").await.unwrap();
        self.succeed(planner.run).await;
        self.answer_question(asked.id, "no").await.unwrap();
        let (again, content) = self.turn_with_answer(db, session).await;
        (session, again, content)
    }
}

pub(crate) async fn planner_that_asks_keeps_its_staged_tasks_until_the_answer(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(3, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    for task in [work("a", &[]), work("b", &["a"])] {
        stage.stage_task(&planner, &task).await.unwrap();
    }
    let asked = stage.ask_person(&planner, "Which colour?").await.unwrap();
    stage.succeed(planner.run).await;
    let waiting = ["plan#1 RUNNING the answer to a question"];
    assert_eq!(stage.tasks(session).await, waiting);
    assert_eq!(stage.question_status(asked.id).await, Pending);
    // 1. The turn with the answer stages more, and its server is lost.
    stage.answer_question(asked.id, "blue").await.unwrap();
    let (again, content) = stage.turn_with_answer(db, session).await;
    assert!(content.ends_with("\n\nblue"), "{content}");
    let staged = stage.stage_task(&again, &work("c", &[])).await;
    assert_eq!(staged.unwrap(), 3);
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [again.run]);
    stage.advance_seconds(60);
    stage.store.promote_due(stage.now()).await.unwrap();
    // 2. The next attempt replaces a task of the turn that asked, and all are published once.
    let last = stage.turn(db, session, "planner").await;
    let staged = stage.stage_task(&last, &work("b", &[])).await;
    assert_eq!(staged.unwrap(), 3);
    stage.succeed(last.run).await;
    assert_eq!(
        stage.tasks(session).await,
        [
            "plan#1 DONE nothing",
            "a RUNNING nothing",
            "b RUNNING nothing",
            "c RUNNING nothing"
        ]
    );
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.plan_version, 1);
}

pub(crate) async fn default_of_question_starts_turn_that_publishes_staged_plan(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.ask_person(&planner, "Which colour?").await.unwrap();
    stage.succeed(planner.run).await;
    let now = stage.advance_seconds(3600);
    assert_eq!(stage.expire_questions(now).await, 1);
    let (again, _) = stage.turn_with_answer(db, session).await;
    // An answer that comes before the end of the turn has not reached its agent either.
    let asked = stage.ask_person(&again, "Which size?").await.unwrap();
    stage.answer_question(asked.id, "small").await.unwrap();
    stage.succeed(again.run).await;
    assert_eq!(stage.tasks(session).await, ["plan#1 RUNNING nothing"]);
    let (last, content) = stage.turn_with_answer(db, session).await;
    assert!(content.contains("small"), "{content}");
    stage.succeed(last.run).await;
    assert_eq!(
        stage.tasks(session).await,
        ["plan#1 DONE nothing", "a RUNNING nothing"]
    );
}

pub(crate) async fn planner_withdraws_staged_changes_after_answer(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, planner, content) = stage.refused_plan(db).await;
    let named = "It makes these tasks: `c`. It cancels these tasks: `b`. All of this is published";
    assert!(content.contains(named), "{content}");
    let now = stage.now();
    let keep = async |key: &str| stage.store.withdraw_cancellation(&planner, key, now).await;
    let refused = keep("c").await;
    assert!(
        matches!(&refused, Err(Error::Goal(Refusal::NewTask(task))) if task == "c"),
        "{refused:?}"
    );
    let withdrawn = stage.store.stage_cancellation(&planner, "c", now).await;
    assert_eq!(withdrawn.unwrap(), StagedCancellation::Withdrawn(1));
    assert_eq!(keep("b").await.unwrap(), 0);
    // Only a staged cancellation can be withdrawn.
    let refused = keep("b").await;
    assert!(
        matches!(&refused, Err(Error::Goal(Refusal::NotCancelled(task))) if task == "b"),
        "{refused:?}"
    );
    let unknown = keep("z").await;
    assert!(
        matches!(unknown, Err(Error::Goal(Refusal::Plan(_)))),
        "{unknown:?}"
    );
    stage.list_tools(&planner).await;
    stage.succeed(planner.run).await;
    let tasks = stage.tasks(session).await;
    for line in ["b PENDING a", "plan#2 DONE nothing"] {
        assert!(tasks.contains(&line.to_owned()), "{tasks:?}");
    }
    assert!(!tasks.iter().any(|it| it.starts_with("c ")), "{tasks:?}");
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.plan_version, 1);
}

pub(crate) async fn attempt_after_failed_answer_names_staged_changes(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, planner, _) = stage.refused_plan(db).await;
    stage.fail(planner.run, FailureKind::AgentError).await;
    let planner = stage.turn(db, session, "planner").await;
    let run = stage.run(planner.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.replan");
    let named = "It has made these tasks: `c`. It has cancelled these tasks: `b`. To withdraw";
    assert!(run.content.contains(named), "{}", run.content);
    stage.succeed(planner.run).await;
    let tasks = stage.tasks(session).await;
    assert!(tasks.iter().any(|it| it.starts_with("c ")), "{tasks:?}");
    assert!(
        tasks.iter().any(|it| it.starts_with("b CANCELLED")),
        "{tasks:?}"
    );
}
