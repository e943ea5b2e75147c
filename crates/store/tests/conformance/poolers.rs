//! A database behind a real pooler, in each of its modes.

use std::time::Duration;

use model::{
    policy::SessionMode,
    run::RunStatus,
    seat_message::Sender,
    turn::{StartReply, WriteOutcome},
};
use store::{
    ListenerState, Location, NewSeatMessage, OpenError, PollingReason, PoolingMode, Recipients,
    Scope, Store, database::Error, params,
};
use testkit::databases::{PoolMode, Pooler, TestDatabase};
use tokio::time::timeout;

use crate::{
    fixtures::{TestStore, instant, statement},
    stage::{Stage, store_over},
};

/// PgBouncer 1.18 needs no setting for this driver. Many installations have this one for other drivers.
const IGNORED_STARTUP_PARAMETERS: &str = "ignore_startup_parameters = extra_float_digits, options";

fn transaction_pooler(home: &TestDatabase, servers: u32) -> Pooler {
    home.pooler(PoolMode::Transaction, servers, "").unwrap()
}

fn pooler_location(pooler: &Pooler) -> Location {
    pooler.url().parse().unwrap()
}

async fn open(location: &Location) -> Store {
    store_over(&store::open(location).await.unwrap())
}

/// Runs the core work of a server on two stores in turn, so that each continues from the rows of the other.
async fn assert_core_works(one: Store, two: &Store) {
    let stage = Stage::setup_on(one).await;
    let session = stage.session().await;
    let submitted = stage.send_message(session, "hello").await;
    let claimed = two.claim(&stage.worker, stage.instance, 10, None, stage.now());
    let claimed = claimed.await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert!(matches!(
        stage.begin(submitted.run_id).await,
        StartReply::Started(_)
    ));
    let written = two.append_live_text(submitted.run_id, &stage.worker, 0, "hi", stage.now());
    assert_eq!(written.await.unwrap(), WriteOutcome::Committed);
    stage.succeed(submitted.run_id).await;
    let run = two.run(stage.scope(), submitted.run_id).await.unwrap();
    assert_eq!(run.status(), RunStatus::Succeeded);
    // Many concurrent transitions, on more connections than the pooler has server connections.
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let fires = (0..20).map(|number| {
        let store = if number % 2 == 0 { two } else { &stage.store };
        let at = stage.advance_seconds(1);
        store.fire_automation(stage.tenant, automation, None, at)
    });
    for fired in futures::future::join_all(fires).await {
        fired.unwrap();
    }
    stage.advance_seconds(60);
    two.fire_due(Scope::System, stage.now()).await.unwrap();
    stage.store.scheduler_status(stage.now()).await.unwrap();
    // A subscription receives the changes and the messages of the other store.
    let mut changes = two.changes();
    let mut inbox = two
        .subscribe_to_seat_messages(stage.tenant, session, None, None)
        .await
        .unwrap();
    changes.next().await;
    stage.send_message(session, "again").await;
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
        from: Sender::Seat(seat),
        to: Recipients::Seat(seat),
        content: "note".into(),
        metadata: serde_json::json!({}),
    };
    let published =
        stage
            .store
            .publish_seat_message(stage.tenant, session, None, &new, stage.now());
    let published = published.await.unwrap();
    let next = timeout(Duration::from_secs(4), inbox.next()).await.unwrap();
    assert_eq!(next.unwrap().unwrap(), published[0]);
}

pub(crate) async fn transaction_pooler_is_detected_and_supported(db: &TestStore) {
    // One server connection, several, and several that are lent out in turn.
    for (servers, more) in [
        (1, ""),
        (4, ""),
        (4, "server_round_robin = 1"),
        (4, IGNORED_STARTUP_PARAMETERS),
    ] {
        let home = TestDatabase::empty_postgres().unwrap();
        let pooler = home.pooler(PoolMode::Transaction, servers, more).unwrap();
        let (one, two) = (
            open(&pooler_location(&pooler)).await,
            open(&pooler_location(&pooler)).await,
        );
        for store in [&one, &two] {
            let found = store.database().pooling_mode();
            assert_eq!(
                found,
                Some(PoolingMode::Transaction {
                    has_direct_address: false
                }),
                "{more}"
            );
        }
        let listener = two.changes();
        assert_core_works(one.clone(), &two).await;
        let ListenerState::Polling { reason: why, .. } = two.listener_state() else {
            panic!("{:?}", two.listener_state());
        };
        assert_eq!(why, PollingReason::Pooler);
        drop(listener);
        let sql = "select current_setting('statement_timeout') as found";
        let mut tx = one.database().begin(Scope::System).await.unwrap();
        let row = tx.fetch_one(statement(sql), params![]).await.unwrap();
        assert_eq!(row.get::<String>("found").unwrap(), "1min");
        drop(tx);
        let examined = store::examine(&pooler_location(&pooler))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(examined.version, examined.latest);
        one.database().close().await;
        two.database().close().await;
    }
    drop(db.location());
}

pub(crate) async fn session_pooler_is_treated_as_server(db: &TestStore) {
    let direct = store::open(&db.location()).await.unwrap();
    assert_eq!(direct.pooling_mode(), Some(PoolingMode::Session));
    direct.close().await;
    let pooler = db.home.pooler(PoolMode::Session, 30, "").unwrap();
    let (one, two) = (
        open(&pooler_location(&pooler)).await,
        open(&pooler_location(&pooler)).await,
    );
    assert_eq!(one.database().pooling_mode(), Some(PoolingMode::Session));
    assert_core_works(one.clone(), &two).await;
    let mut changes = two.changes();
    changes.next().await;
    while two.listener_state() != ListenerState::Listening {
        changes.next().await;
    }
    one.database().close().await;
    two.database().close().await;
}

pub(crate) async fn statement_pooler_is_refused(db: &TestStore) {
    let pooler = db.home.pooler(PoolMode::Statement, 4, "").unwrap();
    for refused in [
        store::open(&pooler_location(&pooler)).await.unwrap_err(),
        store::open_read_only(&pooler_location(&pooler))
            .await
            .unwrap_err(),
        store::examine(&pooler_location(&pooler)).await.unwrap_err(),
    ] {
        assert!(
            matches!(refused, OpenError::NoTransactionSupport { .. }),
            "{refused:?}"
        );
        assert!(refused.hint().unwrap().contains("pool_mode"));
    }
}

pub(crate) async fn ignored_startup_parameters_are_set_per_transaction(db: &TestStore) {
    let pooler = db
        .home
        .pooler(PoolMode::Session, 30, IGNORED_STARTUP_PARAMETERS)
        .unwrap();
    let store = open(&pooler_location(&pooler)).await;
    assert_eq!(store.database().pooling_mode(), Some(PoolingMode::Session));
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
    let pooler = transaction_pooler(&home, 4);
    let location = pooler_location(&pooler).with_direct(home.url()).unwrap();
    let (one, two) = (open(&location).await, open(&location).await);
    let found = one.database().pooling_mode();
    assert_eq!(
        found,
        Some(PoolingMode::Transaction {
            has_direct_address: true
        })
    );
    assert_core_works(one.clone(), &two).await;
    let stage = Stage::setup_on(one.clone()).await;
    let session = stage.session().await;
    let mut changes = two.changes();
    while two.listener_state() != ListenerState::Listening {
        changes.next().await;
    }
    // Skip the polls: this must arrive as a notification.
    let logs = loop {
        stage.send_message(session, "hello").await;
        let changed = changes.next().await;
        if !changed.everything {
            break changed.logs;
        }
    };
    assert!(logs.contains(&session.uuid()));
    // The listener has a direct connection; all other connections are the pooler's.
    let sql = "select count(*) as n from pg_stat_activity \
        where datname = current_database() and query ilike 'listen%'";
    // An earlier listener of the same process may still be disconnecting.
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
    let pooler = transaction_pooler(&db.home, 4);
    let other = TestDatabase::empty_postgres().unwrap();
    let elsewhere = pooler_location(&pooler).with_direct(other.url()).unwrap();
    let refused = store::open(&elsewhere).await.unwrap_err();
    assert!(
        matches!(refused, OpenError::DirectOtherDatabase),
        "{refused:?}"
    );
    let pooled = pooler_location(&pooler).with_direct(&pooler.url()).unwrap();
    let refused = store::open(&pooled).await.unwrap_err();
    assert!(matches!(refused, OpenError::DirectIsPooled), "{refused:?}");
    let nowhere =
        pooler_location(&pooler).with_direct("postgres://matins@localhost/x?host=/nowhere");
    let refused = store::open(&nowhere.unwrap()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Direct(_)), "{refused:?}");
    // Nothing was created there.
    let examined = store::examine(&other.url().parse().unwrap()).await.unwrap();
    assert_eq!(examined.unwrap().version, 0);
}

pub(crate) async fn read_only_database_behind_pooler_refuses_writes(db: &TestStore) {
    let pooler = transaction_pooler(&db.home, 4);
    let database = store::open_read_only(&pooler_location(&pooler))
        .await
        .unwrap();
    let store = store_over(&database);
    let refused = store.ensure_tenant("new", instant()).await.unwrap_err();
    assert!(
        matches!(refused, store::Error::Database(Error::ReadOnly { .. })),
        "{refused:?}"
    );
    database.close().await;
}
