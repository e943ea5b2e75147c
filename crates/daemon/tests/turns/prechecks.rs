//! Prechecks: commands that run before the turn.

use std::{path::PathBuf, time::Duration};

use daemon::{Daemon, WorkerTurnStore};
use model::{
    Clock as _, RunId,
    entity::{Run, RunRecord},
    policy::SessionMode,
    precheck::Precheck,
    run::RunStatus,
};
use store::NewAutomation;
use testkit::{
    processes::processes_with_marker,
    scripted::{Crash, Script, Step},
};
use turn::TurnControl;

use crate::world::{World, eventually, on_demand, prompt_log, wait_for_file};

/// Returns a precheck that runs a shell script.
fn shell_precheck(words: &str) -> Precheck {
    let command = ["/bin/sh", "-c", words].map(str::to_owned);
    Precheck::new(command.to_vec())
}

/// Creates an automation with a precheck. Returns it with the script of its agent.
async fn automation_with_precheck(
    world: &World,
    script: &Script,
    precheck: Precheck,
) -> NewAutomation {
    let agent = world.agent(script).await;
    let mut new = on_demand(agent);
    new.session_mode = SessionMode::Fresh;
    new.policies.precheck = Some(precheck);
    new
}

/// Fires such an automation and takes its turn.
async fn take_turn_with_precheck(world: &World, script: &Script, precheck: Precheck) -> Run {
    let new = automation_with_precheck(world, script, precheck).await;
    let run = world.fire(world.create_automation(&new).await).await;
    world.take_turn(run).await
}

async fn run_record(world: &World, run: RunId) -> RunRecord {
    let record = world.store().run_record(world.scope(), run).await;
    record.unwrap().unwrap()
}

pub(crate) async fn accepting_precheck_is_followed_by_turn(world: &World) {
    let script = world.script().prompt([Step::Echo]);
    let run = take_turn_with_precheck(world, &script, shell_precheck("echo there is news")).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert!(!run.state.flags().precheck_unclear);
    let kept = &run_record(world, run.id).await.diagnostics["precheck"];
    assert_eq!(kept["ended"], "exit code 0");
    assert_eq!(kept["output_tail"], "there is news\n");
    assert_eq!(prompt_log(&script).prompts().len(), 1);
}

pub(crate) async fn declining_precheck_skips_run_and_starts_no_agent(world: &World) {
    let script = world.script().prompt([Step::Echo]);
    let new = automation_with_precheck(
        world,
        &script,
        shell_precheck("echo nothing new >&2; exit 1"),
    )
    .await;
    let automation = world.create_automation(&new).await;
    let run = world.fire(automation).await;
    let session = world.run(run).await.session_id.unwrap();
    let cwd = world.store().session(world.scope(), session).await;
    let folder = PathBuf::from(
        world
            .store()
            .working_directory(cwd.unwrap().cwd.as_deref(), session),
    );
    assert!(folder.ends_with(session.to_string()));
    let run = world.take_turn(run).await;
    assert_eq!(run.status(), RunStatus::Skipped, "{run:#?}");
    assert_eq!(run.state.reason(), Some("precheck"));
    let kept = &run_record(world, run.id).await.diagnostics["precheck"];
    assert_eq!(kept["ended"], "exit code 1");
    assert_eq!(kept["output_tail"], "nothing new\n");
    assert!(!script.prompt_log_path().exists(), "an agent was started");
    // The skipped run leaves no empty session.
    let gone = world.store().session(world.scope(), session).await;
    assert!(matches!(gone, Err(store::Error::NotFound { .. })));
    assert!(!folder.exists(), "its folder is left");
    assert!(folder.parent().unwrap().exists(), "it had never been there");
    assert_eq!(
        world.automation_of(automation).await.consecutive_failures,
        0
    );
}

pub(crate) async fn files_left_by_declining_precheck_are_kept(world: &World) {
    let script = world.script();
    let new =
        automation_with_precheck(world, &script, shell_precheck("echo 3 > seen; exit 1")).await;
    let run = world.fire(world.create_automation(&new).await).await;
    let session = world.run(run).await.session_id.unwrap();
    let cwd = world.store().session(world.scope(), session).await;
    let folder = PathBuf::from(
        world
            .store()
            .working_directory(cwd.unwrap().cwd.as_deref(), session),
    );
    assert_eq!(world.take_turn(run).await.status(), RunStatus::Skipped);
    let gone = world.store().session(world.scope(), session).await;
    assert!(matches!(gone, Err(store::Error::NotFound { .. })));
    let seen = std::fs::read_to_string(folder.join("seen"));
    assert_eq!(seen.unwrap(), "3\n");

    // A folder that the user chose is never removed, even if it is empty.
    let given = world.path("given");
    std::fs::create_dir(&given).unwrap();
    let mut new = automation_with_precheck(world, &script, shell_precheck("exit 1")).await;
    new.name = "given".into();
    new.cwd = Some(given.to_str().unwrap().to_owned());
    let run = world.fire(world.create_automation(&new).await).await;
    assert_eq!(world.take_turn(run).await.status(), RunStatus::Skipped);
    assert!(given.exists());
}

pub(crate) async fn unclear_precheck_is_followed_by_turn_and_flagged(world: &World) {
    let nowhere = Precheck::new(vec!["/nowhere/check".into()]);
    let mut script = world.script();
    for _ in 0..4 {
        script = script.prompt([Step::Echo]);
    }
    let mut new = automation_with_precheck(world, &script, nowhere.clone()).await;
    for (number, (precheck, ended)) in [
        (nowhere, "not started: "),
        (shell_precheck("exit 3"), "exit code 3"),
        (shell_precheck("kill -9 $$"), "signal 9"),
        (shell_precheck("exit 127"), "exit code 127"),
    ]
    .into_iter()
    .enumerate()
    {
        new.name = format!("asking {number}");
        new.policies.precheck = Some(precheck);
        let run = world.fire(world.create_automation(&new).await).await;
        let run = world.take_turn(run).await;
        assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
        assert!(run.state.flags().precheck_unclear, "{ended}");
        let record = run_record(world, run.id).await;
        let kept = record.diagnostics["precheck"]["ended"].as_str().unwrap();
        assert!(kept.starts_with(ended), "{kept}");
        assert!(record.diagnostics["process"].is_object(), "{record:?}");
    }
    assert_eq!(prompt_log(&script).prompts().len(), 4);
}

pub(crate) async fn precheck_over_time_limit_is_killed_with_descendants(world: &World) {
    let script = world.script().prompt([Step::Echo]);
    let child = world.path("child");
    // The command starts a process that leaves its process group and ignores SIGTERM.
    let words = format!(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > {0}.new; mv {0}.new {0}; \
         while :; do sleep 1000; done' & echo begun; while :; do sleep 1000; done",
        child.display()
    );
    let mut precheck = shell_precheck(&words);
    precheck.timeout_seconds = 1;
    let run = take_turn_with_precheck(world, &script, precheck).await;
    assert!(child.exists(), "it had not begun");
    assert!(
        processes_with_marker(&run.id.to_string())
            .unwrap()
            .is_empty()
    );
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert!(run.state.flags().precheck_unclear);
    let kept = &run_record(world, run.id).await.diagnostics["precheck"];
    assert_eq!(kept["ended"], "timeout");
    assert_eq!(kept["output_tail"], "begun\n");
}

pub(crate) async fn precheck_environment_names_run_and_has_no_secrets(world: &World) {
    let script = world.script();
    let mut host = world.host.clone();
    let server = [("PATH", "/usr/bin:/bin"), ("DATABASE_URL", "secret")];
    host.agent_runtime.environment = server
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let told = world.path("told");
    let words = format!(
        "env > {0}.new; pwd >> {0}.new; wc -c >> {0}.new; mv {0}.new {0}; exit 1",
        told.display()
    );
    let new = automation_with_precheck(world, &script, shell_precheck(&words)).await;
    let automation = world.create_automation(&new).await;
    let run = world.fire(automation).await;
    let scheduled_for = world.run(run).await.scheduled_for.unwrap();
    let session = world.run(run).await.session_id.unwrap();
    let cwd = world.store().session(world.scope(), session).await;
    let cwd = world
        .store()
        .working_directory(cwd.unwrap().cwd.as_deref(), session);
    let daemon = Daemon::start(host);
    world.wait_until_over(run).await;
    daemon.stop().await;
    let told = std::fs::read_to_string(told).unwrap();
    for line in [
        format!("MATINS_AUTOMATION_ID={automation}"),
        format!("MATINS_AUTOMATION_NAME={}", new.name),
        format!("MATINS_SCHEDULED_FOR={scheduled_for}"),
        format!("MATINS_RUN={run}"),
        "PATH=/usr/bin:/bin".into(),
        cwd,
        // The standard input is closed.
        "0".into(),
    ] {
        assert!(told.lines().any(|told| told == line), "{line}\n{told}");
    }
    // The mark by which the process is found if this worker dies.
    let worker = format!("MATINS_RUN_WORKER={}@", world.host.worker);
    assert!(told.lines().any(|line| line.starts_with(&worker)), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

pub(crate) async fn large_precheck_output_is_drained_and_tail_is_kept(world: &World) {
    let script = world.script();
    let words = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the last word; exit 1";
    let run = take_turn_with_precheck(world, &script, shell_precheck(words)).await;
    assert_eq!(run.status(), RunStatus::Skipped, "{run:#?}");
    let record = run_record(world, run.id).await;
    let tail = record.diagnostics["precheck"]["output_tail"].as_str();
    let tail = tail.unwrap();
    assert!(tail.ends_with("the last word\n"), "{tail}");
    assert_eq!(tail.len(), 8 * 1024);
}

pub(crate) async fn retry_does_not_repeat_precheck(world: &World) {
    let asked = world.path("asked");
    let mut script = world.script().prompt([Step::Echo]);
    script.before_initialize = vec![Step::Crash(Crash::Exit(7))];
    // The precheck declines only its second run.
    let words = format!("test ! -e '{0}' && touch '{0}'", asked.display());
    let run = take_turn_with_precheck(world, &script, shell_precheck(&words)).await;
    assert_eq!(run.status(), RunStatus::Failed, "{run:#?}");
    let kept = &run_record(world, run.id).await.diagnostics["precheck"];
    assert_eq!(kept["ended"], "exit code 0");
    script.before_initialize.clear();
    script.command().unwrap();
    let attempts = world.attempts(run.id).await;
    let again = world.take_after_backoff(&attempts[1]).await;
    assert_eq!(again.status(), RunStatus::Succeeded, "{again:#?}");
    let record = run_record(world, again.id).await;
    assert!(record.diagnostics["precheck"].is_null());
}

pub(crate) async fn run_is_cancelled_during_precheck(world: &World) {
    let script = world.script();
    let began = world.path("began");
    let words = format!("touch '{}'; sleep 1000", began.display());
    let new = automation_with_precheck(world, &script, shell_precheck(&words)).await;
    let run = world.fire(world.create_automation(&new).await).await;
    let daemon = world.daemon();
    wait_for_file(&began).await;
    assert_eq!(world.cancel(run, "not wanted").await, RunStatus::Delivered);
    daemon.signals().wake();
    let run = world.wait_until_over(run).await;
    daemon.stop().await;
    assert_eq!(run.status(), RunStatus::Cancelled, "{run:#?}");
    assert_eq!(run.state.reason(), Some("not wanted"));
    assert!(!script.prompt_log_path().exists(), "an agent was started");
}

pub(crate) async fn stopping_server_requeues_run_in_precheck(world: &World) {
    let script = world.script().prompt([Step::Echo]);
    let (began, go_on) = (world.path("began"), world.path("goes on"));
    let words = format!(
        "touch '{}'; test -e '{}' || sleep 1000",
        began.display(),
        go_on.display()
    );
    let new = automation_with_precheck(world, &script, shell_precheck(&words)).await;
    let first = world.fire(world.create_automation(&new).await).await;
    let host = world.host_with(|settings, _| settings.stop_deadline = Duration::ZERO);
    let daemon = Daemon::start(host);
    wait_for_file(&began).await;
    assert_eq!(daemon.stop().await.requeued, 1);
    crate::invariants::check(world).await;
    let attempts = world.attempts(first).await;
    assert_eq!(attempts[0].state.reason(), Some("handed_back"));
    assert_eq!(attempts[1].status(), RunStatus::Queued);

    // The next attempt runs the precheck again, because its verdict was not recorded.
    crate::world::create_file(&go_on);
    let second = world.take_turn(attempts[1].id).await;
    assert_eq!(second.status(), RunStatus::Succeeded, "{second:#?}");
    let kept = &run_record(world, second.id).await.diagnostics["precheck"];
    assert_eq!(kept["ended"], "exit code 0");
}

pub(crate) async fn heartbeat_is_renewed_during_precheck(world: &World) {
    let script = world.script();
    let began = world.path("began");
    let words = format!("touch '{}'; sleep 1000", began.display());
    let new = automation_with_precheck(world, &script, shell_precheck(&words)).await;
    let run = world.fire(world.create_automation(&new).await).await;
    let (host, now) = (&world.host, world.clock.now());
    let store = world.store();
    let claimed = store.claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    let orders = TurnControl::idle();
    let turn = tokio::spawn({
        let (host, orders) = (world.host.clone(), orders.clone());
        async move {
            let ledger = WorkerTurnStore::new(host.clone());
            turn::execute(&ledger, &host.agent_runtime, run, &orders).await
        }
    });
    wait_for_file(&began).await;
    let later = world.clock.advance(Duration::from_hours(1));
    orders.heartbeat_now.notify_one();
    eventually("a heartbeat", async || {
        let oldest = world.store().oldest_heartbeat().await.unwrap();
        (oldest == Some(later)).then_some(())
    })
    .await;

    // The run is given up. The worker learns that at the next heartbeat and kills the command.
    let now = world.clock.advance(Duration::from_hours(24));
    assert_eq!(
        world.store().stall_stale_runs(now, now).await.unwrap(),
        [run]
    );
    orders.heartbeat_now.notify_one();
    assert_eq!(turn.await.unwrap().unwrap(), turn::TurnEnd::Lost);
    assert!(processes_with_marker(&run.to_string()).unwrap().is_empty());
    assert_eq!(world.run(run).await.status(), RunStatus::Stalled);
}

pub(crate) async fn lease_of_precheck_counts_from_before_its_claim(world: &World) {
    const LEASE: Duration = Duration::from_mins(1);
    let script = world.script();
    let new = automation_with_precheck(world, &script, shell_precheck("sleep 1000")).await;
    let run = world.fire(world.create_automation(&new).await).await;
    let (host, now) = (&world.host, world.clock.now());
    let claimed = world
        .store()
        .claim(&host.worker, host.instance, 1, Some(run), now);
    assert_eq!(claimed.await.unwrap().len(), 1);
    // The reply to the claim was under way for the whole lease.
    let mut control = TurnControl::idle();
    control.claim_sent_at = control.claim_sent_at.saturating_sub(LEASE);
    let mut agents = host.agent_runtime.clone();
    agents.lease = LEASE;
    let store = WorkerTurnStore::new(host.clone());
    let turn = turn::execute(&store, &agents, run, &control);
    let ended = tokio::time::timeout(LEASE / 2, turn).await;
    assert!(ended.is_ok(), "the precheck outlives the lease");
    assert!(processes_with_marker(&run.to_string()).unwrap().is_empty());
    assert_eq!(world.run(run).await.status(), RunStatus::Stalled);
    assert_eq!(world.attempts(run).await.len(), 2);
    assert!(!script.prompt_log_path().exists(), "an agent was started");
}
