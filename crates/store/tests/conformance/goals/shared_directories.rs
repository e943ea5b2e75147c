//! Goals in a directory that all servers have at the same path.

use std::path::PathBuf;

use model::{
    InstanceId, RunId, SessionId, WorkerId,
    entity::Seat,
    goal::Plan,
    outcome::FailureKind,
    run::RunStatus::{Failed, Queued},
    turn::StartReply,
};
use store::{GoalChange, Store};

use super::stage::{done, team, work};
use crate::{
    fixtures::TestStore,
    stage::{
        Stage,
        servers::{presence, serve},
        store_over,
    },
};

/// A directory below the one that `sharing` shares.
const PROJECT: &str = "/srv/shared/project";

/// Returns the store of a server that shares a directory.
pub(super) fn sharing(db: &TestStore) -> Store {
    let shared = vec![PathBuf::from("/srv/shared")];
    store_over(&db.database).with_shared_directories(shared)
}

impl Stage {
    pub(super) async fn goal_in(&self, directory: &str) -> SessionId {
        let mut new = self.new_goal(team(2, None));
        new.cwd = Some(directory.into());
        let created = self.store.create_goal(self.tenant, &new, self.now());
        created.await.unwrap()
    }

    /// Creates a goal in a directory, with a task for each of its workers.
    async fn planned_goal_in(&self, db: &TestStore, directory: &str) -> SessionId {
        let session = self.goal_in(directory).await;
        self.plan(db, session, &[work("a", &[]), work("b", &[])])
            .await;
        session
    }

    async fn seat_with_name(&self, session: SessionId, name: &str) -> Seat {
        let seats = self.store.seats(self.scope(), session).await.unwrap();
        seats.into_iter().find(|seat| seat.name == name).unwrap()
    }

    /// Sends a message of a person to the seat with a name, and returns its run.
    pub(super) async fn send_to_seat(&self, session: SessionId, name: &str) -> RunId {
        let to = (session, self.seat_with_name(session, name).await.id);
        let (tenant, now) = (self.tenant, self.tick());
        let sent = self
            .store
            .send_message_to_seat(tenant, to, None, "Be brief.", now);
        sent.await.unwrap().run_id
    }

    /// Claims a run on an instance if that is possible.
    async fn can_claim_on(&self, instance: InstanceId, run: RunId) -> bool {
        let claimed = self
            .store
            .claim(&self.worker, instance, 1, Some(run), self.now());
        !claimed.await.unwrap().is_empty()
    }

    /// Lets a server that does not share the directory claim a run and begin its turn.
    async fn begin_without_sharing(&mut self, db: &TestStore, run: RunId) -> StartReply {
        let shares = std::mem::replace(&mut self.store, store_over(&db.database));
        assert!(self.can_claim_on(self.instance, run).await, "{run}");
        let reply = self.begin(run).await;
        // The server may have another directory at the path, so that it does not claim the run again.
        let refusals = self.store.directory_refusals(self.instance).await;
        assert!(refusals.unwrap().iter().all(|it| !it.is_waiting));
        self.store = shares;
        reply
    }
}

pub(crate) async fn seats_in_shared_directory_work_on_several_instances(db: &TestStore) {
    let mut stage = Stage::setup_on(sharing(db)).await;
    let (home, other) = (stage.instance, stage.second_instance().await);
    let session = stage.planned_goal_in(db, PROJECT).await;
    // 1. The turns of two seats are under way on two instances.
    let one = stage.turn(db, session, "worker-1").await;
    stage.instance = other;
    let two = stage.turn(db, session, "worker-2").await;
    // 2. The memory of a task keeps its later turns where it is.
    let asked = stage.ask_person(&two, "Which colour?").await.unwrap();
    stage.succeed(two.run).await;
    stage.answer_question(asked.id, "blue").await.unwrap();
    let next = stage.open_run(db, session, "worker-2").await.unwrap();
    assert!(!stage.can_claim_on(home, next).await);
    assert!(stage.can_claim_on(other, next).await);
    // 3. So does the memory of a seat.
    let message = stage.send_message(session, "Be brief.").await.run_id;
    assert!(!stage.can_claim_on(other, message).await);
    assert!(stage.can_claim_on(home, message).await);
    // 4. The files of the seat do not keep it on the instance of its first turn.
    stage.report(&one, &done("A")).await.unwrap();
    stage.succeed(one.run).await;
    let seat = stage.seat_with_name(session, "worker-1").await;
    assert_eq!(seat.instance_id, None);
}

pub(crate) async fn goal_outside_shared_directories_works_on_one_instance(db: &TestStore) {
    let mut stage = Stage::setup(db).await;
    let (home, other) = (stage.instance, stage.second_instance().await);
    for (store, directory) in [
        (store_over(&db.database), PROJECT),
        (sharing(db), "/srv/shared-not/project"),
        (sharing(db), "/srv/shared/../project"),
        (sharing(db), "/srv"),
    ] {
        stage.store = store;
        let session = stage.planned_goal_in(db, directory).await;
        let run = stage.open_run(db, session, "worker-1").await.unwrap();
        assert!(!stage.can_claim_on(other, run).await, "{directory}");
        assert!(stage.can_claim_on(home, run).await, "{directory}");
    }
}

pub(crate) async fn queued_turns_of_goal_go_where_its_files_are(db: &TestStore) {
    let mut stage = Stage::setup(db).await;
    let (home, other) = (stage.instance, stage.second_instance().await);
    // 1. Two tasks and the plan were queued before any turn had begun.
    let mut new = stage.new_goal(team(2, None));
    new.draft = true;
    let created = stage.store.create_goal(stage.tenant, &new, stage.now());
    let draft = created.await.unwrap();
    let publish = GoalChange::Publish {
        version: 0,
        plan: Plan {
            tasks: vec![work("a", &[]), work("b", &[])],
            drops: Vec::new(),
        },
    };
    stage.change(draft, publish).await.unwrap();
    stage.change(draft, GoalChange::Start).await.unwrap();
    stage.turn(db, draft, "worker-1").await;
    let own = stage.open_run(db, draft, "worker-2").await.unwrap();
    // 2. A message is for a seat that has had no turn.
    let session = stage.goal_in(PROJECT).await;
    stage.plan(db, session, &[work("a", &[])]).await;
    let message = stage.send_to_seat(session, "worker-2").await;
    for run in [own, message] {
        stage.instance = other;
        assert!(stage.can_claim_on(other, run).await, "{run}");
        let reply = stage.begin(run).await;
        assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
        assert!(!stage.can_claim_on(other, run).await, "{run}");
        stage.instance = home;
        stage.start(run).await;
    }
}

pub(crate) async fn deferred_turn_in_shared_directory_begins_on_any_instance(db: &TestStore) {
    let stage = Stage::setup_on(sharing(db)).await;
    let other = stage.second_instance().await;
    let session = stage.planned_goal_in(db, PROJECT).await;
    // The turn is lost before the agent has a memory, and its retry waits for the backoff.
    let lost = stage.turn(db, session, "worker-1").await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [lost.run]);
    let now = stage.advance_seconds(200);
    stage.store.promote_due(now).await.unwrap();
    let retry = stage.open_run(db, session, "worker-1").await.unwrap();
    assert!(stage.can_claim_on(other, retry).await);
}

pub(crate) async fn failed_message_turn_in_shared_directory_leaves_no_pin(db: &TestStore) {
    let mut stage = Stage::setup_on(sharing(db)).await;
    let other = stage.second_instance().await;
    let session = stage.planned_goal_in(db, PROJECT).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    // A message begins a memory beside that of the task, on another instance.
    let message = stage.send_to_seat(session, "worker-1").await;
    stage.instance = other;
    stage.start(message).await;
    let seat = stage.seat_with_name(session, "worker-1").await;
    assert_eq!(seat.instance_id, Some(other));
    stage.fail(message, FailureKind::AgentError).await;
    let seat = stage.seat_with_name(session, "worker-1").await;
    assert_eq!(seat.instance_id, None);
}

pub(crate) async fn server_without_shared_directory_leaves_goal_to_others(db: &TestStore) {
    let mut stage = Stage::setup_on(sharing(db)).await;
    let (home, other) = (stage.instance, stage.second_instance().await);
    // 1. No other server is online.
    let session = stage.goal_in(PROJECT).await;
    let run = stage.open_run(db, session, "planner").await.unwrap();
    let StartReply::Refused(failure) = stage.begin_without_sharing(db, run).await else {
        panic!("the turn was not refused")
    };
    assert_eq!(failure.kind, FailureKind::Directory);
    let remedy =
        "`/srv/shared/project` is not in `shared_directories` of this server: name it there";
    assert!(failure.message.contains(remedy), "{}", failure.message);
    // 2. The run waits for another server.
    let mut servers: Vec<(InstanceId, WorkerId)> = Vec::new();
    for instance in [home, other] {
        stage.instance = instance;
        servers.push((instance, serve(&stage, &instance.to_string()).await));
    }
    stage.instance = home;
    let session = stage.goal_in(PROJECT).await;
    let run = stage.open_run(db, session, "planner").await.unwrap();
    let reply = stage.begin_without_sharing(db, run).await;
    assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
    let found = stage.run(run).await;
    assert_eq!((found.status(), found.attempt), (Queued, 1));
    let message = found.state.message().unwrap();
    assert!(message.contains("not in `shared_directories`"), "{message}");
    assert!(!stage.can_claim_on(home, run).await, "it is refused");
    // Once the server shares the directory, a review removes the refusal.
    let refusals = stage.store.directory_refusals(home).await.unwrap();
    assert_eq!(refusals.len(), 1);
    // 3. The other server takes the same attempt.
    stage.instance = other;
    assert_eq!(stage.start(run).await.cwd, PROJECT);
    // 4. A run that no server takes fails after ten minutes.
    let session = stage.goal_in(PROJECT).await;
    let run = stage.open_run(db, session, "planner").await.unwrap();
    for instance in [home, other] {
        stage.instance = instance;
        let reply = stage.begin_without_sharing(db, run).await;
        assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
    }
    for _ in 0..10 {
        stage.advance_seconds(60);
        for (instance, worker) in &servers {
            stage.instance = *instance;
            presence(&stage, worker).await;
        }
    }
    let now = stage.now();
    let failed = stage.store.fail_runs_without_directory(now).await;
    assert_eq!(failed.unwrap(), 1);
    let found = stage.run(run).await;
    assert_eq!(found.status(), Failed);
    let message = found.state.message().unwrap();
    assert!(
        message.contains("and names it in `shared_directories`")
            && message.ends_with("and resume the goal, or retry the task."),
        "{message}"
    );
}
