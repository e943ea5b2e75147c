//! Calls of tools by the agents of running turns, and the automations that agents make.

use std::time::Duration;

use model::{
    RunId, SessionId, Timestamp, WorkerId,
    automation::AutomationState,
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus,
    schedule::Spec,
    tools::{AgentCron, EXPIRED, PROPOSED, ToolAccess},
    turn::StartReply,
};
use store::{CallingTurn, Error, NewAgentAutomation, Scope, ToolCaller};

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly, store_over},
};

const STALE_AFTER: Duration = Duration::from_mins(3);

/// Begins the turn of a run, and returns its agent as a caller of tools.
pub(crate) async fn start(stage: &Stage, run: RunId) -> ToolCaller {
    let claimed = stage
        .store
        .claim(&stage.worker, stage.instance, 1, Some(run), stage.now());
    assert_eq!(claimed.await.unwrap().len(), 1, "{run} cannot be claimed");
    let caller = ToolCaller {
        run,
        secret: [7; 32],
        worker: stage.worker.clone(),
        stale_after: STALE_AFTER,
    };
    let (instance, now) = (stage.instance, stage.now());
    let begun = stage
        .store
        .begin(run, &stage.worker, instance, now, Some(caller.secret));
    assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
    caller
}

/// Begins the turn of a message in a session.
pub(crate) async fn start_message(stage: &Stage, session: SessionId) -> ToolCaller {
    let run = stage.send_message(session, "hello").await.run_id;
    start(stage, run).await
}

async fn turn_of(stage: &Stage, caller: &ToolCaller) -> Result<CallingTurn, Error> {
    let turn = stage.store.calling_turn(caller, stage.now()).await;
    // Each call first reads the tools of the turn, by a statement of its own with the same proof.
    let offer = stage.store.turn_offer(caller, stage.now()).await;
    match (&turn, &offer) {
        (Ok(turn), Ok(offer)) => assert_eq!(offer.access, turn.tools()),
        (Err(Error::RunOver { .. }), Err(Error::RunOver { run })) => assert_eq!(*run, caller.run),
        _ => panic!("the turn is {turn:?}, its tools are {offer:?}"),
    }
    turn
}

async fn is_over(stage: &Stage, caller: &ToolCaller) -> bool {
    matches!(turn_of(stage, caller).await, Err(Error::RunOver { run }) if run == caller.run)
}

/// Returns an automation as an agent makes it.
pub(crate) fn cron(stage: &Stage, name: &str) -> NewAgentAutomation {
    let mut new = stage.new_automation(name, SessionMode::Bound);
    new.prompt = format!("Check {name}.");
    new.triggers = vec![hourly()];
    NewAgentAutomation {
        name: name.into(),
        new,
        expires_at: stage.now() + Duration::from_hours(48),
        is_proposal: false,
    }
}

pub(crate) async fn make(
    stage: &Stage,
    caller: &ToolCaller,
    new: &NewAgentAutomation,
) -> Result<model::AutomationId, Error> {
    let made = stage
        .store
        .create_agent_automation(caller, new, stage.now());
    made.await
}

pub(crate) async fn tool_call_counts_only_while_its_run_runs(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let turn = turn_of(&stage, &caller).await.unwrap();
    assert_eq!((turn.run, turn.session.id), (caller.run, session));
    assert_eq!(turn.tools(), ToolAccess::All);
    assert_eq!(turn.agent_cron(), AgentCron::Allow, "a person has asked");
    // Another secret or another worker proves nothing.
    let other_secret = ToolCaller {
        secret: [8; 32],
        ..caller.clone()
    };
    let other_worker = ToolCaller {
        worker: WorkerId::from_stored("host-2-bbbbbbbb".into()),
        ..caller.clone()
    };
    assert!(is_over(&stage, &other_secret).await && is_over(&stage, &other_worker).await);
    // The heartbeat keeps the call valid, and a stale one does not.
    stage.advance_seconds(170);
    stage.heartbeat(caller.run).await;
    stage.advance_seconds(170);
    assert!(turn_of(&stage, &caller).await.is_ok());
    stage.advance_seconds(11);
    assert!(is_over(&stage, &caller).await);
    stage.heartbeat(caller.run).await;
    assert!(turn_of(&stage, &caller).await.is_ok());
    // Every kind of end of the run ends it.
    stage.succeed(caller.run).await;
    assert!(is_over(&stage, &caller).await);
    let caller = start_message(&stage, session).await;
    stage.fail(caller.run, FailureKind::AgentError).await;
    assert!(is_over(&stage, &caller).await);
    let caller = start_message(&stage, session).await;
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [caller.run]);
    assert!(is_over(&stage, &caller).await);
    let before = stage.store.automations(stage.scope()).await.unwrap();
    let refused = make(&stage, &caller, &cron(&stage, "mail")).await;
    assert!(matches!(refused, Err(Error::RunOver { .. })));
    let removed = stage
        .store
        .delete_agent_automation(&caller, "mail", stage.now());
    assert!(matches!(removed.await, Err(Error::RunOver { .. })));
    let after = stage.store.automations(stage.scope()).await.unwrap();
    assert_eq!(after.readable, before.readable, "nothing was written");
}

pub(crate) async fn agent_automation_is_made_once_and_bound_to_its_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    // A session without a key gets one, because automations are bound by keys.
    let session = stage.keyed_session(None).await;
    let caller = start_message(&stage, session).await;
    let new = cron(&stage, "mail");
    let id = make(&stage, &caller, &new).await.unwrap();
    assert_eq!(make(&stage, &caller, &new).await.unwrap(), id);
    let automation = stage.store.automation(stage.scope(), id).await.unwrap();
    let session_row = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(automation.state, AutomationState::Enabled);
    assert!(session_row.session_key.is_some());
    assert_eq!(automation.bound_session_key, session_row.session_key);
    let made_by = automation.made_by.unwrap();
    assert_eq!(
        (made_by.session, made_by.run, made_by.turn),
        (session, caller.run, 1)
    );
    assert_eq!(made_by.name, "mail");
    // Other content under the name is no repetition.
    let mut other = new.clone();
    other.new.prompt = "Check nothing.".into();
    let refused = make(&stage, &caller, &other).await;
    assert!(matches!(refused, Err(Error::OtherContent { .. })));
    // A name of the tenant that is taken is another error, so that the caller can try the next one.
    stage.automation("news", SessionMode::Fresh).await;
    let refused = make(&stage, &caller, &cron(&stage, "news")).await;
    assert!(matches!(refused, Err(Error::NameTaken { .. })));
    // It runs in the session.
    stage.succeed(caller.run).await;
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
    let run = stage.runs_of(id).await[0].id;
    assert_eq!(stage.session_of(run).await, session);
    // Its turn may make no further one, even if its policies allow it.
    let edited = stage.edit(id, false, |to| to.policies.agent_cron = AgentCron::Allow);
    edited.await.unwrap();
    let caller = start(&stage, run).await;
    let turn = turn_of(&stage, &caller).await.unwrap();
    assert_eq!(turn.agent_cron(), AgentCron::Deny);
    // An agent of the session removes it, and only agents of that session can.
    let other = stage.keyed_session(Some("other")).await;
    let stranger = start_message(&stage, other).await;
    let remove = async |caller: &ToolCaller| {
        let removed = stage
            .store
            .delete_agent_automation(caller, "mail", stage.now());
        removed.await.unwrap()
    };
    assert!(!remove(&stranger).await);
    assert!(remove(&caller).await);
    assert!(!remove(&caller).await);
    let gone = stage.store.automation(stage.scope(), id).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })));
}

pub(crate) async fn agent_automations_are_limited_for_each_turn_session_and_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let limit_of = |refused: Result<_, Error>| match refused {
        Err(Error::LimitReached { what, limit }) => (what, limit),
        other => panic!("{other:?}"),
    };
    let session = stage.session().await;
    let mut caller = start_message(&stage, session).await;
    let mut made = 0;
    while made < 10 {
        if made > 0 && made % 3 == 0 {
            // What an agent removes in its turn still counts for the turn.
            let name = format!("check {}", made - 1);
            let removed = stage
                .store
                .delete_agent_automation(&caller, &name, stage.now());
            assert!(removed.await.unwrap());
            let refused = make(&stage, &caller, &cron(&stage, &name)).await;
            let (what, limit) = limit_of(refused);
            assert_eq!((what.contains("turn"), limit), (true, 3));
            stage.succeed(caller.run).await;
            caller = start_message(&stage, session).await;
            make(&stage, &caller, &cron(&stage, &name)).await.unwrap();
            stage.succeed(caller.run).await;
            caller = start_message(&stage, session).await;
        }
        let new = cron(&stage, &format!("check {made}"));
        make(&stage, &caller, &new).await.unwrap();
        made += 1;
    }
    let refused = make(&stage, &caller, &cron(&stage, "one more")).await;
    let (what, limit) = limit_of(refused);
    assert_eq!((what.contains("session"), limit), (true, 10));
    // Other sessions fill the tenant.
    while made < 99 {
        let session = stage.session().await;
        let caller = start_message(&stage, session).await;
        for _ in 0..3.min(99 - made) {
            let new = cron(&stage, &format!("check {made}"));
            make(&stage, &caller, &new).await.unwrap();
            made += 1;
        }
        stage.succeed(caller.run).await;
    }
    // Of two turns that make the last one at the same time, one succeeds.
    let (one, other) = (stage.session().await, stage.session().await);
    let callers = [
        start_message(&stage, one).await,
        start_message(&stage, other).await,
    ];
    let second_server = store_over(stage.store.database());
    let (first, second) = (cron(&stage, "last"), cron(&stage, "very last"));
    let (first, second) = tokio::join!(
        stage
            .store
            .create_agent_automation(&callers[0], &first, stage.now()),
        second_server.create_agent_automation(&callers[1], &second, stage.now()),
    );
    assert_ne!(first.is_ok(), second.is_ok());
    let (what, limit) = limit_of(if first.is_err() { first } else { second });
    assert_eq!((what, limit), ("automations made by agents", 100));
}

pub(crate) async fn proposed_automation_waits_for_a_person(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let mut new = cron(&stage, "mail");
    new.is_proposal = true;
    let id = make(&stage, &caller, &new).await.unwrap();
    stage.succeed(caller.run).await;
    let read = async || stage.store.automation(stage.scope(), id).await.unwrap();
    assert_eq!(read().await.pause_reason.as_deref(), Some(PROPOSED));
    assert!(read().await.attention.is_some());
    stage.clock.set(at("2026-05-04T10:30:00Z"));
    assert_eq!(stage.fire_due().await.triggers, 0);
    stage.resume(id).await;
    assert_eq!(read().await.state, AutomationState::Enabled);
    assert!(read().await.expires_at.is_some(), "its lifetime goes on");
    stage.clock.set(at("2026-05-04T11:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
}

pub(crate) async fn agent_automation_ends_with_its_lifetime(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let hourly = make(&stage, &caller, &cron(&stage, "mail")).await.unwrap();
    let mut once = cron(&stage, "reminder");
    once.new.triggers = vec![Spec::At {
        at: at("2026-05-04T10:00:00Z"),
        zone: "UTC".into(),
    }];
    let once = make(&stage, &caller, &once).await.unwrap();
    let mut proposed = cron(&stage, "idea");
    proposed.is_proposal = true;
    let proposed = make(&stage, &caller, &proposed).await.unwrap();
    stage.succeed(caller.run).await;
    let delete = async |now: Timestamp| {
        let deleted = stage.store.delete_expired_automations(now).await;
        deleted.unwrap()
    };
    // Until then it fires.
    let end = stage.now() + Duration::from_hours(48);
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.triggers, 2);
    assert_eq!(delete(stage.now()).await, 0);
    // At its first instant after the end it stops, and a person is asked. What is over or was never accepted is deleted.
    stage.clock.set(end + Duration::from_hours(1));
    stage.fire_due().await;
    let read = async |id| stage.store.automation(stage.scope(), id).await;
    let expired = read(hourly).await.unwrap();
    assert_eq!(expired.pause_reason.as_deref(), Some(EXPIRED));
    assert!(expired.attention.is_some());
    assert_eq!(delete(stage.now()).await, 2);
    for gone in [once, proposed] {
        assert!(matches!(read(gone).await, Err(Error::NotFound { .. })));
    }
    // A person keeps it.
    stage.resume(hourly).await;
    let kept = read(hourly).await.unwrap();
    assert_eq!(
        (kept.state, kept.expires_at),
        (AutomationState::Enabled, None)
    );
    assert_eq!(delete(stage.now() + Duration::from_hours(9999)).await, 0);
}

pub(crate) async fn tools_of_turn_are_at_most_those_of_its_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("digest", SessionMode::Fresh);
    new.policies.tools = ToolAccess::Read;
    let id = stage.create(&new).await;
    let run = stage.fire(id).await.run_id;
    let caller = start(&stage, run).await;
    let turn = turn_of(&stage, &caller).await.unwrap();
    assert_eq!(turn.tools(), ToolAccess::Read);
    assert_eq!(turn.agent_cron(), AgentCron::Deny, "the default");
    assert_eq!(turn.automation.map(|automation| automation.id), Some(id));
    // The scope of a caller is its run, of any tenant.
    let tenant = stage.tenant;
    assert_eq!(turn.tenant, tenant);
    let listed = stage.store.automations(Scope::Tenant(tenant)).await;
    assert_eq!(listed.unwrap().readable.len(), 1);
}

pub(crate) async fn reminder_resumed_after_its_instant_is_over(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let mut new = cron(&stage, "reminder");
    new.new.triggers = vec![Spec::At {
        at: at("2026-05-04T10:00:00Z"),
        zone: "UTC".into(),
    }];
    let id = make(&stage, &caller, &new).await.unwrap();
    stage.succeed(caller.run).await;
    stage.pause(id).await;
    stage.clock.set(at("2026-05-04T11:00:00Z"));
    stage.resume(id).await;
    assert_eq!(stage.fire_due().await.occurrences, 0);
    // It never fires again, so that it must not stay for good.
    let end = stage.now() + Duration::from_hours(72);
    let deleted = stage.store.delete_expired_automations(end).await;
    assert_eq!(deleted.unwrap(), 1);
}

pub(crate) async fn webhook_after_lifetime_of_agent_automation_is_skipped(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let mut new = cron(&stage, "hook");
    new.new.triggers = vec![Spec::Webhook {}];
    let id = make(&stage, &caller, &new).await.unwrap();
    stage.succeed(caller.run).await;
    let triggers = stage.store.triggers(stage.scope(), id).await.unwrap();
    let mut hooks = triggers.iter();
    let hook = hooks.find(|trigger| trigger.spec == Spec::Webhook {});
    let hook = hook.unwrap().id;
    stage.clock.set(stage.now() + Duration::from_hours(48));
    let fired = stage
        .store
        .fire_webhook(stage.tenant, hook, "msg_1", "{}", stage.now());
    let run = fired.await.unwrap().run_id;
    assert_eq!(stage.run(run).await.status(), RunStatus::Skipped);
    let expired = stage.store.automation(stage.scope(), id).await.unwrap();
    assert_eq!(expired.pause_reason.as_deref(), Some(EXPIRED));
}
