//! Values come back from both databases unchanged.

use model::{RunId, Timestamp};
use serde_json::{Value, json};
use store::{
    Scope,
    database::{Dialect, Error, Param},
    params,
};
use uuid::Uuid;

use crate::fixtures::{TestStore, World, statement};

pub(crate) async fn every_value_type_round_trips(db: &TestStore) {
    let run = RunId::from_uuid(Uuid::from_u128(u128::MAX));
    let latest = Timestamp::MAX;
    let before_1970 = Timestamp::from_microsecond(-1).unwrap();
    let json = json!({"é": [1, -2.5, null, true, {"n": 9_007_199_254_740_993_i64}], "t": "☃\u{1}"});
    let bytes: Vec<u8> = (0..=255).collect();
    let mut tx = db.database.begin_read(Scope::System).await.unwrap();
    let echo = statement(
        "select $1 as run, $2 as text, $3 as least, $4 as most, $5 as yes, $6 as no, \
         $7 as latest, $8 as past, $9 as json, $10 as bytes, $11 as real, $12 as small",
    );
    let given = params![
        run,
        "naïve ☃ \u{fffd}",
        i64::MIN,
        i64::MAX,
        true,
        false,
        latest,
        before_1970,
        &json,
        bytes.clone(),
        0.1,
        u32::MAX,
    ];
    let row = tx.fetch_one(echo, given).await.unwrap();
    assert_eq!(row.get::<RunId>("run").unwrap(), run);
    assert_eq!(row.get::<String>("text").unwrap(), "naïve ☃ \u{fffd}");
    assert_eq!(row.get::<i64>("least").unwrap(), i64::MIN);
    assert_eq!(row.get::<i64>("most").unwrap(), i64::MAX);
    assert!(row.get::<bool>("yes").unwrap());
    assert!(!row.get::<bool>("no").unwrap());
    assert_eq!(row.get::<Timestamp>("latest").unwrap(), latest);
    assert_eq!(row.get::<Timestamp>("past").unwrap(), before_1970);
    assert_eq!(row.get::<Value>("json").unwrap(), json);
    assert_eq!(row.get::<Vec<u8>>("bytes").unwrap(), bytes);
    assert!((row.get::<f64>("real").unwrap() - 0.1).abs() < f64::EPSILON);
    assert_eq!(row.get::<u32>("small").unwrap(), u32::MAX);
}

pub(crate) async fn every_value_type_may_be_null(db: &TestStore) {
    let mut tx = db.database.begin_read(Scope::System).await.unwrap();
    let echo = statement(
        "select $1 as run, $2 as text, $3 as number, $4 as yes, $5 as at, $6 as json, $7 as bytes",
    );
    let none = params![
        None::<RunId>,
        None::<&str>,
        None::<i64>,
        None::<bool>,
        None::<Timestamp>,
        None::<Value>,
        None::<Vec<u8>>,
    ];
    let row = tx.fetch_one(echo, none).await.unwrap();
    assert_eq!(row.optional::<RunId>("run").unwrap(), None);
    assert_eq!(row.optional::<String>("text").unwrap(), None);
    assert_eq!(row.optional::<i64>("number").unwrap(), None);
    assert_eq!(row.optional::<bool>("yes").unwrap(), None);
    assert_eq!(row.optional::<Timestamp>("at").unwrap(), None);
    assert_eq!(row.optional::<Value>("json").unwrap(), None);
    assert_eq!(row.optional::<Vec<u8>>("bytes").unwrap(), None);
}

pub(crate) async fn corrupt_value_error_names_column_and_row(db: &TestStore) {
    let world = World::create(db).await;
    let sql = "select id, name, state_reason, last_seq from \
        (select s.*, s.title as name from agent_sessions s) s";
    let rows = db.run(Scope::System, sql, params![]).await.unwrap();
    let id = world.id("agent_sessions").to_string();
    let absent = rows[0].get::<String>("state_reason").unwrap_err();
    let mistaken = rows[0].get::<Uuid>("last_seq").unwrap_err();
    for (error, column) in [(absent, "state_reason"), (mistaken, "last_seq")] {
        assert!(matches!(error, Error::CorruptValue { .. }), "{error:?}");
        let message = error.to_string();
        assert!(
            message.contains(column) && message.contains(&id),
            "{message}"
        );
    }
    if db.dialect() == Dialect::Sqlite {
        let mut tx = db.database.begin_read(Scope::System).await.unwrap();
        let row = tx
            .fetch_one(
                statement("select 2 as flag, $1 as id"),
                vec![Param::Uuid(None)],
            )
            .await
            .unwrap();
        assert!(row.get::<bool>("flag").is_err());
    }
}
