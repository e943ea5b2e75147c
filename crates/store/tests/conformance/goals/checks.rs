//! The checks of tasks that Matins runs itself.

use std::time::Duration;

use futures::future::join_all;
use model::{
    RunId, SessionId, TaskId, TenantId, WorkerId,
    goal::{
        ChecksEnd, ChecksJob, GoalState, NamedCheck, NewTask, PlanError, Refusal, Step, StuckCause,
        TaskStatus::{Cancelled, Done, Running},
    },
    team::{CheckDefinition, TeamDefinition},
    turn::{HeartbeatReply, WriteOutcome},
};
use store::{DOCUMENT_FORMAT, Error, GoalChange, Scope, params};
use tokio::time::Instant;

use super::{
    presence::{SEATS_TIMEOUT, WAITS_FOR_SERVER},
    stage::{done, team, work},
};
use crate::{
    fixtures::{TestStore, id},
    stage::{
        Stage, instance,
        servers::{presence, serve},
    },
    without_locks::{patiently, without_locks},
};

/// The lease of a claim, in seconds.
const LEASE: u64 = 180;

/// Returns a team with one worker and one check.
fn checked_team() -> TeamDefinition {
    TeamDefinition {
        checks: [(
            "tests".to_owned(),
            CheckDefinition {
                command: "cargo test -q".into(),
                timeout_seconds: 90,
            },
        )]
        .into(),
        ..team(1, None)
    }
}

/// Returns a task whose result the check judges.
fn checked(key: &str) -> NewTask {
    NewTask {
        checks: vec!["tests".into()],
        ..work(key, &[])
    }
}

fn failed(lines: &str) -> ChecksEnd {
    ChecksEnd::Failed {
        check: "tests".into(),
        last_lines: lines.into(),
    }
}

fn server(name: &str) -> WorkerId {
    WorkerId::from_stored(name.into())
}

impl Stage {
    /// Lets the worker do a task, and returns it. Its checks then wait for a server.
    async fn work_on_checked(&self, db: &TestStore, session: SessionId, key: &str) -> TaskId {
        let worker = self.turn(db, session, "worker").await;
        self.report(&worker, &done("The work.")).await.unwrap();
        self.succeed(worker.run).await;
        self.task_id(session, key).await
    }

    /// Creates a goal whose task has done its work.
    async fn goal_in_checks(&self, db: &TestStore) -> (SessionId, TaskId) {
        let session = self.planned_goal(db, checked_team(), &[checked("a")]).await;
        let task = self.work_on_checked(db, session, "a").await;
        (session, task)
    }

    async fn due_checks(&self) -> Vec<TaskId> {
        let due = self.store.due_checks(self.instance, 10, self.now());
        due.await.unwrap()
    }

    async fn claim_checks(&self, task: TaskId, worker: &WorkerId) -> Option<ChecksJob> {
        let (now, until) = (self.now(), self.now() + Duration::from_secs(LEASE));
        let claimed = self
            .store
            .claim_checks(task, self.instance, worker, until, now);
        claimed.await.unwrap()
    }

    async fn renew_checks(&self, job: &ChecksJob, worker: &WorkerId) -> HeartbeatReply {
        let (now, until) = (self.now(), self.now() + Duration::from_secs(LEASE));
        let renewed = self.store.renew_checks(job, worker, until, now).await;
        renewed.unwrap()
    }

    async fn finish_checks(
        &self,
        job: &ChecksJob,
        worker: &WorkerId,
        end: &ChecksEnd,
    ) -> WriteOutcome {
        let evidence = ["tests: the output".to_owned()];
        let finished = self
            .store
            .finish_checks(job, worker, end, &evidence, self.now());
        finished.await.unwrap()
    }

    async fn checks_status(&self, task: TaskId) -> (String, i64, Vec<String>) {
        let checks = self.store.task_checks(self.scope(), task).await.unwrap();
        let checks = checks.unwrap();
        (checks.status, checks.attempt, checks.evidence)
    }
}

pub(crate) async fn passed_checks_complete_task_and_keep_evidence(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, task) = stage.goal_in_checks(db).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    let shown = (view.tasks[1].status, view.tasks[1].step);
    assert_eq!(shown, (Running, Some(Step::Checks)));
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert!(!status.has_idle_goal && !status.has_lost_checks);
    assert_eq!(stage.due_checks().await, [task]);
    let other = stage.store.due_checks(instance(99), 10, stage.now()).await;
    assert_eq!(other.unwrap(), [], "another server has no such directory");

    let (one, two) = (server("one"), server("two"));
    let job = stage.claim_checks(task, &one).await.unwrap();
    let check = NamedCheck {
        name: "tests".into(),
        command: Some("cargo test -q".into()),
        timeout: Duration::from_secs(90),
    };
    assert_eq!(
        (job.checks.as_slice(), job.key.as_str()),
        (&[check][..], "a")
    );
    assert!(job.directory.path().ends_with(&session.to_string()));
    assert!(!job.is_cancelled);
    assert!(stage.claim_checks(task, &two).await.is_none());
    assert_eq!(
        stage.renew_checks(&job, &one).await,
        HeartbeatReply::Continue
    );
    assert_eq!(stage.renew_checks(&job, &two).await, HeartbeatReply::Fenced);

    let end = ChecksEnd::Passed;
    let fenced = stage.finish_checks(&job, &two, &end).await;
    assert_eq!(fenced, WriteOutcome::Fenced);
    let finished = stage.finish_checks(&job, &one, &end).await;
    assert_eq!(finished, WriteOutcome::Committed);
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[1].status, Done);
    let evidence = vec!["tests: the output".to_owned()];
    let expected = ("passed".to_owned(), job.attempt, evidence);
    assert_eq!(stage.checks_status(task).await, expected);
    assert_eq!(stage.due_checks().await, []);
    let again = stage.finish_checks(&job, &one, &end).await;
    assert_eq!(again, WriteOutcome::Fenced);
    let foreign = Scope::Tenant(TenantId::from_uuid(id()));
    assert_eq!(stage.store.task_checks(foreign, task).await.unwrap(), None);
}

pub(crate) async fn checks_of_each_task_count_apart_from_those_of_planner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let names = ["a", "b", "c", "d", "e", "verify", "verify-2"];
    let mut team = team(1, None);
    team.checks = names
        .map(|name| (name.to_owned(), CheckDefinition::new("true")))
        .into();
    let full = |key: &str| NewTask {
        title: "Draft the mail".into(),
        description: "Draft it well.".into(),
        checks: names[..5].iter().map(|name| (*name).to_owned()).collect(),
        ..work(key, &[])
    };
    // 1. The planner has named as many checks as it may, and the plan is published nevertheless.
    let plan = [full("mail"), work("other", &[])];
    let session = stage.planned_goal(db, team, &plan).await;
    let task = stage.work_on_checked(db, session, "mail").await;
    let one = server("one");
    let job = stage.claim_checks(task, &one).await.unwrap();
    let run: Vec<_> = job.checks.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(run, names);
    let passed = stage.finish_checks(&job, &one, &ChecksEnd::Passed).await;
    assert_eq!(passed, WriteOutcome::Committed);
    // 2. A task that is done is found at the call, not only at the publication.
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let refused = stage.stage_task(&planner, &full("again")).await;
    let faults = match refused {
        Err(Error::Goal(Refusal::Plan(faults))) => faults,
        other => panic!("{other:?}"),
    };
    assert!(
        matches!(&faults[..], [PlanError::Duplicate { finished, .. }] if finished == "mail"),
        "{faults:?}"
    );
}

pub(crate) async fn failed_check_reaches_worker_and_next_round_is_fenced(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, task) = stage.goal_in_checks(db).await;
    let one = server("one");
    let first = stage.claim_checks(task, &one).await.unwrap();
    let lines = "2 tests failed";
    let finished = stage.finish_checks(&first, &one, &failed(lines)).await;
    assert_eq!(finished, WriteOutcome::Committed);
    let run: RunId = stage.open_run(db, session, "worker").await.unwrap();
    let run = stage.run(run).await;
    assert_eq!(run.prompt_ref, None);
    assert!(run.content.contains(lines), "{}", run.content);
    assert_eq!(stage.checks_status(task).await.0, "failed");

    stage.work_on_checked(db, session, "a").await;
    let (status, _, evidence) = stage.checks_status(task).await;
    assert_eq!((status.as_str(), evidence), ("waiting", Vec::new()));
    let second = stage.claim_checks(task, &one).await.unwrap();
    assert!(second.attempt > first.attempt);
    let stale = stage.finish_checks(&first, &one, &failed("stale")).await;
    assert_eq!(stale, WriteOutcome::Fenced);
    assert_eq!(
        stage.finish_checks(&second, &one, &ChecksEnd::Passed).await,
        WriteOutcome::Committed
    );
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!((view.tasks[1].status, view.tasks[1].round), (Done, 1));
}

pub(crate) async fn checks_of_lost_server_are_claimed_after_its_lease(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, task) = stage.goal_in_checks(db).await;
    let (lost, next) = (server("lost"), server("next"));
    let first = stage.claim_checks(task, &lost).await.unwrap();
    stage.advance_seconds(LEASE - 1);
    assert_eq!(stage.due_checks().await, []);
    assert!(stage.claim_checks(task, &next).await.is_none());
    assert_eq!(
        stage.renew_checks(&first, &lost).await,
        HeartbeatReply::Continue
    );
    stage.advance_seconds(LEASE - 1);
    assert!(stage.claim_checks(task, &next).await.is_none(), "renewed");
    stage.advance_seconds(1);
    assert_eq!(stage.due_checks().await, [task]);
    let second = stage.claim_checks(task, &next).await.unwrap();
    assert_eq!(second.attempt, first.attempt + 1);

    // The lost server comes back too late for everything.
    assert_eq!(
        stage.renew_checks(&first, &lost).await,
        HeartbeatReply::Fenced
    );
    let finished = stage.finish_checks(&first, &lost, &failed("late")).await;
    assert_eq!(finished, WriteOutcome::Fenced);
    let requeued = stage.store.requeue_checks(&first, &lost, stage.now()).await;
    assert_eq!(requeued.unwrap(), WriteOutcome::Fenced);
    let finished = stage
        .finish_checks(&second, &next, &ChecksEnd::Passed)
        .await;
    assert_eq!(finished, WriteOutcome::Committed);
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[1].status, Done);
}

pub(crate) async fn requeued_checks_are_claimed_at_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (_, task) = stage.goal_in_checks(db).await;
    let (stopped, next) = (server("stopped"), server("next"));
    let job = stage.claim_checks(task, &stopped).await.unwrap();
    let requeued = stage
        .store
        .requeue_checks(&job, &stopped, stage.now())
        .await;
    assert_eq!(requeued.unwrap(), WriteOutcome::Committed);
    assert_eq!(stage.checks_status(task).await.0, "waiting");
    assert_eq!(
        stage.renew_checks(&job, &stopped).await,
        HeartbeatReply::Fenced
    );
    assert!(stage.claim_checks(task, &next).await.is_some());
}

pub(crate) async fn cancelled_goal_stops_its_checks(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let one = server("one");
    // 1. Checks that no server has end with the goal.
    let (session, task) = stage.goal_in_checks(db).await;
    stage.change(session, GoalChange::Cancel).await.unwrap();
    assert_eq!(stage.checks_status(task).await.0, "cancelled");
    assert_eq!(stage.due_checks().await, []);
    assert!(stage.claim_checks(task, &one).await.is_none());

    // 2. The server of others learns of the cancellation, and ends them.
    let (session, task) = stage.goal_in_checks(db).await;
    let job = stage.claim_checks(task, &one).await.unwrap();
    let soon = Instant::now() + Duration::from_millis(1);
    let order = stage.store.wait_for_checks_order(&job, &one, soon).await;
    assert_eq!(order.unwrap(), HeartbeatReply::Continue);
    let state = stage.change(session, GoalChange::Cancel).await.unwrap();
    assert_eq!(state, GoalState::Cancelled);
    let far = Instant::now() + Duration::from_hours(1);
    for order in [
        stage
            .store
            .wait_for_checks_order(&job, &one, far)
            .await
            .unwrap(),
        stage.renew_checks(&job, &one).await,
    ] {
        assert!(matches!(order, HeartbeatReply::Cancel(_)), "{order:?}");
    }
    // 3. If that server dies, the next one ends them without running them.
    stage.advance_seconds(LEASE);
    let (next, end) = (server("next"), ChecksEnd::Cancelled);
    let taken = stage.claim_checks(task, &next).await.unwrap();
    assert!(taken.is_cancelled);
    let finished = stage.finish_checks(&taken, &next, &end).await;
    assert_eq!(finished, WriteOutcome::Committed);
    assert_eq!(stage.checks_status(task).await.0, "cancelled");
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[1].status, Cancelled);
}

pub(crate) async fn broken_check_waits_for_person_and_is_repeated(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, task) = stage.goal_in_checks(db).await;
    let one = server("one");
    let job = stage.claim_checks(task, &one).await.unwrap();
    let broken = ChecksEnd::Broken {
        check: "tests".into(),
    };
    assert_eq!(
        stage.finish_checks(&job, &one, &broken).await,
        WriteOutcome::Committed
    );
    let waits = &stage.tasks(session).await[1];
    assert!(waits.contains("tests"), "{waits}");
    // The report comes before the pause.
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Stuck(StuckCause::Idle));
    assert_eq!(view.tasks[1].round, 0, "a broken check is no round");
    let retry = GoalChange::Retry("a".into());
    let state = stage.change(session, retry).await.unwrap();
    assert_eq!(state, GoalState::Active);
    assert_eq!(stage.due_checks().await, [task]);
    let job = stage.claim_checks(task, &one).await.unwrap();
    assert_eq!(
        stage.finish_checks(&job, &one, &ChecksEnd::Passed).await,
        WriteOutcome::Committed
    );
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[1].status, Done);
}

pub(crate) async fn servers_without_locks_claim_checks_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (_, task) = stage.goal_in_checks(db).await;
    let stores = without_locks(db).await;
    let (now, until) = (stage.now(), stage.now() + Duration::from_secs(LEASE));
    let workers: Vec<_> = (0..6).map(|no| server(&format!("server-{no}"))).collect();
    let claims = workers.iter().zip(stores.iter().cycle());
    let (stage, stores) = (&stage, claims);
    let claims = stores.map(|(worker, store)| async move {
        patiently!(store.claim_checks(task, stage.instance, worker, until, now))
    });
    let claimed = join_all(claims).await;
    assert_eq!(claimed.iter().flatten().count(), 1);
    assert_eq!(stage.checks_status(task).await.1, 1);
}

pub(crate) async fn checks_of_removed_instance_are_broken(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, task) = stage.goal_in_checks(db).await;
    let now = stage.now();
    let broken = stage.store.break_checks_of_removed_instances(now).await;
    assert_eq!(broken.unwrap(), 0);
    stage.remove_instance(stage.instance).await;
    let status = stage.store.scheduler_status(now).await.unwrap();
    assert!(status.has_lost_checks);
    let broken = stage.store.break_checks_of_removed_instances(now).await;
    assert_eq!(broken.unwrap(), 1);
    let (status, _, evidence) = stage.checks_status(task).await;
    assert_eq!(status, "broken");
    assert!(evidence[0].ends_with("was removed"), "{evidence:?}");
    let waits = &stage.tasks(session).await[1];
    assert!(waits.contains("tests"), "{waits}");
    let status = stage.store.scheduler_status(now).await.unwrap();
    assert!(!status.has_lost_checks);
    // A repetition finds no server either.
    let retry = GoalChange::Retry("a".into());
    stage.change(session, retry).await.unwrap();
    assert_eq!(stage.checks_status(task).await.0, "broken");
}

pub(crate) async fn goal_whose_check_waits_for_lost_server_pauses_and_goes_on(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let host = serve(&stage, "host").await;
    let (session, task) = stage.goal_in_checks(db).await;
    // 1. The server is lost while it runs the checks, and no other server has the directory.
    assert!(stage.claim_checks(task, &host).await.is_some());
    stage.advance_seconds(LEASE + 1);
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert!(status.has_seat_change);
    assert_eq!(stage.note_presence().await, 1);
    assert_eq!(stage.goal_state(session).await, GoalState::Active);
    assert_eq!(stage.tasks(session).await[1], WAITS_FOR_SERVER);
    // 2. The goal waits for it until the deadline.
    stage.advance_seconds(SEATS_TIMEOUT);
    assert_eq!(stage.pass_goal_deadlines().await, 1);
    let stuck = GoalState::Stuck(StuckCause::Idle);
    assert_eq!(stage.goal_state(session).await, stuck);
    assert_eq!(stage.tasks(session).await[1], WAITS_FOR_SERVER);
    // 3. It is back, and runs the checks again.
    presence(&stage, &host).await;
    assert_eq!(stage.note_presence().await, 1);
    assert_eq!(stage.goal_state(session).await, GoalState::Active);
    let job = stage.claim_checks(task, &host).await.unwrap();
    assert_eq!(
        stage.finish_checks(&job, &host, &ChecksEnd::Passed).await,
        WriteOutcome::Committed
    );
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!((view.tasks[1].status, view.tasks[1].round), (Done, 0));
}

pub(crate) async fn lost_checks_of_corrupt_and_later_goals_do_not_block_others(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let now = stage.now();
    let (corrupt, corrupt_task) = stage.goal_in_checks(db).await;
    let (later, later_task) = stage.goal_in_checks(db).await;
    let (_, task) = stage.goal_in_checks(db).await;
    stage.remove_instance(stage.instance).await;
    let sql = "update goals set progress = '7' where session_id = $1";
    db.run(Scope::System, sql, params![corrupt]).await.unwrap();
    let format = DOCUMENT_FORMAT + 1;
    let sql = "update goals set format = $2, needs_format = $2 where session_id = $1";
    let raised = db.run(Scope::System, sql, params![later, format]).await;
    raised.unwrap();
    // The corrupt goal is the error, and the checks of the third goal end nevertheless.
    let broken = stage.store.break_checks_of_removed_instances(now).await;
    let error = broken.unwrap_err();
    assert!(!error.is_transient(), "{error:?}");
    assert!(!matches!(error, Error::NewerFormat { .. }), "{error:?}");
    assert_eq!(stage.checks_status(task).await.0, "broken");
    assert_eq!(stage.checks_status(corrupt_task).await.0, "waiting");
    assert_eq!(stage.checks_status(later_task).await.0, "waiting");
    // A goal of a later version alone is no work.
    let sql = "delete from task_checks where task_id = $1";
    let deleted = db.run(Scope::System, sql, params![corrupt_task]).await;
    deleted.unwrap();
    let status = stage.store.scheduler_status(now).await.unwrap();
    assert!(!status.has_lost_checks);
    let broken = stage.store.break_checks_of_removed_instances(now).await;
    assert_eq!(broken.unwrap(), 0);
}
