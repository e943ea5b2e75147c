//! Whole servers with real agent processes, aborted at each point of a turn.

use std::{collections::BTreeSet, time::Duration};

use daemon::{Daemon, WorkerTurnStore, scheduler, watchdog};
use model::{
    AutomationId, RunId, agent::AgentConfig, entity::Run, policy::Policies, run::RunStatus,
    turn::Settled,
};
use store::{RunFilter, Scope, Store};
use testkit::{
    processes::marked,
    scripted::{Event, Ledger, Script, Step},
};
use tokio::time::{Instant, sleep};
use turn::Orders;

use crate::{
    checks::{check_history, runs, snapshot},
    child::{Died, Job, What},
    stage::{Database, Stage, host, instant, open},
};

/// What nothing here should take.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often the outside world is looked at that sends no signal.
const LOOK: Duration = Duration::from_millis(5);

/// Commits, and what happens outside the database. Single statements are for the transitions.
fn counts(point: &str) -> bool {
    point.starts_with("turn: ") || point == "commit" || point == "committed"
}

/// Runs of an automation, the oldest first.
async fn runs_of(store: &Store, automation: AutomationId) -> Vec<Run> {
    let filter = RunFilter {
        automation: Some(automation),
        ..RunFilter::default()
    };
    let mut runs = store.runs(Scope::System, filter, 100).await.unwrap();
    runs.reverse();
    runs
}

/// What a child does: it serves until the automation's run is over.
pub(crate) async fn serve(job: &Job, automation: &str, arm: impl FnOnce(fn(&str) -> bool)) {
    let automation: AutomationId = automation.parse().unwrap();
    let store = open(&job.url, &job.home).await;
    let (host, _clock) = host(&store, &job.home, instant(job.now));
    arm(counts);
    let daemon = Daemon::start(host);
    let until = Instant::now() + PATIENCE;
    loop {
        let runs = runs_of(&store, automation).await;
        if runs.iter().any(|run| run.status().is_over()) {
            break;
        }
        assert!(Instant::now() < until, "waited in vain: {runs:#?}");
        sleep(LOOK).await;
    }
    daemon.stop().await;
}

/// Aborts a server at each point of a turn, one after another, until one comes to its end.
pub(crate) async fn abort_turn_at_each_point(database: Database) {
    let mut stage = Stage::set(database).await;
    let mut ended_well = BTreeSet::new();
    for point in 1.. {
        let script = Script::new(stage.path().join(format!("agent-{point}")))
            .prompt([Step::Think("Hm.".into()), Step::Echo]);
        let config = AgentConfig::new(script.command().unwrap());
        let name = format!("agent {point}");
        let agent = stage
            .store
            .put_agent(stage.tenant, &name, &config, None, stage.instant());
        let agent = agent.await.unwrap().id;
        let automation = stage.automation(agent, None, Policies::default()).await;
        let now = stage.wait(Duration::from_secs(1));
        let job = Job {
            url: stage.url.clone(),
            home: stage.path(),
            point,
            now: now.as_microsecond(),
            what: What::Serve(automation.to_string()),
        };
        let died = tokio::task::spawn_blocking(move || job.run())
            .await
            .unwrap();
        take_over(&mut stage, automation).await;
        let runs = runs_of(&stage.store, automation).await;
        ended_well.extend(check_against_agents(&script, &runs, &died));
        check_history(&stage.store, &ended_well).await;
        check_no_processes_left(&runs).await;
        if let [first, _, ..] = runs.as_slice() {
            check_crashed_worker_is_fenced(&stage.store, first).await;
        }
        if !died.aborted {
            let count = died.points.len();
            println!("a turn on {database:?}: {count} points: {:?}", died.points);
            assert!(count >= 15, "{:?}", died.points);
            return;
        }
    }
}

/// Another server goes on, until everything is over.
async fn take_over(stage: &mut Stage, automation: AutomationId) {
    let (host, clock) = host(&stage.store, stage.home.path(), stage.instant());
    let ledger = WorkerTurnStore::new(host.clone());
    for _ in 0..20 {
        let now = stage.wait(Duration::from_secs(30));
        clock.set(now);
        watchdog::tick(&host, now).await.unwrap();
        scheduler::tick(&host, now).await.unwrap();
        let claimed = stage.store.claim(&host.worker, host.instance, 9, None, now);
        for claimed in claimed.await.unwrap() {
            let run = claimed.run;
            let orders = Orders::none();
            let taken = turn::execute(&ledger, &host.agents, run, &orders).await;
            taken.unwrap();
        }
        let all = runs(&stage.store).await;
        let fired = all.iter().any(|run| run.automation_id == Some(automation));
        if fired && all.iter().all(|run| run.status().is_over()) {
            return;
        }
    }
    panic!(
        "I3: not everything is over: {:#?}",
        runs(&stage.store).await.last()
    );
}

/// Compares an automation's runs with what its agents wrote down themselves. Gives the runs whose
/// agents ended them well.
fn check_against_agents(script: &Script, runs: &[Run], died: &Died) -> Vec<RunId> {
    let ledger = Ledger::read(&script.ledger()).unwrap();
    ledger.check_turns_disjoint().unwrap();
    let story = format!("{:?}\n{runs:#?}\n{:#?}", died.points.last(), ledger.entries);
    let first = runs.iter().filter(|run| run.attempt == 1);
    assert_eq!(first.count(), 1, "I1: {story}");
    let succeeded: Vec<&Run> = runs
        .iter()
        .filter(|run| run.status() == RunStatus::Succeeded)
        .collect();
    assert_eq!(succeeded.len(), 1, "I3: {story}");
    let end = Event::PromptFinished("end_turn".into());
    let ended = ledger.events().filter(|event| **event == end).count();
    assert!((1..=runs.len()).contains(&ended), "I6: {story}");
    let prompts = ledger.prompts();
    assert!((1..=runs.len()).contains(&prompts.len()), "I2: {story}");
    // What may have reached an agent is never sent blindly again.
    let begun = runs
        .iter()
        .filter(|run| run.state.started_at().is_some())
        .count();
    if let [first, second] = prompts.as_slice() {
        assert_ne!(first, second, "{story}");
    } else {
        assert!(prompts.len() == 1 && begun <= 2, "{story}");
    }
    succeeded.iter().map(|run| run.id).collect()
}

/// No process of an ended run is left (I7). Those of the dead server are killed by their guard, which
/// may take a moment.
async fn check_no_processes_left(runs: &[Run]) {
    let until = Instant::now() + PATIENCE;
    for run in runs {
        let marker = run.id.to_string();
        while !marked(&marker).unwrap().is_empty() {
            assert!(Instant::now() < until, "I7: processes are left of {run:#?}");
            sleep(LOOK).await;
        }
    }
}

/// The server that died wakes, and changes nothing (I4).
async fn check_crashed_worker_is_fenced(store: &Store, run: &Run) {
    let worker = run.state.worker_id().unwrap();
    let finished = model::turn::Finished::bare(model::outcome::Outcome::Stopped(
        model::outcome::StopReason::EndTurn,
    ));
    let before = snapshot(store).await;
    let settled = store.finish(run.id, worker, &finished, run.input_at);
    assert_eq!(settled.await.unwrap(), Settled::Lost, "I4: {run:#?}");
    assert_eq!(snapshot(store).await, before, "I4: {run:#?}");
}
