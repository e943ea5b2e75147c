//! Each transition is aborted at each of its points. The agents are simulated: their ends are in a file that is synced
//! before the transition that records them.

use std::{collections::BTreeSet, fs::File, io::Write as _, time::Duration};

use model::{
    AcpSessionId, AutomationId, MessageId, RunId, SessionId, Timestamp, WorkerId,
    outcome::{FailureKind, Outcome, RunFailure, StopReason},
    policy::{CatchUp, Policies, Retry},
    session::SessionEvent,
    turn::{Entry, EntryKind, Role, StartReply, TurnResult, WriteOutcome},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Scope, Store, database::Statement, params};
use uuid::Uuid;

use crate::{
    checks::{check_history, check_state, open_runs, runs_oldest_first, snapshot},
    child::{ChildEnd, Job, JobContext, Task},
    points::play_points,
    stage::{Database, TestBed, test_instance},
    tool_calls::{self, SECRET_HASH},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Transition {
    SendMessage,
    Fire,
    FireDue,
    RecordMissed,
    Claim,
    Begin,
    Record,
    WriteLive,
    Finish,
    Fail,
    Stall,
    Promote,
    Cancel,
    PauseSession,
    CloseSession,
    PauseAutomation,
    /// Not a transition of the product: postpones, fires and restores a due trigger in separate transactions.
    NonAtomicFire,
}

/// The age at which a heartbeat is stale.
pub(crate) const HEARTBEAT_STALE: Duration = Duration::from_mins(3);

/// Returns the worker that is aborted.
pub(crate) fn crashed_worker() -> WorkerId {
    WorkerId::from_stored("elsewhere-1-aaaaaaaa".into())
}

/// Returns the worker that takes over.
pub(crate) fn successor_worker() -> WorkerId {
    WorkerId::from_stored("elsewhere-2-bbbbbbbb".into())
}

pub(crate) fn finished_with_answer() -> TurnResult {
    TurnResult {
        answer: "Done.".into(),
        acp_session_id: Some(AcpSessionId::new("memory")),
        turn_ended: true,
        ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
    }
}

fn finished_with_error() -> TurnResult {
    TurnResult::with_outcome(Outcome::Failed(RunFailure {
        kind: FailureKind::AgentExited,
        prompted: true,
        message: "it died".into(),
    }))
}

fn entry(number: u128) -> Entry {
    Entry {
        id: MessageId::from_uuid(Uuid::from_u128(number)),
        role: Role::Tool,
        kind: EntryKind::ToolCall,
        content: "looks".into(),
        metadata: json!({}),
    }
}

impl Transition {
    /// Runs the job of a child. The database already contains everything that the job needs.
    #[expect(clippy::too_many_lines, reason = "one arm for each transition")]
    pub(crate) async fn execute(
        self,
        job: &Job,
        [session, run, automation]: &[String; 3],
        arm: impl FnOnce(fn(&str) -> bool),
    ) {
        let JobContext {
            store,
            now,
            tenant,
            session,
            run,
        } = job.open(session, run).await;
        let automation: AutomationId = automation.parse().unwrap();
        let (worker, scope) = (crashed_worker(), Scope::System);
        if self == Self::Finish {
            // The agent reports its end before the transition writes it.
            record_agent_end(job, run);
        }
        arm(|_| true);
        match self {
            Self::SendMessage => {
                store
                    .send_message(tenant, session, None, "hello", now)
                    .await
                    .unwrap();
            }
            Self::Fire => {
                store
                    .fire_automation(tenant, automation, None, now)
                    .await
                    .unwrap();
            }
            Self::FireDue | Self::RecordMissed => {
                store.fire_due(scope, now).await.unwrap();
            }
            Self::Claim => {
                let claimed = store
                    .claim(&worker, test_instance(), 9, None, now)
                    .await
                    .unwrap();
                assert!(!claimed.is_empty());
            }
            Self::Begin => {
                let begun = store
                    .begin(run, &worker, test_instance(), now, None)
                    .await
                    .unwrap();
                assert!(matches!(begun, StartReply::Started(_)), "{begun:?}");
            }
            Self::Record => {
                let entries = [
                    entry(run.uuid().as_u128() ^ 1),
                    entry(run.uuid().as_u128() ^ 2),
                ];
                let settled = store.record(run, &worker, &entries, now).await.unwrap();
                assert_eq!(settled, WriteOutcome::Committed);
            }
            Self::WriteLive => {
                let settled = store.append_live_text(run, &worker, 0, "hello", now).await;
                assert_eq!(settled.unwrap(), WriteOutcome::Committed);
            }
            Self::Finish => {
                let settled = store
                    .finish(run, &worker, &finished_with_answer(), now)
                    .await
                    .unwrap();
                assert_eq!(settled, WriteOutcome::Committed);
            }
            Self::Fail => {
                let settled = store
                    .finish(run, &worker, &finished_with_error(), now)
                    .await
                    .unwrap();
                assert_eq!(settled, WriteOutcome::Committed);
            }
            Self::Stall => {
                let stalled = store
                    .stall_stale_runs(now.saturating_sub(HEARTBEAT_STALE), now)
                    .await
                    .unwrap();
                assert_eq!(stalled, [run]);
            }
            Self::Promote => {
                let swept = store.promote_due(now).await.unwrap();
                assert_eq!((swept.backoff_ended, swept.missed_promotions), (1, 0));
            }
            Self::Cancel => {
                let failure_as_cancellation =
                    store.cancel_session_runs(scope, session, "enough", now);
                assert_eq!(failure_as_cancellation.await.unwrap(), 2);
            }
            Self::PauseSession | Self::CloseSession => {
                let event = match self {
                    Self::PauseSession => SessionEvent::Pause,
                    _ => SessionEvent::Complete,
                };
                let moved = store.transition_session(scope, session, event, None, now);
                moved.await.unwrap();
            }
            Self::NonAtomicFire => {
                for sql in [
                    "update automation_triggers set next_fire_at = next_fire_at + 31536000000000",
                    "update automation_triggers set next_fire_at = next_fire_at - 31536000000000",
                ] {
                    let statement = Box::leak(Box::new(Statement::new("torn", sql, sql)));
                    let mut tx = store.database().begin(scope).await.unwrap();
                    tx.execute(statement, params![]).await.unwrap();
                    tx.commit().await.unwrap();
                }
                store.fire_due(scope, now).await.unwrap();
            }
            Self::PauseAutomation => {
                let paused = store.pause_automation(scope, automation, "enough", now);
                paused.await.unwrap();
            }
        }
    }

    /// Returns `true` if the transition ends a running run.
    fn ends_run(self) -> bool {
        matches!(self, Self::Finish | Self::Fail | Self::Stall)
    }

    /// Returns the stage of the run when the transition begins: queued, delivered or running.
    fn run_stage_before(self) -> u8 {
        match self {
            Self::Begin => 1,
            Self::Record | Self::WriteLive | Self::Finish | Self::Fail | Self::Stall => 2,
            Self::Promote => 3,
            _ => 0,
        }
    }
}

/// Records that the agent of a run ended its turn.
pub(crate) fn record_agent_end(job: &Job, run: RunId) {
    let path = job.home.join("agents");
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    writeln!(file, "{run}").unwrap();
    file.sync_all().unwrap();
}

pub(crate) fn runs_ended_by_agents(stage: &TestBed) -> BTreeSet<RunId> {
    let ledger = std::fs::read_to_string(stage.path().join("agents"));
    let ledger = ledger.unwrap_or_default();
    ledger.lines().map(|line| line.parse().unwrap()).collect()
}

/// Aborts a process at each point of a transition.
pub(crate) async fn abort_at_each_point(transition: Transition, database: Database) {
    play_points(&transition, database, |stage, point| {
        Box::pin(abort_at_point(stage, transition, point))
    })
    .await;
}

/// Aborts a process at one point of a transition, and checks the recovery.
async fn abort_at_point(stage: &mut TestBed, transition: Transition, point: u64) -> ChildEnd {
    let (about, run) = prepare_transition(stage, transition).await;
    let job = Job {
        url: stage.url.clone(),
        home: stage.path(),
        point,
        now: stage.now,
        task: Task::Transition(transition, about.clone()),
    };
    // The end of a run ends its tools with it.
    let session: SessionId = about[0].parse().unwrap();
    let caller = run.filter(|_| transition.ends_run());
    let caller = caller.map(|run| tool_calls::caller(run, crashed_worker(), SECRET_HASH));
    if let Some(caller) = &caller {
        let now = stage.instant();
        tool_calls::write_with_each_tool(&stage.store, caller, session, now).await;
    }
    let before = snapshot(&stage.store).await;
    let died = job.run();
    let changed = snapshot(&stage.store).await != before;
    check_state(&stage.store).await;
    let last = died.points.last().map_or("", String::as_str);
    // The transition is atomic: exactly one commit separates the old state from the new one.
    let committed = died.points.iter().any(|point| point == "committed");
    assert_eq!(
        changed, committed,
        "point {point}, {last}: {:?}",
        died.points
    );
    if let Some(caller) = caller.as_ref().filter(|_| committed) {
        let now = stage.instant();
        tool_calls::check_calls_are_refused(&stage.store, caller, session, now).await;
    }

    recover(stage, transition, &about).await;
    check_inputs_exist_once(stage, transition, &about, committed).await;
    if let Some(run) = run {
        check_crashed_worker_is_fenced(&stage.store, run, stage.instant()).await;
    }
    if let Some(caller) = &caller {
        let now = stage.instant();
        tool_calls::check_calls_are_refused(&stage.store, caller, session, now).await;
    }
    check_history(&stage.store, &runs_ended_by_agents(stage)).await;
    died
}

/// Prepares the state in which the transition begins: a run with a second one behind it, and an automation.
async fn prepare_transition(
    stage: &mut TestBed,
    transition: Transition,
) -> ([String; 3], Option<RunId>) {
    let (session, key) = stage.create_session().await;
    let policies = Policies {
        retry: Retry {
            backoff_seconds: 10,
            ..Retry::default()
        },
        catch_up: match transition {
            Transition::RecordMissed => CatchUp::None,
            _ => CatchUp::Latest,
        },
        ..Policies::default()
    };
    let agent = stage.agent;
    let automation = stage.create_automation(agent, Some(key), policies).await;
    let (tenant, store) = (stage.tenant, stage.store.clone());
    let said = store
        .send_message(tenant, session, None, "First", stage.instant())
        .await;
    let run = said.unwrap().run_id;
    stage.advance(Duration::from_millis(1));
    store
        .send_message(tenant, session, None, "Second", stage.instant())
        .await
        .unwrap();
    let (worker, now, here) = (crashed_worker(), stage.instant(), test_instance());
    let mut taken = None;
    if transition.run_stage_before() >= 1 {
        store.claim(&worker, here, 1, Some(run), now).await.unwrap();
        taken = Some(run);
    }
    if transition.run_stage_before() >= 2 {
        let secret = Some(SECRET_HASH);
        let begun = store.begin(run, &worker, here, now, secret).await.unwrap();
        assert!(matches!(begun, StartReply::Started(_)), "{begun:?}");
    }
    match transition {
        Transition::Stall => {
            stage.advance(HEARTBEAT_STALE + Duration::from_secs(1));
        }
        Transition::Promote => {
            let settled = store
                .finish(run, &worker, &finished_with_error(), now)
                .await
                .unwrap();
            assert_eq!(settled, WriteOutcome::Committed);
            // Remove the second run, so that the run waits only for its backoff.
            let second = store.claim(&worker, here, 1, None, now).await.unwrap()[0].run;
            store.begin(second, &worker, here, now, None).await.unwrap();
            let job = Job {
                url: String::new(),
                home: stage.path(),
                point: 0,
                now: 0,
                task: Task::Serve(String::new()),
            };
            record_agent_end(&job, second);
            let settled = store
                .finish(second, &worker, &finished_with_answer(), now)
                .await
                .unwrap();
            assert_eq!(settled, WriteOutcome::Committed);
            stage.advance(Duration::from_mins(1));
        }
        // The trigger is due and in time.
        Transition::FireDue | Transition::NonAtomicFire => {
            stage.advance(Duration::from_secs(2));
        }
        // The trigger is due and too late.
        Transition::RecordMissed | Transition::PauseAutomation => {
            stage.advance(Duration::from_hours(1));
        }
        _ => {}
    }
    let about = [session.to_string(), run.to_string(), automation.to_string()];
    (about, taken)
}

/// Lets another process go on until everything is over.
async fn recover(stage: &mut TestBed, transition: Transition, about: &[String; 3]) {
    let (store, worker) = (stage.store.clone(), successor_worker());
    if transition == Transition::PauseSession {
        let session: SessionId = about[0].parse().unwrap();
        let now = stage.instant();
        // The store refuses this if the pause was not committed.
        let _ = store
            .transition_session(Scope::System, session, SessionEvent::Resume, None, now)
            .await;
    }
    for _ in 0..50 {
        let now = stage.advance(Duration::from_mins(4));
        while store.fire_due(Scope::System, now).await.unwrap().has_more {}
        store
            .stall_stale_runs(now.saturating_sub(HEARTBEAT_STALE), now)
            .await
            .unwrap();
        let swept = store.promote_due(now).await.unwrap();
        assert_eq!(swept.missed_promotions, 0, "I3: something was left behind");
        let claimed = store
            .claim(&worker, test_instance(), 9, None, now)
            .await
            .unwrap();
        for claimed in &claimed {
            let begun = store
                .begin(claimed.run, &worker, test_instance(), now, None)
                .await
                .unwrap();
            if !matches!(begun, StartReply::Started(_)) {
                continue;
            }
            let path = stage.path().join("agents");
            let mut file = File::options()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
            writeln!(file, "{}", claimed.run).unwrap();
            let settled = store
                .finish(claimed.run, &worker, &finished_with_answer(), now)
                .await;
            assert_eq!(settled.unwrap(), WriteOutcome::Committed);
        }
        if open_runs(&store).await.is_empty() {
            return;
        }
    }
    panic!(
        "I3: not everything is over: {:#?}",
        open_runs(&store).await.last()
    );
}

/// Checks that each input exists once: the earlier inputs, and the requested one if its transition was committed.
async fn check_inputs_exist_once(
    stage: &TestBed,
    transition: Transition,
    about: &[String; 3],
    committed: bool,
) {
    let (session, automation): (SessionId, AutomationId) =
        (about[0].parse().unwrap(), about[2].parse().unwrap());
    let all = runs_oldest_first(&stage.store).await;
    let first = all.iter().filter(|run| run.attempt == 1);
    let (fired, said): (Vec<_>, Vec<_>) = first
        .filter(|run| run.session_id == Some(session) || run.automation_id == Some(automation))
        .partition(|run| run.automation_id.is_some());
    let asked = usize::from(committed);
    let words = 2 + if transition == Transition::SendMessage {
        asked
    } else {
        0
    };
    assert_eq!(said.len(), words, "I3: {said:#?}");
    // The scheduler fires the only instant, and the fire on demand counts if it was committed.
    let fires = 1 + if transition == Transition::Fire {
        asked
    } else {
        0
    };
    assert_eq!(fired.len(), fires, "I1: {fired:#?}");
}

/// Checks that the aborted worker changes nothing when it continues (I4).
async fn check_crashed_worker_is_fenced(store: &Store, run: RunId, now: Timestamp) {
    let before = snapshot(store).await;
    let worker = crashed_worker();
    let begun = store
        .begin(run, &worker, test_instance(), now, None)
        .await
        .unwrap();
    assert!(matches!(begun, StartReply::Fenced), "I4: {begun:?}");
    for settled in [
        store.record(run, &worker, &[entry(3)], now).await,
        store.append_live_text(run, &worker, 5, "more", now).await,
        store
            .finish(run, &worker, &finished_with_answer(), now)
            .await,
    ] {
        assert_eq!(settled.unwrap(), WriteOutcome::Fenced, "I4");
    }
    assert_eq!(snapshot(store).await, before, "I4");
}
