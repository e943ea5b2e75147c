//! A database behind a real pooler, in each of its modes.

use std::time::Duration;

use model::{
    policy::SessionMode,
    run::RunStatus,
    turn::{Begin, Settled},
};
use store::{
    ListenerState, Location, NewSeatMessage, OpenError, Recipients, Scope, Sessions, Store,
    Unheard, database::Error, params,
};
use testkit::databases::{PoolMode, Pooler, TestDatabase};
use tokio::time::timeout;

use crate::{
    fixtures::{TestStore, instant, statement},
    stage::{Stage, store_over},
};

/// What PgBouncer 1.18 needs to serve this driver at all is nothing; this is what many set for others.
const IGNORES: &str = "ignore_startup_parameters = extra_float_digits, options";

fn transactions(home: &TestDatabase, servers: u32) -> Pooler {
    home.pooler(PoolMode::Transaction, servers, "").unwrap()
}

fn place(pooler: &Pooler) -> Location {
    pooler.url().parse().unwrap()
}

async fn open(location: &Location) -> Store {
    store_over(&store::open(location).await.unwrap())
}

/// What a server does, by two of them in turn: rows that one writes are taken up by the other.
async fn assert_core_works(one: Store, two: &Store) {
    let stage = Stage::over(one).await;
    let session = stage.session().await;
    let submitted = stage.say(session, "hello").await;
    let claimed = two.claim(&stage.worker, stage.instance, 10, None, stage.now());
    let claimed = claimed.await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert!(matches!(
        stage.begin(submitted.run_id).await,
        Begin::Started(_)
    ));
    let written = two.write_live(submitted.run_id, &stage.worker, 0, "hi", stage.now());
    assert_eq!(written.await.unwrap(), Settled::Written);
    stage.succeed(submitted.run_id).await;
    let run = two.run(stage.scope(), submitted.run_id).await.unwrap();
    assert_eq!(run.status(), RunStatus::Succeeded);
    // Many at once, on more connections than the pooler has servers.
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let fires = (0..20).map(|number| {
        let store = if number % 2 == 0 { two } else { &stage.store };
        let at = stage.wait(1);
        store.fire(stage.tenant, automation, None, at)
    });
    for fired in futures::future::join_all(fires).await {
        fired.unwrap();
    }
    stage.wait(60);
    two.fire_due(Scope::System, stage.now()).await.unwrap();
    stage.store.outlook(stage.now()).await.unwrap();
    // Whoever waits is told what the other one writes, and what is published.
    let mut changes = two.changes();
    let mut inbox = two
        .subscribe(stage.tenant, session, None, None)
        .await
        .unwrap();
    changes.next().await;
    stage.say(session, "again").await;
    let heard = async {
        loop {
            let changed = changes.next().await;
            if changed.everything || changed.logs.contains(&session.uuid()) {
                return;
            }
        }
    };
    timeout(Duration::from_secs(4), heard).await.unwrap();
    let seat = stage.seat(session).await;
    let new = NewSeatMessage {
        from: seat,
        to: Recipients::Seat(seat),
        content: "note".into(),
        metadata: serde_json::json!({}),
    };
    let published = stage
        .store
        .publish(stage.tenant, session, &new, stage.now());
    let published = published.await.unwrap();
    let next = timeout(Duration::from_secs(4), inbox.next()).await.unwrap();
    assert_eq!(next.unwrap().unwrap(), published[0]);
}

pub(crate) async fn transaction_pooler_is_detected_and_supported(db: &TestStore) {
    // One server, a few, and a few that are lent out in turn.
    for (servers, more) in [
        (1, ""),
        (4, ""),
        (4, "server_round_robin = 1"),
        (4, IGNORES),
    ] {
        let home = TestDatabase::empty_postgres().unwrap();
        let pooler = home.pooler(PoolMode::Transaction, servers, more).unwrap();
        let (one, two) = (open(&place(&pooler)).await, open(&place(&pooler)).await);
        for store in [&one, &two] {
            let found = store.database().sessions();
            assert_eq!(
                found,
                Some(Sessions::Transaction { direct: false }),
                "{more}"
            );
        }
        let listener = two.changes();
        assert_core_works(one.clone(), &two).await;
        let ListenerState::Polling { why, .. } = two.listening() else {
            panic!("{:?}", two.listening());
        };
        assert_eq!(why, Unheard::Pooler);
        drop(listener);
        let sql = "select current_setting('statement_timeout') as found";
        let mut tx = one.database().begin(Scope::System).await.unwrap();
        let row = tx.fetch_one(statement(sql), params![]).await.unwrap();
        assert_eq!(row.get::<String>("found").unwrap(), "1min");
        drop(tx);
        let examined = store::examine(&place(&pooler)).await.unwrap().unwrap();
        assert_eq!(examined.version, examined.latest);
        one.database().close().await;
        two.database().close().await;
    }
    drop(db.location());
}

pub(crate) async fn session_pooler_is_treated_as_server(db: &TestStore) {
    let direct = store::open(&db.location()).await.unwrap();
    assert_eq!(direct.sessions(), Some(Sessions::Kept));
    direct.close().await;
    let pooler = db.home.pooler(PoolMode::Session, 30, "").unwrap();
    let (one, two) = (open(&place(&pooler)).await, open(&place(&pooler)).await);
    assert_eq!(one.database().sessions(), Some(Sessions::Kept));
    assert_core_works(one.clone(), &two).await;
    let mut changes = two.changes();
    changes.next().await;
    while two.listening() != ListenerState::Listening {
        changes.next().await;
    }
    one.database().close().await;
    two.database().close().await;
}

pub(crate) async fn statement_pooler_is_refused(db: &TestStore) {
    let pooler = db.home.pooler(PoolMode::Statement, 4, "").unwrap();
    for refused in [
        store::open(&place(&pooler)).await.unwrap_err(),
        store::open_to_read(&place(&pooler)).await.unwrap_err(),
        store::examine(&place(&pooler)).await.unwrap_err(),
    ] {
        assert!(
            matches!(refused, OpenError::NoTransactionSupport { .. }),
            "{refused:?}"
        );
        assert!(refused.hint().unwrap().contains("pool_mode"));
    }
}

pub(crate) async fn ignored_startup_parameters_are_set_per_transaction(db: &TestStore) {
    let pooler = db.home.pooler(PoolMode::Session, 30, IGNORES).unwrap();
    let store = open(&place(&pooler)).await;
    assert_eq!(store.database().sessions(), Some(Sessions::Kept));
    for name in ["lock_timeout", "search_path"] {
        let sql = format!("select current_setting('{name}') as found");
        let mut tx = store.database().begin(Scope::System).await.unwrap();
        let row = tx.fetch_one(statement(&sql), params![]).await.unwrap();
        let found: String = row.get("found").unwrap();
        assert!(
            ["30s", "automation"].contains(&found.as_str()),
            "{name} is {found}"
        );
    }
    store.database().close().await;
}

pub(crate) async fn direct_address_is_used_to_listen_and_migrate(_db: &TestStore) {
    let home = TestDatabase::empty_postgres().unwrap();
    let pooler = transactions(&home, 4);
    let location = place(&pooler).with_direct(home.url()).unwrap();
    let (one, two) = (open(&location).await, open(&location).await);
    let found = one.database().sessions();
    assert_eq!(found, Some(Sessions::Transaction { direct: true }));
    assert_core_works(one.clone(), &two).await;
    let stage = Stage::over(one.clone()).await;
    let session = stage.session().await;
    let mut changes = two.changes();
    while two.listening() != ListenerState::Listening {
        changes.next().await;
    }
    // Looks that are due aside, it is heard and not looked for.
    let logs = loop {
        stage.say(session, "hello").await;
        let changed = changes.next().await;
        if !changed.everything {
            break changed.logs;
        }
    };
    assert!(logs.contains(&session.uuid()));
    // It has its own connection; all others are the pooler's.
    let sql = "select count(*) as n from pg_stat_activity \
        where datname = current_database() and query ilike 'listen%'";
    // An earlier one of the same process may be about to go.
    loop {
        let mut tx = one.database().begin(Scope::System).await.unwrap();
        let row = tx.fetch_one(statement(sql), params![]).await.unwrap();
        let listening: i64 = row.get("n").unwrap();
        assert!(listening > 0);
        if listening == 1 {
            break;
        }
    }
    drop(changes);
    one.database().close().await;
    two.database().close().await;
}

pub(crate) async fn direct_address_of_other_database_is_refused(db: &TestStore) {
    let pooler = transactions(&db.home, 4);
    let other = TestDatabase::empty_postgres().unwrap();
    let elsewhere = place(&pooler).with_direct(other.url()).unwrap();
    let refused = store::open(&elsewhere).await.unwrap_err();
    assert!(
        matches!(refused, OpenError::DirectOtherDatabase),
        "{refused:?}"
    );
    let pooled = place(&pooler).with_direct(&pooler.url()).unwrap();
    let refused = store::open(&pooled).await.unwrap_err();
    assert!(matches!(refused, OpenError::DirectIsPooled), "{refused:?}");
    let nowhere = place(&pooler).with_direct("postgres://matins@localhost/x?host=/nowhere");
    let refused = store::open(&nowhere.unwrap()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Direct(_)), "{refused:?}");
    // Nothing was made there.
    let examined = store::examine(&other.url().parse().unwrap()).await.unwrap();
    assert_eq!(examined.unwrap().version, 0);
}

pub(crate) async fn read_only_database_behind_pooler_refuses_writes(db: &TestStore) {
    let pooler = transactions(&db.home, 4);
    let database = store::open_to_read(&place(&pooler)).await.unwrap();
    let store = store_over(&database);
    let refused = store.ensure_tenant("new", instant()).await.unwrap_err();
    assert!(
        matches!(refused, store::Error::Database(Error::ReadOnly { .. })),
        "{refused:?}"
    );
    database.close().await;
}
