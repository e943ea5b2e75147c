//! Each transition of a goal is aborted at each of its points. Another process goes on until the goal is over, and each task
//! must have been done once. The agents are simulated, as in `transitions.rs`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use model::{
    RunId, SessionId, TaskId, Timestamp, WorkerId,
    entity::SeatSettings,
    goal::{
        ChecksEnd, GoalBudget, GoalState, JUDGE, NewTask, PLANNER, ReportBody, ReportStatus,
        Reviews, TaskKind, TaskRole, TaskStatus, WORKER,
    },
    run::RunStatus,
    team::{CheckDefinition, SeatDefinition, TeamDefinition, TeamLimits},
    turn::{StartReply, WriteOutcome},
};
use serde::{Deserialize, Serialize};
use store::{GoalChange, NewGoal, RunFilter, Scope, Store, TaskReport};
use uuid::Uuid;

use crate::{
    checks::{check_history, check_state, runs_of_filter, snapshot},
    child::{ChildEnd, Job, JobContext, Task},
    points::play_points,
    stage::{Database, TestBed, test_instance},
    tool_calls::{SECRET_HASH, caller},
    transitions::{
        HEARTBEAT_STALE, crashed_worker, finished_with_answer, record_agent_end,
        runs_ended_by_agents, successor_worker,
    },
};

/// The keys of the plan. The others depend on the first one.
const KEYS: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GoalTransition {
    /// The end of the planner's turn publishes the plan.
    EndPlan,
    /// The end of the first task's turn starts the other tasks.
    EndWork,
    /// The end of the checks of the first task.
    EndChecks,
    /// The end of the judge's turn with its verdict about the first task.
    EndReview,
    /// A person cancels the goal while the first task is in work.
    Cancel,
}

impl GoalTransition {
    /// Runs the job of a child. The database already contains everything that the job needs.
    pub(crate) async fn execute(
        self,
        job: &Job,
        [session, run, task]: &[String; 3],
        arm: impl FnOnce(fn(&str) -> bool),
    ) {
        let JobContext {
            store,
            now,
            tenant,
            session,
            run,
        } = job.open(session, run).await;
        let task: TaskId = task.parse().unwrap();
        let worker = crashed_worker();
        match self {
            Self::EndPlan | Self::EndWork | Self::EndReview => {
                record_agent_end(job, run);
                arm(|_| true);
                let outcome = finished_with_answer();
                let ended = store.finish(run, &worker, &outcome, now);
                assert_eq!(ended.await.unwrap(), WriteOutcome::Committed);
            }
            Self::EndChecks => {
                let until = now + HEARTBEAT_STALE;
                let claimed = store.claim_checks(task, test_instance(), &worker, until, now);
                let checks = claimed.await.unwrap().unwrap();
                arm(|_| true);
                let ended = store.finish_checks(&checks, &worker, &ChecksEnd::Passed, &[], now);
                assert_eq!(ended.await.unwrap(), WriteOutcome::Committed);
            }
            Self::Cancel => {
                arm(|_| true);
                let cancelled = store.change_goal(tenant, session, &GoalChange::Cancel, now);
                assert_eq!(cancelled.await.unwrap(), GoalState::Cancelled);
            }
        }
    }

    /// Returns `true` if the crashed worker has a turn when the transition begins.
    fn has_turn(self) -> bool {
        self != Self::EndChecks
    }

    fn team(self) -> TeamDefinition {
        let mut planner = SeatDefinition::new(PLANNER);
        planner.is_entry = true;
        let mut seats = vec![planner, SeatDefinition::new(WORKER)];
        if self == Self::EndReview {
            let mut judge = SeatDefinition::new(JUDGE);
            judge.reviews = Some(Reviews::All);
            seats.push(judge);
        }
        let checks = match self {
            Self::EndChecks => BTreeMap::from([("tests".to_owned(), CheckDefinition::new("true"))]),
            _ => BTreeMap::new(),
        };
        TeamDefinition {
            name: "crash".into(),
            limits: TeamLimits::default(),
            checks,
            seats,
        }
    }

    fn plan(self) -> [NewTask; 3] {
        KEYS.map(|key| NewTask {
            title: format!("Do {key}"),
            depends_on: match key {
                "a" => Vec::new(),
                _ => vec!["a".to_owned()],
            },
            checks: match (self, key) {
                (Self::EndChecks, "a") => vec!["tests".to_owned()],
                _ => Vec::new(),
            },
            writes: Some(Vec::new()),
            ..NewTask::new(key, WORKER)
        })
    }
}

/// A goal whose next transition is aborted.
struct CrashingGoal {
    transition: GoalTransition,
    session: SessionId,
    /// The run of the crashed worker, or the last one before the checks.
    run: RunId,
    /// The first task of the plan, or the plan itself.
    task: TaskId,
}

impl CrashingGoal {
    /// Creates a goal and takes its turns up to the transition.
    async fn prepare(stage: &TestBed, transition: GoalTransition, number: u64) -> Self {
        let (store, now) = (&stage.store, stage.instant());
        let team = transition.team();
        let agents = team.seats().into_iter();
        let agents = agents.map(|_| (stage.agent, SeatSettings::default()));
        let new = NewGoal {
            session: SessionId::from_uuid(Uuid::from_u128(5000 + u128::from(number))),
            text: "Draft it.".into(),
            key: None,
            title: None,
            cwd: None,
            placed_on: None,
            agents: agents.collect(),
            team,
            approve_plan: false,
            budget: GoalBudget::default(),
            until: None,
            draft: false,
        };
        let session = store.create_goal(stage.tenant, &new, now).await.unwrap();
        let worker = crashed_worker();
        let turns_before = match transition {
            GoalTransition::EndPlan => 0,
            GoalTransition::EndWork | GoalTransition::Cancel => 1,
            GoalTransition::EndChecks | GoalTransition::EndReview => 2,
        };
        let mut run = None;
        for _ in 0..turns_before {
            let [taken] = take_queued(stage, transition, session, &worker).await[..] else {
                panic!("one turn is queued")
            };
            finish(stage, taken, &worker).await;
            run = Some(taken);
        }
        if transition.has_turn() {
            let [taken] = take_queued(stage, transition, session, &worker).await[..] else {
                panic!("one turn is queued")
            };
            run = Some(taken);
        }
        let goal = store.goal(Scope::System, session).await.unwrap();
        let first = goal.tasks.iter().find(|task| task.key == "a");
        let task = first.or(goal.tasks.first()).unwrap().id;
        Self {
            transition,
            session,
            run: run.unwrap(),
            task,
        }
    }

    fn about(&self) -> [String; 3] {
        [
            self.session.to_string(),
            self.run.to_string(),
            self.task.to_string(),
        ]
    }

    /// Lets another process go on until the goal is over.
    async fn recover(&self, stage: &mut TestBed) -> GoalState {
        let (store, worker) = (stage.store.clone(), successor_worker());
        for _ in 0..60 {
            let now = stage.advance(Duration::from_mins(4));
            let stale = now.saturating_sub(HEARTBEAT_STALE);
            store.stall_stale_runs(stale, now).await.unwrap();
            let swept = store.promote_due(now).await.unwrap();
            assert_eq!(swept.missed_promotions, 0, "I3: something was left behind");
            for run in take_queued(stage, self.transition, self.session, &worker).await {
                finish(stage, run, &worker).await;
            }
            let goal = store.goal(Scope::System, self.session).await.unwrap();
            for task in &goal.tasks {
                let until = now + HEARTBEAT_STALE;
                let claimed = store.claim_checks(task.id, test_instance(), &worker, until, now);
                if let Some(checks) = claimed.await.unwrap() {
                    let ended = store.finish_checks(&checks, &worker, &ChecksEnd::Passed, &[], now);
                    assert_eq!(ended.await.unwrap(), WriteOutcome::Committed);
                }
            }
            let runs = runs_of(&store, self.session).await;
            let is_open = runs.iter().any(|(_, _, status)| !status.is_over());
            if goal.state.is_over() && !is_open {
                return goal.state;
            }
        }
        let goal = store.goal(Scope::System, self.session).await;
        panic!("I3: the goal is not over: {goal:#?}");
    }

    /// Checks that each task was done once, or none after the cancellation.
    async fn check_tasks(&self, store: &Store, state: GoalState, committed: bool) {
        let goal = store.goal(Scope::System, self.session).await.unwrap();
        let work = goal.tasks.iter().filter(|task| task.kind == TaskKind::Work);
        let work: Vec<_> = work.collect();
        let keys: BTreeSet<&str> = work.iter().map(|task| task.key.as_str()).collect();
        assert_eq!(work.len(), KEYS.len(), "{goal:#?}");
        assert_eq!(keys, BTreeSet::from(KEYS), "{goal:#?}");
        assert_eq!(goal.plan_version, 1, "{goal:#?}");
        let is_cancelled = self.transition == GoalTransition::Cancel && committed;
        let (expected, status, count) = if is_cancelled {
            (GoalState::Cancelled, TaskStatus::Cancelled, 0)
        } else {
            (GoalState::Done, TaskStatus::Done, 1)
        };
        assert_eq!(state, expected, "{goal:#?}");
        let runs = runs_of(store, self.session).await;
        for task in work {
            assert_eq!(task.status, status, "{goal:#?}");
            let done = runs
                .iter()
                .filter(|run| **run == (task.id, false, RunStatus::Succeeded));
            assert_eq!(done.count(), count, "{}: {runs:#?}", task.key);
        }
    }
}

/// Returns the runs of the tasks of a goal: the task, whether the turn is a review, and the status.
async fn runs_of(store: &Store, session: SessionId) -> Vec<(TaskId, bool, RunStatus)> {
    let filter = RunFilter {
        session: Some(session),
        ..RunFilter::default()
    };
    let runs = runs_of_filter(store, filter).await.into_iter();
    runs.filter_map(|run| {
        let task = run.task.as_ref()?;
        Some((task.id, task.is_review, run.status()))
    })
    .collect()
}

/// Begins all queued turns of a goal, and lets their agents call the tools. Returns the runs.
async fn take_queued(
    stage: &TestBed,
    transition: GoalTransition,
    session: SessionId,
    worker: &WorkerId,
) -> Vec<RunId> {
    let (store, now) = (&stage.store, stage.instant());
    let filter = RunFilter {
        session: Some(session),
        statuses: vec![RunStatus::Queued],
        ..RunFilter::default()
    };
    let mut taken = Vec::new();
    for run in store.runs(Scope::System, filter, 100).await.unwrap() {
        let claimed = store.claim(worker, test_instance(), 1, Some(run.id), now);
        assert_eq!(claimed.await.unwrap().len(), 1);
        let begun = store.begin(run.id, worker, test_instance(), now, Some(SECRET_HASH));
        if matches!(begun.await.unwrap(), StartReply::Started(_)) {
            call_tools(store, transition, run.id, worker, now).await;
            taken.push(run.id);
        }
    }
    taken
}

/// Makes the calls of the agent of a turn.
async fn call_tools(
    store: &Store,
    transition: GoalTransition,
    run: RunId,
    worker: &WorkerId,
    now: Timestamp,
) {
    let caller = caller(run, worker.clone(), SECRET_HASH);
    let turn = store.calling_turn(&caller, now).await.unwrap();
    let task = store.task_of_turn(&turn).await.unwrap();
    let (status, body) = match task.map(|task| task.role) {
        Some(TaskRole::Planner) => {
            for new in transition.plan() {
                store.create_task(&caller, &new, now).await.unwrap();
            }
            return;
        }
        Some(TaskRole::Worker) => (
            ReportStatus::Done,
            ReportBody {
                result: Some("The result.".into()),
                ..ReportBody::default()
            },
        ),
        Some(TaskRole::Judge) => (
            ReportStatus::Accept,
            ReportBody {
                evidence: vec!["read it".into()],
                ..ReportBody::default()
            },
        ),
        Some(TaskRole::Reporter) | None => return,
    };
    let report = TaskReport { status, body };
    store.report_task(&caller, &report, now).await.unwrap();
}

/// Ends a turn with success.
async fn finish(stage: &TestBed, run: RunId, worker: &WorkerId) {
    record_agent_end(&job_of(stage, Task::Deliver, 0), run);
    let now = stage.instant();
    let outcome = finished_with_answer();
    let ended = stage.store.finish(run, worker, &outcome, now);
    assert_eq!(ended.await.unwrap(), WriteOutcome::Committed);
}

fn job_of(stage: &TestBed, task: Task, point: u64) -> Job {
    Job {
        url: stage.url.clone(),
        home: stage.path(),
        point,
        now: stage.now,
        task,
    }
}

/// Aborts a process at each point of a transition.
pub(crate) async fn abort_at_each_point(transition: GoalTransition, database: Database) {
    play_points(&transition, database, |stage, point| {
        Box::pin(abort_at_point(stage, transition, point))
    })
    .await;
}

/// Aborts a process at one point of a transition, and checks the recovery.
async fn abort_at_point(stage: &mut TestBed, transition: GoalTransition, point: u64) -> ChildEnd {
    let goal = CrashingGoal::prepare(stage, transition, point).await;
    let job = job_of(stage, Task::Goal(transition, goal.about()), point);
    let before = snapshot(&stage.store).await;
    let died = job.run();
    let changed = snapshot(&stage.store).await != before;
    check_state(&stage.store).await;
    // Exactly one commit separates the old state from the new one.
    let committed = died.points.iter().any(|point| point == "committed");
    assert_eq!(changed, committed, "point {point}: {:?}", died.points);
    let state = goal.recover(stage).await;
    goal.check_tasks(&stage.store, state, committed).await;
    check_history(&stage.store, &runs_ended_by_agents(stage)).await;
    // The aborted worker changes nothing when it continues.
    let before = snapshot(&stage.store).await;
    let (worker, now) = (crashed_worker(), stage.instant());
    let outcome = finished_with_answer();
    let late = stage.store.finish(goal.run, &worker, &outcome, now);
    assert_eq!(late.await.unwrap(), WriteOutcome::Fenced, "I4");
    assert_eq!(snapshot(&stage.store).await, before, "I4");
    died
}
