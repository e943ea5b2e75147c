//! Names and keys in the form of an ID: an ID finds its own object and never another one of that name.

use api_types::{AutomationRequest, EndpointRequest, SessionRequest, TokenRequest};
use model::{
    AgentId, AutomationId, EndpointId, InstanceId, SessionId, TenantId, TokenId,
    access::{Permission, Role},
    agent::AgentConfig,
    entity::{SeatSettings, Session},
    notification::NotificationKind,
    policy::{Policies, SessionMode},
    session::{SessionEvent, SessionKind, SessionType},
};
use service::{Error, ErrorKind};
use store::{NewAutomation, NewEndpoint, NewSeat, NewSession, Scope};
use testkit::clock::SeededEntropy;

use crate::world::{World, error_chain, request};

const URL: &str = "https://hooks.example.org/matins";

fn endpoint_request(name: &str) -> EndpointRequest {
    EndpointRequest {
        name: name.into(),
        url: URL.into(),
        events: vec![NotificationKind::RunFailed],
        automation: None,
        channel: None,
    }
}

fn named(name: &str) -> AutomationRequest {
    AutomationRequest {
        name: Some(name.into()),
        ..request()
    }
}

fn keyed(key: &str) -> SessionRequest {
    SessionRequest {
        agent: Some("good".into()),
        session_key: Some(key.into()),
        ..SessionRequest::default()
    }
}

/// Objects whose names were stored before such names were refused.
impl World {
    async fn old_automation(&self, name: &str) -> AutomationId {
        let agent = self.service.agent("good").await.unwrap();
        let new = NewAutomation {
            name: name.into(),
            prompt: "x".into(),
            agent: agent.id,
            cwd: None,
            placed_on: None,
            session_mode: SessionMode::Fresh,
            bound_session_key: None,
            policies: Policies::default(),
            settings: SeatSettings::default(),
            permissions: model::permission::PermissionRules::default(),
            triggers: Vec::new(),
        };
        let now = self.clock_now();
        let made = self.store.create_automation(self.tenant, None, &new, now);
        made.await.unwrap()
    }

    async fn old_session(&self, key: &str) -> SessionId {
        let agent = self.service.agent("good").await.unwrap();
        let now = self.clock_now();
        let id = SessionId::generate(now, &SeededEntropy::new(21));
        let new = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: Some(key.into()),
            title: None,
            draft: false,
            channel: None,
            cwd: Some("/".into()),
            placed_on: None,
            automation_id: None,
            entry: NewSeat::only(agent.id, SeatSettings::default()),
            other_seats: Vec::new(),
        };
        let made = self.store.create_session(self.tenant, &new, now);
        made.await.unwrap().0
    }

    async fn old_endpoint(&self, name: &str) -> EndpointId {
        let now = self.clock_now();
        let id = EndpointId::generate(now, &SeededEntropy::new(22));
        let new = NewEndpoint {
            name: name.into(),
            url: URL.into(),
            events: vec![NotificationKind::RunFailed],
            automation: None,
            channel: None,
        };
        let made = self.store.create_endpoint(self.tenant, id, &new, now);
        made.await.unwrap();
        id
    }

    async fn found_session(&self, given: &str) -> SessionId {
        self.service.session_id(given).await.unwrap()
    }
}

/// The ways in which a full ID is written.
fn forms(prefix: &str, id: uuid::Uuid) -> [String; 5] {
    let simple = id.simple().to_string();
    [
        format!("{prefix}_{simple}"),
        format!("{prefix}_{}", simple.to_uppercase()),
        format!("{prefix}_{id}"),
        simple,
        id.to_string().to_uppercase(),
    ]
}

#[tokio::test]
async fn id_finds_its_automation_before_another_of_that_name() {
    let world = World::new().await;
    let id = world.old_automation("news").await;
    for name in forms(AutomationId::PREFIX, id.uuid()) {
        let other = world.old_automation(&name).await;
        let found = world.service.automation_id(&name).await.unwrap();
        assert_eq!(found, id, "{name}");
        let edited = world.service.automation(&name).await.unwrap();
        assert_eq!(edited.automation.name, "news", "{name}");
        let own = world.service.automation_id(&other.to_string()).await;
        assert_eq!(own.unwrap(), other, "{name}");
    }
}

#[tokio::test]
async fn id_finds_its_session_before_another_with_that_key() {
    let world = World::new().await;
    for at in 0..5 {
        let session = world.conversation().await;
        let key = forms(SessionId::PREFIX, session.id.uuid())[at].clone();
        let other = world.old_session(&key).await;
        assert_eq!(world.found_session(&key).await, session.id, "{key}");
        let run = world.service.send_message(&key, "hello", None).await;
        assert_eq!(run.unwrap().session_id, Some(session.id), "{key}");
        assert_eq!(world.found_session(&other.to_string()).await, other);
        let given = other.to_string();
        world.service.delete_session(&given, false).await.unwrap();
    }
}

#[tokio::test]
async fn id_finds_its_agent_endpoint_instance_and_tenant_before_those_of_that_name() {
    let world = World::new().await;
    let (service, store, now) = (&world.service, &world.store, world.clock_now());
    let config = AgentConfig::new(vec!["other".into()]);

    let good = service.agent("good").await.unwrap().id;
    let pager = world.old_endpoint("pager").await;
    let host = InstanceId::generate(now, &SeededEntropy::new(23));
    let registered = store.register_instance(world.tenant, host, "host", now);
    registered.await.unwrap();
    let entropy = SeededEntropy::new(24);
    for name in forms(AgentId::PREFIX, good.uuid()) {
        let put = store.put_agent(world.tenant, &name, &config, None, now);
        put.await.unwrap();
        assert_eq!(service.agent(&name).await.unwrap().id, good, "{name}");
    }
    for name in forms(EndpointId::PREFIX, pager.uuid()) {
        let other = EndpointId::generate(now, &entropy);
        let new = NewEndpoint {
            name: name.clone(),
            url: URL.into(),
            events: vec![NotificationKind::RunFailed],
            automation: None,
            channel: None,
        };
        let made = store.create_endpoint(world.tenant, other, &new, now);
        made.await.unwrap();
        assert_eq!(service.endpoint(&name).await.unwrap().id, pager, "{name}");
    }
    for name in forms(InstanceId::PREFIX, host.uuid()) {
        let other = InstanceId::generate(now, &entropy);
        let registered = store.register_instance(world.tenant, other, &name, now);
        registered.await.unwrap();
        assert_eq!(service.instance(&name).await.unwrap().id, host, "{name}");
    }
    for name in forms(TenantId::PREFIX, world.tenant.uuid()) {
        let other = TenantId::generate(now, &entropy);
        store.create_tenant(other, &name, now).await.unwrap();
        let found = service.tenant(true, &name).await.unwrap();
        assert_eq!(found.id, world.tenant, "{name}");
    }
}

#[tokio::test]
async fn id_of_deleted_object_finds_no_other_of_that_name() {
    let world = World::new().await;
    let automation = world.old_automation("news").await.to_string();
    let session = world.conversation().await.id.to_string();
    world.old_automation(&automation).await;
    world.old_session(&session).await;
    let deleted = world.service.delete_automation(&automation, false).await;
    assert_eq!(deleted.unwrap().name, "news");
    world.service.delete_session(&session, false).await.unwrap();
    let gone = world.service.automation(&automation).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound, "{gone}");
    let gone = world.service.send_message(&session, "hello", None).await;
    assert_eq!(gone.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn name_that_only_resembles_id_is_found() {
    let world = World::new().await;
    let uuid = AutomationId::generate(world.clock_now(), &SeededEntropy::new(25));
    let uuid = uuid.uuid();
    // Old names: an ID of another kind, a UUID of no object, and texts that are no IDs.
    for name in [
        format!("ses_{}", uuid.simple()),
        uuid.to_string(),
        "aut_ffff0199ab00".to_owned(),
        "face".to_owned(),
        format!("web:{uuid}"),
    ] {
        let id = world.old_automation(&name).await;
        let found = world.service.automation_id(&name).await.unwrap();
        assert_eq!(found, id, "{name}");
        if !name.starts_with("ses_") {
            let id = world.old_session(&name).await;
            assert_eq!(world.found_session(&name).await, id, "{name}");
            let given = id.to_string();
            world.service.delete_session(&given, false).await.unwrap();
        }
    }
}

#[tokio::test]
async fn name_that_is_prefix_of_other_id_is_ambiguous() {
    let world = World::new().await;
    let automation = world.old_automation("news").await;
    let name = automation.to_string()[..28].to_owned();
    let named = world.old_automation(&name).await;
    let refused = world.service.automation_id(&name).await.unwrap_err();
    assert!(matches!(refused, Error::Ambiguous { .. }), "{refused}");
    for id in [automation, named] {
        let found = world.service.automation_id(&id.to_string()).await;
        assert_eq!(found.unwrap(), id);
    }

    // Digits without a kind are the name.
    let digits = automation.to_string()[4..12].to_owned();
    let named = world.old_automation(&digits).await;
    assert_eq!(world.service.automation_id(&digits).await.unwrap(), named);

    let session = world.conversation().await.id;
    let key = session.to_string()[..28].to_owned();
    let keyed = world.old_session(&key).await;
    let refused = world.service.send_message(&key, "hello", None).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Error::Ambiguous { .. }), "{refused}");
    for id in [session, keyed] {
        assert_eq!(world.found_session(&id.to_string()).await, id);
    }
}

/// Asserts that a name was refused, with its field, its value and the accepted values.
fn assert_refused<T>(outcome: Result<T, Error>, field: &str, name: &str) {
    let Err(refused) = outcome else {
        panic!("`{name}` was accepted as `{field}`");
    };
    let detail = error_chain(&refused);
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{detail}");
    assert_eq!(refused.field(), Some(field), "{detail}");
    assert!(detail.contains(name), "{detail}");
    assert!(detail.contains("form of an ID"), "{detail}");
    assert!(detail.contains("accepted are"), "{detail}");
}

#[tokio::test]
async fn new_name_in_form_of_id_is_refused() {
    let world = World::new().await;
    let service = &world.service;
    let config = AgentConfig::new(vec!["good-agent".into()]);
    let id = AutomationId::generate(world.clock_now(), &SeededEntropy::new(26));
    let simple = id.uuid().simple().to_string();
    let own = world.conversation().await.id;
    for name in [
        id.to_string(),
        id.to_string().to_uppercase(),
        simple.clone(),
        id.uuid().to_string(),
        // The prefixes of every kind are refused for all kinds.
        format!("ses_{simple}"),
        format!("seat_{simple}"),
        format!("har_{simple}"),
        format!("tok_{simple}"),
        own.to_string(),
        // So are the first digits of an ID, as lists show it.
        format!("ses_{}", &simple[..12]),
        "AUT_01A222AD".to_owned(),
    ] {
        assert_refused(
            service.create_automation(&named(&name), None).await,
            "name",
            &name,
        );
        assert_refused(
            service.create_session(&keyed(&name), None).await,
            "session_key",
            &name,
        );
        assert_refused(service.add_agent(&name, &config).await, "name", &name);
        assert_refused(
            service
                .create_endpoint(&endpoint_request(&name), None)
                .await,
            "name",
            &name,
        );
        let tenant = service.create_tenant(&name, None, None, &[]).await;
        assert_refused(tenant, "name", &name);
        let token = TokenRequest {
            name: name.clone(),
            role: Role::Viewer,
            scopes: None,
            expires_at: None,
        };
        let token = service
            .create_token(&token, Permission::ALL, None, None)
            .await;
        assert_refused(token, "name", &name);
    }
    for name in [
        "aut_0199",
        "run_20261128",
        "ses_1",
        "0199ab",
        "face",
        "aut",
        "web:0199ab00-0000-7000-8000-000000000000",
    ] {
        service.create_automation(&named(name), None).await.unwrap();
        service.create_session(&keyed(name), None).await.unwrap();
    }
}

#[tokio::test]
async fn name_derived_from_prompt_never_has_form_of_id() {
    let world = World::new().await;
    for prompt in [
        "0199ab00-0000-7000-8000-000000000000",
        "0199AB00000070008000000000000000",
    ] {
        let unnamed = AutomationRequest {
            name: None,
            prompt: prompt.into(),
            ..request()
        };
        let made = world.service.create_automation(&unnamed, None).await;
        let name = made.unwrap().automation.name;
        assert!(!model::has_id_form(&name), "{name}");
    }
}

#[tokio::test]
async fn rename_to_form_of_id_is_refused_and_old_name_may_stay() {
    let world = World::new().await;
    let service = &world.service;
    let id = AutomationId::generate(world.clock_now(), &SeededEntropy::new(27));
    let name = format!("end_{}", id.uuid().simple());

    let other = format!("run_{}", id.uuid().simple());
    let old = world.old_automation(&name).await.to_string();
    let seen = service.automation(&old).await.unwrap();
    let mut to = seen.request();
    to.prompt = "y".into();
    let kept = service.edit_automation(&seen, &to, false).await.unwrap();
    assert_eq!(
        (&*kept.automation.name, &*kept.automation.prompt),
        (&*name, "y")
    );
    to.name = Some(other.clone());
    assert_refused(
        service.edit_automation(&kept, &to, false).await,
        "name",
        &other,
    );
    to.name = Some("tidy".into());
    service.edit_automation(&kept, &to, false).await.unwrap();

    let endpoint = world.old_endpoint(&name).await.to_string();
    let seen = service.endpoint(&endpoint).await.unwrap();
    let mut to = endpoint_request(&name);
    to.events.push(NotificationKind::RunSucceeded);
    let kept = service.edit_endpoint(&seen, &to).await.unwrap();
    assert_eq!((&*kept.name, kept.events.len()), (&*name, 2));
    to.name = other.clone();
    assert_refused(service.edit_endpoint(&kept, &to).await, "name", &other);
}

#[tokio::test]
async fn repeated_creation_with_old_name_returns_first_object() {
    let world = World::new().await;
    let (service, now) = (&world.service, world.clock_now());
    let entropy = SeededEntropy::new(28);
    let name = AutomationId::generate(now, &entropy).to_string();
    // An agent is replaced by its name, so the same request may come again.
    let config = AgentConfig::new(vec!["good-agent".into()]);
    let put = world
        .store
        .put_agent(world.tenant, &name, &config, None, now);
    let agent = put.await.unwrap();
    let again = service.add_agent(&name, &config).await.unwrap();
    assert_eq!(again.id, agent.id);

    let automation = world.old_automation(&name).await;
    let again = service
        .create_automation(&named(&name), Some(automation))
        .await;
    assert_eq!(again.unwrap().automation.id, automation);
    let session = world.old_session(&name).await;
    let again: Session = service
        .create_session(&keyed(&name), Some(session))
        .await
        .unwrap();
    assert_eq!(again.id, session);
    let endpoint = world.old_endpoint(&name).await;
    let again = service
        .create_endpoint(&endpoint_request(&name), Some(endpoint))
        .await;
    assert_eq!(again.unwrap().endpoint.id, endpoint);
    let tenant = TenantId::generate(now, &entropy);
    world.store.create_tenant(tenant, &name, now).await.unwrap();
    let again = service
        .create_tenant(&name, None, Some(tenant), &[])
        .await
        .unwrap();
    assert_eq!(again.tenant.id, tenant);
    // The first request had stopped before it created the token of the first admin.
    let token = world
        .store
        .token(Scope::System, TokenId::from_uuid(tenant.uuid()))
        .await;
    assert_eq!(token.unwrap().tenant_id, tenant);
}

#[tokio::test]
async fn automation_stays_bound_to_session_with_old_key() {
    let world = World::new().await;
    let other = world.conversation().await;
    // The key of this session is the ID of the other one.
    let key = other.id.to_string();
    let session = world.old_session(&key).await.to_string();
    let bound = AutomationRequest {
        session: api_types::SessionTarget::Bound(session.clone()),
        agent: None,
        ..request()
    };
    let made = world.service.create_automation(&bound, None).await.unwrap();
    assert_eq!(made.automation.bound_session_key.as_ref(), Some(&key));
    let mut to = made.request();
    to.prompt = "y".into();
    let edited = world.service.edit_automation(&made, &to, false).await;
    assert_eq!(edited.unwrap().automation.bound_session_key, Some(key));
    let paused = world
        .service
        .move_session(&session, SessionEvent::Pause, None)
        .await;
    assert_eq!(paused.unwrap().bound_automations, ["news"]);
}
