//! Tenants, tokens and sign-in links: a caller cannot grant a permission that it lacks, and a link works once.

use std::{collections::BTreeSet, time::Duration};

use api_types::{SignInLink, TokenRequest};
use model::{
    Clock as _, TenantId, Timestamp, TokenId,
    access::{
        Permission, Role,
        secret::{LinkSecret, TokenSecret},
    },
};
use service::{Error, ErrorKind, Service};
use testkit::clock::SeededEntropy;

use crate::world::{World, error_chain};

fn token_request(name: &str, role: Role) -> TokenRequest {
    TokenRequest {
        name: name.into(),
        role,
        scopes: None,
        expires_at: None,
    }
}

/// Returns the permissions of a role.
fn permitted(role: Role) -> Vec<Permission> {
    let all = Permission::ALL.iter().copied();
    all.filter(|one| role.permits(*one)).collect()
}

/// The code that stands behind the `#` of a link.
fn link_code(link: &SignInLink) -> LinkSecret {
    let path = link.path.as_deref().unwrap();
    let (path, code) = path.split_once('#').unwrap();
    assert_eq!(path, "/sign-in");
    LinkSecret::parse(code).unwrap()
}

fn browser_secret(seed: u64) -> TokenSecret {
    TokenSecret::generate(&SeededEntropy::new(seed))
}

impl World {
    async fn use_link(&self, link: &SignInLink, browser: &TokenSecret) -> Option<i64> {
        let used = self
            .service
            .use_sign_in_link(&link_code(link), browser)
            .await;
        used.unwrap()
    }

    /// Whether a secret is worth anything.
    async fn is_signed_in(&self, secret: &TokenSecret) -> bool {
        let now = self.clock.now();
        let found = self.store.token_by_hash(&secret.hash(), now).await;
        found.unwrap().is_some()
    }
}

async fn token_count(service: &Service) -> usize {
    service.tokens(None, 100).await.unwrap().items.len()
}

#[tokio::test]
async fn token_scopes_are_limited_to_permissions_of_creator() {
    use Permission as P;
    let world = World::new().await;
    let narrow = [P::SessionsRead, P::SessionsWrite, P::TokensWrite];
    // Without scopes the token gets the permissions that the role and the caller share.
    let cut = world
        .service
        .create_token(&token_request("cut", Role::Member), &narrow, None, None)
        .await
        .unwrap();
    let both = BTreeSet::from([P::SessionsRead, P::SessionsWrite]);
    assert_eq!(cut.token.scopes, Some(both));
    let id = cut.token.id.to_string();
    let token = world.service.token(&id).await.unwrap();
    assert!(token.permits(P::SessionsWrite) && !token.permits(P::RunsRead));

    // A requested scope that the caller lacks is refused and not dropped.
    for (role, scope) in [
        (Role::Member, P::RunsRead),
        (Role::Member, P::TokensWrite),
        (Role::Viewer, P::SessionsWrite),
        (Role::Admin, P::TenantsWrite),
    ] {
        let mut beyond = token_request("beyond", role);
        beyond.scopes = Some(vec![P::SessionsRead, scope]);
        let refused = world
            .service
            .create_token(&beyond, &narrow, None, None)
            .await;
        let refused = refused.unwrap_err();
        let field = (refused.kind(), refused.field());
        assert_eq!(field, (ErrorKind::Invalid, Some("scopes")));
        let detail = error_chain(&refused);
        let (given, accepted) = detail.split_once("accepted are").unwrap();
        assert!(given.contains(scope.as_str()), "{detail}");
        assert!(accepted.contains("sessions:read"), "{detail}");
        assert!(!accepted.contains(scope.as_str()), "{detail}");
    }
    assert_eq!(token_count(&world.service).await, 1);
}

#[tokio::test]
async fn scopes_are_refused_with_reason_if_none_can_be_given() {
    let world = World::new().await;
    let mut request = token_request("none", Role::Member);
    request.scopes = Some(vec![Permission::SessionsRead]);
    let refused = world
        .service
        .create_token(&request, &[Permission::TokensWrite], None, None)
        .await;
    let detail = error_chain(&refused.unwrap_err());
    assert!(
        detail.ends_with("this token can give the role `member` no permission"),
        "{detail}"
    );
}

#[tokio::test]
async fn token_cannot_have_name_of_callers_over_socket() {
    let world = World::new().await;
    let (request, all) = (token_request("socket", Role::Member), Permission::ALL);
    let created = world.service.create_token(&request, all, None, None);
    let detail = error_chain(&created.await.unwrap_err());
    assert!(
        detail.contains("callers over the private socket"),
        "{detail}"
    );
    assert_eq!(token_count(&world.service).await, 0);
}

#[tokio::test]
async fn scopes_narrow_role_and_full_role_has_none() {
    let world = World::new().await;
    let admin = permitted(Role::Admin);
    for role in [Role::Admin, Role::Member, Role::Viewer] {
        let made = world
            .service
            .create_token(&token_request("whole", role), &admin, None, None)
            .await
            .unwrap();
        assert_eq!(made.token.scopes, None, "{role}");
    }
    let mut one = token_request("one", Role::Admin);
    one.scopes = Some(vec![Permission::RunsRead, Permission::RunsRead]);
    let made = world
        .service
        .create_token(&one, &admin, None, None)
        .await
        .unwrap();
    let id = made.token.id.to_string();
    let token = world.service.token(&id).await.unwrap();
    let allowed: Vec<_> = Permission::ALL
        .iter()
        .filter(|permission| token.permits(**permission))
        .collect();
    assert_eq!(allowed, [&Permission::RunsRead]);
    // No scope at all is a token that may do nothing.
    one.scopes = Some(Vec::new());
    let made = world
        .service
        .create_token(&one, &admin, None, None)
        .await
        .unwrap();
    let id = made.token.id.to_string();
    let token = world.service.token(&id).await.unwrap();
    assert!(!Permission::ALL.iter().any(|it| token.permits(*it)));
}

#[tokio::test]
async fn invalid_token_request_is_refused_with_field() {
    let world = World::new().await;
    let now = world.clock_now();
    let until = |expires_at: Timestamp| TokenRequest {
        expires_at: Some(expires_at),
        ..token_request("t", Role::Viewer)
    };
    for (request, field) in [
        (token_request("", Role::Viewer), "name"),
        (token_request("two\nlines", Role::Viewer), "name"),
        (token_request("t", Role::Runtime), "role"),
        (token_request("t", Role::Run), "role"),
        (until(now), "expires_at"),
    ] {
        let refused = world
            .service
            .create_token(&request, Permission::ALL, None, None)
            .await
            .unwrap_err();
        let detail = error_chain(&refused);
        assert_eq!(refused.field(), Some(field), "{detail}");
        assert!(detail.contains("accepted"), "{detail}");
    }
    let tokens = async || world.service.tokens(None, 10).await.unwrap().items.len();
    assert_eq!(tokens().await, 0);
    let last = until(now + Duration::from_micros(1));
    let made = world
        .service
        .create_token(&last, Permission::ALL, None, None)
        .await;
    assert!(made.is_ok());
    assert_eq!(tokens().await, 1);
}

#[tokio::test]
async fn end_after_that_of_making_token_is_refused_with_latest_end() {
    let world = World::new().await;
    let (day, later) = (Duration::from_hours(24), Duration::from_hours(25));
    let latest = world.clock_now() + day;
    let create = async |name: &str, end: Option<Timestamp>, maker: Option<TokenId>| {
        let request = TokenRequest {
            expires_at: end,
            ..token_request(name, Role::Admin)
        };
        let made = world
            .service
            .create_token(&request, Permission::ALL, maker, None);
        made.await.map(|made| made.token)
    };
    let maker = create("maker", Some(latest), None).await.unwrap();
    let too_late = world.clock_now() + later;
    let refused = create("late", Some(too_late), Some(maker.id)).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.field(), Some("expires_at"));
    let detail = error_chain(&refused);
    for part in ["expires_at", &too_late.to_string(), &latest.to_string()] {
        assert!(detail.contains(part), "{detail}");
    }
    let made = create("made", None, Some(maker.id)).await.unwrap();
    assert_eq!(
        (made.expires_at, made.made_by),
        (Some(latest), Some(maker.id))
    );
    let given = maker.id.to_string();
    let revoked = world.service.revoke_token(&given, false).await.unwrap();
    assert_eq!((revoked.also_revoked, revoked.still_valid), (0, 1));
    let refused = create("too late", None, Some(maker.id)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    let revoked = world.service.revoke_token(&given, true).await.unwrap();
    assert_eq!((revoked.also_revoked, revoked.still_valid), (1, 0));
    assert_eq!(revoked.token.revoked_at, Some(world.clock_now()));
}

#[tokio::test]
async fn first_token_of_tenant_expires_with_token_of_its_creator() {
    let world = World::new().await;
    let end = world.clock_now() + Duration::from_hours(24);
    for end in [Some(end), None] {
        let name = if end.is_some() {
            "limited"
        } else {
            "unlimited"
        };
        let request = TokenRequest {
            expires_at: end,
            ..token_request("maker", Role::Admin)
        };
        let permitted = permitted(Role::Admin);
        let maker = world.service.create_token(&request, &permitted, None, None);
        let maker = maker.await.unwrap().token.id;
        let made = world.service.create_tenant(name, Some(maker), None, &[]);
        let made = made.await;
        let token = made.unwrap().token.token;
        assert_eq!((token.expires_at, token.made_by), (end, None));
        let given = maker.to_string();
        world.service.revoke_token(&given, false).await.unwrap();
        let late = world.service.create_tenant("late", Some(maker), None, &[]);
        assert_eq!(late.await.unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[tokio::test]
async fn token_secret_is_returned_once_and_invalid_after_revocation() {
    let world = World::new().await;
    let id = TokenId::generate(world.clock_now(), &SeededEntropy::new(3));
    let request = token_request("robot", Role::Member);
    let made = world
        .service
        .create_token(&request, Permission::ALL, None, Some(id))
        .await
        .unwrap();
    let secret = TokenSecret::parse(made.secret.as_deref().unwrap()).unwrap();
    assert_eq!(made.token.secret_prefix, secret.display_prefix());
    assert!(!format!("{made:?}").contains(secret.reveal()));
    let again = world
        .service
        .create_token(&request, Permission::ALL, None, Some(id))
        .await
        .unwrap();
    assert_eq!((again.token, again.secret), (made.token, None));
    assert!(world.is_signed_in(&secret).await);
    let revoked = world
        .service
        .revoke_token(&id.to_string(), false)
        .await
        .unwrap();
    assert_eq!(revoked.token.revoked_at, Some(world.clock_now()));
    assert!(!world.is_signed_in(&secret).await);
    let digits = id.uuid().simple().to_string();
    let begins = [format!("tok_{}", &digits[..20]), digits[..20].to_owned()];
    for given in begins {
        assert_eq!(world.service.token(&given).await.unwrap().id, id, "{given}");
    }
    // Both were made in one millisecond, so they begin alike.
    let other = world
        .service
        .create_token(&request, Permission::ALL, None, None);
    let other = other.await.unwrap().token.id;
    let alike = world
        .service
        .revoke_token(&digits[..8], false)
        .await
        .unwrap_err();
    assert!(matches!(alike, Error::Ambiguous { .. }), "{alike}");
    let other = other.uuid().simple().to_string();
    let revoked = world
        .service
        .revoke_token(&other[..24], false)
        .await
        .unwrap();
    assert!(revoked.token.revoked_at.is_some());
    for given in ["robot", "tok_0", ""] {
        let unknown = world.service.revoke_token(given, false).await.unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::NotFound, "{unknown}");
    }
}

#[tokio::test]
async fn new_tenant_has_admin_token_and_agents_of_its_own() {
    let world = World::new().await;
    let id = TenantId::generate(world.clock_now(), &SeededEntropy::new(4));
    let demo = ["matins".to_owned(), "demo-agent".to_owned()];
    let made = world
        .service
        .create_tenant("acme", None, Some(id), &demo)
        .await;
    let made = made.unwrap();
    assert_eq!((&*made.tenant.name, made.tenant.id), ("acme", id));
    assert_eq!(made.token.token.tenant_id, id);
    assert_eq!(made.token.token.role, Role::Admin);
    assert!(made.token.secret.is_some());
    let theirs = Service::new(
        world.store.clone(),
        id,
        world.clock.clone(),
        std::sync::Arc::new(SeededEntropy::new(6)),
        world.agents.clone(),
    );
    let agents = theirs.agents().await.unwrap();
    assert!(agents.iter().any(|it| it.name == service::DEMO_AGENT));
    assert!(agents.iter().all(|it| it.name != "good"));
    // Other tenants cannot see the token.
    let given = made.token.token.id.to_string();
    assert!(theirs.token(&given).await.is_ok());
    let refused = world.service.token(&given).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound);
    let refused = world.service.revoke_token(&given, true).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound);
    let secret = TokenSecret::parse(&made.token.secret.unwrap()).unwrap();
    assert!(world.is_signed_in(&secret).await);

    let names = async |service: &Service, all| {
        let found = service.tenants(all, None, 10).await.unwrap();
        found
            .items
            .into_iter()
            .map(|it| it.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&world.service, true).await, ["acme", "default"]);
    assert_eq!(names(&theirs, false).await, ["acme"]);
    let first = world.service.tenants(true, None, 1).await.unwrap();
    let next = first.next.unwrap().parse().unwrap();
    let rest = world.service.tenants(true, Some(next), 1).await.unwrap();
    let rest: Vec<_> = rest.items.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((first.items.len(), rest), (1, vec!["default"]));
    // By its name or its id: those of others are not there.
    let theirs_is = made.tenant.id.to_string();
    for given in ["acme", theirs_is.as_str()] {
        for service in [(&world.service, true), (&theirs, false)] {
            let found = service.0.tenant(service.1, given).await.unwrap();
            assert_eq!(found.id, made.tenant.id);
        }
    }
    let own = world.service.current_tenant().await.unwrap().id.to_string();
    for given in ["default", own.as_str()] {
        let refused = theirs.tenant(false, given).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
        assert_eq!(
            world.service.tenant(true, given).await.unwrap().name,
            "default"
        );
    }
    assert!(world.service.tenant(true, "nobody").await.is_err());
    let taken = world.service.create_tenant("acme", None, None, &demo).await;
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::Refused);
    let unnamed = world.service.create_tenant(" ", None, None, &demo).await;
    assert_eq!(unnamed.unwrap_err().field(), Some("name"));
}

#[tokio::test]
async fn sign_in_link_is_used_once() {
    let world = World::new().await;
    let link = world.service.create_sign_in_link(None, None).await.unwrap();
    let (first, second) = (browser_secret(10), browser_secret(11));
    let seconds = world.use_link(&link, &first).await.unwrap();
    assert_eq!(seconds, 30 * 24 * 60 * 60);
    assert_eq!(world.use_link(&link, &second).await, None);
    assert!(world.is_signed_in(&first).await);
    assert!(!world.is_signed_in(&second).await);
    // An unknown code is invalid as well.
    let guessed = LinkSecret::generate(&SeededEntropy::new(12));
    let used = world.service.use_sign_in_link(&guessed, &second).await;
    assert_eq!(used.unwrap(), None);
}

#[tokio::test]
async fn sign_in_link_expires_after_ten_minutes() {
    let world = World::new().await;
    let life = Duration::from_mins(10);
    let tick = Duration::from_micros(1);
    let in_time = world.service.create_sign_in_link(None, None).await.unwrap();
    assert_eq!(in_time.expires_at, world.clock_now() + life);
    let late = world.service.create_sign_in_link(None, None).await.unwrap();
    world.clock.advance(life.saturating_sub(tick));
    assert!(
        world
            .use_link(&in_time, &browser_secret(10))
            .await
            .is_some()
    );
    world.clock.advance(tick);
    assert_eq!(world.use_link(&late, &browser_secret(11)).await, None);
}

#[tokio::test]
async fn browser_sign_in_expires_with_parent_token() {
    let world = World::new().await;
    let day = Duration::from_hours(24);
    let mut request = token_request("laptop", Role::Viewer);
    request.expires_at = Some(world.clock_now() + day);
    let made = world
        .service
        .create_token(&request, Permission::ALL, None, None)
        .await
        .unwrap();
    let token = made.token.id;
    let link = async || {
        let link = world.service.create_sign_in_link(Some(token), None).await;
        link.unwrap()
    };
    let (first, second) = (browser_secret(10), browser_secret(11));
    assert!(world.use_link(&link().await, &first).await.is_some());
    let now = world.clock_now();
    let found = world.store.token_by_hash(&first.hash(), now).await;
    let found = found.unwrap().unwrap();
    assert_eq!((found.role, found.parent_id), (Role::Viewer, Some(token)));
    world
        .clock
        .advance(day.saturating_sub(Duration::from_mins(1)));
    assert!(world.is_signed_in(&first).await);
    let late = link().await;
    world.clock.advance(Duration::from_mins(1));
    assert!(!world.is_signed_in(&first).await);
    // The link is still valid, but its token is not.
    assert!(late.expires_at > world.clock_now());
    assert_eq!(world.use_link(&late, &second).await, None);
    let none = world.service.create_sign_in_link(Some(token), None).await;
    assert_eq!(none.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn token_revocation_revokes_its_browsers_and_links() {
    let world = World::new().await;
    let request = token_request("laptop", Role::Viewer);
    let made = world
        .service
        .create_token(&request, Permission::ALL, None, None)
        .await
        .unwrap();
    let token = made.token.id;
    let link = async || {
        let link = world.service.create_sign_in_link(Some(token), None).await;
        link.unwrap()
    };
    let kept = link().await;
    let signed_in = browser_secret(10);
    assert!(world.use_link(&link().await, &signed_in).await.is_some());
    assert!(world.is_signed_in(&signed_in).await);
    let given = token.to_string();
    world.service.revoke_token(&given, false).await.unwrap();
    assert!(!world.is_signed_in(&signed_in).await);
    assert_eq!(world.use_link(&kept, &browser_secret(11)).await, None);
}
