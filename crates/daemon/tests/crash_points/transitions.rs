//! One transition after another, aborted at each of its points. The agents are made up; what they did
//! is in a file that is synced before the transition that tells of it.

use std::{collections::BTreeSet, fs::File, io::Write as _, time::Duration};

use model::{
    AcpSessionId, AutomationId, MessageId, RunId, SessionId, Timestamp, WorkerId,
    outcome::{Failure, FailureKind, Outcome, StopReason},
    policy::{CatchUp, Policies, Retry},
    session::SessionEvent,
    turn::{Begin, Entry, EntryKind, Finished, Role, Settled},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Scope, Store, database::Statement, params};
use uuid::Uuid;

use crate::{
    checks::{check_history, check_state, runs, snapshot},
    child::{Died, Job, What},
    stage::{Database, Stage, here, instant, open},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Transition {
    Say,
    Fire,
    FireDue,
    Miss,
    Claim,
    Begin,
    Record,
    WriteLive,
    Finish,
    Fail,
    Stall,
    Promote,
    Cancel,
    Pause,
    Close,
    Hold,
    /// Not the product's: what is due is put off, fired and put back, in transactions of their own.
    Torn,
}

/// How old a heartbeat is that is stale.
const STALE: Duration = Duration::from_mins(3);

/// The worker that dies.
fn mortal() -> WorkerId {
    WorkerId::from_stored("elsewhere-1-aaaaaaaa".into())
}

/// The worker that takes over.
fn heir() -> WorkerId {
    WorkerId::from_stored("elsewhere-2-bbbbbbbb".into())
}

fn answer() -> Finished {
    Finished {
        answer: "Done.".into(),
        acp_session_id: Some(AcpSessionId::new("memory")),
        turn_ended: true,
        ..Finished::bare(Outcome::Stopped(StopReason::EndTurn))
    }
}

fn failure() -> Finished {
    Finished::bare(Outcome::Failed(Failure {
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
    /// What a child does. Everything before is in the database already.
    pub(crate) async fn happen(
        self,
        job: &Job,
        [session, run, automation]: &[String; 3],
        arm: impl FnOnce(fn(&str) -> bool),
    ) {
        let store = open(&job.url, &job.home).await;
        let now = instant(job.now);
        let tenant = store.ensure_tenant("default", now).await.unwrap();
        let session: SessionId = session.parse().unwrap();
        let run: RunId = run.parse().unwrap();
        let automation: AutomationId = automation.parse().unwrap();
        let (worker, scope) = (mortal(), Scope::System);
        if self == Self::Finish {
            // The agent says so before anybody writes it.
            ended_well(job, run);
        }
        arm(|_| true);
        match self {
            Self::Say => {
                store
                    .say(tenant, session, None, "hello", now)
                    .await
                    .unwrap();
            }
            Self::Fire => {
                store.fire(tenant, automation, None, now).await.unwrap();
            }
            Self::FireDue | Self::Miss => {
                store.fire_due(scope, now).await.unwrap();
            }
            Self::Claim => {
                let claimed = store.claim(&worker, here(), 9, None, now).await.unwrap();
                assert!(!claimed.is_empty());
            }
            Self::Begin => {
                let begun = store.begin(run, &worker, here(), now).await.unwrap();
                assert!(matches!(begun, Begin::Started(_)), "{begun:?}");
            }
            Self::Record => {
                let entries = [
                    entry(run.uuid().as_u128() ^ 1),
                    entry(run.uuid().as_u128() ^ 2),
                ];
                let settled = store.record(run, &worker, &entries, now).await.unwrap();
                assert_eq!(settled, Settled::Written);
            }
            Self::WriteLive => {
                let settled = store.write_live(run, &worker, 0, "hello", now).await;
                assert_eq!(settled.unwrap(), Settled::Written);
            }
            Self::Finish => {
                let settled = store.finish(run, &worker, &answer(), now).await.unwrap();
                assert_eq!(settled, Settled::Written);
            }
            Self::Fail => {
                let settled = store.finish(run, &worker, &failure(), now).await.unwrap();
                assert_eq!(settled, Settled::Written);
            }
            Self::Stall => {
                let stalled = store.stall(now.saturating_sub(STALE), now).await.unwrap();
                assert_eq!(stalled, [run]);
            }
            Self::Promote => {
                let swept = store.promote_due(now).await.unwrap();
                assert_eq!((swept.backoffs, swept.faults), (1, 0));
            }
            Self::Cancel => {
                let failure_as_cancellation =
                    store.cancel_session_runs(scope, session, "enough", now);
                assert_eq!(failure_as_cancellation.await.unwrap(), 2);
            }
            Self::Pause | Self::Close => {
                let event = match self {
                    Self::Pause => SessionEvent::Pause,
                    _ => SessionEvent::Complete,
                };
                let moved = store.move_session(scope, session, event, None, now);
                moved.await.unwrap();
            }
            Self::Torn => {
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
            Self::Hold => {
                let paused = store.pause_automation(scope, automation, "enough", now);
                paused.await.unwrap();
            }
        }
    }

    /// How far the run is when the transition comes: queued, delivered or running.
    fn prepared(self) -> u8 {
        match self {
            Self::Begin => 1,
            Self::Record | Self::WriteLive | Self::Finish | Self::Fail | Self::Stall => 2,
            Self::Promote => 3,
            _ => 0,
        }
    }
}

/// Writes down that the agent of a run ended its turn.
fn ended_well(job: &Job, run: RunId) {
    let path = job.home.join("agents");
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    writeln!(file, "{run}").unwrap();
    file.sync_all().unwrap();
}

fn agents(stage: &Stage) -> BTreeSet<RunId> {
    let ledger = std::fs::read_to_string(stage.path().join("agents"));
    let ledger = ledger.unwrap_or_default();
    ledger.lines().map(|line| line.parse().unwrap()).collect()
}

/// Aborts a process at each point of a transition, one after another, until one comes to its end.
pub(crate) async fn abort_at_each_point(transition: Transition, database: Database) {
    let mut stage = Stage::set(database).await;
    for point in 1.. {
        let (about, run) = prepare(&mut stage, transition).await;
        let job = Job {
            url: stage.url.clone(),
            home: stage.path(),
            point,
            now: stage.now,
            what: What::Transition(transition, about.clone()),
        };
        let before = snapshot(&stage.store).await;
        let died = job.run();
        let changed = snapshot(&stage.store).await != before;
        check_state(&stage.store).await;
        let last = died.points.last().map_or("", String::as_str);
        // All of it or nothing: there is one commit, and it is what makes the difference.
        let committed = died.points.iter().any(|point| point == "committed");
        assert_eq!(
            changed, committed,
            "point {point}, {last}: {:?}",
            died.points
        );

        take_over(&mut stage, transition, &about).await;
        check_inputs_exist_once(&stage, transition, &about, committed).await;
        if let Some(run) = run {
            check_crashed_worker_is_fenced(&stage.store, run, stage.instant()).await;
        }
        check_history(&stage.store, &agents(&stage)).await;
        if !died.aborted {
            report(transition, database, &died);
            return;
        }
        assert_eq!(died.points.len() as u64, point);
    }
}

fn report(transition: Transition, database: Database, died: &Died) {
    let count = died.points.len();
    assert!(count >= 3, "{transition:?} has {:?}", died.points);
    println!(
        "{transition:?} on {database:?}: {count} points: {:?}",
        died.points
    );
}

/// Brings about what the transition meets: a run with another one behind it, and an automation.
async fn prepare(stage: &mut Stage, transition: Transition) -> ([String; 3], Option<RunId>) {
    let (session, key) = stage.session().await;
    let policies = Policies {
        retry: Retry {
            backoff_seconds: 10,
            ..Retry::default()
        },
        catch_up: match transition {
            Transition::Miss => CatchUp::None,
            _ => CatchUp::Latest,
        },
        ..Policies::default()
    };
    let agent = stage.agent;
    let automation = stage.automation(agent, Some(key), policies).await;
    let (tenant, store) = (stage.tenant, stage.store.clone());
    let said = store
        .say(tenant, session, None, "First", stage.instant())
        .await;
    let run = said.unwrap().run_id;
    stage.wait(Duration::from_millis(1));
    store
        .say(tenant, session, None, "Second", stage.instant())
        .await
        .unwrap();
    let (worker, now, here) = (mortal(), stage.instant(), here());
    let mut taken = None;
    if transition.prepared() >= 1 {
        store.claim(&worker, here, 1, Some(run), now).await.unwrap();
        taken = Some(run);
    }
    if transition.prepared() >= 2 {
        let begun = store.begin(run, &worker, here, now).await.unwrap();
        assert!(matches!(begun, Begin::Started(_)), "{begun:?}");
    }
    match transition {
        Transition::Stall => {
            stage.wait(STALE + Duration::from_secs(1));
        }
        Transition::Promote => {
            let settled = store.finish(run, &worker, &failure(), now).await.unwrap();
            assert_eq!(settled, Settled::Written);
            // The second one leaves, so that only the backoff is waited for.
            let second = store.claim(&worker, here, 1, None, now).await.unwrap()[0].run;
            store.begin(second, &worker, here, now).await.unwrap();
            let job = Job {
                url: String::new(),
                home: stage.path(),
                point: 0,
                now: 0,
                what: What::Serve(String::new()),
            };
            ended_well(&job, second);
            let settled = store.finish(second, &worker, &answer(), now).await.unwrap();
            assert_eq!(settled, Settled::Written);
            stage.wait(Duration::from_mins(1));
        }
        // Due, and in time.
        Transition::FireDue | Transition::Torn => {
            stage.wait(Duration::from_secs(2));
        }
        // Due, and too late.
        Transition::Miss | Transition::Hold => {
            stage.wait(Duration::from_hours(1));
        }
        _ => {}
    }
    let about = [session.to_string(), run.to_string(), automation.to_string()];
    (about, taken)
}

/// Another process goes on, until everything is over.
async fn take_over(stage: &mut Stage, transition: Transition, about: &[String; 3]) {
    let (store, worker) = (stage.store.clone(), heir());
    if transition == Transition::Pause {
        let session: SessionId = about[0].parse().unwrap();
        let now = stage.instant();
        // Refused where the pause has not come to pass.
        let _ = store
            .move_session(Scope::System, session, SessionEvent::Resume, None, now)
            .await;
    }
    for _ in 0..50 {
        let now = stage.wait(Duration::from_mins(4));
        while store.fire_due(Scope::System, now).await.unwrap().more {}
        store.stall(now.saturating_sub(STALE), now).await.unwrap();
        let swept = store.promote_due(now).await.unwrap();
        assert_eq!(swept.faults, 0, "I3: something was left behind");
        let claimed = store.claim(&worker, here(), 9, None, now).await.unwrap();
        for claimed in &claimed {
            let begun = store
                .begin(claimed.run, &worker, here(), now)
                .await
                .unwrap();
            if !matches!(begun, Begin::Started(_)) {
                continue;
            }
            let path = stage.path().join("agents");
            let mut file = File::options()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
            writeln!(file, "{}", claimed.run).unwrap();
            let settled = store.finish(claimed.run, &worker, &answer(), now).await;
            assert_eq!(settled.unwrap(), Settled::Written);
        }
        let open = runs(&store)
            .await
            .into_iter()
            .any(|run| !run.status().is_over());
        if !open {
            return;
        }
    }
    panic!(
        "I3: not everything is over: {:#?}",
        runs(&store).await.last()
    );
}

/// The inputs are there once each: those that were there before, and the one that was asked for, if
/// that was committed.
async fn check_inputs_exist_once(
    stage: &Stage,
    transition: Transition,
    about: &[String; 3],
    committed: bool,
) {
    let (session, automation): (SessionId, AutomationId) =
        (about[0].parse().unwrap(), about[2].parse().unwrap());
    let all = runs(&stage.store).await;
    let first = all.iter().filter(|run| run.attempt == 1);
    let (fired, said): (Vec<_>, Vec<_>) = first
        .filter(|run| run.session_id == Some(session) || run.automation_id == Some(automation))
        .partition(|run| run.automation_id.is_some());
    let asked = usize::from(committed);
    let words = 2 + if transition == Transition::Say {
        asked
    } else {
        0
    };
    assert_eq!(said.len(), words, "I3: {said:#?}");
    // Its one instant is due to whoever looks, and by hand it was fired if that was committed.
    let fires = 1 + if transition == Transition::Fire {
        asked
    } else {
        0
    };
    assert_eq!(fired.len(), fires, "I1: {fired:#?}");
}

/// The worker that died wakes, and changes nothing (I4).
async fn check_crashed_worker_is_fenced(store: &Store, run: RunId, now: Timestamp) {
    let before = snapshot(store).await;
    let worker = mortal();
    let begun = store.begin(run, &worker, here(), now).await.unwrap();
    assert!(matches!(begun, Begin::Lost), "I4: {begun:?}");
    for settled in [
        store.record(run, &worker, &[entry(3)], now).await,
        store.write_live(run, &worker, 5, "more", now).await,
        store.finish(run, &worker, &answer(), now).await,
    ] {
        assert_eq!(settled.unwrap(), Settled::Lost, "I4");
    }
    assert_eq!(snapshot(store).await, before, "I4");
}
