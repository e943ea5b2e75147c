//! Whole servers with real agent processes, aborted at each point of a turn.

use std::{collections::BTreeSet, time::Duration};

use daemon::{Daemon, WorkerTurnStore, scheduler, watchdog};
use model::{
    AutomationId, RunId, agent::AgentConfig, entity::Run, policy::Policies, run::RunStatus,
    turn::WriteOutcome,
};
use store::{RunFilter, Store};
use testkit::{
    processes::processes_with_marker,
    scripted::{Event, PromptLog, Script, Step},
};
use tokio::time::{Instant, sleep};
use turn::TurnControl;

use crate::{
    checks::{check_history, open_runs, runs_of_filter, snapshot},
    child::{ChildEnd, Job, Task},
    points::Shard,
    stage::{Database, TestBed, host, instant, open},
    tool_calls,
};

/// The longest wait of a test. It is reached only if something hangs.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_mins(1);

/// The interval at which conditions without a signal are polled.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Returns `true` for commits and for effects outside the database. `transitions.rs` tests single statements.
fn is_turn_point(point: &str) -> bool {
    point.starts_with("turn: ") || point == "commit" || point == "committed"
}

/// Returns the runs of an automation, oldest first.
pub(crate) async fn runs_of(store: &Store, automation: AutomationId) -> Vec<Run> {
    let filter = RunFilter {
        automation: Some(automation),
        ..RunFilter::default()
    };
    runs_of_filter(store, filter).await
}

/// Runs the job of a child: serves until the automation's run is over.
pub(crate) async fn serve_until_run_is_over(
    job: &Job,
    automation: &str,
    arm: impl FnOnce(fn(&str) -> bool),
) {
    let automation: AutomationId = automation.parse().unwrap();
    let store = open(&job.url, &job.home).await;
    let (host, _clock) = host(&store, &job.home, instant(job.now));
    arm(is_turn_point);
    let daemon = Daemon::start(host);
    let until = Instant::now() + WAIT_TIMEOUT;
    loop {
        let runs = runs_of(&store, automation).await;
        if runs.iter().any(|run| run.status().is_over()) {
            break;
        }
        assert!(Instant::now() < until, "waited in vain: {runs:#?}");
        sleep(POLL_INTERVAL).await;
    }
    daemon.stop().await;
}

/// Aborts a server at each point of a turn, until a server reaches the end of the turn.
pub(crate) async fn abort_turn_at_each_point(database: Database) {
    let mut stage = TestBed::new(database).await;
    let mut ended_well = BTreeSet::new();
    let shard = Shard::of(database);
    for point in (1..).filter(|point| shard.has(*point)) {
        let script = Script::new(stage.path().join(format!("agent-{point}")))
            .prompt([Step::Thought("Hm.".into()), Step::Echo]);
        let config = AgentConfig::new(script.command().unwrap());
        let name = format!("agent {point}");
        let agent = stage
            .store
            .put_agent(stage.tenant, &name, &config, None, stage.instant());
        let agent = agent.await.unwrap().id;
        let automation = stage
            .create_automation(agent, None, Policies::default())
            .await;
        let now = stage.advance(Duration::from_secs(1));
        let job = Job {
            url: stage.url.clone(),
            home: stage.path(),
            point,
            now: now.as_microsecond(),
            task: Task::Serve(automation.to_string()),
        };
        let died = tokio::task::spawn_blocking(move || job.run())
            .await
            .unwrap();
        recover(&mut stage, automation).await;
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

/// Lets another server go on until everything is over.
async fn recover(stage: &mut TestBed, automation: AutomationId) {
    let (host, clock) = host(&stage.store, stage.home.path(), stage.instant());
    let ledger = WorkerTurnStore::new(host.clone());
    for _ in 0..20 {
        let now = stage.advance(Duration::from_secs(30));
        clock.set(now);
        watchdog::tick(&host, now).await.unwrap();
        scheduler::tick(&host, now).await.unwrap();
        let claimed = stage.store.claim(&host.worker, host.instance, 9, None, now);
        for claimed in claimed.await.unwrap() {
            let run = claimed.run;
            let orders = TurnControl::idle();
            let taken = turn::execute(&ledger, &host.agent_runtime, run, &orders).await;
            taken.unwrap();
        }
        let has_fired = !runs_of(&stage.store, automation).await.is_empty();
        if has_fired && open_runs(&stage.store).await.is_empty() {
            return;
        }
    }
    let open = open_runs(&stage.store).await;
    panic!("I3: not everything of {automation} is over: {open:#?}");
}

/// Compares an automation's runs with the prompt logs of its agents. Returns the runs whose agents ended their turns.
pub(crate) fn check_against_agents(script: &Script, runs: &[Run], died: &ChildEnd) -> Vec<RunId> {
    let ledger = PromptLog::read(&script.prompt_log_path()).unwrap();
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
    // A prompt that may have reached an agent is never sent again unchanged.
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

/// Checks that no process of an ended run is left (I7). The guards kill the processes of the dead server, which may
/// take a moment.
pub(crate) async fn check_no_processes_left(runs: &[Run]) {
    let until = Instant::now() + WAIT_TIMEOUT;
    for run in runs {
        let marker = run.id.to_string();
        while !processes_with_marker(&marker).unwrap().is_empty() {
            assert!(Instant::now() < until, "I7: processes are left of {run:#?}");
            sleep(POLL_INTERVAL).await;
        }
    }
}

/// Checks that the aborted server and its agent change nothing when they continue (I4).
pub(crate) async fn check_crashed_worker_is_fenced(store: &Store, run: &Run) {
    let worker = run.state.worker_id().unwrap();
    let finished = model::turn::TurnResult::with_outcome(model::outcome::Outcome::Stopped(
        model::outcome::StopReason::EndTurn,
    ));
    let before = snapshot(store).await;
    let settled = store.finish(run.id, worker, &finished, run.input_at);
    assert_eq!(settled.await.unwrap(), WriteOutcome::Fenced, "I4: {run:#?}");
    assert_eq!(snapshot(store).await, before, "I4: {run:#?}");
    let session = run.session_id.unwrap();
    if let Some(caller) = tool_calls::caller_of_row(store, run.id, worker.clone()).await {
        tool_calls::check_calls_are_refused(store, &caller, session, run.input_at).await;
    }
}
