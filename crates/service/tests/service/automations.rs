//! Automations: creation, lists and operations.

use std::sync::atomic::Ordering;

use api_types::{AutomationRequest, RunFilterRequest, SessionTarget};
use model::{
    automation::AutomationState,
    policy::{Overlap, SessionMode},
    run::RunStatus,
    schedule::Spec,
    session::SessionEvent,
};
use service::{Error, ErrorKind, RunQuery};
use store::Scope;

use crate::world::{NOW, World, at, cron, error_chain, every, request};

type Change = fn(&mut AutomationRequest);

/// A change that makes a valid request invalid, the kind of the error, and parts of its text.
type Refusal = (Change, ErrorKind, &'static [&'static str]);

async fn assert_refused(world: &World, table: &[Refusal]) {
    for (change, kind, says) in table {
        let mut asked = request();
        change(&mut asked);
        let error = world.service.create_automation(&asked, None).await;
        let error = error.unwrap_err();
        let detail = error_chain(&error);
        assert_eq!(error.kind(), *kind, "{detail}");
        for text in *says {
            assert!(detail.contains(text), "{text:?} is not in {detail:?}");
        }
    }
    let left = world.automations().await;
    assert!(left.items.is_empty() && left.unreadable.is_empty());
}

#[tokio::test]
async fn invalid_automation_error_names_value_and_accepted_values() {
    let world = World::new().await;
    let file = world.directory().join("matins.db");
    let table: Vec<Refusal> = vec![
        (
            |asked| asked.agent = Some("godo".into()),
            ErrorKind::NotFound,
            &["agent `godo`", "did you mean `good`?"],
        ),
        (
            |asked| asked.agent = None,
            ErrorKind::Invalid,
            &["`agent` is missing", "absent, amnesiac, good"],
        ),
        (
            |asked| asked.agent = Some("amnesiac".into()),
            ErrorKind::Refused,
            &["`amnesiac`", "neither session/resume nor session/load"],
        ),
        (
            |asked| asked.agent = Some("absent".into()),
            ErrorKind::Agent,
            &["`absent`", "no such program"],
        ),
        (
            |asked| asked.prompt = " \n".into(),
            ErrorKind::Invalid,
            &["prompt", "it is empty"],
        ),
        (
            |asked| asked.prompt = "x".repeat(model::limits::CONTENT_BYTES + 1),
            ErrorKind::Invalid,
            &["prompt", "1048577 bytes", "up to 1048576"],
        ),
        (
            |asked| asked.name = Some("x".repeat(201)),
            ErrorKind::Invalid,
            &["name", "1 to 200 bytes"],
        ),
        (
            |asked| asked.cwd = Some("project".into()),
            ErrorKind::Invalid,
            &["working directory `project`", "absolute"],
        ),
        (
            |asked| asked.cwd = Some("/no/such/folder".into()),
            ErrorKind::Invalid,
            &["working directory `/no/such/folder`", "does not exist"],
        ),
        (
            |asked| asked.policies.overlap = Some(Overlap::Allow),
            ErrorKind::Invalid,
            &["`overlap` cannot be `allow`", "only automations with fresh"],
        ),
        (
            |asked| asked.session = SessionTarget::Bound("web:7".into()),
            ErrorKind::NotFound,
            &["session `web:7`"],
        ),
    ];
    assert_refused(&world, &table).await;
    let mut asked = request();
    asked.cwd = Some(file.to_str().unwrap().into());
    let error = world
        .service
        .create_automation(&asked, None)
        .await
        .unwrap_err();
    assert!(
        error_chain(&error).contains("it is not a directory"),
        "{error}"
    );
    let left = world.automations().await;
    assert!(left.items.is_empty() && left.unreadable.is_empty());
}

#[tokio::test]
async fn trigger_that_never_fires_is_refused() {
    let world = World::new().await;
    let table: Vec<Refusal> = vec![
        (
            |asked| asked.zone = Some("Europe/Prage".into()),
            ErrorKind::Invalid,
            &["`Europe/Prage`", "did you mean Europe/Prague?"],
        ),
        (
            |asked| asked.triggers = vec![cron("0 0 30 2 *")],
            ErrorKind::Invalid,
            &["`0 0 30 2 *`"],
        ),
        (
            |asked| asked.triggers = vec![cron("0 25 * * *")],
            ErrorKind::Invalid,
            &["hour", "25"],
        ),
        (
            |asked| asked.triggers = vec![every("10 minutes")],
            ErrorKind::Invalid,
            &["`10 minutes`", "1s to 366d"],
        ),
        (
            |asked| asked.triggers = vec![at("2026-11-21T09:59")],
            ErrorKind::Invalid,
            &["2026-11-21T08:59:00Z", "not after the present"],
        ),
    ];
    assert_refused(&world, &table).await;
}

#[tokio::test]
async fn agent_without_restore_runs_fresh_automation_without_probe() {
    let world = World::new().await;
    let mut asked = request();
    asked.agent = Some("amnesiac".into());
    asked.session = SessionTarget::Fresh;
    let made = world.service.create_automation(&asked, None).await.unwrap();
    assert_eq!(made.automation.session_mode, SessionMode::Fresh);
    assert_eq!(world.agents.starts.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn agent_is_probed_once_for_capabilities() {
    let world = World::new().await;
    for name in ["one", "two"] {
        let mut asked = request();
        asked.name = Some(name.into());
        world.service.create_automation(&asked, None).await.unwrap();
    }
    assert_eq!(world.agents.starts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn new_automation_shows_five_upcoming_runs_with_offset() {
    let world = World::new().await;
    let mut asked = request();
    asked.policies.quiet_hours = serde_json::from_str(r#"["08:00-09:30"]"#).unwrap();
    asked.triggers.push(at("2026-11-23 12:00"));
    let made = world.service.create_automation(&asked, None).await.unwrap();
    let shown: Vec<_> = made
        .upcoming_runs
        .iter()
        .map(|fire| (fire.display.as_str(), fire.in_quiet_hours))
        .collect();
    assert_eq!(
        shown,
        [
            ("Mon 2026-11-23 09:00:00 +01:00 Europe/Prague", true),
            ("Mon 2026-11-23 12:00:00 +01:00 Europe/Prague", false),
            ("Tue 2026-11-24 09:00:00 +01:00 Europe/Prague", true),
            ("Wed 2026-11-25 09:00:00 +01:00 Europe/Prague", true),
            ("Thu 2026-11-26 09:00:00 +01:00 Europe/Prague", true),
        ]
    );
    let kinds: Vec<_> = made
        .triggers
        .iter()
        .map(|trigger| Spec::from(trigger.spec.clone()).kind())
        .collect();
    assert_eq!(kinds, ["manual", "cron", "at"]);
}

#[tokio::test]
async fn interval_trigger_starts_on_whole_second() {
    let world = World::new().await;
    world
        .clock
        .advance(std::time::Duration::from_micros(999_999));
    let mut asked = request();
    asked.zone = None;
    asked.triggers = vec![every("1s")];
    let made = world.service.create_automation(&asked, None).await.unwrap();
    let first = &made.upcoming_runs[0].display;
    assert_eq!(first, "Sat 2026-11-21 09:00:02 +00:00 UTC");
}

#[tokio::test]
async fn derived_automation_names_are_unique() {
    let world = World::new().await;
    let mut asked = request();
    asked.name = None;
    for name in ["read-the-news", "read-the-news-2", "read-the-news-3"] {
        let made = world.service.create_automation(&asked, None).await.unwrap();
        assert_eq!(made.automation.name, name);
    }
    asked.name = Some("read-the-news".into());
    let error = world
        .service
        .create_automation(&asked, None)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("`read-the-news`"), "{error}");
}

#[tokio::test]
async fn automation_is_found_by_name_id_and_id_prefix() {
    let world = World::new().await;
    let one = world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let id = one.automation.id.to_string();
    for given in ["news", &id, &id[..20], &id["aut_".len()..]] {
        let found = world.service.automation(given).await.unwrap();
        assert_eq!(found.automation.id, one.automation.id, "{given}");
    }
    let mut asked = request();
    asked.name = Some("weather".into());
    world.service.create_automation(&asked, None).await.unwrap();
    // Both were made in one millisecond, so they begin alike.
    let error = world.service.automation(&id[..16]).await.unwrap_err();
    assert!(matches!(error, Error::Ambiguous { .. }), "{error}");
    let error = world.service.automation("wether").await.unwrap_err();
    assert!(error.to_string().contains("`weather`"), "{error}");
}

#[tokio::test]
async fn bound_automation_uses_agent_of_its_session() {
    let world = World::new().await;
    let session = world.conversation().await;
    let key = session.session_key.clone().unwrap();
    for given in [key.clone(), session.id.to_string()] {
        let mut asked = request();
        asked.name = None;
        asked.agent = None;
        asked.session = SessionTarget::Bound(given);
        let made = world.service.create_automation(&asked, None).await.unwrap();
        assert_eq!(made.agent, "good");
        assert_eq!(made.session.unwrap().id, session.id);
        assert_eq!(made.automation.bound_session_key.as_ref(), Some(&key));
    }
    let mut asked = request();
    asked.session = SessionTarget::Bound(key.clone());
    asked.agent = Some("amnesiac".into());
    let error = world
        .service
        .create_automation(&asked, None)
        .await
        .unwrap_err();
    assert!(
        error_chain(&error).contains("has the agent `good`"),
        "{error}"
    );
    asked.agent = None;
    asked.cwd = Some(world.directory().to_str().unwrap().into());
    let error = world
        .service
        .create_automation(&asked, None)
        .await
        .unwrap_err();
    assert!(error_chain(&error).contains("never changes"), "{error}");
    asked.cwd = None;
    asked.policies.overlap = Some(Overlap::CancelRunning);
    let error = world
        .service
        .create_automation(&asked, None)
        .await
        .unwrap_err();
    assert!(error_chain(&error).contains("use queue or skip"), "{error}");
}

#[tokio::test]
async fn binding_to_closed_or_keyless_session_is_refused() {
    let world = World::new().await;
    let session = world.conversation().await;
    world
        .store
        .transition_session(
            Scope::Tenant(world.tenant),
            session.id,
            SessionEvent::Complete,
            None,
            NOW.parse().unwrap(),
        )
        .await
        .unwrap();
    let mut asked = request();
    asked.session = SessionTarget::Bound(session.id.to_string());
    let error = world
        .service
        .create_automation(&asked, None)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::SessionClosed { .. }), "{error}");

    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let run = world.service.fire("news", None).await.unwrap();
    let mut asked = request();
    asked.name = Some("other".into());
    asked.session = SessionTarget::Bound(run.session_id.unwrap().to_string());
    let error = world
        .service
        .create_automation(&asked, None)
        .await
        .unwrap_err();
    assert!(error_chain(&error).contains("has no key"), "{error}");
}

#[tokio::test]
async fn paused_automation_has_no_upcoming_runs_but_can_be_fired() {
    let world = World::new().await;
    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let paused = world.service.pause_automation("news").await.unwrap();
    assert_eq!(paused.automation.state, AutomationState::Paused);
    assert!(paused.upcoming_runs.is_empty());
    let error = world.service.pause_automation("news").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(
        error_chain(&error).contains("automation `news` is paused"),
        "{error}"
    );
    let run = world.service.fire("news", None).await.unwrap();
    assert_eq!(run.status(), RunStatus::Queued);
    let resumed = world.service.resume_automation("news").await.unwrap();
    assert_eq!(resumed.upcoming_runs.len(), 5);
}

#[tokio::test]
async fn reset_automation_gets_new_session() {
    let world = World::new().await;
    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let first = world.service.fire("news", None).await.unwrap().session_id;
    let shown = world.service.automation("news").await.unwrap();
    assert_eq!(shown.session.map(|session| session.id), first);
    let reset = world.service.reset_automation("news").await.unwrap();
    assert_eq!(reset.session, None);
    let second = world.service.fire("news", None).await.unwrap().session_id;
    assert!(second.is_some() && second != first);
}

#[tokio::test]
async fn automation_deletion_keeps_sessions_unless_requested() {
    let world = World::new().await;
    for (with_sessions, left) in [(false, 2), (true, 2)] {
        let mut asked = request();
        asked.session = SessionTarget::Fresh;
        world.service.create_automation(&asked, None).await.unwrap();
        for _ in 0..2 {
            world.service.fire("news", None).await.unwrap();
        }
        let deleted = world
            .service
            .delete_automation("news", with_sessions)
            .await
            .unwrap();
        assert_eq!(deleted.sessions_deleted, if with_sessions { 2 } else { 0 });
        let all = world
            .store
            .sessions(Scope::Tenant(world.tenant), None, None, 100)
            .await
            .unwrap();
        assert_eq!(all.len(), left);
        let error = world.service.automation("news").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}

#[tokio::test]
async fn runs_are_listed_by_automation_name() {
    let world = World::new().await;
    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let fired = world.service.fire("news", None).await.unwrap();
    let query = |automation: &str, statuses| RunQuery {
        selection: RunFilterRequest {
            automation: Some(automation.into()),
            status: statuses,
            ..RunFilterRequest::default()
        },
        limit: 10,
        ..RunQuery::default()
    };
    let runs = world
        .service
        .runs(&query("news", vec![]))
        .await
        .unwrap()
        .items;
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].run.id, fired.id);
    let failed = query("news", vec![RunStatus::Failed]);
    assert!(world.service.runs(&failed).await.unwrap().items.is_empty());
    let unknown = world
        .service
        .runs(&query("nwes", vec![]))
        .await
        .unwrap_err();
    assert!(unknown.to_string().contains("`news`"), "{unknown}");
}
