//! Turns without a task on the seats of a goal: those of people, and those for messages between seats. Tasks start on other seats
//! meanwhile, or after them, and all turns together keep to the limit `parallel`.

use futures::future::join_all;
use model::{
    RunId, SessionId,
    goal::{GoalState, WORKER},
    outcome::FailureKind,
    run::RunStatus,
    seat_message::SeatMessageStatus,
    team::TeamDefinition,
    turn::{StartReply, WriteOutcome},
};
use store::{GoalChange, Recipients, Scope, SeatMessage, ToolCaller, params};

use super::stage::{done, team, work};
use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

/// Returns a team of a planner and workers that takes so many turns at a time.
fn at_a_time(workers: u32, parallel: u32) -> TeamDefinition {
    let mut team = team(workers, None);
    team.limits.graph.parallel = parallel;
    team
}

impl Stage {
    /// Returns the only worker's turn for messages, with its message, and a task that waits for its seat.
    async fn task_behind_message(&self, db: &TestStore) -> (SessionId, RunId, SeatMessage) {
        let session = self.goal(team(1, None)).await;
        let planner = self.turn(db, session, "planner").await;
        let sent = self.write_to(session, &planner, WORKER, "Use metres.");
        let sent = sent.await.unwrap();
        self.stage_task(&planner, &work("a", &[])).await.unwrap();
        self.succeed(planner.run).await;
        assert_eq!(self.tasks(session).await[1], "a READY the seat worker");
        let run = self.open_run(db, session, WORKER).await.unwrap();
        (session, run, sent)
    }

    async fn assert_task_runs(&self, session: SessionId, end: &str) {
        let task = &self.tasks(session).await[1];
        assert_eq!(task, "a RUNNING nothing", "{end}");
        self.assert_nothing_promotable().await;
    }

    /// Claims one run and tries to begin its turn.
    async fn try_to_begin(&self, run: RunId) -> StartReply {
        let (worker, now) = (&self.worker, self.now());
        let claimed = self.store.claim(worker, self.instance, 1, Some(run), now);
        assert_eq!(claimed.await.unwrap().len(), 1);
        self.begin(run).await
    }

    /// Returns the number of runs that have seats of a session.
    async fn turns_at_a_time(&self, db: &TestStore, session: SessionId) -> i64 {
        let sql = "select count(*) as n from agent_runs \
            where session_id = $1 and status in ('queued', 'delivered', 'running')";
        let rows = db.run(Scope::System, sql, params![session]).await.unwrap();
        rows[0].get("n").unwrap()
    }

    /// Sends a message to all other seats, and returns one for each.
    async fn write_to_all(&self, from: &ToolCaller) -> Vec<SeatMessage> {
        let now = self.tick();
        let to = Recipients::Others;
        let sent = self.store.send_seat_message(from, to, "Go on.", now);
        sent.await.unwrap()
    }

    async fn states_of(&self, messages: &[SeatMessage]) -> Vec<SeatMessageStatus> {
        let mut states = Vec::new();
        for message in messages {
            states.push(self.state_of(message).await);
        }
        states
    }
}

pub(crate) async fn ready_task_takes_seat_on_which_no_person_talks(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(2, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    stage
        .write_as_person(session, "worker-1", "Are you there?")
        .await;
    let talk = stage.turn(db, session, "worker-1").await;
    for key in ["a", "b"] {
        stage.stage_task(&planner, &work(key, &[])).await.unwrap();
    }
    stage.succeed(planner.run).await;
    // 1. One task goes to the free seat, and the other one waits visibly.
    let tasks = stage.tasks(session).await;
    let waits = "b READY a seat with the role worker";
    assert_eq!(tasks[1..], ["a RUNNING nothing", waits]);
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    let seats = view.seats.iter();
    let seats: Vec<_> = seats
        .map(|seat| (seat.is_busy, seat.task.as_deref()))
        .collect();
    assert_eq!(seats, [(false, None), (true, None), (true, Some("a"))]);
    // 2. A further message of the person goes before the task, and the end of the talk lets the task start.
    let (tenant, now) = (stage.tenant, stage.tick());
    let seat = stage.seat_named(session, "worker-1").await;
    let further = stage
        .store
        .send_message_to_seat(tenant, (session, seat), None, "Go on.", now);
    let further = further.await.unwrap();
    assert_eq!(further.status, RunStatus::Deferred);
    stage.succeed(talk.run).await;
    assert_eq!(stage.tasks(session).await[2], waits);
    stage.start(further.run_id).await;
    stage.succeed(further.run_id).await;
    assert_eq!(stage.tasks(session).await[2], "b RUNNING nothing");
    let turn = stage.turn(db, session, "worker-1").await;
    let prompt = stage.run(turn.run).await.prompt_ref.unwrap();
    assert_eq!(prompt.id, "goal.work");
}

pub(crate) async fn task_starts_after_each_end_of_turn_without_task(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (scope, tenant) = (stage.scope(), stage.tenant);
    // 1. The turn succeeds, fails, or is lost with its worker.
    let (session, run, _) = stage.task_behind_message(db).await;
    stage.start(run).await;
    stage.succeed(run).await;
    stage.assert_task_runs(session, "success").await;
    let (session, run, _) = stage.task_behind_message(db).await;
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentError).await;
    stage.assert_task_runs(session, "failure").await;
    let (session, run, _) = stage.task_behind_message(db).await;
    stage.start(run).await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    stage.assert_task_runs(session, "loss of the worker").await;
    // 2. A person cancels it before it begins, or under way.
    let (session, run, _) = stage.task_behind_message(db).await;
    let cancelled = stage.store.cancel_run(scope, run, "enough", stage.now());
    assert_eq!(cancelled.await.unwrap(), RunStatus::Cancelled);
    stage.assert_task_runs(session, "cancellation").await;
    let (session, run, _) = stage.task_behind_message(db).await;
    stage.start(run).await;
    let cancelled = stage.store.cancel_run(scope, run, "enough", stage.now());
    assert_eq!(cancelled.await.unwrap(), RunStatus::Running);
    stage.fail(run, FailureKind::AgentError).await;
    assert_eq!(stage.status(run).await, RunStatus::Cancelled);
    stage.assert_task_runs(session, "end of the agent").await;
    // 3. Its message was acknowledged, so that it does not begin.
    let (session, run, sent) = stage.task_behind_message(db).await;
    let (store, now) = (&stage.store, stage.tick());
    let read = store.acknowledge_seat_message(tenant, sent.id, sent.to, now);
    read.await.unwrap();
    let reply = stage.try_to_begin(run).await;
    assert!(matches!(reply, StartReply::Cancelled), "{reply:?}");
    stage.assert_task_runs(session, "acknowledgement").await;
    // 4. An attempt that follows at once keeps the seat.
    let (session, run, _) = stage.task_behind_message(db).await;
    stage.start(run).await;
    stage.fail(run, FailureKind::Requeued).await;
    assert_eq!(stage.tasks(session).await[1], "a READY the seat worker");
    let next = stage.open_run(db, session, WORKER).await.unwrap();
    stage.start(next).await;
    stage.succeed(next).await;
    stage.assert_task_runs(session, "second attempt").await;
    // 5. It waits for the budget of the tenant.
    let (session, run, _) = stage.task_behind_message(db).await;
    stage.limit_tenant(&["1 turns/day"]).await;
    let reply = stage.try_to_begin(run).await;
    assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
    stage.assert_task_runs(session, "budget").await;
}

pub(crate) async fn messages_to_all_seats_start_turns_below_parallel(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, at_a_time(3, 2), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    // 1. One message starts its turn, and the others wait without a notice.
    let sent = stage.write_to_all(&worker).await;
    assert_eq!(sent.len(), 3);
    let undelivered = SeatMessageStatus::Undelivered;
    assert_eq!(stage.states_of(&sent).await, [undelivered; 3]);
    assert_eq!(stage.turns_at_a_time(db, session).await, 2);
    let shown = stage.transcript(session).await;
    assert!(
        shown.iter().all(|line| !line.contains("start no turn")),
        "{shown:#?}"
    );
    // 2. The message of a person to the busy seat follows the turn there.
    stage
        .write_as_person(session, "worker-1", "Be brief.")
        .await;
    // 3. The end of each turn starts the next one, and the messages go before the task.
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let task = &stage.tasks(session).await[2];
    assert_eq!(task, "b READY the end of a turn: 2 are under way");
    let mut ended = 0;
    while let Some(run) = stage.claim().await {
        let reply = stage.begin(run).await;
        assert!(matches!(reply, StartReply::Started(_)), "{reply:?}");
        let turns = stage.turns_at_a_time(db, session).await;
        assert!(turns <= 2, "{turns} turns at a time");
        if stage.run(run).await.task.is_some() {
            assert!(ended >= 3, "{ended} turns for messages before the task");
        } else {
            stage.succeed(run).await;
            ended += 1;
        }
    }
    assert_eq!(ended, 4);
    let delivered = SeatMessageStatus::Delivered;
    assert_eq!(stage.states_of(&sent).await, [delivered; 3]);
    assert_eq!(stage.tasks(session).await[2], "b RUNNING nothing");
}

pub(crate) async fn ends_of_one_batch_start_no_turn_beyond_parallel(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"]), work("c", &["a"])];
    let session = stage.planned_goal(db, at_a_time(3, 2), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.write_as_person(session, "planner", "Be brief.").await;
    let planner = stage.turn(db, session, "planner").await;
    for to in ["worker-2", "worker-3"] {
        let sent = stage.write_to(session, &worker, to, "Use metres.");
        sent.await.unwrap();
        assert_eq!(stage.open_run(db, session, to).await, None);
    }
    stage.report(&worker, &done("A")).await.unwrap();
    // Both are submitted before the first transaction begins.
    let (result, now) = (answer("Done."), stage.now());
    let ends = [&worker, &planner].map(|caller| {
        let store = &stage.store;
        store.finish(caller.run, &stage.worker, &result, now)
    });
    for end in join_all(ends).await {
        assert_eq!(end.unwrap(), WriteOutcome::Committed);
    }
    assert_eq!(stage.turns_at_a_time(db, session).await, 2);
    for to in ["worker-2", "worker-3"] {
        let run = stage.open_run(db, session, to).await.unwrap();
        assert!(stage.run(run).await.task.is_none(), "{to}");
    }
}

pub(crate) async fn messages_that_wait_for_turn_outlive_pause_and_failures(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, at_a_time(3, 1), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let sent = stage.write_to_all(&worker).await;
    assert_eq!(stage.turns_at_a_time(db, session).await, 1);
    // 1. A paused goal starts none of them, and its end starts the first.
    stage.change(session, GoalChange::Pause).await.unwrap();
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    assert!(stage.claim().await.is_none());
    stage.change(session, GoalChange::Resume).await.unwrap();
    // 2. Each failed turn makes room for the next one, and none is repeated.
    for left in [2, 1, 0] {
        let turn = stage.next_turn(db, session).await;
        assert!(stage.run(turn.run).await.task.is_none(), "{left} are left");
        stage.fail(turn.run, FailureKind::AgentError).await;
    }
    let undelivered = SeatMessageStatus::Undelivered;
    assert_eq!(stage.states_of(&sent).await, [undelivered; 3]);
    let task = stage.next_turn(db, session).await;
    assert!(stage.run(task.run).await.task.is_some());
    assert_eq!(stage.turns_at_a_time(db, session).await, 1);
}

pub(crate) async fn message_that_waits_for_turn_leaves_with_its_cause(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, at_a_time(2, 1), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    // 1. The message of a person starts its turn at once, and brings the one that waits.
    let waiting = stage.write_to(session, &worker, "planner", "Which form?");
    let waiting = waiting.await.unwrap();
    assert_eq!(stage.open_run(db, session, "planner").await, None);
    stage.write_as_person(session, "planner", "Be brief.").await;
    let planner = stage.turn(db, session, "planner").await;
    stage.succeed(planner.run).await;
    let state = stage.state_of(&waiting).await;
    assert_eq!(state, SeatMessageStatus::Delivered);
    // 2. An acknowledged message starts no turn.
    let sent = stage.write_to_all(&worker).await;
    for message in &sent {
        let (store, now) = (&stage.store, stage.tick());
        let read = store.acknowledge_seat_message(stage.tenant, message.id, message.to, now);
        read.await.unwrap();
    }
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let next = stage.next_turn(db, session).await;
    assert!(stage.run(next.run).await.task.is_some());
    // 3. A higher limit starts the turns that wait, and a cancelled goal starts none.
    let sent = stage
        .write_to(session, &next, "planner", "Which tone?")
        .await;
    let sent = sent.unwrap();
    assert_eq!(stage.open_run(db, session, "planner").await, None);
    let mut limits = at_a_time(2, 2).limits.graph;
    stage
        .change(session, GoalChange::Limits(limits.clone()))
        .await
        .unwrap();
    let planner = stage.turn(db, session, "planner").await;
    stage.succeed(planner.run).await;
    let state = stage.state_of(&sent).await;
    assert_eq!(state, SeatMessageStatus::Delivered);
    limits.parallel = 1;
    stage
        .change(session, GoalChange::Limits(limits))
        .await
        .unwrap();
    let sent = stage
        .write_to(session, &next, "planner", "Which length?")
        .await;
    let sent = sent.unwrap();
    let state = stage.change(session, GoalChange::Cancel).await.unwrap();
    assert_eq!(state, GoalState::Cancelled);
    stage.succeed(next.run).await;
    assert!(stage.claim().await.is_none());
    let state = stage.state_of(&sent).await;
    assert_eq!(state, SeatMessageStatus::Undelivered);
}
