//! Constraints alone: the same transitions without the row locks of the code.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use futures::future::join_all;
use model::{
    AutomationId, RunId, WorkerId,
    approval::ApprovalStatus,
    outcome::FailureKind,
    permission::Verdict,
    policy::{Overlap, SessionMode},
    question::{QuestionBody, QuestionStatus},
    session::SessionEvent,
    turn::{HeartbeatReply, StartReply, TurnResult, WriteOutcome},
};
use store::{NewQuestion, Scope, Store};

use crate::{
    approvals::decider,
    fixtures::TestStore,
    invariants,
    questions::racing_answers,
    stage::{Stage, answer, failed, hourly, store_over},
    tool_calls::start_message,
};

/// Retries an operation while the database is busy, because without locks transactions give way more often than the
/// store retries them.
macro_rules! patiently {
    ($doing:expr) => {
        loop {
            match $doing.await {
                Err(error) if $crate::without_locks::is_lost_race(&error) => {
                    tokio::task::yield_now().await;
                }
                done => break done.unwrap(),
            }
        }
    };
}

pub(crate) use patiently;

/// Returns `true` if another transaction won the race, alone or for a whole batch.
pub(crate) fn is_lost_race(error: &store::Error) -> bool {
    match error {
        store::Error::Database(error) => matches!(
            error,
            store::database::Error::Busy { .. } | store::database::Error::Conflict { .. }
        ),
        store::Error::BatchFailed(error) => is_lost_race(error),
        _ => false,
    }
}

/// Returns two stores without locks over one database, like two processes.
pub(crate) async fn without_locks(db: &TestStore) -> [Store; 2] {
    let second = store::open(&db.location()).await.unwrap();
    [&db.database, &second].map(|database| store_over(&database.without_locks()))
}

/// Checks the invariants until `done`.
async fn watch_invariants(db: &TestStore, done: &Cell<bool>) {
    while !done.get() {
        invariants::assert_invariants(db).await;
        tokio::task::yield_now().await;
    }
    invariants::assert_invariants(db).await;
}

pub(crate) async fn schedulers_without_locks_fire_each_instant_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut automations = Vec::new();
    for number in 0..6 {
        let mode = [SessionMode::Fresh, SessionMode::Continuous][number % 2];
        let mut new = stage.new_automation(&format!("job {number}"), mode);
        new.policies.overlap = Some(Overlap::Queue);
        new.triggers = vec![hourly()];
        automations.push(stage.create(&new).await);
    }
    let stores = without_locks(db).await;
    for _ in 0..3 {
        stage.advance_seconds(3600);
        let done = Cell::new(false);
        let schedulers = async {
            join_all(stores.iter().cycle().take(6).map(|store| async {
                patiently!(store.fire_due(Scope::System, stage.now()));
            }))
            .await;
            done.set(true);
        };
        futures::join!(schedulers, watch_invariants(db, &done));
    }
    for automation in automations {
        let runs = stage.runs_of(automation).await;
        let instants: BTreeSet<_> = runs.iter().map(|run| run.scheduled_for).collect();
        assert_eq!((runs.len(), instants.len()), (3, 3));
    }
}

pub(crate) async fn messages_without_locks_share_one_seat_in_sequence(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let stores = without_locks(db).await;
    let done = Cell::new(false);
    let people = async {
        join_all(stores.iter().cycle().take(8).map(|store| async {
            for _ in 0..5 {
                patiently!(store.send_message(stage.tenant, session, None, "me", stage.now()));
            }
        }))
        .await;
        done.set(true);
    };
    futures::join!(people, watch_invariants(db, &done));
    assert_eq!(db.count(Scope::System, "agent_runs").await, 40);
}

pub(crate) async fn fires_without_locks_keep_overlap_policy(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_overlap(SessionMode::Fresh, Overlap::Queue)
        .await;
    let stores = without_locks(db).await;
    let done = Cell::new(false);
    let fires = async {
        join_all(stores.iter().cycle().take(8).map(|store| async {
            for _ in 0..3 {
                patiently!(store.fire_automation(stage.tenant, automation, None, stage.now()));
            }
        }))
        .await;
        done.set(true);
    };
    futures::join!(fires, watch_invariants(db, &done));
    let runs = stage.runs_of(automation).await;
    let instants: BTreeSet<_> = runs.iter().map(|run| run.scheduled_for).collect();
    assert_eq!((runs.len(), instants.len()), (24, 24));
    stage.store.promote_due(stage.now()).await.unwrap();
    let mut ended = 0;
    while let Some(run) = stage.claim().await {
        assert_eq!(
            stage.claim().await,
            None,
            "two runs of the automation occupy seats"
        );
        stage.begin(run).await;
        stage.succeed(run).await;
        ended += 1;
    }
    assert_eq!(ended, 24);
}

pub(crate) async fn workers_without_locks_claim_each_run_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for _ in 0..30 {
        let session = stage.session().await;
        stage.send_message(session, "hello").await;
    }
    let stores = without_locks(db).await;
    let workers = stores.iter().cycle().take(8).enumerate();
    let claimed = join_all(workers.map(|(number, store)| {
        let worker = WorkerId::from_stored(format!("host-{number}-aaaaaaaa"));
        let stage = &stage;
        async move {
            let mut mine = Vec::new();
            loop {
                let claimed =
                    patiently!(store.claim(&worker, stage.instance, 4, None, stage.now()));
                if claimed.is_empty() && count_queued(stage).await == 0 {
                    return mine;
                }
                mine.extend(claimed.into_iter().map(|claimed| claimed.run));
            }
        }
    }));
    let claimed: Vec<RunId> = claimed.await.into_iter().flatten().collect();
    assert_eq!(claimed.len(), 30);
    assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>().len(), 30);
}

async fn count_queued(stage: &Stage) -> usize {
    let filter = store::RunFilter {
        statuses: vec![model::run::RunStatus::Queued],
        ..store::RunFilter::default()
    };
    let queued = stage.store.runs(stage.scope(), filter, 1000).await;
    queued.unwrap().len()
}

pub(crate) async fn finish_and_stall_without_locks_have_one_winner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let stores = without_locks(db).await;
    for _ in 0..12 {
        let session = stage.session().await;
        let run = stage.send_message(session, "hello").await.run_id;
        stage.start(run).await;
        let now = stage.advance_seconds(200);
        let end = answer("Done.");
        let done = Cell::new(false);
        let race = async {
            let ended = async {
                patiently!(stores[0].finish(run, &stage.worker, &end, now))
                    == WriteOutcome::Committed
            };
            let stalled = async { patiently!(stores[1].stall_stale_runs(now, now)).contains(&run) };
            let ends = futures::join!(ended, stalled);
            done.set(true);
            ends
        };
        let ((ended, stalled), ()) = futures::join!(race, watch_invariants(db, &done));
        assert!(ended != stalled, "ended: {ended}, stalled: {stalled}");
        assert_eq!(stage.attempts(run).await.len(), if ended { 1 } else { 2 });
        let answers = stage.transcript(session).await;
        let answers = answers.iter().filter(|row| *row == "assistant: Done.");
        assert_eq!(answers.count(), usize::from(ended));
    }
}

pub(crate) async fn approval_decisions_without_locks_have_one_winner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let stores = without_locks(db).await;
    let by = decider("ci");
    for round in 0..12 {
        let (_, run) = stage.running_turn().await;
        let id = stage.request_approval(run).await;
        let now = stage.advance_seconds(1);
        let decide = async |store: &Store, verdict| loop {
            match store
                .decide_approval(stage.tenant, id, verdict, &by, None, now)
                .await
            {
                Ok(decided) => break Some(decided.status()),
                Err(store::Error::Refused(_)) => break None,
                Err(store::Error::Database(_)) => tokio::task::yield_now().await,
                Err(other) => panic!("{other:?}"),
            }
        };
        let end = answer("Done.");
        let done = Cell::new(false);
        let race = async {
            let over = async {
                if round % 2 == 0 {
                    let _ = patiently!(stores[1].finish(run, &stage.worker, &end, now));
                    ApprovalStatus::Void
                } else {
                    patiently!(stores[1].expire_approval(id, now))
                }
            };
            let ends = futures::join!(
                decide(&stores[0], Verdict::Allow),
                decide(&stores[1], Verdict::Deny),
                over
            );
            done.set(true);
            ends
        };
        let ((allowed, denied, over), ()) = futures::join!(race, watch_invariants(db, &done));
        let state = stage.approval(id).await.status();
        let winners = [allowed, denied].into_iter().flatten();
        let winners: Vec<_> = winners.collect();
        match winners[..] {
            [] => assert!(state == over, "{state} in round {round}"),
            [winner] => assert_eq!(state, winner),
            _ => panic!("{winners:?}"),
        }
        if round % 2 == 1 {
            stage.succeed(run).await;
        }
    }
}

pub(crate) async fn question_answers_without_locks_have_one_winner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let stores = without_locks(db).await;
    let by = decider("ci");
    for round in 0..12 {
        let (session, id) = stage.open_question().await;
        let deadline = stage.question(id).await.deadline_at;
        let now = stage.now();
        let [one, other] = racing_answers();
        let answer = async |store: &Store, answer| loop {
            match store
                .answer_question(stage.tenant, id, answer, &by, now)
                .await
            {
                Ok(answered) => break Some(answered),
                Err(store::Error::Refused(_)) => break None,
                Err(error) if is_lost_race(&error) => tokio::task::yield_now().await,
                Err(other) => panic!("{other:?}"),
            }
        };
        let done = Cell::new(false);
        let race = async {
            let over = async {
                if round % 2 == 0 {
                    patiently!(stores[1].expire_overdue_questions(deadline));
                } else {
                    let close = SessionEvent::Complete;
                    patiently!(stores[1].transition_session(
                        stage.scope(),
                        session,
                        close,
                        None,
                        now
                    ));
                }
            };
            let ends = futures::join!(answer(&stores[0], &one), answer(&stores[1], &other), over);
            done.set(true);
            ends
        };
        let ((first, second, ()), ()) = futures::join!(race, watch_invariants(db, &done));
        let winners: Vec<_> = [first, second].into_iter().flatten().collect();
        assert!(winners.len() <= 1, "{winners:?}");
        let question = stage.question(id).await;
        match winners.first() {
            Some(winner) => assert_eq!(&question, winner),
            None if round % 2 == 0 => assert_eq!(question.status(), QuestionStatus::Expired),
            None => assert_eq!(question.status(), QuestionStatus::Void),
        }
        // The seat gets one input for one answer, and none without.
        let inputs = stage.inputs(session).await.len();
        let expected = usize::from(question.status() != QuestionStatus::Void);
        assert_eq!(inputs, 1 + expected, "{question:?}");
    }
}

pub(crate) async fn equal_questions_without_locks_are_one(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let stores = without_locks(db).await;
    for _ in 0..12 {
        let session = stage.session().await;
        let caller = start_message(&stage, session).await;
        let new = NewQuestion {
            text: "Which colour?".into(),
            body: QuestionBody::default(),
            deadline: stage.now() + std::time::Duration::from_hours(1),
        };
        let now = stage.now();
        let ask = async |store: &Store| patiently!(store.ask_person(&caller, &new, now)).id;
        let (one, other) = futures::join!(ask(&stores[0]), ask(&stores[1]));
        assert_eq!(one, other);
        stage.succeed(caller.run).await;
    }
}

/// Claims runs and ends them with success or failure, until all runs have ended.
async fn run_worker(store: &Store, stage: &Stage, number: usize, everything: &Cell<usize>) {
    let worker = WorkerId::from_stored(format!("host-{number}-aaaaaaaa"));
    let mut turns = number;
    while everything.get() > 0 {
        let claimed = patiently!(store.claim(&worker, stage.instance, 2, None, stage.now()));
        if claimed.is_empty() {
            patiently!(store.promote_due(stage.now()));
            everything.set(count_unfinished(stage).await);
        }
        for claimed in claimed {
            let run = claimed.run;
            let reply = patiently!(store.begin(run, &worker, stage.instance, stage.now(), None));
            if !matches!(reply, StartReply::Started(_)) {
                continue;
            }
            turns += 1;
            let runs = [run];
            let beats = patiently!(store.renew_heartbeats(&worker, &runs, stage.now()));
            let end: TurnResult = match (&beats[0], turns % 4) {
                (HeartbeatReply::Cancel(_) | HeartbeatReply::Fenced, _) | (_, 0) => {
                    failed(FailureKind::Requeued, true)
                }
                (_, 1) => failed(FailureKind::AgentError, true),
                _ => answer("Done."),
            };
            let _ = patiently!(store.finish(run, &worker, &end, stage.now()));
        }
    }
}

async fn count_unfinished(stage: &Stage) -> usize {
    let runs = stage
        .store
        .runs(stage.scope(), store::RunFilter::default(), 10_000);
    let runs = runs.await.unwrap();
    runs.iter().filter(|run| !run.status().is_over()).count()
}

pub(crate) async fn concurrent_transitions_without_locks_keep_invariants(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let mut automations: Vec<AutomationId> = Vec::new();
    for (name, mode, overlap) in [
        ("fresh", SessionMode::Fresh, Overlap::Queue),
        ("cancelling", SessionMode::Fresh, Overlap::CancelRunning),
        ("continuous", SessionMode::Continuous, Overlap::Queue),
        ("bound", SessionMode::Bound, Overlap::Queue),
    ] {
        let mut new = stage.new_automation(name, mode);
        new.policies.overlap = Some(overlap);
        new.policies.pause_after_failures = 0;
        new.bound_session_key = (mode == SessionMode::Bound).then(|| "web:1".into());
        new.triggers = vec![hourly()];
        automations.push(stage.create(&new).await);
    }
    stage.advance_seconds(3600);
    let stores = without_locks(db).await;
    let everything = Cell::new(usize::MAX);
    let done = Cell::new(false);
    let askers = stores.iter().map(|store| async {
        for automation in &automations {
            patiently!(store.send_message(stage.tenant, session, None, "hello", stage.now()));
            patiently!(store.fire_automation(stage.tenant, *automation, None, stage.now()));
            patiently!(store.fire_due(Scope::System, stage.now()));
        }
    });
    let everyone = async {
        let workers =
            (0..4).map(|number| run_worker(&stores[number % 2], &stage, number, &everything));
        let workers: Vec<_> = workers.collect();
        futures::join!(join_all(askers), join_all(workers));
        done.set(true);
    };
    futures::join!(everyone, watch_invariants(db, &done));
    // Workers may have stopped before the last run was created.
    everything.set(1);
    run_worker(&stores[0], &stage, 9, &everything).await;
    invariants::assert_invariants(db).await;
    assert_eq!(count_unfinished(&stage).await, 0);

    // Two manual runs of each automation, and one on schedule.
    let mut first_attempts: BTreeMap<AutomationId, usize> = BTreeMap::new();
    for automation in automations {
        let runs = stage.runs_of(automation).await;
        let first = runs.iter().filter(|run| run.attempt == 1).count();
        first_attempts.insert(automation, first);
    }
    assert!(
        first_attempts.values().all(|first| *first == 3),
        "{first_attempts:?}"
    );
}
