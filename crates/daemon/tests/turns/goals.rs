//! Goals that a server moves: their deadlines, and the checks of their tasks as real commands.
//!
//! The tests play the agents, so that no agent's log confirms the turns.

use std::time::Duration;

use daemon::{Daemon, Host, checks, scheduler};
use model::{
    AcpSessionId, Clock as _, RunId, SessionId, TaskId,
    entity::SeatSettings,
    goal::{
        ChecksJob, GoalBudget, GoalState, NewTask, PLANNER, ReportBody, ReportStatus, TaskStatus,
        WORKER, WaitsFor,
    },
    outcome::{Outcome, StopReason},
    run::RunStatus,
    team::{CheckDefinition, SeatDefinition, SeatPolicies, TeamDefinition, TeamLimits},
    turn::{StartReply, TurnResult, WriteOutcome},
};
use store::{
    GoalChange, GoalTask, NewGoal, Scope, TaskChecks, TaskReport, ToolCaller, database::Statement,
    params,
};
use testkit::processes::processes_with_marker;
use tokio_util::sync::CancellationToken;

use self::permissions::{
    permission_request_of_goal_is_denied_by_default, permission_request_of_goal_waits_for_person,
};
use crate::world::{Storage, World, create_file, eventually, wait_for_file};

/// Creates a test of each scenario for each database.
macro_rules! on_both_databases {
    ($($scenario:ident),* $(,)?) => {
        mod on_sqlite {
            on_both_databases! { @tests Sqlite $($scenario),* }
        }

        mod on_postgres {
            on_both_databases! { @tests Postgres $($scenario),* }
        }
    };
    (@tests $storage:ident $($scenario:ident),*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $scenario() {
            let world = super::World::new(super::Storage::$storage).await;
            super::$scenario(&world).await;
        }
    )*};
}

mod failures;
mod permissions;

on_both_databases! {
    stuck_goal_is_given_up_at_its_deadline,
    passing_checks_run_in_directory_of_seat,
    failed_check_sends_its_last_lines_back,
    check_without_program_is_broken,
    check_over_time_limit_is_killed_and_broken,
    stopping_server_gives_checks_back,
    cancelled_goal_leaves_no_process_of_its_checks,
    lost_checks_of_corrupt_goal_do_not_stop_scheduler,
    checks_of_killed_server_run_again_within_lease,
    permission_request_of_goal_waits_for_person,
    permission_request_of_goal_is_denied_by_default,
}

/// Creates a goal with one worker in a directory of its own, and with checks.
async fn create_goal(world: &World, checks: &[(&str, &str)]) -> SessionId {
    create_goal_with(world, checks, SeatPolicies::default()).await
}

/// Creates such a goal whose planner has these policies.
async fn create_goal_with(
    world: &World,
    checks: &[(&str, &str)],
    policies: SeatPolicies,
) -> SessionId {
    let agent = world.agent(&world.script()).await;
    let mut planner = SeatDefinition::new(PLANNER);
    planner.is_entry = true;
    planner.policies = policies;
    let mut worker = SeatDefinition::new(WORKER);
    worker.count = 1;
    let directory = world.path("project");
    std::fs::create_dir_all(&directory).unwrap();
    let checks = checks.iter();
    let new = NewGoal {
        session: SessionId::generate(world.clock.now(), &*world.host.entropy),
        text: "Fix the parser.".into(),
        key: None,
        title: None,
        cwd: Some(directory.to_str().unwrap().to_owned()),
        placed_on: None,
        team: TeamDefinition {
            name: "code".into(),
            limits: TeamLimits::default(),
            checks: checks
                .map(|(name, command)| ((*name).to_owned(), CheckDefinition::new(*command)))
                .collect(),
            seats: vec![planner, worker],
        },
        approve_plan: false,
        agents: vec![(agent, SeatSettings::default()); 2],
        budget: GoalBudget::default(),
        until: None,
        draft: false,
    };
    let created = world
        .store()
        .create_goal(world.tenant, &new, world.clock.now());
    created.await.unwrap()
}

/// Returns the run that waits for a worker.
async fn queued_run(world: &World) -> Option<RunId> {
    let runs = world.runs().await;
    let mut queued = runs.iter().filter(|run| run.status() == RunStatus::Queued);
    queued.next().map(|run| run.id)
}

/// Begins the waiting turn, and returns its agent as a caller of tools.
async fn begin_turn(world: &World) -> ToolCaller {
    let run = queued_run(world).await.unwrap();
    let host = &world.host;
    let caller = ToolCaller {
        run,
        secret: [7; 32],
        worker: host.worker.clone(),
        stale_after: Duration::from_mins(3),
    };
    let (worker, instance, now) = (&host.worker, host.instance, world.clock.now());
    let claimed = host.store.claim(worker, instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let begun = host
        .store
        .begin(run, worker, instance, now, Some(caller.secret));
    assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
    caller
}

async fn end_turn(world: &World, run: RunId, outcome: Outcome) {
    let end = TurnResult {
        answer: "Done.".into(),
        acp_session_id: Some(AcpSessionId::new("memory-1")),
        turn_ended: true,
        ..TurnResult::with_outcome(outcome)
    };
    let (worker, now) = (&world.host.worker, world.clock.now());
    let finished = world.store().finish(run, worker, &end, now).await;
    assert_eq!(finished.unwrap(), WriteOutcome::Committed);
}

/// Takes the waiting turn of the worker, which reports its task as done.
async fn work(world: &World) {
    let worker = begin_turn(world).await;
    let report = TaskReport {
        status: ReportStatus::Done,
        body: ReportBody {
            result: Some("The parser is fixed.".into()),
            ..ReportBody::default()
        },
    };
    let now = world.clock.now();
    let reported = world.store().report_task(&worker, &report, now).await;
    reported.unwrap();
    end_turn(world, worker.run, Outcome::Stopped(StopReason::EndTurn)).await;
}

/// Creates a goal with one task, whose work is done and whose checks wait.
async fn goal_in_checks(world: &World, checks: &[(&str, &str)]) -> (SessionId, TaskId) {
    let session = create_goal(world, checks).await;
    let planner = begin_turn(world).await;
    let task = NewTask {
        title: "Fix it".into(),
        checks: checks.iter().map(|(name, _)| (*name).to_owned()).collect(),
        ..NewTask::new("fix", WORKER)
    };
    let now = world.clock.now();
    let staged = world.store().create_task(&planner, &task, now).await;
    staged.unwrap();
    end_turn(world, planner.run, Outcome::Stopped(StopReason::EndTurn)).await;
    work(world).await;
    let task = task_of(world, session).await;
    assert_eq!(task.status, TaskStatus::Running);
    (session, task.id)
}

async fn task_of(world: &World, session: SessionId) -> GoalTask {
    let goal = world.store().goal(world.scope(), session).await.unwrap();
    let mut tasks = goal.tasks.into_iter();
    tasks.find(|task| task.key == "fix").unwrap()
}

async fn checks_of(world: &World, task: TaskId) -> TaskChecks {
    let checks = world.store().task_checks(world.scope(), task).await;
    checks.unwrap().unwrap()
}

/// Returns the host of a server that takes no turns, and whose commands find the programs of the system.
fn host_of_checks(host: &Host) -> Host {
    let mut host = host.clone();
    host.settings.workers = 0;
    let path = ("PATH".to_owned(), "/usr/bin:/bin".to_owned());
    host.agent_runtime.environment.extend([path]);
    host
}

/// Runs the checks that are due, one task after the other. Returns the number of tasks.
async fn run_due(world: &World, host: &Host) -> usize {
    let now = world.clock.now();
    let due = host.store.due_checks(host.instance, u32::MAX, now).await;
    let due = due.unwrap();
    let stop = CancellationToken::new();
    for task in &due {
        let claim_sent_at = agent::uptime();
        let job = claim(world, host, *task).await;
        let run = checks::run_claimed(host, &job, claim_sent_at, &stop);
        run.await.unwrap();
    }
    due.len()
}

async fn claim(world: &World, host: &Host, task: TaskId) -> ChecksJob {
    let now = world.clock.now();
    let until = now + host.settings.heartbeat_stale;
    let claimed = host
        .store
        .claim_checks(task, host.instance, &host.worker, until, now);
    claimed.await.unwrap().unwrap()
}

fn assert_no_process_left(task: TaskId) {
    let left = processes_with_marker(&task.to_string()).unwrap();
    assert!(left.is_empty(), "{left:#?} are left");
}

async fn stuck_goal_is_given_up_at_its_deadline(world: &World) {
    let session = create_goal(world, &[]).await;
    // The plan fails twice, and so does the report.
    while queued_run(world).await.is_some() {
        let turn = begin_turn(world).await;
        let outcome = Outcome::Cancelled("the test ends it".into());
        end_turn(world, turn.run, outcome).await;
    }
    let goal = world.store().goal(world.scope(), session).await.unwrap();
    assert!(matches!(goal.state, GoalState::Stuck(_)), "{goal:?}");
    let now = world.clock.now();
    let tick = scheduler::tick(&world.host, now).await.unwrap();
    assert_eq!((tick.started, tick.next), (0, goal.check_at));
    world.clock.set(goal.check_at.unwrap());
    let now = world.clock.now();
    let tick = scheduler::tick(&world.host, now).await.unwrap();
    assert_eq!((tick.started, tick.next), (1, None));
    let goal = world.store().goal(world.scope(), session).await.unwrap();
    assert_eq!(goal.state, GoalState::GivenUp);
}

async fn passing_checks_run_in_directory_of_seat(world: &World) {
    let command = "pwd; echo \"$MATINS_TASK_KEY\"; wc -c";
    let (session, task) = goal_in_checks(world, &[("lint", "exit 0"), ("tests", command)]).await;
    let daemon = Daemon::start(host_of_checks(&world.host));
    eventually("the end of the task", async || {
        let task = task_of(world, session).await;
        (task.status == TaskStatus::Done).then_some(())
    })
    .await;
    daemon.stop().await;
    let checks = checks_of(world, task).await;
    let directory = world.path("project");
    // The standard input is empty.
    let output = format!("tests: passed\n{}\nfix\n0", directory.display());
    assert_eq!(checks.status, "passed");
    assert_eq!(checks.evidence, ["lint: passed".to_owned(), output]);
    assert_no_process_left(task);
}

async fn failed_check_sends_its_last_lines_back(world: &World) {
    let command = "for no in $(seq 50); do echo \"line $no\"; done; exit 3";
    let checks = [("a-tests", command), ("lint", "touch '../ran'")];
    let (session, task) = goal_in_checks(world, &checks).await;
    assert_eq!(run_due(world, &host_of_checks(&world.host)).await, 1);
    let checks = checks_of(world, task).await;
    assert_eq!(checks.status, "failed");
    assert_eq!(checks.evidence.len(), 1);
    let lines: Vec<&str> = checks.evidence[0].lines().collect();
    assert_eq!(lines.len(), 41);
    assert_eq!(
        (lines[0], lines[1], lines[40]),
        ("a-tests: exit code 3", "line 11", "line 50")
    );
    assert!(!world.path("ran").exists(), "the next check has run");
    // The worker gets the lines, and its next result is checked again.
    let run = world.run(queued_run(world).await.unwrap()).await;
    assert!(run.content.contains("line 11\n"), "{}", run.content);
    assert!(!run.content.contains("line 10\n"), "{}", run.content);
    assert_eq!(task_of(world, session).await.round, 1);
    work(world).await;
    assert_eq!(run_due(world, &host_of_checks(&world.host)).await, 1);
    assert_eq!(task_of(world, session).await.round, 2);
}

async fn check_without_program_is_broken(world: &World) {
    let (session, task) = goal_in_checks(world, &[("tests", "no-such-program --all")]).await;
    assert_eq!(run_due(world, &host_of_checks(&world.host)).await, 1);
    let checks = checks_of(world, task).await;
    assert_eq!(checks.status, "broken");
    assert!(
        checks.evidence[0].contains("exit code 127"),
        "{:?}",
        checks.evidence
    );
    let task = task_of(world, session).await;
    assert_eq!((task.status, task.round), (TaskStatus::Running, 0));
    assert_eq!(task.waits_for, WaitsFor::BrokenCheck("tests".into()));

    // So is one whose directory is gone.
    std::fs::remove_dir(world.path("project")).unwrap();
    let retry = GoalChange::Retry("fix".into());
    let now = world.clock.now();
    let retried = world
        .store()
        .change_goal(world.tenant, session, &retry, now);
    retried.await.unwrap();
    assert_eq!(run_due(world, &host_of_checks(&world.host)).await, 1);
    let checks = checks_of(world, task.id).await;
    assert_eq!(checks.status, "broken");
    assert!(
        checks.evidence[0].contains("not a folder"),
        "{:?}",
        checks.evidence
    );
}

async fn check_over_time_limit_is_killed_and_broken(world: &World) {
    let child = world.path("child");
    // The command starts a process that leaves its process group and ignores SIGTERM.
    let command = format!(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > {0}.new; mv {0}.new {0}; \
         while :; do sleep 1000; done' & echo begun; while :; do sleep 1000; done",
        child.display()
    );
    let (session, task) = goal_in_checks(world, &[("tests", &command)]).await;
    let host = host_of_checks(&world.host);
    let mut job = claim(world, &host, task).await;
    job.checks[0].timeout = Duration::from_secs(1);
    let stop = CancellationToken::new();
    checks::run_claimed(&host, &job, agent::uptime(), &stop)
        .await
        .unwrap();
    assert!(child.exists(), "it had not begun");
    assert_no_process_left(task);
    let checks = checks_of(world, task).await;
    assert_eq!(checks.status, "broken");
    assert_eq!(checks.evidence, ["tests: not over after 1 s\nbegun"]);
    let task = task_of(world, session).await;
    assert_eq!(task.waits_for, WaitsFor::BrokenCheck("tests".into()));
}

async fn stopping_server_gives_checks_back(world: &World) {
    let (began, go_on) = (world.path("began"), world.path("goes on"));
    let command = format!(
        "touch '{}'; test -e '{}' || sleep 1000",
        began.display(),
        go_on.display()
    );
    let (session, task) = goal_in_checks(world, &[("tests", &command)]).await;
    let daemon = Daemon::start(host_of_checks(&world.host));
    wait_for_file(&began).await;
    daemon.stop().await;
    assert_no_process_left(task);
    assert_eq!(checks_of(world, task).await.status, "waiting");
    create_file(&go_on);
    assert_eq!(run_due(world, &host_of_checks(&world.host)).await, 1);
    assert_eq!(task_of(world, session).await.status, TaskStatus::Done);
}

async fn cancelled_goal_leaves_no_process_of_its_checks(world: &World) {
    let began = world.path("began");
    let command = format!("touch '{}'; sleep 1000", began.display());
    let (session, task) = goal_in_checks(world, &[("tests", &command)]).await;
    let daemon = Daemon::start(host_of_checks(&world.host));
    wait_for_file(&began).await;
    let now = world.clock.now();
    let cancel = GoalChange::Cancel;
    let cancelled = world
        .store()
        .change_goal(world.tenant, session, &cancel, now);
    assert_eq!(cancelled.await.unwrap(), GoalState::Cancelled);
    eventually("the end of the checks", async || {
        let status = checks_of(world, task).await.status;
        (status == "cancelled").then_some(())
    })
    .await;
    assert_no_process_left(task);
    daemon.stop().await;
}

async fn lost_checks_of_corrupt_goal_do_not_stop_scheduler(world: &World) {
    let (session, task) = goal_in_checks(world, &[("tests", "true")]).await;
    let now = world.clock.now();
    let (tenant, instance) = (world.tenant, world.host.instance);
    let removed = world.store().remove_instance(tenant, instance, now);
    removed.await.unwrap();
    let sql = "update goals set progress = '7' where session_id = $1";
    let statement = Box::leak(Box::new(Statement::new("corrupt goal", sql, sql)));
    let mut tx = world.store().database().begin(Scope::System).await.unwrap();
    tx.execute(statement, params![session]).await.unwrap();
    tx.commit().await.unwrap();
    let status = world.store().scheduler_status(now).await.unwrap();
    assert!(status.has_lost_checks);
    let tick = scheduler::tick(&world.host, now).await.unwrap();
    assert_eq!(tick.started, 0);
    assert_eq!(checks_of(world, task).await.status, "waiting");
}

async fn checks_of_killed_server_run_again_within_lease(world: &World) {
    let (began, go_on) = (world.path("began"), world.path("goes on"));
    let command = format!(
        "touch '{}'; test -e '{}' || sleep 1000",
        began.display(),
        go_on.display()
    );
    let (session, task) = goal_in_checks(world, &[("tests", &command)]).await;
    let host = host_of_checks(&world.host);
    let job = claim(world, &host, task).await;
    let killed = tokio::spawn({
        let (host, job) = (host.clone(), job.clone());
        async move {
            let stop = CancellationToken::new();
            checks::run_claimed(&host, &job, agent::uptime(), &stop).await
        }
    });
    wait_for_file(&began).await;
    // The death of a server ends its commands, because their guards lose their sockets.
    killed.abort();
    eventually("the end of the commands", async || {
        let left = processes_with_marker(&task.to_string()).unwrap();
        left.is_empty().then_some(())
    })
    .await;
    create_file(&go_on);
    let next = host_of_checks(&world.successor());
    let lease = next.settings.heartbeat_stale;
    let rest = Duration::from_micros(1);
    world.clock.advance(lease.saturating_sub(rest));
    assert_eq!(run_due(world, &next).await, 0);
    world.clock.advance(rest);
    assert_eq!(run_due(world, &next).await, 1);
    let checks = checks_of(world, task).await;
    assert_eq!((checks.status.as_str(), checks.attempt), ("passed", 2));
    assert_eq!(task_of(world, session).await.status, TaskStatus::Done);
}
