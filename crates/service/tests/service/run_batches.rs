//! Operations on many runs: their expected number, their order, and the runs that are refused.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use api_types::{Count, RunCounts, RunFilterRequest};
use model::{
    Clock, RunId, Timestamp,
    run::RunStatus::{Cancelled, Deferred, Queued},
    session::SessionEvent,
};
use service::{Error, ErrorKind, Service};
use store::{Page, RunFilter, Scope, database::Statement};
use testkit::clock::SeededEntropy;

use crate::{
    goal_tools::Goal,
    world::{NOW, World},
};

fn all() -> RunFilterRequest {
    RunFilterRequest::default()
}

fn count(count: u32) -> Count {
    Count { count, more: false }
}

/// Sends a message to a new session and cancels its run. Returns the session and the run.
async fn cancelled_run(world: &World) -> (String, RunId) {
    let session = world.conversation().await.id.to_string();
    let run = world.send_message(&session, "Hello").await;
    world.service.cancel_run(&run.to_string()).await.unwrap();
    (session, run)
}

async fn counts(world: &World) -> RunCounts {
    world.service.count_runs(&all()).await.unwrap()
}

#[tokio::test]
async fn runs_are_retried_oldest_first_if_their_number_is_expected() {
    let world = World::new().await;
    let (_, first) = cancelled_run(&world).await;
    let (_, second) = cancelled_run(&world).await;
    let waiting = world.conversation().await.id.to_string();
    world.send_message(&waiting, "Hello").await;
    let before = RunCounts {
        matching: count(3),
        retryable: count(2),
        cancellable: count(1),
    };
    assert_eq!(counts(&world).await, before);

    for expected in [1, 3] {
        let refused = world
            .service
            .retry_runs(&all(), expected)
            .await
            .unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        let actual = match &refused {
            Error::OtherNumberOfRuns { actual, .. } => *actual,
            other => panic!("{other:?}"),
        };
        assert_eq!(actual, count(2));
        assert_eq!(counts(&world).await, before, "nothing was retried");
    }
    for expected in [0, 501] {
        let refused = world
            .service
            .retry_runs(&all(), expected)
            .await
            .unwrap_err();
        assert_eq!(refused.field(), Some("expected"));
        assert!(refused.to_string().contains("1 to 500"), "{refused}");
    }

    let retried = world.service.retry_runs(&all(), 2).await.unwrap();
    let runs: Vec<_> = retried.retried.iter().map(|run| run.run_id).collect();
    assert_eq!(runs, [first, second]);
    assert_eq!(retried.refused, []);
    for run in &retried.retried {
        let attempt = world.service.run_by_id(run.attempt_id).await.unwrap();
        assert_eq!((attempt.attempt, attempt.status()), (2, run.status));
        assert_eq!(run.status, Queued);
    }
    let after = RunCounts {
        matching: count(3),
        retryable: count(0),
        cancellable: count(3),
    };
    assert_eq!(counts(&world).await, after);
}

#[tokio::test]
async fn run_that_cannot_be_retried_is_listed_and_stops_no_other() {
    let world = World::new().await;
    let (closed, first) = cancelled_run(&world).await;
    let (_, second) = cancelled_run(&world).await;
    let complete = SessionEvent::Complete;
    let moved = world.service.move_session(&closed, complete, None);
    moved.await.unwrap();
    let retried = world.service.retry_runs(&all(), 2).await.unwrap();
    let runs: Vec<_> = retried.retried.iter().map(|run| run.run_id).collect();
    assert_eq!(runs, [second]);
    let [refused] = retried.refused.as_slice() else {
        panic!("{retried:?}");
    };
    assert_eq!(refused.run_id, first);
    let single = world.service.retry_run(&first.to_string(), None).await;
    assert_eq!(refused.reason, single.unwrap_err().chain());
}

#[tokio::test]
async fn turn_of_task_is_not_among_runs_to_retry() {
    let goal = Goal::start().await;
    let world = &goal.world;
    let (filter, page) = (RunFilter::default(), Page::first(10));
    let runs = world
        .store
        .run_page(Scope::Tenant(world.tenant), &filter, page);
    let plan = runs.await.unwrap()[0].id;
    // The goal has no plan then, so that the turn of its report follows.
    world.service.cancel_run(&plan.to_string()).await.unwrap();
    let expected = RunCounts {
        matching: count(2),
        retryable: count(0),
        cancellable: count(1),
    };
    assert_eq!(counts(world).await, expected);
    let refused = world.service.retry_runs(&all(), 1).await.unwrap_err();
    assert!(refused.to_string().contains("but 0 of the"), "{refused}");
    // The message of a person is retried without them.
    let (_, message) = cancelled_run(world).await;
    let retried = world.service.retry_runs(&all(), 1).await.unwrap();
    let runs: Vec<_> = retried.retried.iter().map(|run| run.run_id).collect();
    assert_eq!((runs, retried.refused), (vec![message], Vec::new()));
}

#[tokio::test]
async fn run_behind_many_turns_of_tasks_is_retried() {
    let goal = Goal::start().await;
    let world = &goal.world;
    let (_, message) = cancelled_run(world).await;
    let other = world.conversation().await.id;
    for _ in 0..502 {
        world.send_message(&other.to_string(), "Hello").await;
    }
    let scope = Scope::Tenant(world.tenant);
    let cancelled = world
        .store
        .cancel_session_runs(scope, other, "enough", world.clock_now());
    assert_eq!(cancelled.await.unwrap(), 502);
    // More turns of a task than one reading returns.
    let sql = "update agent_runs set task_id = (select id from agent_tasks)
        where session_id <> (select session_id from goals)
            and session_id = (select session_id from agent_runs order by id desc limit 1)";
    let statement = Box::leak(Box::new(Statement::new("turns of a task", sql, sql)));
    let mut tx = world.store.database().begin(Scope::System).await.unwrap();
    assert_eq!(tx.execute(statement, Vec::new()).await.unwrap(), 502);
    tx.commit().await.unwrap();
    let counted = counts(world).await;
    assert_eq!(counted.retryable, count(1), "{counted:?}");
    let retried = world.service.retry_runs(&all(), 1).await.unwrap();
    let runs: Vec<_> = retried.retried.iter().map(|run| run.run_id).collect();
    assert_eq!((runs, retried.refused), (vec![message], Vec::new()));
}

#[tokio::test]
async fn cancellation_of_many_runs_starts_none_of_them() {
    let world = World::new().await;
    let session = world.conversation().await.id.to_string();
    let mut runs = Vec::new();
    for text in ["one", "two", "three"] {
        runs.push(world.send_message(&session, text).await);
    }
    let other = world.conversation().await.id.to_string();
    let other = world.send_message(&other, "Hello").await;
    let selection = RunFilterRequest {
        session: Some(session),
        status: vec![Deferred, Queued, Cancelled],
        ..all()
    };
    let cancelled = world.service.cancel_runs(&selection, 3).await.unwrap();
    let order: Vec<_> = cancelled.cancelled.iter().map(|run| run.run_id).collect();
    assert_eq!(order, [runs[2], runs[1], runs[0]]);
    for run in runs {
        let attempts = world.service.run(&run.to_string()).await.unwrap().attempts;
        assert_eq!(attempts.len(), 1);
        assert_eq!(attempts[0].status, Cancelled);
        assert_eq!(attempts[0].started_at, None);
    }
    let other = world.service.run_by_id(other).await.unwrap();
    assert_eq!(other.status(), Queued);
    let none = world.service.cancel_runs(&selection, 1).await.unwrap_err();
    assert!(none.to_string().contains("but 0 of the"), "{none}");
}

#[tokio::test]
async fn counts_stop_at_500_and_no_request_changes_more() {
    let world = World::new().await;
    let session = world.conversation().await.id.to_string();
    for _ in 0..501 {
        world.send_message(&session, "Hello").await;
    }
    let more = Count {
        count: 500,
        more: true,
    };
    let expected = RunCounts {
        matching: more,
        retryable: count(0),
        cancellable: more,
    };
    assert_eq!(counts(&world).await, expected);
    let refused = world.service.cancel_runs(&all(), 500).await.unwrap_err();
    assert!(refused.to_string().contains("but 500+ of the"), "{refused}");
    let hint = refused.hint().unwrap();
    assert!(hint.contains("up to 500 runs"), "{hint}");
    let deferred = RunFilterRequest {
        status: vec![Deferred],
        ..all()
    };
    let deferred = world.service.count_runs(&deferred).await.unwrap();
    assert_eq!(deferred.cancellable, count(500));
}

/// A clock that goes on by 15 seconds at each reading.
struct SlowWorkClock(AtomicI64);

impl Clock for SlowWorkClock {
    fn now(&self) -> Timestamp {
        let seconds = self.0.fetch_add(15, Ordering::Relaxed);
        NOW.parse::<Timestamp>().unwrap() + Duration::from_secs(seconds.try_into().unwrap())
    }
}

#[tokio::test]
async fn runs_after_time_limit_are_listed_as_not_tried() {
    let world = World::new().await;
    for _ in 0..6 {
        cancelled_run(&world).await;
    }
    let service = Service::new(
        world.store.clone(),
        world.tenant,
        Arc::new(SlowWorkClock(AtomicI64::new(0))),
        Arc::new(SeededEntropy::new(8)),
        world.agents.clone(),
    );
    let retried = service.retry_runs(&all(), 6).await.unwrap();
    assert_eq!((retried.retried.len(), retried.refused.len()), (1, 5));
    assert!(retried.refused[0].reason.contains("not tried within 20 s"));
    let open = RunFilterRequest {
        status: vec![Queued],
        ..all()
    };
    let cancelled = service.cancel_runs(&open, 1).await.unwrap();
    assert_eq!((cancelled.cancelled.len(), cancelled.refused.len()), (1, 0));
    // What was not tried can be asked for again.
    let rest = world.service.retry_runs(&all(), 6).await.unwrap();
    assert_eq!((rest.retried.len(), rest.refused), (6, Vec::new()));
}
