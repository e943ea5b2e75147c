//! What is to come, and what many ask for at one time.

use futures::future::join_all;
use model::{SessionId, policy::SessionMode, session::SessionEvent};
use store::{Error, Outlook};

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly},
};

pub(crate) async fn one_look_tells_what_is_to_come(db: &TestStore) {
    let stage = Stage::set(db).await;
    let nothing = Outlook {
        due: None,
        backoff: None,
        waiting: false,
    };
    assert_eq!(stage.store.outlook(stage.now()).await.unwrap(), nothing);
    let to_come = stage.store.automations_outlook(stage.scope()).await;
    assert_eq!(to_come.unwrap(), (0, None));

    stage.automation("by hand", SessionMode::Fresh).await;
    let report = stage
        .triggered("report", SessionMode::Fresh, &[hourly()])
        .await;
    let looked = stage.store.outlook(stage.now()).await.unwrap();
    assert_eq!(looked.due, Some(at("2026-05-04T10:00:00Z")));
    assert_eq!(looked.next(), looked.due);
    let to_come = stage.store.automations_outlook(stage.scope()).await;
    assert_eq!(to_come.unwrap(), (2, Some(report)));
}

pub(crate) async fn what_many_ask_for_together_fails_alone(db: &TestStore) {
    let stage = Stage::set(db).await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.push(stage.session().await);
    }
    let closed = stage.session().await;
    let (scope, now) = (stage.scope(), stage.now());
    let complete = stage
        .store
        .move_session(scope, closed, SessionEvent::Complete, None, now);
    complete.await.unwrap();
    let missing = SessionId::from_uuid(uuid::Uuid::from_u128(7));
    let all = sessions.iter().chain([&closed, &missing]).cycle().take(70);
    let said = all.map(async |session| {
        let said = stage.store.say(stage.tenant, *session, "Words", now).await;
        (*session, said)
    });
    for (session, said) in join_all(said).await {
        match said {
            Ok(_) => assert!(sessions.contains(&session)),
            Err(Error::Refused(_)) => assert_eq!(session, closed),
            Err(Error::NotFound { .. }) => assert_eq!(session, missing),
            Err(other) => panic!("{other:?}"),
        }
    }
    for session in sessions {
        let runs = stage.store.runs(
            scope,
            store::RunFilter {
                session: Some(session),
                ..store::RunFilter::default()
            },
            100,
        );
        assert_eq!(runs.await.unwrap().len(), 10);
    }
}
