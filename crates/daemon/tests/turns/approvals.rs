//! Permission requests that wait for people.

use std::time::Duration;

use daemon::{Daemon, watchdog};
use model::{
    ApprovalId, Clock as _, RunId,
    agent::AgentConfig,
    approval::{Approval, ApprovalStatus, Decider, OnUnmatched},
    permission::Verdict,
    policy::Policies,
    run::RunStatus,
};
use prompt_times::{finished_at, received_at};
use store::{ApprovalFilter, Error, Page};
use testkit::scripted::{Event, Script, Step};

use crate::{
    permissions::permission_replies,
    world::{World, create_file, eventually, on_demand, wait_for_file},
};

/// The times at which a script's agents received their first prompt and finished.
mod prompt_times {
    use super::{Event, Script};
    use crate::world::prompt_log;

    pub(super) fn received_at(script: &Script) -> u64 {
        time_of_event(script, |event| matches!(event, Event::PromptReceived(_)))
    }

    pub(super) fn finished_at(script: &Script) -> u64 {
        time_of_event(script, |event| matches!(event, Event::PromptFinished(_)))
    }

    fn time_of_event(script: &Script, is: fn(&Event) -> bool) -> u64 {
        let entries = prompt_log(script).entries;
        entries.into_iter().find(|it| is(&it.event)).unwrap().at
    }
}

/// Fires an automation that requests approvals, with an agent that follows a script.
pub(crate) async fn fire_with_approvals(
    world: &World,
    name: &str,
    script: &Script,
    change: impl FnOnce(&mut Policies),
) -> RunId {
    let config = AgentConfig::new(script.command().unwrap());
    let agent = world.put_agent(name, &config).await;
    let mut new = on_demand(agent);
    new.name = name.into();
    new.policies.on_unmatched = OnUnmatched::RequestApproval;
    change(&mut new.policies);
    let id = world.create_automation(&new).await;
    world.fire(id).await
}

/// Returns the script of an agent that requests an approval and then goes on.
fn script_requesting_approval(
    world: &World,
    name: &str,
    then: impl IntoIterator<Item = Step>,
) -> Script {
    let mut steps = vec![Step::request_permission(
        "1",
        &format!("rm {name}"),
        "execute",
    )];
    steps.extend(then);
    Script::new(world.path(name)).prompt(steps)
}

async fn approvals_of_run(world: &World, run: RunId) -> Vec<Approval> {
    let filter = ApprovalFilter {
        run: Some(run),
        ..ApprovalFilter::default()
    };
    let found = world
        .store()
        .approval_page(world.tenant, filter, Page::first(100));
    found.await.unwrap()
}

/// Waits until a run requests an approval.
pub(crate) async fn wait_for_pending_approval(world: &World, run: RunId) -> Approval {
    eventually("a request that waits", async || {
        let all = approvals_of_run(world, run).await.into_iter();
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
    let decided = store.decide_approval(world.tenant, id, verdict, &by, None, now);
    decided.await
}

async fn approval_status(world: &World, id: ApprovalId) -> ApprovalStatus {
    let found = world.store().approval(world.scope(), id);
    found.await.unwrap().status()
}

async fn permission_rows(world: &World, run: RunId) -> Vec<String> {
    let session = world.run(run).await.session_id.unwrap();
    let transcript = world.transcript(session).await.into_iter();
    let shown = transcript.filter(|row| row.kind.as_str() == "permission");
    shown.map(|row| row.content).collect()
}

pub(crate) async fn approval_decisions_reach_agent(world: &World) {
    let second = Step::request_permission("2", "rm again", "execute");
    let script = script_requesting_approval(world, "a", [second, Step::text("Done.")]);
    let daemon = world.daemon();
    let run = fire_with_approvals(world, "a", &script, |_| ()).await;
    daemon.signals().wake();
    let first = wait_for_pending_approval(world, run).await;
    assert_eq!(first.request.title, "rm a");
    assert_eq!(first.request.tool_kind, "execute");
    let longest = first.created_at + Duration::from_mins(10);
    assert_eq!(
        first.deadline_at, longest,
        "sooner than the turn's 30 minutes"
    );
    decide(world, first.id, Verdict::Allow).await.unwrap();
    // The decision about one request does not apply to the next.
    let second = wait_for_pending_approval(world, run).await;
    assert_eq!(second.request.title, "rm again");
    decide(world, second.id, Verdict::Deny).await.unwrap();

    let run = world.wait_until_over(run).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!(run.state.flags().permissions_denied, 1);
    assert_eq!(
        permission_replies(&script),
        ["option-allow_once", "option-reject_once"]
    );
    assert_eq!(
        permission_rows(world, run.id).await,
        ["Permission allowed: rm a", "Permission denied: rm again"]
    );
    daemon.stop().await;
}

pub(crate) async fn concurrent_approvals_beyond_limit_are_denied(world: &World) {
    let Step::RequestPermission {
        call,
        title_and_kind: about,
        options,
        ..
    } = Step::request_permission("1", "rm a", "execute")
    else {
        unreachable!()
    };
    let all = u32::try_from(model::limits::PENDING_APPROVALS_PER_TURN).unwrap() + 1;
    let many = Step::RequestPermission {
        call,
        title_and_kind: about,
        input: None,
        options,
        times: all,
    };
    let script = world.script().prompt([many, Step::text("Done.")]);
    let daemon = world.daemon();
    let run = fire_with_approvals(world, "a", &script, |_| ()).await;
    daemon.signals().wake();
    let most = model::limits::PENDING_APPROVALS_PER_TURN;
    let waiting = eventually("all that may wait", async || {
        Some(approvals_of_run(world, run).await).filter(|all| all.len() == most)
    });
    let waiting = waiting.await;
    // A decision makes room for another request, so the one beyond the limit must be denied before.
    eventually("a denial", async || {
        (permission_replies(&script).len() == 1).then_some(())
    })
    .await;
    for approval in waiting {
        decide(world, approval.id, Verdict::Allow).await.unwrap();
    }
    let run = world.wait_until_over(run).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    // The requests beyond the limit were denied without an approval.
    assert_eq!(run.state.flags().permissions_denied, 1);
    assert_eq!(approvals_of_run(world, run.id).await.len(), most);
    daemon.stop().await;
}

pub(crate) async fn inactivity_limit_pauses_while_approval_is_pending(world: &World) {
    // The request waits twice as long as the agent may be silent, and is then denied.
    let script = script_requesting_approval(world, "a", [Step::text("Then not.")]);
    let daemon = world.daemon();
    let impatient = |policies: &mut Policies| {
        policies.inactivity_seconds = 1;
        policies.ask_seconds = 2;
    };
    let run = fire_with_approvals(world, "a", &script, impatient).await;
    daemon.signals().wake();
    let ended = world.wait_until_over(run).await;
    assert_eq!(ended.status(), RunStatus::Succeeded, "{ended:#?}");
    assert_eq!(permission_replies(&script), ["option-reject_once"]);
    let approval = approvals_of_run(world, run).await.remove(0);
    assert_eq!(approval.status(), ApprovalStatus::Expired);
    assert!(approval.state.decision().is_none());

    // After the decision, the limit of silence applies again.
    let script = script_requesting_approval(world, "b", [Step::Stall]);
    let run = fire_with_approvals(world, "b", &script, impatient).await;
    daemon.signals().wake();
    let ended = world.wait_until_over(run).await;
    assert_eq!(ended.state.reason(), Some("inactive"), "{ended:#?}");
    assert_eq!(permission_replies(&script), ["option-reject_once"]);
    daemon.stop().await;
}

pub(crate) async fn approval_deadline_is_capped_by_turn_timeout(world: &World) {
    let script = script_requesting_approval(world, "a", [Step::text("Then not.")]);
    let daemon = Daemon::start(world.host_without_grace());
    let run =
        fire_with_approvals(world, "a", &script, |policies| policies.timeout_seconds = 2).await;
    daemon.signals().wake();
    let ended = world.wait_until_over(run).await;
    assert_eq!(ended.state.reason(), Some("timeout"), "{ended:#?}");
    let approval = approvals_of_run(world, run).await.remove(0);
    let waited = approval.deadline_at.since(approval.created_at);
    assert!(waited <= Duration::from_secs(2), "{waited:?}");
    let over = [ApprovalStatus::Void, ApprovalStatus::Expired];
    assert!(over.contains(&approval.status()), "{approval:#?}");
    daemon.stop().await;
}

pub(crate) async fn cancelling_turn_voids_its_pending_approvals(world: &World) {
    let script = script_requesting_approval(world, "a", [Step::stop("cancelled")]);
    let daemon = world.daemon();
    let run = fire_with_approvals(world, "a", &script, |_| ()).await;
    daemon.signals().wake();
    let approval = wait_for_pending_approval(world, run).await;
    world.cancel(run, "changed my mind").await;
    // The turn has not read the decision yet.
    assert_eq!(
        approval_status(world, approval.id).await,
        ApprovalStatus::Void
    );
    let late = decide(world, approval.id, Verdict::Allow).await;
    assert!(matches!(late, Err(Error::Refused(_))), "{late:?}");
    daemon.signals().wake();
    let ended = world.wait_until_over(run).await;
    assert_eq!(ended.status(), RunStatus::Cancelled, "{ended:#?}");
    assert!(!permission_replies(&script).contains(&"option-allow_once".to_owned()));
    daemon.stop().await;
}

pub(crate) async fn stopping_server_voids_approval_and_requeued_attempt_requests_anew(
    world: &World,
) {
    let mut script = script_requesting_approval(world, "a", [Step::stop("cancelled")]);
    let host = world.host_with(|settings, _| settings.stop_deadline = Duration::ZERO);
    let daemon = Daemon::start(host);
    let run = fire_with_approvals(world, "a", &script, |_| ()).await;
    daemon.signals().wake();
    let before = wait_for_pending_approval(world, run).await;
    daemon.stop().await;
    assert_eq!(
        approval_status(world, before.id).await,
        ApprovalStatus::Void
    );

    script.prompts = script_requesting_approval(world, "a", [Step::text("Done.")]).prompts;
    script.command().unwrap();
    // The next attempt requests the same permission anew, and the old decision does not apply.
    let next = world.attempts(run).await.pop().unwrap();
    assert_ne!(next.id, run);
    let daemon = world.daemon();
    if let Some(at) = next.state.not_before() {
        world.clock.set(at);
    }
    daemon.signals().wake();
    let anew = wait_for_pending_approval(world, next.id).await;
    let late = decide(world, before.id, Verdict::Allow).await;
    assert!(matches!(late, Err(Error::Refused(_))), "{late:?}");
    assert_eq!(
        approval_status(world, anew.id).await,
        ApprovalStatus::Pending
    );
    decide(world, anew.id, Verdict::Allow).await.unwrap();
    let ended = world.wait_until_over(next.id).await;
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
    let script = script_requesting_approval(world, "a", then);
    let host = world.host_with(|settings, _| settings.stop_deadline = Duration::ZERO);
    let daemon = Daemon::start(host);
    let run = fire_with_approvals(world, "a", &script, |_| ()).await;
    daemon.signals().wake();
    let approval = wait_for_pending_approval(world, run).await;
    let look = async {
        wait_for_file(&told).await;
        assert_eq!(permission_replies(&script), ["cancelled"]);
        eventually("a request that is void", async || {
            (approval_status(world, approval.id).await == ApprovalStatus::Void).then_some(())
        })
        .await;
        // The turn is not over yet.
        assert_eq!(world.run(run).await.status(), RunStatus::Running);
        match decide(world, approval.id, Verdict::Allow).await {
            Err(Error::Refused(refused)) => assert_eq!(refused.state, "void"),
            other => panic!("{other:?}"),
        }
        create_file(&goes_on);
    };
    tokio::join!(daemon.stop(), look);
    let run = world.run(run).await;
    assert_eq!(run.state.reason(), Some("handed_back"), "{run:#?}");
}

pub(crate) async fn heartbeat_is_renewed_while_approval_is_pending(world: &World) {
    let script = script_requesting_approval(world, "a", [Step::text("Then not.")]);
    // The guard kills an agent whose lease is not renewed, well before the run is given up.
    let host = world.host_with(|settings, _| {
        settings.heartbeat = Duration::from_millis(300);
        settings.heartbeat_stale = Duration::from_secs(2);
    });
    assert!(host.settings.lease() < Duration::from_secs(3));
    let daemon = Daemon::start(host.clone());
    let run = fire_with_approvals(world, "a", &script, |policies| policies.ask_seconds = 3).await;
    daemon.signals().wake();
    wait_for_pending_approval(world, run).await;
    let later = world.clock.advance(Duration::from_secs(1));
    eventually("a heartbeat", async || {
        let oldest = world.store().oldest_heartbeat().await.unwrap();
        (oldest == Some(later)).then_some(())
    })
    .await;
    let now = world.clock.now();
    assert_eq!(watchdog::tick(&host, now).await.unwrap(), []);
    let ended = world.wait_until_over(run).await;
    assert_eq!(ended.status(), RunStatus::Succeeded, "{ended:#?}");
    assert_eq!(permission_replies(&script), ["option-reject_once"]);
    daemon.stop().await;
}

pub(crate) async fn waiting_turns_lend_slots_only_up_to_limit(world: &World) {
    let goes_on = world.path("goes on");
    let then = [
        Step::Touch(world.path("a goes on")),
        Step::WaitFor(goes_on.clone()),
        Step::text("Done."),
    ];
    let (a, c) = (
        script_requesting_approval(world, "a", then),
        script_requesting_approval(world, "c", [Step::Echo]),
    );
    let [b, d] = ["b", "d"].map(|name| Script::new(world.path(name)));
    let daemon = Daemon::start(world.host_with(|settings, _| {
        settings.workers = 1;
        settings.waiting_turns = 1;
    }));
    let first = fire_with_approvals(world, "a", &a, |_| ()).await;
    daemon.signals().wake();
    let asks = wait_for_pending_approval(world, first).await;
    // The second turn uses the lent slot.
    let second = fire_with_approvals(world, "b", &b, |_| ()).await;
    daemon.signals().wake();
    assert_eq!(
        world.wait_until_over(second).await.status(),
        RunStatus::Succeeded
    );
    assert_eq!(
        approval_status(world, asks.id).await,
        ApprovalStatus::Pending
    );
    // The third turn also requests an approval. It keeps its slot, because only one turn may lend its slot.
    let third = fire_with_approvals(world, "c", &c, |_| ()).await;
    daemon.signals().wake();
    let asks_too = wait_for_pending_approval(world, third).await;
    let fourth = fire_with_approvals(world, "d", &d, |_| ()).await;
    daemon.signals().wake();
    // The first turn continues at once, although all slots are in use.
    decide(world, asks.id, Verdict::Allow).await.unwrap();
    wait_for_file(&world.path("a goes on")).await;
    assert_eq!(
        approval_status(world, asks_too.id).await,
        ApprovalStatus::Pending
    );
    assert_eq!(world.run(fourth).await.status(), RunStatus::Queued);
    create_file(&goes_on);
    assert_eq!(
        world.wait_until_over(first).await.status(),
        RunStatus::Succeeded
    );
    // The slot of the third turn is then free for the fourth.
    assert_eq!(
        world.wait_until_over(fourth).await.status(),
        RunStatus::Succeeded
    );
    assert_eq!(
        approval_status(world, asks_too.id).await,
        ApprovalStatus::Pending
    );
    assert!(
        received_at(&d) >= finished_at(&a),
        "two beside one that waits"
    );
    decide(world, asks_too.id, Verdict::Allow).await.unwrap();
    assert_eq!(
        world.wait_until_over(third).await.status(),
        RunStatus::Succeeded
    );
    daemon.stop().await;
}
