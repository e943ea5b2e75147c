//! Turns and plans of goals that fail.

use model::{
    goal::{
        GoalState, PauseReason, Reviews, StuckCause, TaskStatus,
        TaskStatus::{Cancelled, Done, Failed, Running},
    },
    outcome::FailureKind,
    question::QuestionStatus::{Pending, Void},
    run::RunStatus,
    session::SessionStatus,
};
use store::{Error, GoalChange, Scope, StagedCancellation, params};

use super::stage::{done, sent_back, team, verdict, work};
use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

impl Stage {
    async fn task_status(&self, session: model::SessionId, key: &str) -> TaskStatus {
        let view = self.store.goal(self.scope(), session).await.unwrap();
        let found = view.tasks.iter().find(|task| task.key == key);
        found.unwrap_or_else(|| panic!("no task {key}")).status
    }
}

pub(crate) async fn refused_plan_publishes_nothing(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    for task in [work("a", &["b"]), work("b", &["a"]), work("c", &[])] {
        stage.stage_task(&planner, &task).await.unwrap();
    }
    // A fault of a task by itself is refused at once.
    let mut coder = work("d", &[]);
    coder.role = "coder".into();
    let refused = stage.stage_task(&planner, &coder).await.unwrap_err();
    assert!(refused.to_string().contains("`role` of `d`"), "{refused}");
    stage.succeed(planner.run).await;
    assert_eq!(stage.tasks(session).await, ["plan#1 RUNNING nothing"]);
    // The reminder names the cycle, and the tasks are still staged.
    let planner = stage.turn(db, session, "planner").await;
    let run = stage.run(planner.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.reminder");
    assert!(run.content.contains("cycle"), "{}", run.content);
    assert_eq!(
        stage.stage_task(&planner, &work("a", &[])).await.unwrap(),
        3
    );
    stage.succeed(planner.run).await;
    assert_eq!(stage.task_status(session, "b").await, TaskStatus::Pending);
    assert_eq!(stage.tasks(session).await.len(), 4);
}

pub(crate) async fn staged_plan_outlives_lost_worker_and_is_published_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [planner.run]);
    // The turn goes on with the next attempt, which the graph does not notice.
    assert_eq!(stage.tasks(session).await, ["plan#1 RUNNING nothing"]);
    stage.advance_seconds(60);
    stage.store.promote_due(stage.now()).await.unwrap();
    let again = stage.turn(db, session, "planner").await;
    let run = stage.run(again.run).await;
    assert_eq!(
        (run.attempt, run.interrupted_run_id),
        (2, Some(planner.run))
    );
    assert_eq!(run.prompt_ref.unwrap().id, "turn.interrupted");
    assert_eq!(stage.stage_task(&again, &work("a", &[])).await.unwrap(), 1);
    stage.succeed(again.run).await;
    assert_eq!(
        stage.tasks(session).await,
        ["plan#1 DONE nothing", "a RUNNING nothing"]
    );
    let late = stage.stage_task(&planner, &work("b", &[])).await;
    assert!(matches!(late, Err(Error::RunOver { .. })), "{late:?}");
}

pub(crate) async fn failed_task_is_attempted_twice_and_then_replanned(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    for _ in 0..2 {
        let worker = stage.turn(db, session, "worker-1").await;
        stage.fail(worker.run, FailureKind::AgentError).await;
    }
    assert_eq!(stage.task_status(session, "a").await, Failed);
    assert_eq!(stage.tasks(session).await[2], "b PENDING a (FAILED)");
    // A run of a task is repeated by its task alone.
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    assert!(
        content.contains("FAILED a: Do a: attempts used up"),
        "{content}"
    );
    let mut other = work("other", &[]);
    other.replaces = vec!["a".into()];
    stage.stage_task(&planner, &other).await.unwrap();
    stage.succeed(planner.run).await;
    assert_eq!(stage.task_status(session, "a").await, Cancelled);
    assert_eq!(stage.tasks(session).await[2], "b PENDING other");
    let worker = stage.turn(db, session, "worker-1").await;
    let retried = stage
        .store
        .retry_run(stage.scope(), worker.run, None, stage.now());
    assert!(matches!(retried.await, Err(Error::Refused(_))));
    stage.report(&worker, &done("Other")).await.unwrap();
    stage.succeed(worker.run).await;
    let worker = stage.turn(db, session, "worker-1").await;
    assert!(stage.run(worker.run).await.content.contains("Other"));
}

pub(crate) async fn tools_of_tasks_belong_to_their_turns(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::Goal)), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    let staged = stage.stage_task(&worker, &work("b", &[])).await;
    assert!(matches!(staged, Err(Error::Refused(_))), "{staged:?}");
    let judged = stage.report(&worker, &verdict(&["read"])).await;
    assert!(matches!(judged, Err(Error::Refused(_))), "{judged:?}");
    let tasks = stage
        .store
        .list_tasks(&worker, stage.now())
        .await
        .unwrap()
        .tasks;
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[1].id, stage.task_id(session, "a").await);
    // The last report of a turn counts.
    stage.report(&worker, &done("first")).await.unwrap();
    assert_eq!(stage.report(&worker, &done("second")).await.unwrap(), "a");
    stage.succeed(worker.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[1].result.as_deref(), Some("second"));
    let late = stage.report(&worker, &done("late")).await;
    assert!(matches!(late, Err(Error::RunOver { .. })), "{late:?}");
    // A session without a goal has no tasks.
    let chat = stage.session().await;
    let caller = crate::tool_calls::start_message(&stage, chat).await;
    let offer = stage.store.turn_offer(&caller, stage.now()).await.unwrap();
    assert!(!offer.is_of_goal);
    let listed = stage.store.list_tasks(&caller, stage.now()).await;
    assert!(matches!(listed, Err(Error::Refused(_))), "{listed:?}");
    let staged = stage.stage_task(&caller, &work("b", &[])).await;
    assert!(matches!(staged, Err(Error::Refused(_))), "{staged:?}");
}

pub(crate) async fn turn_without_report_is_reminded_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.list_tools(&worker).await;
    stage.succeed(worker.run).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let run = stage.run(worker.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.reminder");
    assert!(run.content.contains("`update_task`"), "{}", run.content);
    stage.list_tools(&worker).await;
    stage.end(worker.run, &answer("It is done.")).await;
    assert_eq!(stage.task_status(session, "a").await, Failed);
    // A person accepts the answer.
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[1].result.as_deref(), Some("It is done."));
    stage
        .change(session, GoalChange::Accept("a".into()))
        .await
        .unwrap();
    assert_eq!(stage.task_status(session, "a").await, Done);
}

pub(crate) async fn result_sent_back_is_reworked_in_same_memory(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(2, Some(Reviews::All)), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("Draft")).await.unwrap();
    stage.succeed(worker.run).await;
    let judge = stage.turn(db, session, "judge").await;
    let finding = sent_back("source", "There is no source.");
    stage.report(&judge, &finding).await.unwrap();
    stage.succeed(judge.run).await;
    let again = stage.turn(db, session, "worker-1").await;
    let run = stage.run(again.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.rework");
    assert!(
        run.content.contains("There is no source."),
        "{}",
        run.content
    );
    stage.report(&again, &done("With a source")).await.unwrap();
    stage.succeed(again.run).await;
    let judge = stage.turn(db, session, "judge").await;
    stage.report(&judge, &verdict(&["read it"])).await.unwrap();
    stage.succeed(judge.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!((view.tasks[1].status, view.tasks[1].round), (Done, 1));
}

pub(crate) async fn stuck_goal_is_given_up_at_its_deadline(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.team.limits.graph.replans = 0;
    new.team.limits.give_up_after_hours = 3;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    stage.plan(db, session, &[work("a", &[])]).await;
    for _ in 0..2 {
        let worker = stage.turn(db, session, "worker-1").await;
        stage.fail(worker.run, FailureKind::AgentError).await;
    }
    // The report comes before the pause.
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Stuck(StuckCause::Idle));
    assert!(view.check_at.is_some());
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert_eq!(status.next_work_at(), view.check_at);
    assert_eq!(
        stage.store.pass_goal_deadlines(stage.now()).await.unwrap(),
        0
    );
    stage.advance_seconds(3 * 3600);
    assert_eq!(
        stage.store.pass_goal_deadlines(stage.now()).await.unwrap(),
        1
    );
    assert_eq!(
        stage.store.pass_goal_deadlines(stage.now()).await.unwrap(),
        0
    );
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::GivenUp);
    assert_eq!(stage.task_status(session, "a").await, Failed);
    let row = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(row.status(), SessionStatus::Failed);
    assert_eq!(stage.status(report.run).await, RunStatus::Succeeded);
    assert_ne!(stage.task_status(session, "report#1").await, Running);
}

pub(crate) async fn team_that_cannot_work_makes_nothing(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut two = team(1, None);
    two.seats[1].role = "planner".into();
    let new = stage.new_goal(two);
    let refused = stage.store.create_goal(stage.tenant, &new, stage.now());
    let refused = refused.await.unwrap_err();
    assert!(matches!(refused, Error::TeamFault(_)), "{refused:?}");
    assert!(refused.to_string().contains("`seats[1].role"), "{refused}");
    let missing = stage.store.session(stage.scope(), new.session).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    // So is a team in which no seat can work.
    let mut alone = team(1, None);
    alone.seats.pop();
    let new = stage.new_goal(alone);
    let refused = stage.store.create_goal(stage.tenant, &new, stage.now());
    let refused = refused.await.unwrap_err();
    assert!(refused.to_string().contains("`worker`"), "{refused}");
    // A seat without an agent is refused, too.
    let mut new = stage.new_goal(team(1, None));
    new.agents.pop();
    let refused = stage.store.create_goal(stage.tenant, &new, stage.now());
    assert!(refused.await.is_err());
}

pub(crate) async fn answer_starts_next_turn_of_task_that_asked(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let asked = stage.ask_person(&worker, "Which colour?").await.unwrap();
    stage.succeed(worker.run).await;
    // The seat is free for another task.
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[1], "a RUNNING the answer to a question");
    assert_eq!(tasks[2], "b RUNNING nothing");
    let other = stage.turn(db, session, "worker-1").await;
    stage.report(&other, &done("B")).await.unwrap();
    stage.succeed(other.run).await;
    assert!(stage.open_run(db, session, "worker-1").await.is_none());
    stage.answer_question(asked.id, "blue").await.unwrap();
    let again = stage.turn(db, session, "worker-1").await;
    let run = stage.run(again.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.answer");
    assert!(run.content.ends_with("\n\nblue"), "{}", run.content);
    stage.report(&again, &done("A")).await.unwrap();
    stage.succeed(again.run).await;
    assert_eq!(stage.task_status(session, "a").await, Done);
}

pub(crate) async fn answer_before_end_of_turn_starts_next_turn_of_task(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let first = stage.ask_person(&worker, "Which colour?").await.unwrap();
    let second = stage.ask_person(&worker, "Which size?").await.unwrap();
    stage.answer_question(first.id, "blue").await.unwrap();
    stage.succeed(worker.run).await;
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[1], "a RUNNING the answer to a question");
    assert!(stage.open_run(db, session, "worker-1").await.is_none());
    stage.answer_question(second.id, "small").await.unwrap();
    let again = stage.turn(db, session, "worker-1").await;
    let run = stage.run(again.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.answer");
    // All answers before the end start the next turn at once.
    let third = stage.ask_person(&again, "Which shape?").await.unwrap();
    stage.answer_question(third.id, "round").await.unwrap();
    stage.succeed(again.run).await;
    let last = stage.turn(db, session, "worker-1").await;
    let run = stage.run(last.run).await;
    assert!(run.content.contains("round"), "{}", run.content);
    stage.report(&last, &done("A")).await.unwrap();
    stage.succeed(last.run).await;
    assert_eq!(stage.task_status(session, "a").await, Done);
}

pub(crate) async fn turn_of_task_that_was_cancelled_after_its_answer_ends(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let asked = stage.ask_person(&worker, "Which colour?").await.unwrap();
    stage.answer_question(asked.id, "blue").await.unwrap();
    let cancel = GoalChange::CancelTask("a".into());
    stage.change(session, cancel).await.unwrap();
    // The agent has ended its turn before the cancellation reaches it.
    stage.succeed(worker.run).await;
    assert_eq!(stage.task_status(session, "a").await, Cancelled);
    assert!(stage.open_run(db, session, "worker-1").await.is_some());
}

pub(crate) async fn answer_to_question_of_failed_attempt_does_not_answer_next_one(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let first = stage.turn(db, session, "worker-1").await;
    let old = stage.ask_person(&first, "Which colour?").await.unwrap();
    stage.fail(first.run, FailureKind::AgentError).await;
    let second = stage.turn(db, session, "worker-1").await;
    let asked = stage.ask_person(&second, "Which size?").await.unwrap();
    stage.succeed(second.run).await;
    assert_eq!(stage.refused_answer(old.id).await, "void");
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[1], "a RUNNING the answer to a question");
    stage.answer_question(asked.id, "small").await.unwrap();
    let tasks = stage.tasks(session).await;
    assert_ne!(tasks[1], "a RUNNING the answer to a question");
}

pub(crate) async fn question_ends_with_the_wait_of_its_task(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team(2, None), &plan).await;
    // The task of a turn that asks and reports is done.
    let first = stage.turn(db, session, "worker-1").await;
    let of_done = stage.ask_person(&first, "Which colour?").await.unwrap().id;
    stage.report(&first, &done("A")).await.unwrap();
    assert_eq!(stage.question_status(of_done).await, Pending);
    stage.succeed(first.run).await;
    assert_eq!(stage.question_status(of_done).await, Void);
    // A person cancels a task that waits for its answer.
    let second = stage.turn(db, session, "worker-2").await;
    let of_cancelled = stage.ask_person(&second, "Which size?").await.unwrap().id;
    stage.succeed(second.run).await;
    assert_eq!(stage.question_status(of_cancelled).await, Pending);
    let cancel = GoalChange::CancelTask("b".into());
    stage.change(session, cancel).await.unwrap();
    assert_eq!(stage.refused_answer(of_cancelled).await, "void");
    let events = stage.question_events(session).await;
    let voided = events.iter().filter(|event| *event == "question void");
    assert_eq!(voided.count(), 2, "{events:?}");

    // An earlier program has left the questions: neither an answer nor a default starts a turn.
    let sql = "update questions set state = 'pending', closed_at = null where session_id = $1";
    db.run(Scope::System, sql, params![session]).await.unwrap();
    let inputs = stage.inputs(session).await.len();
    stage.answer_question(of_done, "blue").await.unwrap();
    let now = stage.advance_seconds(3600);
    assert_eq!(stage.expire_questions(now).await, 1);
    assert_eq!(stage.inputs(session).await.len(), inputs);
}

pub(crate) async fn turn_ends_in_session_that_earlier_program_closed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let sql = "update agent_sessions set state = 'failed', state_reason = 'closed', ended_at = updated_at where id = $1";
    db.run(Scope::System, sql, params![session]).await.unwrap();
    stage.report(&worker, &done("A")).await.unwrap_err();
    stage.succeed(worker.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Cancelled);
    assert!(stage.open_run(db, session, "worker-1").await.is_none());
}

pub(crate) async fn planner_cancels_tasks_with_its_next_plan(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"]), work("c", &["b"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let replan = stage.change(session, GoalChange::Replan).await.unwrap();
    assert_eq!(replan, GoalState::Active);
    let planner = stage.turn(db, session, "planner").await;
    let now = stage.now();
    let staged = stage.store.stage_cancellation(&planner, "b", now).await;
    assert_eq!(staged.unwrap(), StagedCancellation::Staged(1));
    // Nothing has changed yet.
    assert_eq!(stage.task_status(session, "b").await, TaskStatus::Pending);
    stage.succeed(planner.run).await;
    assert_eq!(stage.task_status(session, "a").await, Running);
    assert_eq!(stage.task_status(session, "b").await, Cancelled);
    assert_eq!(stage.task_status(session, "c").await, Cancelled);
}

pub(crate) async fn draft_starts_and_first_plan_waits_for_its_approval(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.approve_plan = true;
    new.draft = true;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    assert!(stage.claim().await.is_none());
    let started = stage.change(session, GoalChange::Start).await.unwrap();
    assert_eq!(started, GoalState::Active);
    stage.plan(db, session, &[work("a", &[])]).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Paused(PauseReason::ApprovePlan));
    assert!(stage.claim().await.is_none());
    stage.change(session, GoalChange::Resume).await.unwrap();
    assert_eq!(stage.task_status(session, "a").await, Running);
}
