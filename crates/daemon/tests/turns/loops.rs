//! The loops: punctuality, concurrency, and clocks that are set.

use std::{sync::Arc, time::Duration};

use daemon::scheduler;
use model::{
    Clock as _, limits,
    policy::{CatchUp, SessionMode},
    run::RunStatus,
    schedule::Spec,
};
use store::{Scope, Store, database::Statement, params};
use testkit::{
    clock::SeededEntropy,
    scripted::{Event, Script, Step},
};

use crate::world::{
    World, at, automation, create_file, eventually, on_demand, prompt_log, unique_seed,
    wait_for_file,
};

/// The longest time until the loops notice that a clock was set: one second of sleep, plus the delay of a busy machine.
const CLOCK_REACTION_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn scheduler_sleeps_until_due_instant(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    world
        .create_automation(&automation(agent, SessionMode::Continuous))
        .await;
    let due = at("2026-11-24T08:00:00Z");
    world.clock.set(at("2026-11-23T08:00:00Z"));
    world.fire_due().await;
    world.take_turns().await;

    // A microsecond before the instant, no trigger is due, and the tick requests the instant as its next time.
    world
        .clock
        .set(due.saturating_sub(Duration::from_micros(1)));
    let now = world.clock.now();
    let tick = scheduler::tick(&world.host, now).await.unwrap();
    assert_eq!((tick.started, tick.next), (0, Some(due)));

    // No signal wakes the loops, and the polling interval is one hour.
    let daemon = world.daemon();
    world.clock.set(due);
    let second = eventually("the second run", async || {
        world.runs().await.into_iter().nth(1)
    });
    let second = tokio::time::timeout(CLOCK_REACTION_TIMEOUT, second)
        .await
        .unwrap();
    assert_eq!(second.scheduled_for, Some(due));
    assert_eq!(
        world.wait_until_over(second.id).await.status(),
        RunStatus::Succeeded
    );
    daemon.stop().await;
    assert_eq!(world.runs().await.len(), 2);
}

pub(crate) async fn trigger_due_during_fire_burst_fires_in_same_tick(world: &World) {
    let agent = world.agent(&world.script()).await;
    let due = at("2026-11-24T08:00:00Z");
    let once = |at| Spec::At {
        at,
        zone: "UTC".into(),
    };
    let mut flood = automation(agent, SessionMode::Fresh);
    flood.name = "flood".into();
    flood.triggers = vec![once(due); limits::TRIGGERS_PER_FIRE as usize + 1];
    world.create_automation(&flood).await;
    let mut one = automation(agent, SessionMode::Fresh);
    one.triggers = vec![once(due + Duration::from_micros(1))];
    let one = world.create_automation(&one).await;

    // The trigger was not due when the tick began, and is due at the second transaction.
    world.clock.set(due + Duration::from_micros(1));
    let tick = scheduler::tick(&world.host, due).await.unwrap();
    assert_eq!(tick.next, None);
    let runs = world.runs().await;
    let own = runs.iter().filter(|run| run.automation_id == Some(one));
    assert_eq!(own.count(), 1);
}

/// Returns a store over the same database that shares nothing with this process's own store, as in another process.
async fn store_of_other_process(world: &World) -> Store {
    let location = world.database.url().parse().unwrap();
    let opened = store::open(&location).await.unwrap();
    let entropy = Arc::new(SeededEntropy::new(unique_seed()));
    Store::new(opened, entropy, world.path("sessions"))
}

pub(crate) async fn work_of_command_without_server_is_noticed(world: &World) {
    let agent = world.agent(&world.script()).await;
    let session = world.session(agent).await;
    let on_demand = world.create_automation(&on_demand(agent)).await;
    // The command finds no server and opens the database itself. Then the server starts and reads what is due.
    let command = store_of_other_process(world).await;
    let daemon = world.daemon();
    let first = world.send_message(session, "First").await;
    daemon.signals().wake();
    world.wait_until_over(first).await;

    // The command commits after that. No signal of this process wakes the loops, and the tick is one hour.
    let sent = command.send_message(world.tenant, session, None, "Second", world.clock.now());
    world.wait_until_over(sent.await.unwrap().run_id).await;
    let fired = command.fire_automation(world.tenant, on_demand, None, world.clock.now());
    world.wait_until_over(fired.await.unwrap().run_id).await;
    let mut daily = automation(agent, SessionMode::Fresh);
    daily.name = "daily report".into();
    daily.placed_on = world.placed_on;
    let created = command.create_automation(world.tenant, None, &daily, world.clock.now());
    let daily = created.await.unwrap();
    world.clock.set(at("2026-11-23T08:00:00Z"));
    let run = eventually("the run of the schedule", async || {
        let runs = world.runs().await;
        runs.into_iter()
            .find(|run| run.automation_id == Some(daily))
    });
    let run = world.wait_until_over(run.await.id).await;
    assert_eq!(run.status(), RunStatus::Succeeded);
    daemon.stop().await;
    command.database().clone().close().await;
}

pub(crate) async fn tick_after_update_of_zone_rules_moves_next_runs(world: &World) {
    let agent = world.agent(&world.script()).await;
    let mut new = automation(agent, SessionMode::Fresh);
    new.triggers = vec![Spec::Cron {
        expression: "0 9 * * *".into(),
        zone: "Europe/Prague".into(),
    }];
    let automation = world.create_automation(&new).await;
    world.clock.set(at("2026-11-24T08:30:00Z"));
    // Rules of another edition, by which Prague is an hour further west, have computed the run of nine o'clock.
    let sql = "update automation_triggers set next_scheduled_for = $1, next_fire_at = $1, zone_rules = '2020a', \
               zone_rules_for = $1, decided_until = $2, decided_offset = 0 where kind = 'cron'";
    let statement = Box::leak(Box::new(Statement::new("older rules", sql, sql)));
    let params = params![at("2026-11-24T09:00:00Z"), at("2026-11-23T09:00:00Z")];
    let mut tx = world.store().database().begin(Scope::System).await.unwrap();
    tx.execute(statement, params).await.unwrap();
    tx.commit().await.unwrap();

    // The moved instant has passed, so that the next tick must follow at once and fire it.
    let now = world.clock.now();
    let tick = scheduler::tick(&world.host, now).await.unwrap();
    assert_eq!((tick.started, tick.next), (0, Some(now)));
    let tick = scheduler::tick(&world.host, now).await.unwrap();
    let next = at("2026-11-25T08:00:00Z");
    assert_eq!((tick.started, tick.next), (1, Some(next)));
    let runs = world.runs().await;
    let own = runs
        .iter()
        .filter(|run| run.automation_id == Some(automation));
    let instants: Vec<_> = own.map(|run| run.scheduled_for).collect();
    assert_eq!(instants, [Some(at("2026-11-24T08:00:00Z"))]);
}

/// Returns a script in its own folder, whose turn reports its start and then waits for a file.
fn script_waiting_for_file(world: &World, name: &str) -> Script {
    Script::new(world.path(name)).prompt([
        Step::Touch(world.path(&format!("{name} began"))),
        Step::WaitFor(world.path(&format!("{name} goes on"))),
        Step::Echo,
    ])
}

pub(crate) async fn concurrent_turns_do_not_exceed_slots(world: &World) {
    let names = ["a", "b", "c"];
    let mut runs = Vec::new();
    for name in names {
        let script = script_waiting_for_file(world, name);
        let agent = world.agent_named(name, &script).await;
        let session = world.session(agent).await;
        runs.push(world.send_message(session, name).await);
    }
    let host = world.host_with(|settings, _| settings.workers = 2);
    let daemon = daemon::Daemon::start(host);
    daemon.signals().wake();
    for name in ["a", "b"] {
        wait_for_file(&world.path(&format!("{name} began"))).await;
    }
    // The claim filled both slots at once, so the third run stays queued.
    assert_eq!(world.run(runs[2]).await.status(), RunStatus::Queued);
    daemon.signals().wake();
    create_file(&world.path("a goes on"));
    world.wait_until_over(runs[0]).await;
    wait_for_file(&world.path("c began")).await;
    for name in ["b", "c"] {
        create_file(&world.path(&format!("{name} goes on")));
    }
    for run in &runs {
        assert_eq!(
            world.wait_until_over(*run).await.status(),
            RunStatus::Succeeded
        );
    }
    daemon.stop().await;

    // At no instant did more than two agents have a prompt.
    let mut moments = Vec::new();
    for name in names {
        for entry in prompt_log(&Script::new(world.path(name))).entries {
            match entry.event {
                Event::PromptReceived(_) => moments.push((entry.at, 1)),
                Event::PromptFinished(_) => moments.push((entry.at, -1)),
                _ => {}
            }
        }
    }
    moments.sort_unstable();
    let beside = moments.iter().scan(0, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    assert_eq!(beside.max(), Some(2));
}

pub(crate) async fn two_automations_run_concurrently(world: &World) {
    // Each of the two turns can end only while the other one runs.
    for (name, other) in [("a", "b"), ("b", "a")] {
        let script = Script::new(world.path(name)).prompt([
            Step::Touch(world.path(&format!("{name} began"))),
            Step::WaitFor(world.path(&format!("{other} began"))),
            Step::Echo,
        ]);
        let agent = world.agent_named(name, &script).await;
        let mut new = automation(agent, SessionMode::Continuous);
        new.name = name.into();
        world.create_automation(&new).await;
    }
    let daemon = world.daemon();
    world.clock.set(at("2026-11-23T08:00:00Z"));
    daemon.signals().wake();
    let runs = eventually("two runs", async || {
        Some(world.runs().await).filter(|runs| runs.len() == 2)
    });
    for run in runs.await {
        assert_eq!(
            world.wait_until_over(run.id).await.status(),
            RunStatus::Succeeded
        );
    }
    daemon.stop().await;
}

pub(crate) async fn persons_message_precedes_automation_after_running_turn(world: &World) {
    let script = script_waiting_for_file(world, "a").prompt([Step::Echo]);
    let agent = world.agent_named("a", &script).await;
    let session = world.session(agent).await;
    let mut new = automation(agent, SessionMode::Bound);
    new.bound_session_key = Some(format!("web:{session}"));
    world.create_automation(&new).await;
    let daemon = world.daemon();
    let first = world.send_message(session, "First").await;
    daemon.signals().wake();
    wait_for_file(&world.path("a began")).await;

    world.clock.set(at("2026-11-23T08:00:00Z"));
    world.fire_due().await;
    let said = world.send_message(session, "Second").await;
    let runs = world.runs().await;
    let fired = runs
        .iter()
        .find(|run| run.automation_id.is_some())
        .unwrap()
        .id;
    for waits in [fired, said] {
        assert_eq!(world.run(waits).await.status(), RunStatus::Deferred);
    }
    assert_eq!(prompt_log(&script).prompts(), ["First"]);

    create_file(&world.path("a goes on"));
    for run in [first, said, fired] {
        assert_eq!(
            world.wait_until_over(run).await.status(),
            RunStatus::Succeeded
        );
    }
    daemon.stop().await;
    let ledger = prompt_log(&script);
    assert_eq!(ledger.prompts()[..2], ["First", "Second"]);
    assert!(ledger.prompts()[2].contains("Check the logs"));
}

pub(crate) async fn clock_changes_fire_nothing_twice_or_early(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let id = world
        .create_automation(&automation(agent, SessionMode::Continuous))
        .await;
    let fired_at = async |now: &str| {
        world.clock.set(at(now));
        world.fire_due().await;
        world.take_turns().await;
        world.runs().await.len()
    };
    assert_eq!(fired_at("2026-11-23T08:00:00Z").await, 1);
    // The clock is set back by hours, and reaches the same instant a second time.
    assert_eq!(fired_at("2026-11-23T05:00:00Z").await, 1);
    assert_eq!(fired_at("2026-11-23T08:00:00Z").await, 1);
    assert_eq!(fired_at("2026-11-23T11:00:00Z").await, 1);
    // The clock is set forward by fifty years: the missed instants are one row, and the latest instant is caught up.
    assert_eq!(fired_at("2076-11-23T11:00:00Z").await, 3);
    let runs = world.runs().await;
    let missed = runs
        .iter()
        .find(|run| run.status() == RunStatus::Missed)
        .unwrap();
    assert_eq!(missed.state.occurrences(), 50 * 365 + 12);
    let latest = runs.iter().filter_map(|run| run.scheduled_for).max();
    assert_eq!(latest, Some(at("2076-11-23T08:00:00Z")));
    // The clock is set back again: recorded instants are not due again.
    assert_eq!(fired_at("2026-11-25T11:00:00Z").await, 3);

    // Until a person makes the schedule start again from now.
    let now = world.clock.now();
    let (store, scope) = (world.store(), world.scope());
    let paused = store.pause_automation(scope, id, "the clock was wrong", now);
    paused.await.unwrap();
    store.resume_automation(scope, id, now).await.unwrap();
    assert_eq!(fired_at("2026-11-26T07:59:59Z").await, 3);
    assert_eq!(fired_at("2026-11-26T08:00:00Z").await, 4);
}

pub(crate) async fn running_turn_survives_clock_changes(world: &World) {
    let script = script_waiting_for_file(world, "a");
    let agent = world.agent_named("a", &script).await;
    let session = world.session(agent).await;
    let host = world.host_with(|settings, _| settings.watchdog = Duration::from_millis(1));
    let daemon = daemon::Daemon::start(host);
    let run = world.send_message(session, "First").await;
    daemon.signals().wake();
    wait_for_file(&world.path("a began")).await;

    let beats = async || world.store().oldest_heartbeat().await.unwrap();
    for now in [
        "2026-11-23T20:00:00Z",
        "2026-11-23T02:00:00Z",
        "2076-11-23T20:00:00Z",
    ] {
        world.clock.set(at(now));
        // After a leap forward, each worker renews its heartbeats by the new clock.
        if now > "2026-11-23T08:00:00Z" {
            let renewed = eventually("a heartbeat", async || {
                beats().await.filter(|beat| *beat == at(now))
            });
            renewed.await;
        }
        assert_eq!(world.run(run).await.status(), RunStatus::Running);
    }
    create_file(&world.path("a goes on"));
    assert_eq!(
        world.wait_until_over(run).await.status(),
        RunStatus::Succeeded
    );
    assert_eq!(world.attempts(run).await.len(), 1);
    daemon.stop().await;
}

/// Suspends a machine for eight hours. Returns the hours of the prompts of an hourly automation, in their order, and
/// the number of missed instants.
async fn sleep_eight_hours(world: &World, catch_up: CatchUp) -> (Vec<u32>, i64) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let mut new = automation(agent, SessionMode::Continuous);
    new.policies.catch_up = catch_up;
    new.triggers = vec![Spec::Cron {
        expression: "0 * * * *".into(),
        zone: "UTC".into(),
    }];
    world.create_automation(&new).await;
    let daemon = world.daemon();
    world.clock.set(at("2026-11-23T08:00:00Z"));
    let look = eventually("the run before", async || {
        world.runs().await.into_iter().next()
    });
    world.wait_until_over(look.await.id).await;

    // The machine is suspended and resumed; no signal wakes the loops.
    world.clock.set(at("2026-11-23T16:30:00Z"));
    let due = at("2026-11-23T16:00:00Z");
    let caught_up = eventually("the latest run", async || {
        let mut runs = world.runs().await.into_iter();
        runs.find(|run| run.scheduled_for == Some(due) && run.state.occurrences() == 1)
    });
    let latest = tokio::time::timeout(CLOCK_REACTION_TIMEOUT, caught_up)
        .await
        .unwrap();
    if latest.status() != RunStatus::Missed {
        world.wait_until_over(latest.id).await;
    }
    daemon.stop().await;
    let ledger = prompt_log(&script);
    let prompts = ledger.prompts().into_iter();
    // The prompt names its instant: `Mon 2026-11-23 09:00:00 +00:00 UTC`.
    let hour = |prompt: &str| {
        prompt.split_once("2026-11-23 ").unwrap().1[..2]
            .parse()
            .unwrap()
    };
    let runs = world.runs().await;
    let missed = runs.iter().filter(|run| run.status() == RunStatus::Missed);
    (
        prompts.map(hour).collect(),
        missed.map(|run| run.state.occurrences()).sum(),
    )
}

pub(crate) async fn catch_up_latest_after_sleep_runs_latest_instant(world: &World) {
    assert_eq!(
        sleep_eight_hours(world, CatchUp::Latest).await,
        (vec![8, 16], 7)
    );
}

pub(crate) async fn catch_up_all_after_sleep_runs_every_instant_in_order(world: &World) {
    assert_eq!(
        sleep_eight_hours(world, CatchUp::All).await,
        ((8..=16).collect(), 0)
    );
}
