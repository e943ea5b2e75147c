//! The prompts of work that begins again, and of a first plan that follows tasks of a person.

use model::{
    goal::{GoalState, PauseReason, Plan, Reviews},
    outcome::FailureKind,
};
use store::GoalChange;

use super::stage::{done, sent_back, team, work};
use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn retry_of_task_that_was_not_accepted_has_its_findings(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut team = team(1, Some(Reviews::All));
    team.limits.graph.rounds = 1;
    let session = stage.planned_goal(db, team, &[work("a", &[])]).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("Draft")).await.unwrap();
    stage.succeed(worker.run).await;
    let task = stage.task_id(session, "a").await;
    let findings = async || {
        let details = stage.store.task_details(stage.scope(), task).await.unwrap();
        let ids = details.findings.into_iter().map(|finding| finding.id);
        ids.collect::<Vec<_>>()
    };
    // 1. The verdict of a turn that fails counts as none.
    let judge = stage.turn(db, session, "judge").await;
    let style = sent_back("style", "It is dull.");
    stage.report(&judge, &style).await.unwrap();
    stage.fail(judge.run, FailureKind::AgentError).await;
    assert_eq!(findings().await, [""; 0]);
    // 2. The next one fails the task in its only round, and the planner has its finding alone.
    let judge = stage.turn(db, session, "judge").await;
    let source = sent_back("source", "There is no source.");
    stage.report(&judge, &source).await.unwrap();
    stage.succeed(judge.run).await;
    assert_eq!(findings().await, ["source"]);
    let planner = stage.turn(db, session, "planner").await;
    let prompt = stage.run(planner.run).await.content;
    let line = "blocker a/source of the judge: There is no source.";
    assert!(prompt.contains(line), "{prompt}");
    assert!(!prompt.contains("dull"), "{prompt}");
    stage.list_tools(&planner).await;
    stage.succeed(planner.run).await;
    // 3. A person retries the task. Its worker learns what to mend.
    stage
        .change(session, GoalChange::Retry("a".into()))
        .await
        .unwrap();
    let worker = stage.turn(db, session, "worker-1").await;
    let prompt = stage.run(worker.run).await.content;
    assert!(
        prompt.contains("An earlier result of this task was not accepted."),
        "{prompt}"
    );
    assert!(prompt.contains("source: There is no source."), "{prompt}");
    assert!(!prompt.contains("dull"), "{prompt}");
    stage.report(&worker, &done("Another draft")).await.unwrap();
    stage.succeed(worker.run).await;
    // 4. The judge is in its first round, which finds all faults.
    let judge = stage.turn(db, session, "judge").await;
    let prompt = stage.run(judge.run).await.content;
    assert!(!prompt.contains("This is round"), "{prompt}");
}

pub(crate) async fn first_plan_after_tasks_of_person_has_rules_and_approval(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    (new.draft, new.approve_plan) = (true, true);
    let created = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = created.await.unwrap();
    // 1. A person adds a task to the draft, and starts it. It needs no approval of their own task.
    let publish = GoalChange::Publish {
        version: 0,
        plan: Plan {
            tasks: vec![work("own", &[])],
            drops: Vec::new(),
        },
    };
    stage.change(session, publish).await.unwrap();
    let started = stage.change(session, GoalChange::Start).await;
    assert_eq!(started.unwrap(), GoalState::Active);
    // 2. The planner has its rules and the task.
    let planner = stage.turn(db, session, "planner").await;
    let prompt = stage.run(planner.run).await.content;
    for part in [
        "A person has made the tasks so far, and this is your first plan.",
        "- `worker`, 1 seat\n",
        "- RUNNING own: Do own\n",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    // 3. Its plan waits for the person. The next one has no rules.
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.succeed(planner.run).await;
    let paused = GoalState::Paused(PauseReason::ApprovePlan);
    assert_eq!(stage.goal_state(session).await, paused);
    stage.change(session, GoalChange::Resume).await.unwrap();
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let prompt = stage.run(planner.run).await.content;
    assert!(!prompt.contains("your first plan"), "{prompt}");
}
