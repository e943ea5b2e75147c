//! The life of a goal: from its plan to its report, its pauses, and its end by a person.

use futures::future::join_all;
use model::{
    TenantId,
    goal::{
        GoalState, NewTask, PauseReason, Reviews,
        TaskStatus::{Done, Running},
    },
    run::{Origin, RunStatus},
    session::SessionStatus,
    turn::{StartReply, WriteOutcome},
};
use store::{Error, GoalChange, Scope};

use crate::{
    event_summary::summary,
    fixtures::{TestStore, id},
    stage::{Stage, answer},
    without_locks::{patiently, without_locks},
};

use super::stage::{done, team, verdict, work};

pub(crate) async fn small_goal_is_planned_worked_judged_and_reported(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(2, Some(Reviews::Marked))).await;
    // 1. The planner gets the goal, and its tasks become visible when its turn succeeds.
    let planner = stage.turn(db, session, "planner").await;
    let run = stage.run(planner.run).await;
    assert_eq!(run.origin, Origin::Task);
    assert!(
        run.content.contains("Draft the campaign."),
        "{}",
        run.content
    );
    assert_eq!(run.prompt_ref.unwrap().id, "goal.plan");
    let mut mail = work("mail", &[]);
    mail.review = true;
    for task in [mail, work("tone", &[]), work("page", &["mail", "tone"])] {
        stage.stage_task(&planner, &task).await.unwrap();
    }
    assert_eq!(stage.tasks(session).await, ["plan#1 RUNNING nothing"]);
    stage.succeed(planner.run).await;
    assert_eq!(
        stage.tasks(session).await,
        [
            "plan#1 DONE nothing",
            "mail RUNNING nothing",
            "tone RUNNING nothing",
            "page PENDING mail, tone",
        ]
    );
    // 2. Two workers work at the same time.
    let first = stage.turn(db, session, "worker-1").await;
    let second = stage.turn(db, session, "worker-2").await;
    stage.report(&first, &done("The mail.")).await.unwrap();
    stage.succeed(first.run).await;
    stage.report(&second, &done("Friendly.")).await.unwrap();
    stage.succeed(second.run).await;
    assert_eq!(
        stage.tasks(session).await[1..],
        [
            "mail RUNNING nothing",
            "tone DONE nothing",
            "page PENDING mail"
        ]
    );
    // 3. The judge reads the result and accepts it, and the last task gets the results of the others.
    let judge = stage.turn(db, session, "judge").await;
    assert!(stage.run(judge.run).await.content.contains("The mail."));
    stage.report(&judge, &verdict(&["read it"])).await.unwrap();
    stage.succeed(judge.run).await;
    let last = stage.next_turn(db, session).await;
    let content = stage.run(last.run).await.content;
    assert!(
        content.contains("The mail.") && content.contains("Friendly."),
        "{content}"
    );
    stage.report(&last, &done("The page.")).await.unwrap();
    stage.succeed(last.run).await;
    // 4. The judge accepts the whole goal, the planner reports, and the session is done.
    let check = stage.turn(db, session, "judge").await;
    stage.report(&check, &verdict(&["read all"])).await.unwrap();
    stage.succeed(check.run).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!((view.state, view.plan_version), (GoalState::Done, 1));
    assert!(
        view.tasks.iter().all(|task| task.status == Done),
        "{view:?}"
    );
    let status = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(status.status(), SessionStatus::Done);
    assert!(stage.claim().await.is_none());
    // Each task became DONE once, and its log says so.
    let log = stage.store.events(stage.scope(), session, 0, 1000).await;
    let log: Vec<String> = log.unwrap().iter().map(|it| summary(&it.change)).collect();
    for key in ["plan#1", "mail", "tone", "page", "check#1", "report#1"] {
        let line = format!("task {key} DONE");
        assert_eq!(log.iter().filter(|it| **it == line).count(), 1, "{log:?}");
    }
}

pub(crate) async fn person_pauses_edits_and_resumes_goal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(2, None), &[work("a", &[]), work("b", &["a"])])
        .await;
    let worker = stage.next_turn(db, session).await;
    let paused = stage.change(session, GoalChange::Pause).await.unwrap();
    assert_eq!(paused, GoalState::Paused(PauseReason::Person));
    let refused = stage.change(session, GoalChange::Pause).await;
    assert!(matches!(refused, Err(Error::Goal(_))), "{refused:?}");
    // The turn under way ends, and no other starts.
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    assert!(stage.claim().await.is_none());
    let resumed = stage.change(session, GoalChange::Resume).await.unwrap();
    assert_eq!(resumed, GoalState::Active);
    // An edit queues a plan, whose prompt has the new text.
    let edit = GoalChange::Edit("Draft two campaigns.".into());
    stage.change(session, edit).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    assert!(content.contains("Draft two campaigns."), "{content}");
    // A plan of a person needs the version that the person has read.
    let plan = || model::goal::Plan {
        tasks: vec![work("c", &[])],
        drops: vec!["b".into()],
    };
    let stale = GoalChange::Publish {
        version: 0,
        plan: plan(),
    };
    let refused = stage.change(session, stale).await;
    assert!(matches!(refused, Err(Error::Goal(_))), "{refused:?}");
    let publish = GoalChange::Publish {
        version: 1,
        plan: plan(),
    };
    stage.change(session, publish).await.unwrap();
    let tasks = stage.tasks(session).await;
    assert!(tasks.contains(&"c RUNNING nothing".to_owned()), "{tasks:?}");
    assert!(
        tasks.contains(&"b CANCELLED nothing".to_owned()),
        "{tasks:?}"
    );
    let unknown = stage.change(session, GoalChange::Retry("x".into())).await;
    assert!(
        matches!(unknown, Err(Error::NotFound { .. })),
        "{unknown:?}"
    );
}

pub(crate) async fn turn_that_has_not_begun_waits_for_end_of_pause(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let run = stage.open_run(db, session, "worker-1").await.unwrap();
    let waits = async || {
        let tasks = stage.tasks(session).await;
        tasks[1] == "a RUNNING the goal, which is paused (person)"
    };
    // 1. A queued turn and one that a worker has claimed do not begin.
    stage.change(session, GoalChange::Pause).await.unwrap();
    let reply = stage.claim_and_begin(run).await;
    assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
    stage.assert_nothing_promotable().await;
    assert!(stage.claim().await.is_none());
    assert!(waits().await);
    // 2. A person can talk to the seat.
    let message = stage.send_to_seat(session, "worker").await;
    stage.start(message).await;
    stage.succeed(message).await;
    assert!(waits().await);
    // 3. With the end of the pause the turn begins.
    stage.change(session, GoalChange::Resume).await.unwrap();
    assert_eq!(stage.status(run).await, RunStatus::Queued);
    let worker = stage.turn(db, session, "worker-1").await;
    assert_eq!(worker.run, run);
    // 4. Neither does an attempt after a lost worker.
    stage.change(session, GoalChange::Pause).await.unwrap();
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    let now = stage.advance_seconds(200);
    stage.store.promote_due(now).await.unwrap();
    assert!(stage.claim().await.is_none());
    assert!(waits().await);
    stage.change(session, GoalChange::Resume).await.unwrap();
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
}

pub(crate) async fn plan_of_thousand_tasks_is_published_at_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(2, None));
    (new.team.limits.graph.plan, new.team.limits.graph.tasks) = (1000, 1000);
    let created = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = created.await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let items = |from: usize| (from..from + 500).map(|no| format!("item {no}")).collect();
    let first = NewTask {
        each: items(0),
        title: "Label {item}".into(),
        ..work("label", &[])
    };
    let second = NewTask {
        each: items(500),
        ..work("check", &[])
    };
    stage.stage_task(&planner, &first).await.unwrap();
    assert_eq!(stage.stage_task(&planner, &second).await.unwrap(), 2);
    stage.succeed(planner.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks.len(), 1001);
    assert_eq!(view.tasks[500].key, "label/500");
    assert_eq!(view.tasks[500].title, "Label item 499");
    let running = view.tasks.iter().filter(|task| task.status == Running);
    assert_eq!(running.count(), 2, "one for each worker");
}

pub(crate) async fn task_waits_for_messages_of_people_on_its_seat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    // The message waits for the turn under way, and goes before the next one of the planner.
    let planner = stage.turn(db, session, "planner").await;
    let message = stage.send_message(session, "How far are you?").await.run_id;
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.succeed(planner.run).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let report = stage.open_run(db, session, "planner").await.unwrap();
    assert_eq!(report, message, "the message has the seat");
    stage.start(message).await;
    stage.succeed(message).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Done);
}

pub(crate) async fn goal_of_other_tenant_is_not_found(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let other = TenantId::from_uuid(id());
    let goal = stage.store.goal(Scope::Tenant(other), session).await;
    assert!(matches!(goal, Err(Error::NotFound { .. })), "{goal:?}");
    let change = &GoalChange::Cancel;
    let changed = stage.store.change_goal(other, session, change, stage.now());
    let changed = changed.await;
    assert!(
        matches!(changed, Err(Error::NotFound { .. })),
        "{changed:?}"
    );
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Active);
}

pub(crate) async fn ends_of_turns_without_locks_finish_each_task_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let keys = ["a", "b", "c", "d"];
    let plan = keys.map(|key| work(key, &[]));
    let mut new = stage.new_goal(team(4, None));
    new.team.limits.graph.parallel = 4;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    stage.plan(db, session, &plan).await;
    let mut callers = Vec::new();
    for seat in ["worker-1", "worker-2", "worker-3", "worker-4"] {
        let caller = stage.turn(db, session, seat).await;
        stage.report(&caller, &done("done")).await.unwrap();
        callers.push(caller);
    }
    // Two servers end each turn.
    let stores = without_locks(db).await;
    let (stage, result) = (&stage, &answer("Done."));
    let mut ends = Vec::new();
    for caller in &callers {
        for store in &stores {
            ends.push(async move {
                patiently!(store.finish(caller.run, &stage.worker, result, stage.now()))
            });
        }
    }
    let outcomes = join_all(ends).await;
    let committed = outcomes.iter().filter(|it| **it == WriteOutcome::Committed);
    assert_eq!(committed.count(), 4);
    let log = stage.store.events(stage.scope(), session, 0, 1000).await;
    let log: Vec<String> = log.unwrap().iter().map(|it| summary(&it.change)).collect();
    for key in keys {
        let line = format!("task {key} DONE");
        assert_eq!(log.iter().filter(|it| **it == line).count(), 1, "{log:?}");
    }
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Done);
}
