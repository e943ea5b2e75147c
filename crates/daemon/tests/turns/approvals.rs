//! Permission requests that wait for people.

use std::time::Duration;

use daemon::{Daemon, watchdog};
use model::{
    ApprovalId, Clock as _, RunId,
    agent::AgentConfig,
    approval::{Approval, ApprovalStatus, Decider, Unruled},
    permission::Verdict,
    policy::Policies,
    run::RunStatus,
};
use store::{ApprovalFilter, Error, Page};
use testkit::scripted::{Event, Script, Step};
use time_of::{finished, received};

use crate::{
    permissions::answers,
    world::{World, eventually, made, make, on_demand},
};

/// When a script's agents were prompted, and when they were done.
mod time_of {
    use super::{Event, Script};
    use crate::world::ledger;

    pub(super) fn received(script: &Script) -> u64 {
        moment(script, |event| matches!(event, Event::PromptReceived(_)))
    }

    pub(super) fn finished(script: &Script) -> u64 {
        moment(script, |event| matches!(event, Event::PromptFinished(_)))
    }

    fn moment(script: &Script, is: fn(&Event) -> bool) -> u64 {
        let entries = ledger(script).entries;
        entries.into_iter().find(|it| is(&it.event)).unwrap().at
    }
}

/// Fires an automation that asks people, with an agent that does what a script says.
pub(crate) async fn fired(
    world: &World,
    name: &str,
    script: &Script,
    change: impl FnOnce(&mut Policies),
) -> RunId {
    let config = AgentConfig::new(script.command().unwrap());
    let agent = world.put_agent(name, &config).await;
    let mut new = on_demand(agent);
    new.name = name.into();
    new.policies.unruled = Unruled::Ask;
    change(&mut new.policies);
    let id = world.make(&new).await;
    world.fire(id).await
}

/// An agent of its own that asks for something, and then goes on.
fn asking(world: &World, name: &str, then: impl IntoIterator<Item = Step>) -> Script {
    let mut steps = vec![Step::ask("1", &format!("rm {name}"), "execute")];
    steps.extend(then);
    Script::new(world.path(name)).prompt(steps)
}

async fn asked(world: &World, run: RunId) -> Vec<Approval> {
    let filter = ApprovalFilter {
        run: Some(run),
        ..ApprovalFilter::default()
    };
    let found = world
        .store()
        .approval_page(world.tenant, filter, Page::first(100));
    found.await.unwrap()
}

/// Waits until a run asks people.
pub(crate) async fn waits(world: &World, run: RunId) -> Approval {
    eventually("a request that waits", async || {
        let all = asked(world, run).await.into_iter();
        all.rev().find(|it| it.status() == ApprovalStatus::Pending)
    })
    .await
}

pub(crate) async fn decide(
    world: &World,
    id: ApprovalId,
    verdict: Verdict,
) -> Result<Approval, Error> {
    let by = Decider {
        token: None,
        name: "me".into(),
    };
    let (store, now) = (world.store(), world.clock.now());
    let decided = store.decide(world.tenant, id, verdict, &by, None, now);
    decided.await
}

async fn state(world: &World, id: ApprovalId) -> ApprovalStatus {
    let found = world.store().approval(world.scope(), id);
    found.await.unwrap().status()
}

async fn shown(world: &World, run: RunId) -> Vec<String> {
    let session = world.run(run).await.session_id.unwrap();
    let transcript = world.transcript(session).await.into_iter();
    let shown = transcript.filter(|row| row.kind.as_str() == "permission");
    shown.map(|row| row.content).collect()
}

pub(crate) async fn approval_decisions_reach_agent(world: &World) {
    let second = Step::ask("2", "rm again", "execute");
    let script = asking(world, "a", [second, Step::say("Done.")]);
    let daemon = world.daemon();
    let run = fired(world, "a", &script, |_| ()).await;
    daemon.waker().wake();
    let first = waits(world, run).await;
    assert_eq!(first.question.title, "rm a");
    assert_eq!(first.question.tool_kind, "execute");
    let longest = first.created_at + Duration::from_mins(10);
    assert_eq!(
        first.deadline_at, longest,
        "sooner than the turn's 30 minutes"
    );
    decide(world, first.id, Verdict::Allow).await.unwrap();
    // The answer to one is none to the next.
    let second = waits(world, run).await;
    assert_eq!(second.question.title, "rm again");
    decide(world, second.id, Verdict::Deny).await.unwrap();

    let run = world.ended(run).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!(run.state.flags().permissions_denied, 1);
    assert_eq!(
        answers(&script),
        ["option-allow_once", "option-reject_once"]
    );
    assert_eq!(
        shown(world, run.id).await,
        ["Permission allowed: rm a", "Permission denied: rm again"]
    );
    daemon.stop().await;
}

pub(crate) async fn concurrent_approvals_beyond_limit_are_denied(world: &World) {
    let Step::Ask {
        call,
        about,
        options,
        ..
    } = Step::ask("1", "rm a", "execute")
    else {
        unreachable!()
    };
    let all = u32::try_from(model::limits::PENDING_APPROVALS_PER_TURN).unwrap() + 1;
    let many = Step::Ask {
        call,
        about,
        options,
        times: all,
    };
    let script = world.script().prompt([many, Step::say("Done.")]);
    let daemon = world.daemon();
    let run = fired(world, "a", &script, |_| ()).await;
    daemon.waker().wake();
    let most = model::limits::PENDING_APPROVALS_PER_TURN;
    let waiting = eventually("all that may wait", async || {
        Some(asked(world, run).await).filter(|all| all.len() == most)
    });
    for approval in waiting.await {
        decide(world, approval.id, Verdict::Allow).await.unwrap();
    }
    let run = world.ended(run).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    // What was beyond was denied without a word, and nobody was asked.
    assert_eq!(run.state.flags().permissions_denied, 1);
    assert_eq!(asked(world, run.id).await.len(), most);
    daemon.stop().await;
}

pub(crate) async fn inactivity_limit_pauses_while_approval_is_pending(world: &World) {
    // It waits twice as long as the agent may be silent, and is then denied.
    let script = asking(world, "a", [Step::say("Then not.")]);
    let daemon = world.daemon();
    let impatient = |policies: &mut Policies| {
        policies.inactivity_seconds = 1;
        policies.ask_seconds = 2;
    };
    let run = fired(world, "a", &script, impatient).await;
    daemon.waker().wake();
    let ended = world.ended(run).await;
    assert_eq!(ended.status(), RunStatus::Succeeded, "{ended:#?}");
    assert_eq!(answers(&script), ["option-reject_once"]);
    let approval = asked(world, run).await.remove(0);
    assert_eq!(approval.status(), ApprovalStatus::Expired);
    assert!(approval.state.decision().is_none());

    // Once it is answered, silence counts again.
    let script = asking(world, "b", [Step::Stall]);
    let run = fired(world, "b", &script, impatient).await;
    daemon.waker().wake();
    let ended = world.ended(run).await;
    assert_eq!(ended.state.reason(), Some("inactive"), "{ended:#?}");
    assert_eq!(answers(&script), ["option-reject_once"]);
    daemon.stop().await;
}

pub(crate) async fn approval_deadline_is_capped_by_turn_timeout(world: &World) {
    let script = asking(world, "a", [Step::say("Then not.")]);
    let daemon = Daemon::start(world.host_without_grace());
    let run = fired(world, "a", &script, |policies| policies.timeout_seconds = 2).await;
    daemon.waker().wake();
    let ended = world.ended(run).await;
    assert_eq!(ended.state.reason(), Some("timeout"), "{ended:#?}");
    let approval = asked(world, run).await.remove(0);
    let waited = approval.deadline_at.since(approval.created_at);
    assert!(waited <= Duration::from_secs(2), "{waited:?}");
    let over = [ApprovalStatus::Void, ApprovalStatus::Expired];
    assert!(over.contains(&approval.status()), "{approval:#?}");
    daemon.stop().await;
}

pub(crate) async fn cancelling_turn_voids_its_pending_approvals(world: &World) {
    let script = asking(world, "a", [Step::stop("cancelled")]);
    let daemon = world.daemon();
    let run = fired(world, "a", &script, |_| ()).await;
    daemon.waker().wake();
    let approval = waits(world, run).await;
    world.cancel(run, "changed my mind").await;
    // Before the agent has heard of it.
    assert_eq!(state(world, approval.id).await, ApprovalStatus::Void);
    let late = decide(world, approval.id, Verdict::Allow).await;
    assert!(matches!(late, Err(Error::Refused(_))), "{late:?}");
    daemon.waker().wake();
    let ended = world.ended(run).await;
    assert_eq!(ended.status(), RunStatus::Cancelled, "{ended:#?}");
    assert!(!answers(&script).contains(&"option-allow_once".to_owned()));
    daemon.stop().await;
}

pub(crate) async fn stopping_server_voids_approval_and_requeued_attempt_requests_anew(
    world: &World,
) {
    let mut script = asking(world, "a", [Step::stop("cancelled")]);
    let host = world.host_with(|settings, _| settings.stop_deadline = Duration::ZERO);
    let daemon = Daemon::start(host);
    let run = fired(world, "a", &script, |_| ()).await;
    daemon.waker().wake();
    let before = waits(world, run).await;
    daemon.stop().await;
    assert_eq!(state(world, before.id).await, ApprovalStatus::Void);

    script.prompts = asking(world, "a", [Step::say("Done.")]).prompts;
    script.command().unwrap();
    // The next attempt asks for the same anew, and the old answer is worth nothing.
    let next = world.attempts(run).await.pop().unwrap();
    assert_ne!(next.id, run);
    let daemon = world.daemon();
    if let Some(at) = next.state.not_before() {
        world.clock.set(at);
    }
    daemon.waker().wake();
    let anew = waits(world, next.id).await;
    let late = decide(world, before.id, Verdict::Allow).await;
    assert!(matches!(late, Err(Error::Refused(_))), "{late:?}");
    assert_eq!(state(world, anew.id).await, ApprovalStatus::Pending);
    decide(world, anew.id, Verdict::Allow).await.unwrap();
    let ended = world.ended(next.id).await;
    assert_eq!(ended.status(), RunStatus::Succeeded, "{ended:#?}");
    daemon.stop().await;
}

pub(crate) async fn withdrawn_approval_cannot_be_allowed(world: &World) {
    let [told, goes_on] = ["told", "goes on"].map(|name| world.path(name));
    let then = [
        Step::Touch(told.clone()),
        Step::WaitFor(goes_on.clone()),
        Step::stop("cancelled"),
    ];
    let script = asking(world, "a", then);
    let host = world.host_with(|settings, _| settings.stop_deadline = Duration::ZERO);
    let daemon = Daemon::start(host);
    let run = fired(world, "a", &script, |_| ()).await;
    daemon.waker().wake();
    let approval = waits(world, run).await;
    let look = async {
        made(&told).await;
        assert_eq!(answers(&script), ["cancelled"]);
        eventually("a request that is void", async || {
            (state(world, approval.id).await == ApprovalStatus::Void).then_some(())
        })
        .await;
        // The turn is not over yet.
        assert_eq!(world.run(run).await.status(), RunStatus::Running);
        match decide(world, approval.id, Verdict::Allow).await {
            Err(Error::Refused(refused)) => assert_eq!(refused.state, "void"),
            other => panic!("{other:?}"),
        }
        make(&goes_on);
    };
    tokio::join!(daemon.stop(), look);
    let run = world.run(run).await;
    assert_eq!(run.state.reason(), Some("handed_back"), "{run:#?}");
}

pub(crate) async fn heartbeat_is_renewed_while_approval_is_pending(world: &World) {
    let script = asking(world, "a", [Step::say("Then not.")]);
    // The guard kills an agent whose lease is not renewed, well before the request is given up.
    let host = world.host_with(|settings, _| {
        settings.heartbeat = Duration::from_millis(300);
        settings.heartbeat_stale = Duration::from_secs(2);
    });
    assert!(host.settings.lease() < Duration::from_secs(3));
    let daemon = Daemon::start(host.clone());
    let run = fired(world, "a", &script, |policies| policies.ask_seconds = 3).await;
    daemon.waker().wake();
    waits(world, run).await;
    let later = world.clock.advance(Duration::from_secs(1));
    eventually("a heartbeat", async || {
        let oldest = world.store().oldest_heartbeat().await.unwrap();
        (oldest == Some(later)).then_some(())
    })
    .await;
    let now = world.clock.now();
    assert_eq!(watchdog::tick(&host, now).await.unwrap(), []);
    let ended = world.ended(run).await;
    assert_eq!(ended.status(), RunStatus::Succeeded, "{ended:#?}");
    assert_eq!(answers(&script), ["option-reject_once"]);
    daemon.stop().await;
}

pub(crate) async fn waiting_turns_lend_slots_only_up_to_limit(world: &World) {
    let goes_on = world.path("goes on");
    let then = [
        Step::Touch(world.path("a goes on")),
        Step::WaitFor(goes_on.clone()),
        Step::say("Done."),
    ];
    let (a, c) = (asking(world, "a", then), asking(world, "c", [Step::Echo]));
    let [b, d] = ["b", "d"].map(|name| Script::new(world.path(name)));
    let daemon = Daemon::start(world.host_with(|settings, _| {
        settings.workers = 1;
        settings.waiting_turns = 1;
    }));
    let first = fired(world, "a", &a, |_| ()).await;
    daemon.waker().wake();
    let asks = waits(world, first).await;
    // Another one has its slot meanwhile.
    let second = fired(world, "b", &b, |_| ()).await;
    daemon.waker().wake();
    assert_eq!(world.ended(second).await.status(), RunStatus::Succeeded);
    assert_eq!(state(world, asks.id).await, ApprovalStatus::Pending);
    // And one that asks as well, which keeps what it has: no more than one lends its slot.
    let third = fired(world, "c", &c, |_| ()).await;
    daemon.waker().wake();
    let asks_too = waits(world, third).await;
    let fourth = fired(world, "d", &d, |_| ()).await;
    daemon.waker().wake();
    // The first goes on at once, though all slots are taken.
    decide(world, asks.id, Verdict::Allow).await.unwrap();
    made(&world.path("a goes on")).await;
    assert_eq!(state(world, asks_too.id).await, ApprovalStatus::Pending);
    assert_eq!(world.run(fourth).await.status(), RunStatus::Queued);
    make(&goes_on);
    assert_eq!(world.ended(first).await.status(), RunStatus::Succeeded);
    // Then the third one's slot is free for the fourth.
    assert_eq!(world.ended(fourth).await.status(), RunStatus::Succeeded);
    assert_eq!(state(world, asks_too.id).await, ApprovalStatus::Pending);
    assert!(received(&d) >= finished(&a), "two beside one that waits");
    decide(world, asks_too.id, Verdict::Allow).await.unwrap();
    assert_eq!(world.ended(third).await.status(), RunStatus::Succeeded);
    daemon.stop().await;
}
