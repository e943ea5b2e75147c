//! Tokens: their permissions, and their end.

use std::{collections::BTreeSet, time::Duration};

use futures::future::join_all;
use model::{
    Timestamp, TokenId,
    access::{
        Permission, Role, Token, TokenKind,
        secret::{LinkSecret, TokenSecret},
    },
};
use store::{Error, NewBrowserToken, NewToken, Page, RevocationExtent, Scope};
use testkit::clock::SeededEntropy;

use crate::{
    fixtures::TestStore,
    stage::{Stage, instance, unique},
    without_locks::{patiently, without_locks},
};

/// Returns a new token and the hash of its secret.
pub(crate) fn new_token(stage: &Stage, role: Role) -> NewToken {
    let entropy = SeededEntropy::new(unique());
    let secret = TokenSecret::generate(&entropy);
    NewToken {
        id: TokenId::generate(stage.now(), &entropy),
        name: "laptop".into(),
        role,
        scopes: None,
        hash: secret.hash(),
        secret_prefix: secret.display_prefix().into(),
        made_by: None,
        expires_at: None,
    }
}

pub(crate) fn new_browser(stage: &Stage, expires_at: Timestamp) -> NewBrowserToken {
    let entropy = SeededEntropy::new(unique());
    let secret = TokenSecret::generate(&entropy);
    NewBrowserToken {
        id: TokenId::generate(stage.now(), &entropy),
        hash: secret.hash(),
        secret_prefix: secret.display_prefix().into(),
        expires_at,
    }
}

fn link() -> [u8; 32] {
    LinkSecret::generate(&SeededEntropy::new(unique())).hash()
}

impl Stage {
    pub(crate) async fn make(&self, new: &NewToken) {
        let created = self.store.create_token(self.tenant, new, self.now());
        created.await.unwrap();
    }

    pub(crate) async fn token(&self) -> NewToken {
        let new = new_token(self, Role::Member);
        self.make(&new).await;
        new
    }

    pub(crate) async fn token_for_hash(&self, hash: &[u8; 32]) -> Option<Token> {
        self.store.token_by_hash(hash, self.now()).await.unwrap()
    }

    pub(crate) fn in_days(&self, days: u64) -> Timestamp {
        self.now() + Duration::from_hours(24 * days)
    }

    pub(crate) async fn sign_in(
        &self,
        parent: TokenId,
        expires_at: Timestamp,
    ) -> Option<NewBrowserToken> {
        let new = new_browser(self, expires_at);
        let signed = self
            .store
            .sign_browser_in(self.scope(), parent, &new, self.now());
        signed.await.unwrap().map(|_| new)
    }

    pub(crate) async fn link(&self, token: TokenId) -> [u8; 32] {
        let (hash, ends) = (link(), self.now() + Duration::from_mins(10));
        let created = self
            .store
            .create_sign_in_link(self.tenant, token, &hash, self.now(), ends);
        created.await.unwrap();
        hash
    }
}

pub(crate) async fn unknown_secret_finds_no_token(db: &TestStore) {
    let stage = Stage::setup(db).await;
    stage.token().await;
    assert_eq!(stage.token_for_hash(&link()).await, None);
    assert_eq!(stage.token_for_hash(&[0; 32]).await, None);
}

pub(crate) async fn token_is_found_by_hash_until_expiry(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let scopes = BTreeSet::from([Permission::RunsRead, Permission::SessionsRead]);
    let new = NewToken {
        scopes: Some(scopes.clone()),
        expires_at: Some(stage.in_days(1)),
        ..new_token(&stage, Role::Viewer)
    };
    stage.make(&new).await;
    let found = stage.token_for_hash(&new.hash).await.unwrap();
    assert_eq!((found.id, found.tenant_id), (new.id, stage.tenant));
    assert_eq!((found.role, found.kind), (Role::Viewer, TokenKind::Token));
    assert_eq!(
        (found.scopes, found.secret_prefix),
        (Some(scopes), new.secret_prefix)
    );
    stage.advance_seconds(24 * 60 * 60 - 1);
    assert!(stage.token_for_hash(&new.hash).await.is_some());
    stage.advance_seconds(1);
    assert_eq!(stage.token_for_hash(&new.hash).await, None);
}

pub(crate) async fn token_without_scopes_has_all_permissions_of_role(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let all = stage.token().await;
    let none = NewToken {
        scopes: Some(BTreeSet::new()),
        ..new_token(&stage, Role::Member)
    };
    stage.make(&none).await;
    let permits = async |new: &NewToken| {
        let found = stage.token_for_hash(&new.hash).await.unwrap();
        found.permits(Permission::RunsWrite)
    };
    assert!(permits(&all).await && !permits(&none).await);
}

pub(crate) async fn revoked_token_revokes_its_browser_tokens(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (parent, other) = (stage.token().await, stage.token().await);
    let browser = stage.sign_in(parent.id, stage.in_days(30)).await.unwrap();
    let others = stage.sign_in(other.id, stage.in_days(30)).await.unwrap();
    // A token that a browser's token signs in belongs to the original token as well.
    let second = stage.sign_in(browser.id, stage.in_days(30)).await.unwrap();
    let found = stage.token_for_hash(&second.hash).await.unwrap();
    assert_eq!(found.parent_id, Some(parent.id));
    assert_eq!((found.kind, found.role), (TokenKind::Browser, parent.role));
    let revoked = stage.store.revoke_token(
        stage.scope(),
        parent.id,
        RevocationExtent::Own,
        stage.advance_seconds(60),
    );
    revoked.await.unwrap();
    for hash in [parent.hash, browser.hash, second.hash] {
        assert_eq!(stage.token_for_hash(&hash).await, None);
    }
    assert!(stage.token_for_hash(&others.hash).await.is_some());
    assert!(stage.sign_in(parent.id, stage.in_days(1)).await.is_none());
    assert!(stage.sign_in(browser.id, stage.in_days(1)).await.is_none());
    // A repeated revocation changes nothing.
    let first = stage.store.token(stage.scope(), parent.id).await.unwrap();
    let again = stage.store.revoke_token(
        stage.scope(),
        parent.id,
        RevocationExtent::Own,
        stage.advance_seconds(60),
    );
    again.await.unwrap();
    let second = stage.store.token(stage.scope(), parent.id).await.unwrap();
    assert_eq!(first, second);
}

pub(crate) async fn browser_sign_out_keeps_parent_token(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let parent = stage.token().await;
    let browser = stage.sign_in(parent.id, stage.in_days(30)).await.unwrap();
    let revoked = stage.store.revoke_token(
        stage.scope(),
        browser.id,
        RevocationExtent::Own,
        stage.now(),
    );
    revoked.await.unwrap();
    assert_eq!(stage.token_for_hash(&browser.hash).await, None);
    assert!(stage.token_for_hash(&parent.hash).await.is_some());
}

pub(crate) async fn browser_token_expires_with_parent_token(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let parent = NewToken {
        expires_at: Some(stage.in_days(1)),
        ..new_token(&stage, Role::Admin)
    };
    stage.make(&parent).await;
    let browser = stage.sign_in(parent.id, stage.in_days(30)).await.unwrap();
    assert!(stage.token_for_hash(&browser.hash).await.is_some());
    stage.advance_seconds(24 * 60 * 60);
    assert_eq!(stage.token_for_hash(&browser.hash).await, None);
}

pub(crate) async fn token_of_other_tenant_is_not_found(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let token = stage.token().await;
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = other.await.unwrap();
    let (store, now) = (&stage.store, stage.now());
    let theirs = Scope::Tenant(other);
    let not_found = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::NotFound { .. })), "{result:?}");
    };
    not_found(store.token(theirs, token.id).await.map(|_| ()));
    let revoked = store.revoke_token(theirs, token.id, RevocationExtent::Made, now);
    not_found(revoked.await.map(|_| ()));
    let linked = store
        .create_sign_in_link(other, token.id, &link(), now, stage.in_days(1))
        .await;
    not_found(linked);
    let new = new_browser(&stage, stage.in_days(1));
    let signed = store.sign_browser_in(theirs, token.id, &new, now).await;
    assert_eq!(signed.unwrap(), None);
    let listed = store.tokens(other, Page::first(10)).await.unwrap();
    assert!(listed.is_empty());
    assert!(stage.token_for_hash(&token.hash).await.is_some());
}

pub(crate) async fn token_pages_are_listed_newest_first(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        stage.advance_seconds(1);
        ids.insert(0, stage.token().await.id);
    }
    let mut listed = Vec::new();
    let mut page = Page::first(2);
    loop {
        let found = stage.store.tokens(stage.tenant, page).await.unwrap();
        if found.is_empty() {
            break;
        }
        assert!(found.len() <= 2);
        listed.extend(found.iter().map(|token| token.id));
        page.after = listed.last().copied();
    }
    assert_eq!(listed, ids);
}

pub(crate) async fn token_ids_are_found_by_range_within_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        stage.advance_seconds(1);
        ids.push(stage.token().await.id);
    }
    let found = async |scope, first, last, limit| {
        let found = stage.store.token_ids_between(scope, first, last, limit);
        found.await.unwrap()
    };
    let scope = stage.scope();
    assert_eq!(found(scope, ids[0], ids[1], 9).await, ids[..2]);
    assert_eq!(found(scope, ids[1], ids[2], 1).await, ids[1..2]);
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    assert!(found(other, ids[0], ids[2], 9).await.is_empty());
}

pub(crate) async fn token_use_is_recorded_once_a_minute(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, two) = (stage.token().await, stage.token().await);
    let note = async |tokens: &[TokenId]| {
        let tokens = tokens.iter().copied().collect();
        let noted = stage.store.record_token_use(&tokens, stage.now()).await;
        noted.unwrap()
    };
    let used = async |id| {
        let found = stage.store.token(stage.scope(), id).await.unwrap();
        found.last_used_at
    };
    assert_eq!(note(&[]).await, 0);
    assert_eq!(note(&[one.id]).await, 1);
    let first = stage.now();
    stage.advance_seconds(59);
    assert_eq!(note(&[one.id, two.id]).await, 1);
    assert_eq!(used(one.id).await, Some(first));
    assert_eq!(used(two.id).await, Some(stage.now()));
    stage.advance_seconds(1);
    assert_eq!(note(&[one.id, two.id]).await, 1);
    assert_eq!(used(one.id).await, Some(stage.now()));
}

pub(crate) async fn sign_in_link_works_once_before_expiry(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let token = stage.token().await;
    let sign_in = async |hash: &[u8; 32]| {
        let new = new_browser(&stage, stage.in_days(30));
        let used = stage.store.use_sign_in_link(hash, &new, stage.now()).await;
        let signed = used.unwrap();
        assert_eq!(signed, stage.token_for_hash(&new.hash).await);
        signed
    };
    assert_eq!(sign_in(&link()).await, None);
    let hash = stage.link(token.id).await;
    let signed = sign_in(&hash).await.unwrap();
    assert_eq!(signed.parent_id, Some(token.id));
    assert_eq!(signed.tenant_id, stage.tenant);
    assert_eq!(sign_in(&hash).await, None, "the link is used");

    let late = stage.link(token.id).await;
    stage.advance_seconds(10 * 60);
    assert_eq!(sign_in(&late).await, None);

    let revoked = stage.link(token.id).await;
    let taken_back =
        stage
            .store
            .revoke_token(stage.scope(), token.id, RevocationExtent::Own, stage.now());
    taken_back.await.unwrap();
    assert_eq!(sign_in(&revoked).await, None);
    let hash = link();
    let linked = stage.store.create_sign_in_link(
        stage.tenant,
        token.id,
        &hash,
        stage.now(),
        stage.in_days(1),
    );
    assert!(matches!(linked.await, Err(Error::NotFound { .. })));
}

pub(crate) async fn concurrent_uses_of_sign_in_link_have_one_winner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let token = stage.token().await;
    let stores = without_locks(db).await;
    for _ in 0..10 {
        let hash = stage.link(token.id).await;
        let racers = stores.iter().cycle().take(6).map(|store| {
            let new = new_browser(&stage, stage.in_days(30));
            let (stage, hash) = (&stage, &hash);
            async move {
                let signed = patiently!(store.use_sign_in_link(hash, &new, stage.now()));
                usize::from(signed.is_some())
            }
        });
        let won: Vec<usize> = join_all(racers).await;
        assert_eq!(won.iter().sum::<usize>(), 1);
    }
    assert_eq!(db.count(Scope::System, "api_tokens").await, 11);
}

pub(crate) async fn expired_sign_ins_are_trimmed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let expired = NewToken {
        expires_at: Some(stage.in_days(1)),
        ..new_token(&stage, Role::Member)
    };
    stage.make(&expired).await;
    let token = stage.token().await;
    stage.sign_in(token.id, stage.in_days(1)).await.unwrap();
    let maker = stage.sign_in(token.id, stage.in_days(1)).await.unwrap();
    let made = NewToken {
        made_by: Some(maker.id),
        ..new_token(&stage, Role::Member)
    };
    stage.make(&made).await;
    let kept = stage.sign_in(token.id, stage.in_days(30)).await.unwrap();
    stage.link(token.id).await;
    let trim = async || stage.store.trim_sign_ins(stage.now()).await.unwrap();
    assert_eq!(trim().await, 0);
    stage.advance_seconds(2 * 24 * 60 * 60);
    assert_eq!(trim().await, 2, "a browser's token and a link");
    // Tokens that people created stay in the list, and the browsers that made some of them stay with them.
    for id in [expired.id, made.id, maker.id] {
        assert!(stage.store.token(stage.scope(), id).await.is_ok());
    }
    assert!(stage.token_for_hash(&kept.hash).await.is_some());
    assert_eq!(db.count(Scope::System, "sign_in_links").await, 0);
}

pub(crate) async fn runtime_token_names_its_instance(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let new = NewToken {
        scopes: Some(BTreeSet::from([Permission::RunsRead])),
        ..new_token(&stage, Role::Admin)
    };
    let created = stage
        .store
        .create_runtime_token(stage.tenant, stage.instance, &new, stage.now());
    assert_eq!(created.await.unwrap(), 0);
    let found = stage.token_for_hash(&new.hash).await.unwrap();
    assert_eq!(found.role, Role::Runtime);
    assert_eq!(
        (found.instance_id, found.scopes),
        (Some(stage.instance), None)
    );
    assert_eq!(
        stage
            .token_for_hash(&stage.token().await.hash)
            .await
            .unwrap()
            .instance_id,
        None
    );
    // A browser would give a person the rights of the runtime.
    assert!(stage.sign_in(new.id, stage.in_days(1)).await.is_none());
}

pub(crate) async fn new_runtime_token_revokes_earlier_ones_of_instance(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (other, now) = (instance(7), stage.now());
    let registered = stage
        .store
        .register_instance(stage.tenant, other, "other", now);
    registered.await.unwrap();
    let create = async |instance| {
        let new = new_token(&stage, Role::Runtime);
        let created = stage
            .store
            .create_runtime_token(stage.tenant, instance, &new, now);
        let revoked = created.await.unwrap();
        (new, revoked)
    };
    let (kept, _) = create(other).await;
    let (first, _) = create(stage.instance).await;
    let (second, revoked) = create(stage.instance).await;
    assert_eq!(revoked, 1);
    assert_eq!(stage.token_for_hash(&first.hash).await, None);
    for valid in [kept, second] {
        assert!(stage.token_for_hash(&valid.hash).await.is_some());
    }
}

pub(crate) async fn runtime_token_of_instance_of_other_tenant_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let other = Stage::setup_tenant("other", stage.store.clone()).await;
    let now = stage.now();
    let foreign = instance(8);
    let registered = other
        .store
        .register_instance(other.tenant, foreign, "foreign", now);
    registered.await.unwrap();
    let new = new_token(&stage, Role::Runtime);
    let created = stage
        .store
        .create_runtime_token(stage.tenant, foreign, &new, now);
    let refused = created.await.unwrap_err();
    assert!(
        matches!(
            refused,
            Error::NotFound {
                what: "instance",
                ..
            }
        ),
        "{refused:?}"
    );
    assert_eq!(stage.token_for_hash(&new.hash).await, None);
}
