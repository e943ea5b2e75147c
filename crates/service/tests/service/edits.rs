//! Edits of automations, which follow the same rules as creation.

use api_types::{AutomationRequest, AutomationView, SessionTarget, Trigger, TriggerSpec};
use model::{
    SessionId,
    policy::{Overlap, SessionMode},
    schedule::Zone,
    session::SessionEvent,
};
use service::{Error, ErrorKind};
use store::{Location, Scope};

use crate::world::{NOW, World, at, cron, error_chain, every, request};

impl World {
    async fn edit(
        &self,
        change: impl FnOnce(&mut AutomationRequest),
    ) -> Result<AutomationView, Error> {
        let seen = self.service.automation("news").await?;
        let mut asked = seen.request();
        change(&mut asked);
        self.service.edit_automation(&seen, &asked, false).await
    }
}

/// The triggers of a view that fire by time.
fn timed(view: &AutomationView) -> Vec<&Trigger> {
    let timed = |it: &&Trigger| it.spec != TriggerSpec::Manual {};
    view.triggers.iter().filter(timed).collect()
}

type Change = fn(&mut AutomationRequest);

#[tokio::test]
async fn invalid_automation_edit_is_refused() {
    let world = World::new().await;
    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let before = world.service.automation("news").await.unwrap();
    let table: Vec<(Change, ErrorKind, &[&str])> = vec![
        (
            |asked| asked.agent = Some("godo".into()),
            ErrorKind::NotFound,
            &["agent `godo`", "did you mean `good`?"],
        ),
        (
            |asked| asked.agent = Some("amnesiac".into()),
            ErrorKind::Refused,
            &["`amnesiac`", "neither session/resume nor session/load"],
        ),
        (
            |asked| asked.prompt = " ".into(),
            ErrorKind::Invalid,
            &["prompt", "it is empty"],
        ),
        (
            |asked| asked.name = Some("a\nb".into()),
            ErrorKind::Invalid,
            &["name", "on one line"],
        ),
        (
            |asked| asked.cwd = Some("/not/there".into()),
            ErrorKind::Invalid,
            &["working directory", "/not/there", "does not exist"],
        ),
        (
            |asked| asked.triggers = vec![cron("0 9 30 2 *")],
            ErrorKind::Invalid,
            &["0 9 30 2 *"],
        ),
        (
            |asked| asked.triggers = vec![at("2020-01-01T09:00")],
            ErrorKind::Invalid,
            &["2020-01-01"],
        ),
        (
            |asked| asked.policies.overlap = Some(Overlap::Allow),
            ErrorKind::Invalid,
            &["overlap", "allow", "only automations with fresh sessions"],
        ),
        (
            |asked| asked.session = SessionTarget::Bound("nobody".into()),
            ErrorKind::NotFound,
            &["session `nobody`"],
        ),
    ];
    for (change, kind, words) in table {
        let error = world.edit(change).await.unwrap_err();
        let detail = error_chain(&error);
        assert_eq!(error.kind(), kind, "{detail}");
        assert!(words.iter().all(|word| detail.contains(word)), "{detail}");
    }
    let after = world.service.automation("news").await.unwrap();
    assert_eq!(after.automation, before.automation);
    assert_eq!(after.triggers, before.triggers);
}

#[tokio::test]
async fn automation_edit_returns_upcoming_runs() {
    let world = World::new().await;
    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let edited = world
        .edit(|asked| {
            asked.prompt = "Read the papers".into();
            asked.triggers = vec![cron("30 8 * * *")];
        })
        .await
        .unwrap();
    assert_eq!(edited.automation.prompt, "Read the papers");
    let shown: Vec<_> = edited
        .upcoming_runs
        .iter()
        .map(|fire| &*fire.display)
        .collect();
    assert_eq!(shown.len(), 5);
    assert_eq!(shown[0], "Sun 2026-11-22 08:30:00 +01:00 Europe/Prague");
}

#[tokio::test]
async fn unchanged_trigger_keeps_cadence_after_edit() {
    let world = World::new().await;
    let mut asked = request();
    asked.triggers = vec![every("7m")];
    world.service.create_automation(&asked, None).await.unwrap();
    let before = world.service.automation("news").await.unwrap();
    let cadence = timed(&before)[0].clone();
    world.clock.advance(std::time::Duration::from_secs(100));
    // The same distance again is the same trigger; the other one counts from now.
    let edited = world
        .edit(|asked| {
            asked.triggers = vec![every("7m"), every("10m")];
        })
        .await
        .unwrap();
    assert!(timed(&edited).contains(&&cadence));
    let added = timed(&edited)
        .into_iter()
        .find(|it| it.id != cadence.id)
        .unwrap();
    let first = "2026-11-21T09:11:40Z".parse().unwrap();
    assert_eq!(added.next_scheduled_for, Some(first));
}

#[tokio::test]
async fn zone_edit_moves_cron_but_not_intervals_and_instants() {
    let world = World::new().await;
    let mut asked = request();
    asked.triggers = vec![cron("0 9 * * *"), every("7m"), at("2026-11-21T12:00")];
    world.service.create_automation(&asked, None).await.unwrap();
    // The instant is over when the zone is changed.
    world.clock.advance(std::time::Duration::from_hours(3));
    world
        .store
        .fire_due(Scope::System, world.clock_now())
        .await
        .unwrap();
    let edited = world
        .edit(|asked| asked.in_zone(&Zone::parse("America/New_York").unwrap()))
        .await
        .unwrap();
    for trigger in timed(&edited) {
        let next = trigger.next_scheduled_for.map(|at| at.to_string());
        match &trigger.spec {
            TriggerSpec::Cron { zone, .. } => {
                assert_eq!(zone, "America/New_York");
                assert_eq!(next.as_deref(), Some("2026-11-21T14:00:00Z"));
            }
            TriggerSpec::Every { zone, .. } => {
                assert_eq!(zone, "America/New_York");
                assert_eq!(next.as_deref(), Some("2026-11-21T12:02:00Z"));
            }
            TriggerSpec::At { zone, .. } => {
                assert_eq!(zone, "Europe/Prague");
                assert!(trigger.done_at.is_some());
            }
            other => panic!("{other:?}"),
        }
    }
    let nowhere = world.edit(|asked| {
        asked.triggers = vec![cron("0 9 * * *")];
        asked.zone = Some("Mars".into());
    });
    assert_eq!(nowhere.await.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn automation_edit_of_stale_version_is_refused() {
    let world = World::new().await;
    let mine = world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    world
        .edit(|asked| asked.prompt = "Theirs".into())
        .await
        .unwrap();
    let mut asked = mine.request();
    asked.prompt = "Mine".into();
    let lost = world.service.edit_automation(&mine, &asked, false).await;
    let lost = lost.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::Refused);
    assert!(
        error_chain(&lost).contains("has changed since it was read"),
        "{lost}"
    );
    assert!(lost.hint().unwrap().contains("try again"));
    let now = world.service.automation("news").await.unwrap();
    assert_eq!(now.automation.prompt, "Theirs");
}

#[tokio::test]
async fn agent_change_requires_reset_of_continuous_session() {
    let world = World::new().await;
    world
        .agents
        .install("other-agent", crate::world::resuming());
    let config = model::agent::AgentConfig::new(vec!["other-agent".into()]);
    world.service.add_agent("other", &config).await.unwrap();
    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let run = world.service.fire("news", None).await.unwrap();
    let other: Change = |asked| asked.agent = Some("other".into());
    let kept = world.edit(other).await.unwrap_err();
    assert_eq!(kept.kind(), ErrorKind::Refused);
    let session: SessionId = run.session_id.unwrap();
    assert!(error_chain(&kept).contains(&session.to_string()), "{kept}");
    assert!(kept.hint().unwrap().contains("edit news --reset"));
    let seen = world.service.automation("news").await.unwrap();
    let mut asked = seen.request();
    other(&mut asked);
    let edited = world.service.edit_automation(&seen, &asked, true).await;
    let edited = edited.unwrap();
    assert_eq!(edited.agent, "other");
    assert_eq!(edited.session, None);
}

#[tokio::test]
async fn automation_of_closed_session_can_be_edited() {
    let world = World::new().await;
    let session = world.conversation().await;
    let mut asked = request();
    asked.session = SessionTarget::Bound(session.id.to_string());
    world.service.create_automation(&asked, None).await.unwrap();
    let (scope, now) = (Scope::Tenant(world.tenant), NOW.parse().unwrap());
    let closed =
        world
            .store
            .transition_session(scope, session.id, SessionEvent::Complete, None, now);
    closed.await.unwrap();
    let edited = world.edit(|asked| asked.prompt = "Other".into()).await;
    assert_eq!(edited.unwrap().automation.prompt, "Other");
    let other = world.conversation().await;
    let bound = world
        .edit(|asked| {
            asked.session = SessionTarget::Bound(other.id.to_string());
            asked.agent = None;
        })
        .await
        .unwrap();
    assert_eq!(bound.automation.bound_session_key, other.session_key);
    let fresh = world
        .edit(|asked| asked.session = SessionTarget::Fresh)
        .await;
    let fresh = fresh.unwrap();
    assert_eq!(fresh.automation.session_mode, SessionMode::Fresh);
    assert_eq!(fresh.agent, "good");
}

#[tokio::test]
async fn settings_for_existing_session_are_refused() {
    let world = World::new().await;
    let session = world.conversation().await;
    let mut asked = request();
    asked.session = SessionTarget::Bound(session.id.to_string());
    asked.settings.mode = Some("plan".into());
    let error = world
        .service
        .create_automation(&asked, None)
        .await
        .unwrap_err();
    assert!(error_chain(&error).contains("when it began"), "{error}");
}

#[tokio::test]
async fn corrupt_automation_hides_no_other() {
    let world = World::new().await;
    let mut asked = request();
    world.service.create_automation(&asked, None).await.unwrap();
    asked.name = Some("sound".into());
    world.service.create_automation(&asked, None).await.unwrap();
    let file = world.directory().join("matins.db");
    let database = store::open(&Location::SqliteFile(file)).await.unwrap();
    let sql: &'static str =
        "update automations set policies = '{\"overlap\":1}' where name = 'news'";
    let statement: &'static _ = Box::leak(Box::new(store::database::Statement::new(
        "a test's statement",
        sql,
        sql,
    )));
    let mut tx = database.begin(Scope::System).await.unwrap();
    tx.execute(statement, Vec::new()).await.unwrap();
    tx.commit().await.unwrap();

    let list = world.automations().await;
    let names: Vec<_> = list.items.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["sound"]);
    assert_eq!(list.unreadable[0].name, "news");
    assert!(list.unreadable[0].unreadable.contains("policies"));
    assert!(world.service.automation("sound").await.is_ok());
    let error = world.service.automation("news").await.unwrap_err();
    assert!(error_chain(&error).contains("policies"), "{error}");
    let names = world.service.automation_names().await.unwrap();
    assert_eq!(names.len(), 2);
}
