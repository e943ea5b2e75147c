//! Unified mode: one conversation for the automations of the web.

use api_types::{AutomationRequest, SessionDeleted, SessionRequest, SessionTarget};
use model::{
    entity::Session,
    session::{SessionKind, SessionType},
};
use service::{AutomationQuery, Error, ErrorKind, Service, UnifiedMode};

use crate::world::{World, error_chain, request};

const UNIFIED_KEY: &str = "unified:default";

impl World {
    /// The rules in unified mode, for a browser or for others.
    fn unified(&self, by_browser: bool) -> Service {
        let on = true;
        self.service.clone().with_unified_mode(UnifiedMode {
            enabled: on,
            by_browser,
        })
    }

    async fn create_chat(&self, key: &str) -> Session {
        let request = SessionRequest {
            agent: Some("good".into()),
            session_key: Some(key.into()),
            ..SessionRequest::default()
        };
        self.service.create_session(&request, None).await.unwrap()
    }
}

fn bound_to(name: &str, session: &str) -> AutomationRequest {
    AutomationRequest {
        name: Some(name.into()),
        agent: None,
        session: SessionTarget::Bound(session.into()),
        ..request()
    }
}

/// Returns the names of the automations in the list for a session.
async fn listed_names(service: &Service, session: &str) -> Vec<String> {
    let query = AutomationQuery {
        session: Some(session.into()),
        limit: 100,
        ..AutomationQuery::default()
    };
    let listed = service.automations(&query).await.unwrap();
    let listed = listed.items.into_iter();
    listed.map(|item| item.name).collect()
}

async fn key_of(service: &Service, automation: &str) -> Option<String> {
    let found = service.automation(automation).await.unwrap();
    found.automation.bound_session_key
}

#[tokio::test]
async fn automation_of_web_chat_is_bound_to_unified_session() {
    let world = World::new().await;
    let chat = world.create_chat("web:7").await;
    let unified = world.unified(false);
    for (name, given) in [
        ("by key", "web:7".to_owned()),
        ("by id", chat.id.to_string()),
    ] {
        let asked = bound_to(name, &given);
        let made = unified.create_automation(&asked, None).await.unwrap();
        assert_eq!(
            made.automation.bound_session_key.as_deref(),
            Some(UNIFIED_KEY)
        );
        let session = made.session.unwrap();
        assert_eq!(session.session_key.as_deref(), Some(UNIFIED_KEY));
        assert_eq!(
            (session.kind, session.session_type),
            (SessionKind::Interactive, SessionType::Regular)
        );
        assert_eq!(made.agent, "good", "that of the chat");
    }
    // A session other than a web chat is bound as requested.
    world.create_chat("slack:7").await;
    let asked = bound_to("slack", "slack:7");
    let made = unified.create_automation(&asked, None).await.unwrap();
    assert_eq!(
        made.automation.bound_session_key.as_deref(),
        Some("slack:7")
    );
    // Without the mode, so is a web chat.
    let asked = bound_to("apart", "web:7");
    let made = world.service.create_automation(&asked, None).await.unwrap();
    assert_eq!(made.automation.bound_session_key.as_deref(), Some("web:7"));
    // A chat that does not exist is not found.
    let asked = bound_to("nowhere", "web:8");
    let refused = unified.create_automation(&asked, None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound, "{refused}");
}

#[tokio::test]
async fn browser_may_omit_session_in_unified_mode() {
    let world = World::new().await;
    let mut asked = bound_to("news", "");
    for service in [&world.service, &world.unified(false)] {
        let refused = service.create_automation(&asked, None).await.unwrap_err();
        assert!(matches!(refused, Error::Missing { .. }), "{refused}");
    }
    let by_browser = UnifiedMode {
        enabled: false,
        by_browser: true,
    };
    let off = world.service.clone().with_unified_mode(by_browser);
    assert!(off.create_automation(&asked, None).await.is_err());

    // There is no chat whose agent it could have.
    let browser = world.unified(true);
    let refused = browser.create_automation(&asked, None).await.unwrap_err();
    assert!(
        error_chain(&refused).contains("`agent` is missing"),
        "{refused}"
    );
    asked.agent = Some("good".into());
    asked.cwd = Some("/".into());
    let refused = browser.create_automation(&asked, None).await.unwrap_err();
    assert!(
        error_chain(&refused).contains("a folder of its own"),
        "{refused}"
    );
    let key = UNIFIED_KEY;
    let none = world.store.session_by_key(world.tenant, key).await.unwrap();
    assert_eq!(none, None, "a refused request creates nothing");
    asked.cwd = None;
    let made = browser.create_automation(&asked, None).await.unwrap();
    assert_eq!(
        made.automation.bound_session_key.as_deref(),
        Some(UNIFIED_KEY)
    );
    // The next one finds it there.
    let again = bound_to("weather", "");
    let again = browser.create_automation(&again, None).await.unwrap();
    assert_eq!(again.session.unwrap().id, made.session.unwrap().id);
}

#[tokio::test]
async fn every_web_chat_lists_automations_of_unified_session() {
    let world = World::new().await;
    world.create_chat("web:7").await;
    world.create_chat("web:8").await;
    world.create_chat("slack:7").await;
    let asked = bound_to("apart", "web:7");
    world.service.create_automation(&asked, None).await.unwrap();
    let unified = world.unified(false);
    let asked = bound_to("shared", "web:7");
    unified.create_automation(&asked, None).await.unwrap();
    assert_eq!(listed_names(&unified, "web:7").await, ["shared", "apart"]);
    assert_eq!(listed_names(&unified, "web:8").await, ["shared"]);
    assert_eq!(listed_names(&unified, UNIFIED_KEY).await, ["shared"]);
    assert_eq!(listed_names(&unified, "slack:7").await, [""; 0]);
    assert_eq!(listed_names(&world.service, "web:7").await, ["apart"]);
    assert_eq!(listed_names(&world.service, "web:8").await, [""; 0]);
    assert_eq!(listed_names(&world.service, UNIFIED_KEY).await, ["shared"]);
}

#[tokio::test]
async fn switching_unified_mode_keeps_bindings() {
    let world = World::new().await;
    world.create_chat("web:7").await;
    let unified = world.unified(true);
    let asked = bound_to("apart", "web:7");
    world.service.create_automation(&asked, None).await.unwrap();
    let asked = bound_to("shared", "web:7");
    unified.create_automation(&asked, None).await.unwrap();
    for service in [&world.service, &unified, &world.service] {
        assert_eq!(key_of(service, "apart").await.unwrap(), "web:7");
        assert_eq!(key_of(service, "shared").await.unwrap(), UNIFIED_KEY);
        // An edit of another field keeps the binding in both modes.
        for name in ["apart", "shared"] {
            let seen = service.automation(name).await.unwrap();
            let mut asked = seen.request();
            asked.prompt.push('.');
            let edited = service.edit_automation(&seen, &asked, false).await.unwrap();
            let (before, after) = (&seen.automation, &edited.automation);
            assert_eq!(after.bound_session_key, before.bound_session_key);
        }
    }
    // Nor does one that is refused where it is.
    let seen = unified.automation("apart").await.unwrap();
    let mut asked = seen.request();
    asked.agent = Some("amnesiac".into());
    let refused = unified.edit_automation(&seen, &asked, false).await;
    let refused = refused.unwrap_err();
    assert!(
        error_chain(&refused).contains("has the agent `good`"),
        "{refused}"
    );
    // A fire goes where it is bound, and not where the mode would have put it.
    let run = unified.fire("apart", None).await.unwrap();
    let chat = unified.session_id("web:7").await.unwrap();
    assert_eq!(run.session_id, Some(chat));
}

#[tokio::test]
async fn web_chat_deletion_keeps_unified_session() {
    let world = World::new().await;
    world.create_chat("web:7").await;
    let unified = world.unified(false);
    let asked = bound_to("shared", "web:7");
    unified.create_automation(&asked, None).await.unwrap();
    let deleted = unified.delete_session("web:7", false).await.unwrap();
    assert!(
        matches!(deleted, SessionDeleted { deleted: true, .. }),
        "{deleted:?}"
    );
    assert_eq!(key_of(&unified, "shared").await.unwrap(), UNIFIED_KEY);
    assert_eq!(listed_names(&unified, UNIFIED_KEY).await, ["shared"]);
}
