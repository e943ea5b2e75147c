//! What is to come, in one look.

use model::policy::SessionMode;
use store::Outlook;

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly},
};

pub(crate) async fn scheduler_status_returns_next_due_work(db: &TestStore) {
    let stage = Stage::set(db).await;
    let nothing = Outlook {
        due: None,
        backoff: None,
        waiting: false,
        gone: false,
    };
    assert_eq!(stage.store.outlook(stage.now()).await.unwrap(), nothing);
    let to_come = stage.store.automation_summary(stage.scope()).await;
    assert_eq!(to_come.unwrap(), (0, None));

    stage.automation("by hand", SessionMode::Fresh).await;
    let report = stage
        .triggered("report", SessionMode::Fresh, &[hourly()])
        .await;
    let looked = stage.store.outlook(stage.now()).await.unwrap();
    assert_eq!(looked.due, Some(at("2026-05-04T10:00:00Z")));
    assert_eq!(looked.next(), looked.due);
    let to_come = stage.store.automation_summary(stage.scope()).await;
    assert_eq!(to_come.unwrap(), (2, Some(report)));
}
