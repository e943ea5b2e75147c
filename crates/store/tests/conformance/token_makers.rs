//! Tokens that tokens made: their end, and their revocation with the token that made them.

use std::cell::Cell;

use futures::future::join_all;
use model::{
    Timestamp, TokenId,
    access::{OutlivesMaker, Role, Token},
};
use store::{Error, NewBrowserToken, NewToken, Page, RevocationExtent, Scope, params};
use testkit::databases::TestDatabase;

use crate::{
    fixtures::{TestStore, statement},
    locks::lock_row,
    opening::{change, location},
    stage::{Stage, store_over},
    tokens::{new_browser, new_token},
};

impl Stage {
    /// Makes a token by another one.
    async fn made(&self, maker: TokenId, expires_at: Option<Timestamp>) -> Result<NewToken, Error> {
        let new = NewToken {
            made_by: Some(maker),
            expires_at,
            ..new_token(self, Role::Member)
        };
        let made = self.store.create_token(self.tenant, &new, self.now());
        made.await.map(|()| new)
    }

    async fn stored_token(&self, id: TokenId) -> Token {
        self.store.token(self.scope(), id).await.unwrap()
    }

    async fn is_valid(&self, hash: &[u8; 32]) -> bool {
        self.token_for_hash(hash).await.is_some()
    }

    /// Revokes a token. Returns the number of other tokens that were revoked, and of those that stay valid.
    async fn revoke(&self, token: TokenId, extent: RevocationExtent) -> (u64, u64) {
        let revoked = self
            .store
            .revoke_token(self.scope(), token, extent, self.now());
        let revoked = revoked.await.unwrap();
        (revoked.also_revoked, revoked.still_valid)
    }
}

fn assert_not_found(made: &Result<NewToken, Error>) {
    assert!(matches!(made, Err(Error::NotFound { .. })), "{made:?}");
}

pub(crate) async fn explicit_end_after_end_of_maker_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let root = stage.token().await;
    let latest = stage.in_days(2);
    let maker = stage.made(root.id, Some(latest)).await.unwrap();
    let tick = std::time::Duration::from_micros(1);
    for requested in [latest + tick, stage.in_days(3)] {
        match stage.made(maker.id, Some(requested)).await {
            Err(Error::OutlivesMaker(refused)) => {
                assert_eq!(refused, OutlivesMaker { requested, latest });
            }
            other => panic!("{other:?}"),
        }
    }
    for end in [latest, stage.in_days(1)] {
        let made = stage.made(maker.id, Some(end)).await.unwrap();
        assert_eq!(stage.stored_token(made.id).await.expires_at, Some(end));
    }
}

pub(crate) async fn token_without_end_expires_with_its_maker(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let root = stage.token().await;
    let unlimited = stage.made(root.id, None).await.unwrap();
    let unlimited = stage.stored_token(unlimited.id).await;
    assert_eq!(
        (unlimited.expires_at, unlimited.made_by),
        (None, Some(root.id))
    );
    let end = stage.in_days(2);
    let mut maker = stage.made(unlimited.id, Some(end)).await.unwrap();
    for _ in 0..3 {
        let made = stage.made(maker.id, None).await.unwrap();
        let found = stage.stored_token(made.id).await;
        assert_eq!(
            (found.expires_at, found.made_by),
            (Some(end), Some(maker.id))
        );
        maker = made;
    }
    // The maker is in each list and look-up.
    let by_hash = stage.token_for_hash(&maker.hash).await.unwrap();
    let page = stage.store.tokens(stage.tenant, Page::first(10));
    let page = page.await.unwrap();
    let listed = page.iter().find(|token| token.id == maker.id).unwrap();
    assert_eq!(listed, &by_hash);
    assert_eq!(stage.stored_token(root.id).await.made_by, None);
}

pub(crate) async fn revoked_or_expired_token_makes_no_token(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let root = stage.token().await;
    let expired = stage.made(root.id, Some(stage.in_days(1))).await.unwrap();
    let browser = stage.sign_in(expired.id, stage.in_days(30)).await.unwrap();
    stage.advance_seconds(24 * 60 * 60);
    assert_not_found(&stage.made(expired.id, None).await);
    assert_not_found(&stage.made(browser.id, None).await);
    let browser = stage.sign_in(root.id, stage.in_days(30)).await.unwrap();
    stage.revoke(root.id, RevocationExtent::Own).await;
    assert_not_found(&stage.made(root.id, None).await);
    assert_not_found(&stage.made(browser.id, None).await);
    let unknown = new_token(&stage, Role::Member).id;
    assert_not_found(&stage.made(unknown, None).await);
}

pub(crate) async fn token_of_other_tenant_makes_no_token(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = other.await.unwrap();
    let new = NewToken {
        made_by: Some(stage.token().await.id),
        ..new_token(&stage, Role::Member)
    };
    let made = stage.store.create_token(other, &new, stage.now()).await;
    assert_not_found(&made.map(|()| new));
    let theirs = stage.store.tokens(other, Page::first(10)).await.unwrap();
    assert!(theirs.is_empty());
}

/// A token exists before it makes another one, and its maker never changes, so that no cycle can come about.
pub(crate) async fn token_never_makes_itself(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let new = new_token(&stage, Role::Member);
    let new = NewToken {
        made_by: Some(new.id),
        ..new
    };
    let made = stage.store.create_token(stage.tenant, &new, stage.now());
    assert_not_found(&made.await.map(|()| new));
}

pub(crate) async fn browser_and_its_tokens_expire_with_their_signer(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (end, later) = (stage.in_days(2), stage.in_days(30));
    let root = stage.token().await;
    let signer = stage.made(root.id, Some(end)).await.unwrap();
    let browser = stage.sign_in(signer.id, later).await.unwrap();
    assert_eq!(stage.stored_token(browser.id).await.expires_at, Some(end));
    // A browser that signs another one in does not extend its own time.
    let first = stage.sign_in(root.id, end).await.unwrap();
    let second = stage.sign_in(first.id, later).await.unwrap();
    assert_eq!(stage.stored_token(second.id).await.expires_at, Some(end));
    // Earlier versions stored browsers that end after the token that signed them in.
    let sql = "update api_tokens set expires_at = $2 where id = $1";
    let changed = db.run(Scope::System, sql, params![browser.id, later]);
    changed.await.unwrap();
    let made = stage.made(browser.id, None).await.unwrap();
    let found = stage.stored_token(made.id).await;
    assert_eq!(
        (found.expires_at, found.made_by),
        (Some(end), Some(browser.id))
    );
    let refused = stage.made(browser.id, Some(later)).await;
    assert!(
        matches!(refused, Err(Error::OutlivesMaker(_))),
        "{refused:?}"
    );
}

pub(crate) async fn revocation_without_cascade_leaves_made_tokens_valid(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let root = stage.token().await;
    let child = stage.made(root.id, None).await.unwrap();
    let last = stage.made(child.id, None).await.unwrap();
    stage.made(root.id, Some(stage.in_days(1))).await.unwrap();
    stage.sign_in(root.id, stage.in_days(30)).await.unwrap();
    stage.sign_in(child.id, stage.in_days(30)).await.unwrap();
    stage.advance_seconds(24 * 60 * 60);
    // One browser is signed out. The other browser is not counted, and neither is the expired token.
    assert_eq!(stage.revoke(root.id, RevocationExtent::Own).await, (1, 2));
    assert!(!stage.is_valid(&root.hash).await);
    assert!(stage.is_valid(&child.hash).await && stage.is_valid(&last.hash).await);
    assert_eq!(stage.revoke(root.id, RevocationExtent::Own).await, (0, 2));
}

pub(crate) async fn cascading_revocation_revokes_all_made_tokens(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (root, other) = (stage.token().await, stage.token().await);
    let child = stage.made(root.id, None).await.unwrap();
    let revoked = stage.made(root.id, None).await.unwrap();
    let of_revoked = stage.made(revoked.id, None).await.unwrap();
    let browser = stage.sign_in(child.id, stage.in_days(30)).await.unwrap();
    let of_browser = stage.made(browser.id, None).await.unwrap();
    let last = stage.made(of_browser.id, None).await.unwrap();
    let of_other = stage.made(other.id, None).await.unwrap();
    assert_eq!(
        stage.revoke(revoked.id, RevocationExtent::Own).await,
        (0, 1)
    );
    let before = stage.stored_token(revoked.id).await;
    stage.advance_seconds(60);

    // The cascade also goes through a token that is revoked already, and leaves it as it is.
    assert_eq!(stage.revoke(root.id, RevocationExtent::Made).await, (5, 0));
    for hash in [
        root.hash,
        child.hash,
        of_revoked.hash,
        browser.hash,
        of_browser.hash,
        last.hash,
    ] {
        assert!(!stage.is_valid(&hash).await);
    }
    let revoked_at = stage.stored_token(last.id).await.revoked_at;
    assert_eq!(revoked_at, Some(stage.now()));
    assert_eq!(stage.stored_token(revoked.id).await, before);
    assert!(stage.is_valid(&other.hash).await && stage.is_valid(&of_other.hash).await);
    assert_eq!(stage.revoke(root.id, RevocationExtent::Made).await, (0, 0));
}

pub(crate) async fn token_made_during_cascading_revocation_does_not_survive(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for _ in 0..20 {
        let root = stage.token().await;
        let child = stage.made(root.id, None).await.unwrap();
        let browser = stage.sign_in(child.id, stage.in_days(1)).await.unwrap();
        let makers = [root.id, child.id, browser.id, child.id];
        let makers = makers.map(|maker| stage.made(maker, None));
        let revocation = stage.revoke(root.id, RevocationExtent::Made);
        let (made, _) = futures::join!(join_all(makers), revocation);
        let made = made.into_iter().flatten();
        for token in made.chain([root, child]) {
            assert!(!stage.is_valid(&token.hash).await);
        }
    }
}

/// Waits until transactions of other connections wait for a lock, or until `done`.
async fn until_waiting(db: &TestStore, transactions: i64, done: &Cell<bool>) {
    let sql = "select count(*) as n from pg_stat_activity \
        where datname = current_database() and wait_event_type = 'Lock'";
    while !done.get() {
        let rows = db.run(Scope::System, sql, params![]).await.unwrap();
        if rows[0].get::<i64>("n").unwrap() >= transactions {
            break;
        }
    }
}

/// Lets `maker` make a token while its ancestor `root` is revoked with all that it made, and checks that the new token is
/// revoked as well.
///
/// The creation stops between the lock of its maker and its commit, because another transaction has inserted a token with
/// the same hash.
async fn revoke_during_creation(db: &TestStore, stage: &Stage, root: TokenId, maker: TokenId) {
    let new = NewToken {
        made_by: Some(maker),
        ..new_token(stage, Role::Member)
    };
    let mut blocking = db.database.begin(Scope::System).await.unwrap();
    let sql = "insert into api_tokens (id, tenant_id, kind, role, name, hash, shown, created_at) \
        values ($1, $2, 'token', 'viewer', '', $3, '', $4)";
    let id = new_token(stage, Role::Viewer).id;
    let row = params![id, stage.tenant, &new.hash[..], stage.now()];
    blocking.execute(statement(sql), row).await.unwrap();

    let (created, revoked) = (Cell::new(false), Cell::new(false));
    let create = async {
        let made = stage.store.create_token(stage.tenant, &new, stage.now());
        made.await.unwrap();
        created.set(true);
    };
    let revoke = async {
        until_waiting(db, 1, &created).await;
        stage.revoke(root, RevocationExtent::Made).await;
        revoked.set(true);
    };
    let release = async {
        until_waiting(db, 2, &revoked).await;
        assert!(
            !revoked.get(),
            "the revocation did not wait for the creation"
        );
        blocking.rollback().await.unwrap();
    };
    futures::join!(create, revoke, release);
    assert!(!stage.is_valid(&new.hash).await);
}

pub(crate) async fn cascading_revocation_waits_for_creation_and_revokes_its_token(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let root = stage.token().await.id;
    revoke_during_creation(db, &stage, root, root).await;
    let root = stage.token().await.id;
    let child = stage.made(root, None).await.unwrap().id;
    let grandchild = stage.made(child, None).await.unwrap().id;
    revoke_during_creation(db, &stage, root, grandchild).await;
}

pub(crate) async fn creation_waits_for_revocation_of_its_maker(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let maker = stage.token().await;
    let mut revocation = lock_row(db, "api_tokens", maker.id.uuid()).await;
    let sql = "update api_tokens set revoked_at = $2 where id = $1";
    let row = params![maker.id, stage.now()];
    revocation.execute(statement(sql), row).await.unwrap();
    let done = Cell::new(false);
    let create = async {
        let made = stage.made(maker.id, None).await;
        done.set(true);
        made
    };
    let release = async {
        until_waiting(db, 1, &done).await;
        assert!(!done.get(), "the creation did not wait for the revocation");
        revocation.commit().await.unwrap();
    };
    let (made, ()) = futures::join!(create, release);
    assert_not_found(&made);
}

/// Checks that tokens of the schema before this one are still valid or revoked, have no maker, and make tokens.
async fn assert_tokens_of_earlier_schema_work(stage: &Stage, before: &[Token], hash: &[u8; 32]) {
    for token in before {
        assert_eq!(&stage.stored_token(token.id).await, token);
    }
    let found = stage.token_for_hash(hash).await.unwrap();
    assert_eq!(found.made_by, None);
    stage.made(found.id, None).await.unwrap();
    let counts = stage.revoke(found.id, RevocationExtent::Made).await;
    assert_eq!(counts, (2, 0), "a browser and the new token");
}

pub(crate) async fn tokens_of_earlier_schema_stay_valid(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (token, revoked) = (stage.token().await, stage.token().await);
    let browser = stage.sign_in(token.id, stage.in_days(30)).await.unwrap();
    stage.revoke(revoked.id, RevocationExtent::Own).await;
    let mut before = Vec::new();
    for id in [token.id, revoked.id, browser.id] {
        before.push(stage.stored_token(id).await);
    }
    let link = stage.link(token.id).await;
    let earlier = "set matins.scope = 'system'; alter table automation.api_tokens drop column made_by; \
        alter table automation.approvals drop column long_input, drop column input_bytes; \
        alter table automation.harnesses drop column removed_at; \
        alter table automation.agent_runs drop column secret_hash; \
        alter table automation.automations drop column made_by_session_id, drop column made_by_run_id, \
        drop column made_by_turn, drop column made_by_name, drop column expires_at, drop column placed_on; \
        drop table automation.task_checks, automation.task_memories, automation.goals, automation.staged_tasks, automation.task_reports; \
        alter table automation.agent_runs drop column task_prompt, drop column task_review, drop column listed_tools; \
        alter table automation.agent_tasks drop column number, drop column key, drop column kind, \
        drop column plan_version, drop column unmet, drop column priority, drop column optional, drop column review, \
        drop column step, drop column seat_id, drop column reason, drop column acceptance, drop column checks, \
        drop column writes, drop column digest, drop column attempts, drop column rounds, drop column progress; \
        create index agent_tasks_by_session on automation.agent_tasks (session_id, created_at); \
        drop table automation.questions; drop table automation.directory_refusals; \
        drop table automation.trigger_files; alter table automation.instances drop column folder_key; \
        alter table automation.agent_definitions drop column runs_reported_until, drop column placed_on, \
        drop column directory, drop column presence; drop index automation.agent_definitions_one_name_per_session; \
        create index agent_definitions_by_session on automation.agent_definitions (session_id, id); \
        alter table automation.run_records drop column run_report_version, drop column run_report; \
        alter table automation.agent_messages drop column input_id, drop column chain_length; \
        drop index automation.agent_messages_undelivered_by_seat, \
        automation.agent_runs_one_message_input_per_seat; \
        drop index automation.agent_runs_unsuccessful_by_seat, automation.agent_runs_declined_by_seat, \
        automation.agent_runs_unfired_by_automation, automation.agent_runs_in_quiet_hours_by_automation, \
        automation.agent_runs_by_reason, automation.agent_runs_late, automation.automations_paused_or_noticed, \
        automation.approvals_pending_by_session; \
        delete from automation.schema_versions where version >= 16";
    change(&db.home, earlier).await;
    let database = store::open(&db.location()).await.unwrap();
    let stage = Stage {
        store: store_over(&database),
        ..stage
    };
    let new = new_browser(&stage, stage.in_days(30));
    let signed_in = stage.store.use_sign_in_link(&link, &new, stage.now());
    let signed_in = signed_in.await.unwrap().unwrap();
    stage.revoke(signed_in.id, RevocationExtent::Own).await;
    assert_tokens_of_earlier_schema_work(&stage, &before, &token.hash).await;
}

/// The migrations of SQLite before the one that stores makers.
const EARLIER_MIGRATIONS: [&str; 15] = [
    include_str!("../../migrations/sqlite/0001_foundation.sql"),
    include_str!("../../migrations/sqlite/0002_history_costs_nothing.sql"),
    include_str!("../../migrations/sqlite/0003_less_to_write.sql"),
    include_str!("../../migrations/sqlite/0004_api.sql"),
    include_str!("../../migrations/sqlite/0005_order_of_commits.sql"),
    include_str!("../../migrations/sqlite/0006_webhooks.sql"),
    include_str!("../../migrations/sqlite/0007_budgets.sql"),
    include_str!("../../migrations/sqlite/0008_approvals.sql"),
    include_str!("../../migrations/sqlite/0009_fleet.sql"),
    include_str!("../../migrations/sqlite/0010_coordinator.sql"),
    include_str!("../../migrations/sqlite/0011_cheaper_wakes.sql"),
    include_str!("../../migrations/sqlite/0012_room_for_updates.sql"),
    include_str!("../../migrations/sqlite/0013_document_formats.sql"),
    include_str!("../../migrations/sqlite/0014_zone_rules.sql"),
    include_str!("../../migrations/sqlite/0015_minutes_of_turns.sql"),
];

/// SQLite makes the table of tokens anew, with a token, its browser, a revoked token and a link in it.
#[tokio::test]
async fn migration_keeps_tokens_and_links_of_sqlite() {
    let home = TestDatabase::sqlite().unwrap();
    let mut sql = EARLIER_MIGRATIONS.join("\n");
    sql.push_str("pragma application_id = 0x4d61746e; pragma user_version = 15;");
    change(&home, &sql).await;
    let second = 1_000_000;
    let now = Timestamp::from_microsecond(100 * second).unwrap();
    let hex = |byte: u8| format!("x'{}'", format!("{byte:02x}").repeat(16));
    let hash = |byte: u8| format!("x'{}'", format!("{byte:02x}").repeat(32));
    let mut rows = vec![format!(
        "insert into tenants (id, name, created_at) values ({}, 'default', 1)",
        hex(1)
    )];
    for (id, kind, parent, expires_at, revoked_at) in [
        (2, "token", "null".to_owned(), "null", "null"),
        (3, "token", "null".to_owned(), "null", "5"),
        (4, "browser", hex(2), "900000000", "null"),
    ] {
        rows.push(format!(
            "insert into api_tokens (id, tenant_id, kind, role, name, hash, shown, scopes, parent_id, created_at, \
             expires_at, revoked_at, last_used_at) values ({}, {}, '{kind}', 'member', 'name', {}, 'mat_', \
             '[\"runs:read\"]', {parent}, 3, {expires_at}, {revoked_at}, 4)",
            hex(id),
            hex(1),
            hash(id),
        ));
    }
    rows.push(format!(
        "insert into sign_in_links (hash, tenant_id, token_id, created_at, expires_at) \
         values ({}, {}, {}, 3, 900000000)",
        hash(5),
        hex(1),
        hex(2),
    ));
    change(&home, &rows.join(";")).await;

    let database = store::open(&location(&home)).await.unwrap();
    let store = store_over(&database);
    let id = |byte: u8| TokenId::from_uuid(uuid::Uuid::from_bytes([byte; 16]));
    let token = store.token(Scope::System, id(2)).await.unwrap();
    assert_eq!((token.made_by, &*token.secret_prefix), (None, "mat_"));
    assert_eq!(
        (token.scopes.unwrap().len(), token.name.as_str()),
        (1, "name")
    );
    let revoked = store.token(Scope::System, id(3)).await.unwrap();
    assert_eq!(revoked.revoked_at, Timestamp::from_microsecond(5).ok());
    let browser = store.token_by_hash(&[4; 32], now).await.unwrap().unwrap();
    assert_eq!(browser.parent_id, Some(id(2)));
    let new = NewBrowserToken {
        id: id(6),
        hash: [6; 32],
        secret_prefix: "mat_".into(),
        expires_at: Timestamp::from_microsecond(900 * second).unwrap(),
    };
    let signed_in = store.use_sign_in_link(&[5; 32], &new, now).await.unwrap();
    assert_eq!(signed_in.unwrap().parent_id, Some(id(2)));
    let extent = RevocationExtent::Made;
    let revoked = store.revoke_token(Scope::System, id(2), extent, now);
    assert_eq!(revoked.await.unwrap().also_revoked, 2);
    assert!(store.token_by_hash(&[4; 32], now).await.unwrap().is_none());
    // The links and the browsers still go with their token.
    database.close().await;
    change(&home, "delete from api_tokens where parent_id is null").await;
    let database = store::open(&location(&home)).await.unwrap();
    let migrated = TestStore { database, home };
    for table in ["api_tokens", "sign_in_links"] {
        assert_eq!(migrated.count(Scope::System, table).await, 0, "{table}");
    }
}
