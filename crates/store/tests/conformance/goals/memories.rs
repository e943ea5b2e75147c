//! The memories of tasks.

use std::collections::BTreeMap;

use model::{
    AcpSessionId, SessionId,
    goal::{Directory, GoalState, JUDGE, Reviews, TaskStatus},
    team::MemoryScope,
    turn::{Assignment, StartReply, TurnResult},
};
use store::{GoalChange, Recipients, ToolCaller};

use super::stage::{done, sent_back, team, verdict, work};
use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

/// Returns the end of a turn in an agent session.
fn in_session(session: &str) -> TurnResult {
    TurnResult {
        acp_session_id: Some(AcpSessionId::new(session)),
        ..answer("Done.")
    }
}

/// Returns the agent session that a turn resumes.
fn resumed(assignment: &Assignment) -> Option<&str> {
    let session = assignment.seat.acp_session_id.as_ref();
    session.map(AcpSessionId::as_str)
}

impl Stage {
    /// Begins the turn that holds a seat. Returns its agent as a caller of tools, and the assignment.
    pub(super) async fn begin_turn(
        &self,
        db: &TestStore,
        session: SessionId,
        seat: &str,
    ) -> (ToolCaller, Assignment) {
        let run = self.open_run(db, session, seat).await;
        let run = run.unwrap_or_else(|| panic!("no turn of {seat}"));
        let claimed = self
            .store
            .claim(&self.worker, self.instance, 1, Some(run), self.now());
        assert_eq!(claimed.await.unwrap().len(), 1, "{run} cannot be claimed");
        let caller = ToolCaller {
            run,
            secret: [7; 32],
            worker: self.worker.clone(),
            stale_after: std::time::Duration::from_mins(10),
        };
        let (instance, now) = (self.instance, self.now());
        let begun = self
            .store
            .begin(run, &self.worker, instance, now, Some(caller.secret));
        match begun.await.unwrap() {
            StartReply::Started(assignment) => (caller, *assignment),
            other => panic!("{run} did not begin: {other:?}"),
        }
    }
}

pub(crate) async fn each_task_has_memory_that_its_later_turns_resume(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, Some(Reviews::All)));
    new.team.seats[1].instructions = Some("Source every claim.".into());
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    stage
        .plan(db, session, &[work("a", &[]), work("b", &[])])
        .await;
    // 1. Each task begins a memory with the instructions.
    for (key, memory) in [("a", "work-a"), ("b", "work-b")] {
        let (worker, assignment) = stage.begin_turn(db, session, "worker").await;
        assert_eq!(resumed(&assignment), None, "{key}");
        let text = &assignment.prompt.text;
        assert!(text.contains("Source every claim."), "{text}");
        assert!(text.contains(&format!("Do {key} well.")), "{text}");
        stage.report(&worker, &done("Draft")).await.unwrap();
        stage.end(worker.run, &in_session(memory)).await;
    }
    let worked_at = stage.now();
    stage.advance_seconds(30);
    // 2. The judge has a memory of each task, and the rework resumes that of the worker.
    let (judge, assignment) = stage.begin_turn(db, session, "judge").await;
    assert_eq!(resumed(&assignment), None);
    let finding = sent_back("source", "There is no source.");
    stage.report(&judge, &finding).await.unwrap();
    stage.end(judge.run, &in_session("judge-a")).await;
    let (worker, assignment) = stage.begin_turn(db, session, "worker").await;
    assert_eq!(resumed(&assignment), Some("work-a"));
    // An agent that restores no young session waits from the end of the memory's own turn on.
    assert_eq!(assignment.seat.turns, 1);
    assert_eq!(assignment.seat.updated_at, worked_at);
    let text = &assignment.prompt.text;
    assert!(!text.contains("Source every claim."), "{text}");
    stage.report(&worker, &done("Mended")).await.unwrap();
    stage.end(worker.run, &in_session("work-a")).await;
    let (judge, assignment) = stage.begin_turn(db, session, "judge").await;
    assert_eq!(resumed(&assignment), None, "the review of b");
    stage.report(&judge, &verdict(&["read"])).await.unwrap();
    stage.end(judge.run, &in_session("judge-b")).await;
    let (judge, assignment) = stage.begin_turn(db, session, "judge").await;
    assert_eq!(resumed(&assignment), Some("judge-a"));
    stage.report(&judge, &verdict(&["read"])).await.unwrap();
    stage.end(judge.run, &in_session("judge-a")).await;
    // 3. Each seat counts its turns, whether they have the memory of the seat or of a task.
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    let turns = seats.iter().map(|seat| (seat.name.as_str(), seat.turns));
    let turns: BTreeMap<_, _> = turns.collect();
    let expected = [("judge", 3), ("planner", 1), ("worker", 3)];
    assert_eq!(turns, BTreeMap::from(expected));
    // 4. The planner has one memory for all turns.
    stage.change(session, GoalChange::Replan).await.unwrap();
    let (_, assignment) = stage.begin_turn(db, session, "planner").await;
    assert_eq!(resumed(&assignment), Some("memory-1"));
}

pub(crate) async fn memory_that_message_begins_opens_with_rules(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.team.seats[1].instructions = Some("Source every claim.".into());
    new.draft = true;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    // 1. A message of a person begins the one memory of the planner, and the plan goes on in it.
    stage.send_message(session, "Be brief.").await;
    stage.change(session, GoalChange::Start).await.unwrap();
    let (planner, assignment) = stage.begin_turn(db, session, "planner").await;
    assert_eq!(resumed(&assignment), None);
    let text = &assignment.prompt.text;
    let rules = "You are the seat `planner`, with the role `planner`, of a goal";
    assert!(text.starts_with(rules), "{text}");
    // It names no tools, because turns with messages have others than turns of tasks.
    let tools = "Act through the tools of Matins: those that each turn offers.";
    assert!(text.contains(tools), "{text}");
    assert!(text.ends_with("\n\nBe brief."), "{text}");
    let shown = stage.transcript(session).await;
    assert!(shown.contains(&"user: Be brief.".to_owned()), "{shown:?}");
    stage.end(planner.run, &in_session("plan")).await;
    let (planner, assignment) = stage.begin_turn(db, session, "planner").await;
    assert_eq!(resumed(&assignment), Some("plan"));
    let text = &assignment.prompt.text;
    assert!(text.starts_with("Plan the work"), "{text}");
    // 2. So does a message of another seat, in a memory beside those of the tasks.
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    let worker = seats.iter().find(|seat| seat.role == "worker").unwrap().id;
    let to = Recipients::Seat(worker);
    let now = stage.tick();
    let sent = stage
        .store
        .send_seat_message(&planner, to, "Use metres.", now);
    assert_eq!(sent.await.unwrap().len(), 1);
    let (receiver, assignment) = stage.begin_turn(db, session, "worker").await;
    let text = &assignment.prompt.text;
    let rules = "You are the seat `worker`, with the role `worker`, of a goal";
    assert!(text.starts_with(rules), "{text}");
    for part in [tools, "Source every claim.", "Use metres."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("`update_task`"), "{text}");
    stage.end(receiver.run, &in_session("messages")).await;
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.end(planner.run, &in_session("plan")).await;
    let (_, assignment) = stage.begin_turn(db, session, "worker").await;
    assert_eq!(resumed(&assignment), None, "the memory of the task");
    let text = &assignment.prompt.text;
    assert!(text.contains("`update_task`"), "{text}");
}

pub(crate) async fn judge_that_works_opens_its_memory_with_tools_of_worker(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut task = work("a", &[]);
    task.role = JUDGE.into();
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::Goal)), &[task])
        .await;
    let (judge, assignment) = stage.begin_turn(db, session, "judge").await;
    let text = &assignment.prompt.text;
    let rules = "You are the seat `judge`, with the role `judge`, of a goal";
    assert!(text.starts_with(rules), "{text}");
    assert!(text.contains("`update_task`"), "{text}");
    assert!(!text.contains("`judge_task`"), "{text}");
    stage.report(&judge, &done("A")).await.unwrap();
    stage.end(judge.run, &in_session("work-a")).await;
    // The check of the goal has a memory of its own.
    let (_, assignment) = stage.begin_turn(db, session, "judge").await;
    assert_eq!(resumed(&assignment), None);
    let text = &assignment.prompt.text;
    assert!(text.contains("`judge_task`"), "{text}");
    assert!(!text.contains("`update_task`"), "{text}");
}

pub(crate) async fn retry_of_task_resumes_its_memory(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    // A turn that the agent did not end leaves no memory.
    let (worker, _) = stage.begin_turn(db, session, "worker").await;
    let failure = model::outcome::FailureKind::AgentError;
    stage.fail(worker.run, failure).await;
    let (worker, assignment) = stage.begin_turn(db, session, "worker").await;
    assert_eq!(resumed(&assignment), None);
    let text = &assignment.prompt.text;
    assert!(text.contains("it broke"), "the reason of the end: {text}");
    let asked = stage.ask_person(&worker, "Which colour?").await.unwrap();
    stage.end(worker.run, &in_session("work-a")).await;
    stage.answer_question(asked.id, "blue").await.unwrap();
    let (worker, assignment) = stage.begin_turn(db, session, "worker").await;
    assert_eq!(resumed(&assignment), Some("work-a"));
    stage.list_tools(&worker).await;
    stage.end(worker.run, &in_session("work-a")).await;
    let (_, assignment) = stage.begin_turn(db, session, "worker").await;
    assert_eq!(resumed(&assignment), Some("work-a"), "the reminder");
}

pub(crate) async fn memory_of_removed_instance_is_replaced_and_named(db: &TestStore) {
    let mut stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, Some(Reviews::All)));
    new.team.seats[1].directory = Directory::Own;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    stage.plan(db, session, &[work("a", &[])]).await;
    // 1. Another server takes the turn of the worker, which has a folder of its own.
    let (home, other) = (stage.instance, stage.second_instance().await);
    stage.instance = other;
    let (worker, _) = stage.begin_turn(db, session, "worker").await;
    stage.report(&worker, &done("Draft")).await.unwrap();
    stage.end(worker.run, &in_session("work-a")).await;
    stage.instance = home;
    stage.remove_instance(other).await;
    // 2. The rework begins a new memory with the whole task.
    let (judge, _) = stage.begin_turn(db, session, "judge").await;
    let finding = sent_back("source", "There is no source.");
    stage.report(&judge, &finding).await.unwrap();
    stage.end(judge.run, &in_session("judge-a")).await;
    let (worker, assignment) = stage.begin_turn(db, session, "worker").await;
    assert_eq!(resumed(&assignment), None);
    let text = &assignment.prompt.text;
    for part in ["was removed", "Do a well.", "There is no source."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    stage.report(&worker, &done("Mended")).await.unwrap();
    stage.end(worker.run, &in_session("work-a2")).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Active);
    assert_eq!(view.tasks[1].status, TaskStatus::Running);
}

pub(crate) async fn later_plan_in_new_memory_says_what_exists(db: &TestStore) {
    let mut stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.team.seats[0].directory = Directory::Own;
    new.team.seats[0].memory = MemoryScope::Task;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    let plan = [work("a", &[]), work("b", &["a"])];
    stage.plan(db, session, &plan).await;
    let (worker, _) = stage.begin_turn(db, session, "worker").await;
    let mut report = done("The mail.");
    report.body.follow_up = Some("Translate it.".into());
    stage.report(&worker, &report).await.unwrap();
    stage.end(worker.run, &in_session("work-a")).await;
    // 1. The planner asks on another server, which is removed.
    let (home, other) = (stage.instance, stage.second_instance().await);
    stage.instance = other;
    let (planner, assignment) = stage.begin_turn(db, session, "planner").await;
    assert_eq!(resumed(&assignment), None, "each plan has its memory");
    let asked = stage.ask_person(&planner, "Which colour?").await.unwrap();
    stage.end(planner.run, &in_session("plan-2")).await;
    stage.instance = home;
    stage.remove_instance(other).await;
    // 2. The turn of the answer has the facts of a later plan.
    stage.answer_question(asked.id, "blue").await.unwrap();
    let (_, assignment) = stage.begin_turn(db, session, "planner").await;
    assert_eq!(resumed(&assignment), None);
    let text = &assignment.prompt.text;
    for part in [
        "was removed",
        "Change the plan of the goal below.",
        "a worker has proposed further work",
        "DONE a: Do a: The mail.",
        "RUNNING b: Do b",
        "result 1 of a: Translate it.",
        "blue",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Plan the work on the goal"), "{text}");
}
